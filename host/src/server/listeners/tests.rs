//! Clients that take all connections, that read nothing, and that stay when the server goes.

use std::time::Duration;

use axum::routing::get;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::sync::Notify;

use super::*;
use crate::server::connection_limits::{Bounds, Protocol};

const LONG: Duration = Duration::from_hours(1);

/// A listener that serves `/`, a large `/large` and, beyond its bounds, `overflow`.
struct Served {
    address: SocketAddr,
    tasks: Tasks,
    stop: CancellationToken,
    slots: Arc<ConnectionSlots>,
}

impl Served {
    async fn start(connections: usize, timeouts: HttpTimeouts) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
        let address = listener.local_addr().expect("an address");
        let bounds = Bounds { connections, connections_per_ip: connections };
        let slots = ConnectionSlots::new(Protocol::Http, bounds);
        let port = Port {
            listener,
            router: Router::new()
                .route("/", get(|| async { "served" }))
                .route("/large", get(|| async { vec![0; 64 << 20] }))
                .route("/upload", axum::routing::post(|body: String| async { body })),
            overflow: Router::new().fallback(|| async { "overflow" }),
            slots: Arc::clone(&slots),
            timeouts: Arc::new(ArcSwap::from_pointee(timeouts)),
            tls: None,
        };
        let (tasks, stop) = (Tasks::default(), CancellationToken::new());
        tasks.start("http", http(port, stop.clone()));
        Self { address, tasks, stop, slots }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.expect("connected")
    }

    /// A connection that was served once and is kept.
    async fn kept(&self) -> TcpStream {
        let mut stream = self.connect().await;
        assert!(ask(&mut stream, "/").await.ends_with("served"));
        stream
    }
}

async fn ask(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("written");
    let mut answer = vec![0; 1_024];
    let read = stream.read(&mut answer).await.expect("an answer");
    answer.truncate(read);
    String::from_utf8(answer).expect("UTF-8")
}

async fn end_of(stream: &mut TcpStream) {
    let mut rest = Vec::new();
    // A reset is an end too.
    drop(stream.read_to_end(&mut rest).await);
}

fn timeouts(headers: Duration, write: Duration) -> HttpTimeouts {
    HttpTimeouts { headers, write }
}

#[tokio::test]
async fn on_a_full_server_a_request_is_answered_and_its_connection_closed() {
    let served = Served::start(2, timeouts(LONG, LONG)).await;
    let (mut first, _second) = (served.kept().await, served.kept().await);
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(served.connect().await);
    }
    let mut third = served.connect().await;
    let answer = ask(&mut third, "/").await;
    assert!(answer.contains("connection: close") && answer.ends_with("overflow"), "{answer}");
    end_of(&mut third).await;
    end_of(silent.first_mut().expect("some")).await;
    assert!(ask(&mut first, "/").await.ends_with("served"), "who has a place keeps it");
}

#[tokio::test]
async fn a_client_that_does_not_read_its_answer_loses_its_connection() {
    let served = Served::start(1, timeouts(LONG, Duration::from_millis(50))).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small buffer");
    let mut stream = socket.connect(served.address).await.expect("connected");
    stream.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("written");
    // Nothing is read of it; the place is free again when the server has given up.
    while served.slots.take(served.address.ip()).is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stop_does_not_wait_for_clients_that_send_or_read_nothing() {
    let served = Served::start(9, timeouts(LONG, LONG)).await;
    let mut idle = served.kept().await;
    let mut half = served.kept().await;
    half.write_all(b"GET / HTTP/1.1\r\nHo").await.expect("written");
    let mut reading = served.connect().await;
    reading.write_all(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n").await.expect("written");
    reading.read_u8().await.expect("the answer begins");
    served.stop.cancel();
    end_of(&mut idle).await;
    end_of(&mut half).await;
    served.tasks.finish().await;
}

#[tokio::test]
async fn a_stop_lets_a_request_that_runs_finish() {
    let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut served = Served::start(9, timeouts(LONG, LONG)).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    served.address = listener.local_addr().expect("an address");
    let (has_begun, may_go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
    let slow = move || async move {
        has_begun.notify_one();
        may_go_on.notified().await;
        "finished"
    };
    let port = Port {
        listener,
        router: Router::new().route("/", get(slow)),
        overflow: Router::new(),
        slots: Arc::clone(&served.slots),
        timeouts: Arc::new(ArcSwap::from_pointee(timeouts(LONG, LONG))),
        tls: None,
    };
    served.tasks.start("http", http(port, served.stop.clone()));
    let mut stream = served.connect().await;
    let answer = async { ask(&mut stream, "/").await };
    let stop = async {
        begun.notified().await;
        served.stop.cancel();
        go_on.notify_one();
    };
    let (answer, ()) = tokio::join!(answer, stop);
    assert!(answer.ends_with("finished"), "{answer}");
    served.tasks.finish().await;
}
