//! A session over a pipe: what is acknowledged, and how long is waited.

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::io::{DuplexStream, ReadHalf, WriteHalf};

use super::*;
use crate::clock::Clock;
use crate::mail::verp::Verp;
use crate::relay::bounces::reporters::tests::unasked;
use crate::relay::bounces::{Addresses, Reporters, SuppressionSettings};
use crate::store::Store;

struct Client {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Client {
    /// The codes of the reply's last line, with its enhanced code.
    async fn hears(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = self.reader.read_line(&mut line).await.expect("readable");
            if read == 0 {
                return "closed".to_owned();
            }
            if line.as_bytes().get(3) == Some(&b' ') {
                return line.split(' ').take(2).collect::<Vec<_>>().join(" ").trim_end().to_owned();
            }
        }
    }

    async fn says(&mut self, line: &str) -> String {
        self.writer.write_all(format!("{line}\r\n").as_bytes()).await.expect("writable");
        self.hears().await
    }
}

async fn listener(directory: &tempfile::TempDir) -> (Listener, Store) {
    let store = crate::store::test_data::open(directory).await;
    let addresses = Arc::new(Addresses {
        verp: Verp::new(&[7; 32]),
        feedback: Vec::new(),
        hostname: "mail.example.com".to_owned(),
        return_path_host: "bounce.mail.example.com".to_owned(),
    });
    let rules = SuppressionSettings { bounce_suppression: None, complaint_suppression: None };
    let clock = Clock::system();
    let reporters = Reporters {
        named: Vec::new(),
        networks: Vec::new(),
        feedback: Vec::new(),
        resolver: unasked(&clock),
        clock: clock.clone(),
    };
    let intake = Intake::new(store.clone(), clock, Arc::clone(&addresses), reporters, rules);
    let settings = ListenerSettings {
        hostname: "mail.example.com".to_owned(),
        message_bytes: 10_000,
        addresses,
    };
    let bounds = Bounds {
        opening: Duration::from_mins(1),
        idle: Duration::from_mins(5),
        data: Duration::from_mins(10),
        session: Duration::from_mins(30),
    };
    (Listener { settings: Arc::new(settings), intake, bounds, tls: None }, store)
}

/// Plays `client` against a session, which must end by itself.
async fn play<F>(listener: &Listener, stop: &CancellationToken, client: impl FnOnce(Client) -> F)
where
    F: Future<Output = ()>,
{
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(theirs);
    let client = client(Client { reader: BufReader::new(reader), writer });
    tokio::join!(serve(listener, ours, [127, 0, 0, 1].into(), stop.clone()), client);
}

fn return_path() -> String {
    let id = "msg_01JD0000000000000000000000".parse().expect("an identifier");
    let host = "bounce.sender.example".parse().expect("a name");
    Verp::new(&[7; 32]).address(id, &host).expect("there is room").to_string()
}

#[tokio::test]
async fn a_report_is_acknowledged_once_written_and_not_while_the_store_fails() {
    let directory = tempfile::tempdir().expect("a directory");
    let (listener, store) = listener(&directory).await;
    let report = "Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\n\
                  Content-Type: message/delivery-status\r\n\r\n\
                  Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n--b--\r\n.";
    play(&listener, &CancellationToken::new(), async |mut client| {
        assert_eq!(client.hears().await, "220 mail.example.com");
        client.says("EHLO mx.recipient.example").await;
        for wanted in ["250 2.0.0", "451 4.3.0"] {
            assert_eq!(client.says("MAIL FROM:<>").await, "250 2.1.0");
            assert_eq!(client.says(&format!("RCPT TO:<{}>", return_path())).await, "250 2.1.5");
            assert_eq!(client.says("DATA").await, "354 end");
            assert_eq!(client.says(report).await, wanted);
            store.close().await;
        }
        assert_eq!(client.says("QUIT").await, "221 2.0.0");
        assert_eq!(client.hears().await, "closed");
    })
    .await;
}

#[tokio::test]
async fn a_server_that_stops_says_so_to_idle_clients() {
    let directory = tempfile::tempdir().expect("a directory");
    let (listener, _store) = listener(&directory).await;
    let stop = CancellationToken::new();
    play(&listener, &stop, async |mut client| {
        assert_eq!(client.hears().await, "220 mail.example.com");
        stop.cancel();
        assert_eq!(client.hears().await, "421 4.3.2");
        assert_eq!(client.hears().await, "closed");
    })
    .await;
}

#[tokio::test]
async fn silence_ends_a_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut listener, _store) = listener(&directory).await;
    listener.bounds.opening = Duration::from_millis(20);
    play(&listener, &CancellationToken::new(), async |mut client| {
        client.hears().await;
        assert_eq!(client.hears().await, "421 4.4.2");
        assert_eq!(client.hears().await, "closed");
    })
    .await;
    // Octets that never end a message are no reason to wait for ever.
    listener.bounds.opening = Duration::from_mins(1);
    listener.bounds.data = Duration::from_millis(500);
    play(&listener, &CancellationToken::new(), async |mut client| {
        client.hears().await;
        client.says("EHLO a.example").await;
        client.says("MAIL FROM:<>").await;
        client.says("RCPT TO:<postmaster>").await;
        client.says("DATA").await;
        // Unless its time is over before.
        drop(client.writer.write_all(b"Subject: slow").await);
        assert_eq!(client.hears().await, "421 4.4.2");
    })
    .await;
}
