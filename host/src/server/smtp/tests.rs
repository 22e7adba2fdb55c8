//! Connections that find a place, and those that do not.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::server::connection_limits::{Bounds, Protocol};

const CROWDED: &[u8] = b"421 4.7.0 too many connections\r\n";

/// A port whose sessions greet, echo a line at a time, and end with the client.
struct Port {
    address: SocketAddr,
    tasks: Tasks,
    stop: CancellationToken,
}

impl Port {
    async fn open(connections_per_ip: usize, no_slot_reply: &[u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let slots =
            ConnectionSlots::new(Protocol::Smtp, Bounds { connections: 100, connections_per_ip });
        let (tasks, stop) = (Tasks::default(), CancellationToken::new());
        let smtp_listener = SmtpListener {
            name: "test",
            listener,
            no_slot_reply: no_slot_reply.to_vec(),
            trusted_proxies: Vec::new(),
        };
        tasks.start("smtp", serve(smtp_listener, slots, |stream, _| echo(stream), stop.clone()));
        Self { address, tasks, stop }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connected")
    }

    /// A connection that was served: its greeting has come.
    async fn greeted(&self) -> TcpStream {
        let mut stream = self.connect().await;
        assert_eq!(stream.read_u8().await.expect("a greeting"), b'!');
        stream
    }
}

async fn echo(mut stream: TcpStream) {
    let _greeted = stream.write_u8(b'!').await;
    let (mut input, mut output) = stream.split();
    let _ended = tokio::io::copy(&mut input, &mut output).await;
}

async fn all_of(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.expect("an orderly end");
    bytes
}

#[tokio::test]
async fn a_connection_too_many_hears_why_and_a_free_place_is_given_again() {
    let port = Port::open(2, CROWDED).await;
    let (mut first, _second) = (port.greeted().await, port.greeted().await);
    assert_eq!(all_of(&mut port.connect().await).await, CROWDED);
    first.shutdown().await.expect("shut");
    assert_eq!(all_of(&mut first).await, b"", "the session has ended");
    // The place is free a moment after the session's last byte.
    loop {
        let mut again = port.connect().await;
        if again.read_u8().await.expect("an answer") == b'!' {
            break;
        }
    }
}

#[tokio::test]
async fn where_tls_comes_first_a_connection_too_many_is_closed() {
    let port = Port::open(1, b"").await;
    let _first = port.greeted().await;
    assert_eq!(all_of(&mut port.connect().await).await, b"");
}

#[tokio::test]
async fn a_stop_takes_no_connection_and_lets_sessions_end() {
    let port = Port::open(9, CROWDED).await;
    let mut session = port.greeted().await;
    port.stop.cancel();
    session.write_all(b"still here").await.expect("written");
    session.shutdown().await.expect("shut");
    assert_eq!(all_of(&mut session).await, b"still here");
    port.tasks.finish().await;
    assert!(TcpStream::connect(port.address).await.is_err());
}

#[tokio::test]
async fn sessions_that_do_not_end_are_cut_off() {
    let (sessions, cut) = (Tasks::default(), CancellationToken::new());
    let endless = cut.clone().run_until_cancelled_owned(std::future::pending::<()>());
    sessions.start("session", async move {
        let _cut_off = endless.await;
    });
    end(&sessions, &cut, Duration::ZERO).await;
    assert!(cut.is_cancelled());
}

#[tokio::test]
async fn a_session_that_panics_gives_its_place_back() {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("an address");
    let slots =
        ConnectionSlots::new(Protocol::Smtp, Bounds { connections: 1, connections_per_ip: 1 });
    let (tasks, stop) = (Tasks::default(), CancellationToken::new());
    let session = |stream: TcpStream, _| async move {
        SERVED.fetch_add(1, Ordering::SeqCst);
        drop(stream);
        panic!("a session panics");
    };
    let smtp_listener = SmtpListener {
        name: "test",
        listener,
        no_slot_reply: Vec::new(),
        trusted_proxies: Vec::new(),
    };
    tasks.start("smtp", serve(smtp_listener, slots, session, stop));
    while SERVED.load(Ordering::SeqCst) < 2 {
        let mut stream = TcpStream::connect(address).await.expect("connected");
        assert_eq!(all_of(&mut stream).await, b"");
    }
}
