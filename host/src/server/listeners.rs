//! The accept loop of HTTP, with and without TLS, and with what `axum::serve` does not have: bounds on connections,
//! time-outs for reading and for writing, probes that always get in, and an end that lets requests finish.

mod http2;
mod overflow;
mod timeouts;

use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::connection_limits::{ConnectionSlot, ConnectionSlots, NoSlot};
use super::tasks::Tasks;
use super::tcp_listener::Acceptor;
use crate::api::client_address::Peer;
use crate::api::request_context::ConnectionRefused;
use overflow::Overflow;
use timeouts::{IDLE_DRAIN, REQUEST_DRAIN};

pub use timeouts::HttpTimeouts;

/// The name of HTTP/2 in a TLS handshake (RFC 7301).
pub const HTTP_2: &[u8] = b"h2";
/// The name of HTTP/1.1 in a TLS handshake.
pub const HTTP_1: &[u8] = b"http/1.1";

/// A port for HTTP.
#[derive(Debug)]
pub struct Port {
    pub listener: TcpListener,
    /// What is served to a connection that has a place.
    pub router: Router,
    /// What is served to one that has none: probes, and to all else a refusal.
    pub overflow: Router,
    pub slots: Arc<ConnectionSlots>,
    /// For connections that begin now.
    pub timeouts: Arc<ArcSwap<HttpTimeouts>>,
    /// What shakes hands first, at a port with TLS.
    pub tls: Option<Arc<ServerConfig>>,
}

/// A connection whose client takes what is written in time.
type Timed = Pin<Box<TimeoutStream<TcpStream>>>;

/// The version of HTTP that a client and this server have agreed on in a TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Http1,
    Http2,
}

/// Serves HTTP/1.1, and HTTP/2 to clients that ask for it in a TLS handshake, until `stop`, then lets running requests
/// finish.
pub async fn http(port: Port, stop: CancellationToken) {
    let Port { listener, router, overflow: refusals, slots, timeouts, tls } = port;
    let one_answer_tls = tls.as_deref().map(|it| TlsAcceptor::from(Arc::new(without_http2(it))));
    let tls = tls.map(TlsAcceptor::from);
    let (connections, overflow) = (Tasks::default(), Overflow::default());
    let mut acceptor = Acceptor::new(listener, "HTTP");
    loop {
        let (stream, peer) = tokio::select! {
            accepted = acceptor.next() => accepted,
            () = stop.cancelled() => break,
        };
        let timeouts = **timeouts.load();
        match slots.take(peer.ip()) {
            Ok(slot) => {
                let (stream, peer) = (timed(stream, timeouts), Peer(peer));
                let (router, stop) = (router.clone(), stop.clone());
                if let Some(tls) = tls.clone() {
                    let (overflow, slots) = (refusals.clone(), Arc::clone(&slots));
                    let tasks = connections.clone();
                    let served = async move {
                        match shake_hands(&tls, stream, timeouts).await {
                            Some((stream, Version::Http1)) => {
                                serve(stream, peer, router, timeouts, stop).await;
                            }
                            Some((stream, Version::Http2)) => {
                                let site = http2::Site { router, overflow, slots, tasks };
                                http2::serve(stream, peer, site, timeouts, stop).await;
                            }
                            None => {}
                        }
                    };
                    connections.start("https connection", hold(slot, served));
                } else {
                    let served = serve(stream, peer, router, timeouts, stop);
                    connections.start("http connection", hold(slot, served));
                }
            }
            Err(no_slot) => {
                let connection = overflow.enter(slots.max_connections());
                let timeouts =
                    HttpTimeouts { headers: timeouts.headers.min(IDLE_DRAIN), ..timeouts };
                let (stream, refusals) = (timed(stream, timeouts), refusals.clone());
                if let Some(tls) = one_answer_tls.clone() {
                    let served = async move {
                        if let Some((stream, _)) = shake_hands(&tls, stream, timeouts).await {
                            answer_once(stream, (peer, no_slot), refusals, timeouts).await;
                        }
                    };
                    connections
                        .start("https overflow", async move { connection.run(served).await });
                } else {
                    let served = answer_once(stream, (peer, no_slot), refusals, timeouts);
                    connections.start("http overflow", async move { connection.run(served).await });
                }
            }
        }
    }
    drop(acceptor);
    if tokio::time::timeout(REQUEST_DRAIN, connections.finish()).await.is_err() {
        tracing::warn!(
            "some requests were still running 30 s after the shutdown began; their connections are closed"
        );
    }
}

async fn hold(slot: ConnectionSlot, connection: impl Future<Output = ()>) {
    connection.await;
    drop(slot);
}

/// For connections beyond the bounds, which get one answer: HTTP/1.1 says with it that they end.
fn without_http2(tls: &ServerConfig) -> ServerConfig {
    let mut tls = tls.clone();
    tls.alpn_protocols.retain(|it| it != HTTP_2);
    tls
}

/// None where the client does not come to an end, or wants what this server does not have.
async fn shake_hands(
    tls: &TlsAcceptor,
    stream: Timed,
    timeouts: HttpTimeouts,
) -> Option<(TlsStream<Timed>, Version)> {
    match tokio::time::timeout(timeouts.headers, tls.accept(stream)).await {
        Ok(Ok(stream)) => {
            let version = match stream.get_ref().1.alpn_protocol() {
                Some(HTTP_2) => Some(Version::Http2),
                Some(HTTP_1) | None => Some(Version::Http1),
                // A certificate authority that looks at a name has seen all that it wants.
                Some(_) => None,
            };
            version.map(|version| (stream, version))
        }
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake for HTTPS failed");
            None
        }
        Err(_) => {
            tracing::debug!("a TLS handshake for HTTPS did not end in time");
            None
        }
    }
}

/// Serves a connection of HTTP/1.1 until it ends. After `stop` a request that runs is finished; a client that is
/// still sending the head of a request, or that does not take its answer, is not waited for.
async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    peer: Peer,
    router: Router,
    timeouts: HttpTimeouts,
    stop: CancellationToken,
) {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let (router, running) = (router.clone(), RunningServer::begin(&counted));
        async move {
            let answer = router.oneshot(request).await;
            drop(running);
            answer
        }
    });
    let mut connection = pin!(builder(timeouts).serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            loop {
                tokio::select! {
                    ended = connection.as_mut() => break ended,
                    () = tokio::time::sleep(IDLE_DRAIN) => {
                        if running.load(Ordering::Relaxed) == 0 {
                            return;
                        }
                    }
                }
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

/// Answers one request of a connection that has no place.
async fn answer_once<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    (peer, no_slot): (SocketAddr, NoSlot),
    router: Router,
    timeouts: HttpTimeouts,
) {
    let refused = ConnectionRefused::from(no_slot);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(refused);
        router.clone().oneshot(request)
    });
    let connection =
        builder(timeouts).keep_alive(false).serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection beyond the limits ended early");
    }
}

fn builder(timeouts: HttpTimeouts) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // A client may close its half when it has sent all; it still gets its answer.
        .half_close(true)
        .header_read_timeout(timeouts.headers)
        .max_buf_size(64 << 10);
    builder
}

/// A client that reads nothing of its answer would hold its connection without an end: hyper has no
/// time-out for writing.
fn timed(stream: TcpStream, timeouts: HttpTimeouts) -> Timed {
    let _best_effort = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(timeouts.write));
    Box::pin(stream)
}

/// A request that runs; over when this is dropped.
struct RunningServer(Arc<AtomicUsize>);

impl RunningServer {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
