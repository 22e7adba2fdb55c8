//! The accept loop of HTTP, with what `axum::serve` does not have: a bound on connections, a time
//! for headers to arrive, and an end that lets requests finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::tasks::Tasks;
use crate::api::request::Peer;

/// How long requests may take after the server was told to stop.
const DRAIN: Duration = Duration::from_secs(30);
const STUMBLE: Duration = Duration::from_millis(100);

/// The bounds of a listener.
#[derive(Debug)]
pub struct Bounds {
    /// Places for connections; further ones wait in the kernel's queue.
    pub connections: Arc<Semaphore>,
    /// Seconds for a request's headers to arrive, and for an idle connection; for connections that
    /// begin now.
    pub header_seconds: Arc<AtomicU64>,
}

/// Serves HTTP/1.1 until `stop`, then lets running requests finish.
pub async fn http(listener: TcpListener, router: Router, bounds: Bounds, stop: CancellationToken) {
    let Bounds { connections: places, header_seconds } = bounds;
    let connections = Tasks::default();
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place.expect("never closed"),
            () = stop.cancelled() => break,
        };
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Most often: no file descriptors left. They come back when connections end.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(STUMBLE).await;
                continue;
            }
        };
        let headers = Duration::from_secs(header_seconds.load(Ordering::Relaxed));
        let connection = serve(stream, peer, router.clone(), headers, stop.clone());
        connections.start("http connection", async move {
            connection.await;
            drop(place);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN, connections.finish()).await.is_err() {
        tracing::warn!("some requests were still running 30 s after the stop; they are cut off");
    }
}

async fn serve(
    stream: TcpStream,
    peer: SocketAddr,
    router: Router,
    headers: Duration,
    stop: CancellationToken,
) {
    let _best_effort = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        router.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // A client may close its half when it has sent all; it still gets its answer.
        .half_close(true)
        .header_read_timeout(headers)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
