//! The accept loop of HTTP, with what `axum::serve` does not have: bounds on connections, time-outs for
//! reading and for writing, probes that always get in, and an end that lets requests finish.

mod overflow;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::accept::Acceptor;
use super::connection_limits::{Crowded, Place, Places};
use super::tasks::Tasks;
use crate::api::client::Peer;
use crate::api::request::ConnectionRefused;
use overflow::Overflow;

/// How long requests may take after the server was told to stop.
const DRAIN: Duration = Duration::from_secs(30);
/// The same for a client that has not sent its request, or does not take its answer.
const FAREWELL: Duration = Duration::from_secs(3);

/// A port for HTTP.
#[derive(Debug)]
pub struct Port {
    pub listener: TcpListener,
    /// What is served to a connection that has a place.
    pub router: Router,
    /// What is served to one that has none: probes, and to all else a refusal.
    pub overflow: Router,
    pub places: Arc<Places>,
    /// For connections that begin now.
    pub patience: Arc<ArcSwap<Patience>>,
}

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a request's headers to arrive, and for an idle connection.
    pub headers: Duration,
    /// For the next part of an answer to be taken.
    pub write: Duration,
}

/// Serves HTTP/1.1 until `stop`, then lets running requests finish.
pub async fn http(port: Port, stop: CancellationToken) {
    let Port { listener, router, overflow: refusals, places, patience } = port;
    let (connections, overflow) = (Tasks::default(), Overflow::default());
    let mut acceptor = Acceptor::new(listener, "HTTP");
    loop {
        let (stream, peer) = tokio::select! {
            accepted = acceptor.next() => accepted,
            () = stop.cancelled() => break,
        };
        let patience = **patience.load();
        match places.take(peer.ip()) {
            Ok(place) => {
                let served = serve(stream, Peer(peer), router.clone(), patience, stop.clone());
                connections.start("http connection", hold(place, served));
            }
            Err(crowded) => {
                let connection = overflow.enter(places.bound_of_all());
                let patience = Patience { headers: patience.headers.min(FAREWELL), ..patience };
                let served = answer_once(stream, (peer, crowded), refusals.clone(), patience);
                connections.start("http overflow", async move { connection.run(served).await });
            }
        }
    }
    drop(acceptor);
    if tokio::time::timeout(DRAIN, connections.finish()).await.is_err() {
        tracing::warn!("some requests were still running 30 s after the stop; they are cut off");
    }
}

async fn hold(place: Place, connection: impl Future<Output = ()>) {
    connection.await;
    drop(place);
}

/// Serves a connection until it ends. After `stop` a request that runs is finished; a client that is
/// still sending the head of a request, or that does not take its answer, is not waited for.
async fn serve(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    patience: Patience,
    stop: CancellationToken,
) {
    let running = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&running);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        let (router, running) = (router.clone(), Running::begin(&counted));
        async move {
            let answer = router.oneshot(request).await;
            drop(running);
            answer
        }
    });
    let mut connection =
        pin!(builder(patience).serve_connection(TokioIo::new(timed(stream, patience)), service));
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            loop {
                tokio::select! {
                    ended = connection.as_mut() => break ended,
                    () = tokio::time::sleep(FAREWELL) => {
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
async fn answer_once(
    stream: TcpStream,
    (peer, crowded): (SocketAddr, Crowded),
    router: Router,
    patience: Patience,
) {
    let turned = match crowded {
        Crowded::Everywhere => ConnectionRefused::ServerIsFull,
        Crowded::Address => ConnectionRefused::AddressIsFull,
    };
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        request.extensions_mut().insert(turned);
        router.clone().oneshot(request)
    });
    let connection = builder(patience)
        .keep_alive(false)
        .serve_connection(TokioIo::new(timed(stream, patience)), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection without a place ended early");
    }
}

fn builder(patience: Patience) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // A client may close its half when it has sent all; it still gets its answer.
        .half_close(true)
        .header_read_timeout(patience.headers)
        .max_buf_size(64 << 10);
    builder
}

/// A client that reads nothing of its answer would hold its connection without an end: hyper has no
/// time-out for writing.
fn timed(stream: TcpStream, patience: Patience) -> std::pin::Pin<Box<TimeoutStream<TcpStream>>> {
    let _best_effort = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience.write));
    Box::pin(stream)
}

/// A request that runs; over when this is dropped.
struct Running(Arc<AtomicUsize>);

impl Running {
    fn begin(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
