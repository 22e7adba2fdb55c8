//! Clients of HTTP/2 that ask for much at once, take their requests back, read nothing, and write frames that no library
//! would write.

use std::net::SocketAddr;

use axum::http::HeaderMap;
use axum::routing::get;
use bytes::Bytes;
use h2::client::{Builder as ClientBuilder, ResponseFuture, SendRequest};
use h2::{Reason, SendStream};
use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::{Barrier, Notify};

use super::*;
use crate::server::connection_limits::{Bounds, Protocol};

const LONG: Duration = Duration::from_hours(1);
const SHORT: Duration = Duration::from_millis(50);
const AT_ONCE: usize = 50;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Kinds of frames (RFC 9113, section 6).
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
/// `:method GET`, `:scheme https`, `:path /wait`, `:authority x`, by HPACK.
const ASK: &[u8] = b"\x82\x87\x04\x05/wait\x01\x01x";

/// A server for connections that the tests bring.
struct Served {
    router: Router,
    slots: Arc<ConnectionSlots>,
    timeouts: HttpTimeouts,
    tasks: Tasks,
    stop: CancellationToken,
    /// A request to `/wait` has begun.
    begun: Arc<Notify>,
    /// It may go on.
    go_on: Arc<Notify>,
}

impl Served {
    fn new(connections: usize, timeouts: HttpTimeouts) -> Self {
        let bounds = Bounds { connections, connections_per_ip: connections };
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let barrier = Arc::new(Barrier::new(AT_ONCE));
        let (has_begun, may_go_on) = (Arc::clone(&begun), Arc::clone(&go_on));
        let wait = move || async move {
            has_begun.notify_one();
            may_go_on.notified().await;
            "finished"
        };
        let together = move || async move {
            barrier.wait().await;
            "together"
        };
        let host = |headers: HeaderMap| async move {
            let hosts = headers.get_all(HOST).iter().map(|it| it.to_str().expect("a text"));
            hosts.collect::<Vec<_>>().join(" ")
        };
        Self {
            router: Router::new()
                .route("/", get(|| async { "served" }))
                .route("/host", get(host))
                .route("/large", get(|| async { vec![7_u8; 1 << 20] }))
                .route("/together", get(together))
                .route("/wait", get(wait)),
            slots: ConnectionSlots::new(Protocol::Http, bounds),
            timeouts,
            tasks: Tasks::default(),
            stop: CancellationToken::new(),
            begun,
            go_on,
        }
    }

    fn address() -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], 4_711))
    }

    /// The client's end of a new connection.
    fn connection(&self) -> DuplexStream {
        let (client, accepted) = duplex(64 << 10);
        let site = Site {
            router: self.router.clone(),
            overflow: Router::new()
                .fallback(|| async { (StatusCode::SERVICE_UNAVAILABLE, "overflow") }),
            slots: Arc::clone(&self.slots),
            tasks: self.tasks.clone(),
        };
        let (timeouts, stop) = (self.timeouts, self.stop.clone());
        let served = serve(accepted, Peer(Self::address()), site, timeouts, stop);
        self.tasks.start("connection", served);
        client
    }

    /// A client, and what it learns when its connection has ended.
    async fn client(&self, builder: &ClientBuilder) -> Client {
        let handshake = builder.handshake::<_, Bytes>(self.connection());
        let (requests, connection) = handshake.await.expect("HTTP/2");
        let ended = CancellationToken::new();
        let end = ended.clone();
        self.tasks.start("client", async move {
            // A connection that is cut off is an end, too.
            drop(connection.await);
            end.cancel();
        });
        Client { requests, ended }
    }
}

struct Client {
    requests: SendRequest<Bytes>,
    ended: CancellationToken,
}

impl Client {
    async fn begin(&self, path: &str) -> (ResponseFuture, SendStream<Bytes>) {
        let request = Request::get(format!("https://mail.example{path}"));
        self.ask(request.body(()).expect("a request")).await
    }

    async fn ask(&self, request: Request<()>) -> (ResponseFuture, SendStream<Bytes>) {
        let mut ready = self.requests.clone().ready().await.expect("it takes requests");
        ready.send_request(request, true).expect("it is sent")
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let (answer, _) = self.begin(path).await;
        read(answer).await
    }
}

async fn read(answer: ResponseFuture) -> (StatusCode, String) {
    let answer = answer.await.expect("an answer");
    let (status, mut body) = (answer.status(), answer.into_body());
    let mut text = Vec::new();
    while let Some(part) = body.data().await {
        let part = part.expect("a part");
        text.extend_from_slice(&part);
        body.flow_control().release_capacity(part.len()).expect("it was taken");
    }
    (status, String::from_utf8(text).expect("UTF-8"))
}

fn timeouts(headers: Duration, write: Duration) -> HttpTimeouts {
    HttpTimeouts { headers, write }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame").to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend_from_slice(&stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Writes frames, and reads until the server closes the connection: the codes of its GOAWAY frames.
async fn goaways(connection: DuplexStream, frames: &[u8]) -> Vec<Reason> {
    let (mut reader, mut writer) = tokio::io::split(connection);
    let opening = [PREFACE, frame(SETTINGS, 0, 0, &[]).as_slice()].concat();
    let mut answers = Vec::new();
    let write = async {
        writer.write_all(&opening).await.ok();
        // The server may have gone before it has everything.
        writer.write_all(frames).await.ok();
    };
    let (read, ()) = tokio::join!(reader.read_to_end(&mut answers), write);
    read.expect("the connection ends");
    let (mut codes, mut rest) = (Vec::new(), answers.as_slice());
    while let Some((head, behind)) = rest.split_at_checked(9) {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let (payload, next) = behind.split_at(usize::try_from(length).expect("a short frame"));
        if head[3] == GOAWAY {
            let code = payload[4..8].try_into().expect("four octets");
            codes.push(Reason::from(u32::from_be_bytes(code)));
        }
        rest = next;
    }
    codes
}

#[tokio::test]
async fn many_requests_run_at_once_on_one_connection() {
    let served = Served::new(200, timeouts(LONG, LONG));
    let client = served.client(&ClientBuilder::new()).await;
    let asked = (0..AT_ONCE).map(|_| client.get("/together"));
    for (status, text) in futures_util::future::join_all(asked).await {
        assert_eq!((status.as_u16(), text.as_str()), (200, "together"));
    }
}

#[tokio::test]
async fn a_request_beside_others_counts_as_a_connection() {
    let served = Served::new(3, timeouts(LONG, LONG));
    let of_connection = served.slots.take(Served::address().ip()).expect("a place");
    let other = served.slots.take(Served::address().ip()).expect("a place");
    let client = served.client(&ClientBuilder::new()).await;
    let (first, _) = client.begin("/wait").await;
    served.begun.notified().await;
    let (second, _) = client.begin("/wait").await;
    served.begun.notified().await;
    let (status, text) = client.get("/").await;
    assert_eq!((status.as_u16(), text.as_str()), (503, "overflow"));
    drop(other);
    assert_eq!(client.get("/").await.1, "served");
    served.go_on.notify_one();
    served.go_on.notify_one();
    for answer in [first, second] {
        assert_eq!(read(answer).await.1, "finished");
    }
    drop(of_connection);
}

#[tokio::test]
async fn the_host_of_a_request_is_where_routes_look_for_it() {
    let served = Served::new(9, timeouts(LONG, LONG));
    let client = served.client(&ClientBuilder::new()).await;
    assert_eq!(client.get("/host").await.1, "mail.example");
    for (said, seen) in
        [("mail.example", "mail.example"), ("other.example", "other.example mail.example")]
    {
        let request = Request::get("https://mail.example/host").header(HOST, said);
        let (answer, _) = client.ask(request.body(()).expect("a request")).await;
        assert_eq!(read(answer).await.1, seen, "{said}");
    }
}

#[tokio::test]
async fn an_answer_in_many_parts_is_whole() {
    let served = Served::new(9, timeouts(LONG, LONG));
    let client = served.client(&ClientBuilder::new()).await;
    let (status, text) = client.get("/large").await;
    assert_eq!((status.as_u16(), text.len()), (200, 1 << 20));
    assert!(text.bytes().all(|it| it == 7));
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let served = Served::new(9, timeouts(LONG, LONG));
    let client = served.client(&ClientBuilder::new()).await;
    let long = "a".repeat(70 << 10);
    let request = Request::get("https://mail.example/").header("x-long", long);
    let (answer, _) = client.ask(request.body(()).expect("a request")).await;
    assert_eq!(answer.await.expect("an answer").status().as_u16(), 431);
    assert_eq!(client.get("/").await.1, "served", "the connection goes on");
}

#[tokio::test]
async fn who_takes_requests_back_again_and_again_loses_the_connection() {
    let served = Served::new(200, timeouts(LONG, LONG));
    let other = served.client(&ClientBuilder::new()).await;
    let client = served.client(&ClientBuilder::new()).await;
    for _ in 0..=100 {
        let (answer, mut request) = client.begin("/wait").await;
        served.begun.notified().await;
        request.send_reset(Reason::CANCEL);
        drop(answer);
    }
    client.ended.cancelled().await;
    assert_eq!(other.get("/").await.1, "served");
}

#[tokio::test]
async fn a_flood_of_resets_ends_its_connection_and_no_other() {
    let served = Served::new(200, timeouts(LONG, LONG));
    let other = served.client(&ClientBuilder::new()).await;
    let mut frames = Vec::new();
    for stream in (1..2_000).step_by(2) {
        frames.extend(frame(HEADERS, 5, stream, ASK));
        frames.extend(frame(RST_STREAM, 0, stream, &8_u32.to_be_bytes()));
    }
    let codes = goaways(served.connection(), &frames).await;
    assert!(codes.contains(&Reason::ENHANCE_YOUR_CALM), "{codes:?}");
    assert_eq!(other.get("/").await.1, "served");
}

#[tokio::test]
async fn a_flood_of_continuations_ends_its_connection() {
    let served = Served::new(9, timeouts(LONG, LONG));
    let mut frames = frame(HEADERS, 1, 1, ASK);
    for _ in 0..1_000 {
        frames.extend(frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b"));
    }
    let codes = goaways(served.connection(), &frames).await;
    assert!(codes.contains(&Reason::ENHANCE_YOUR_CALM), "{codes:?}");
}

#[tokio::test]
async fn pings_and_settings_do_not_keep_an_idle_connection() {
    let served = Served::new(9, timeouts(SHORT, LONG));
    let mut flood = Vec::new();
    for _ in 0..1_000 {
        flood.extend(frame(PING, 0, 0, b"8 octets"));
        flood.extend(frame(SETTINGS, 0, 0, &[]));
    }
    let (mut reader, mut writer) = tokio::io::split(served.connection());
    let opening = [PREFACE, frame(SETTINGS, 0, 0, &[]).as_slice()].concat();
    writer.write_all(&opening).await.expect("written");
    let write = async { while writer.write_all(&flood).await.is_ok() {} };
    let mut sink = tokio::io::sink();
    let (copied, ()) = tokio::join!(tokio::io::copy(&mut reader, &mut sink), write);
    drop(copied);
}

#[tokio::test]
async fn an_idle_connection_ends_and_so_does_one_that_never_speaks() {
    let served = Served::new(9, timeouts(SHORT, LONG));
    let client = served.client(&ClientBuilder::new()).await;
    assert_eq!(client.get("/").await.1, "served");
    client.ended.cancelled().await;
    let mut silent = served.connection();
    let mut read = Vec::new();
    silent.read_to_end(&mut read).await.expect("it ends");
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_answer_loses_its_connection() {
    let served = Served::new(9, timeouts(LONG, SHORT));
    let client = served.client(ClientBuilder::new().initial_window_size(0)).await;
    let (answer, _) = client.begin("/large").await;
    let answer = answer.await.expect("its head needs no window");
    assert_eq!(answer.status(), StatusCode::OK);
    client.ended.cancelled().await;
    drop(answer);
}

#[tokio::test]
async fn a_stop_lets_a_stream_that_runs_finish_and_waits_for_no_other() {
    let served = Served::new(9, timeouts(LONG, LONG));
    let idle = served.client(&ClientBuilder::new()).await;
    let client = served.client(&ClientBuilder::new()).await;
    let stalled = served.client(ClientBuilder::new().initial_window_size(0)).await;
    let (answer, _) = client.begin("/wait").await;
    served.begun.notified().await;
    let (untaken, _) = stalled.begin("/large").await;
    let untaken = untaken.await.expect("its head needs no window");
    served.stop.cancel();
    idle.ended.cancelled().await;
    served.go_on.notify_one();
    assert_eq!(read(answer).await.1, "finished");
    client.ended.cancelled().await;
    stalled.ended.cancelled().await;
    drop(untaken);
    drop((client.requests, idle.requests, stalled.requests));
    served.tasks.finish().await;
}
