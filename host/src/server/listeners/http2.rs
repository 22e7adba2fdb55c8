//! A connection of HTTP/2: one client, many requests at one time. A request that runs beside others counts as a
//! connection of its client, so the bounds on connections are bounds on requests, whichever version of HTTP they come by.
//!
//! hyper and h2 bound the frames: CONTINUATION without an end, empty and tiny DATA, resets before a request was looked at.
//! What they leave to the server is here: an idle connection ends, a client that takes nothing of its answers loses its
//! connection, and so does a client that cancels its requests again and again (CVE-2023-44487).

mod answer;
mod streams;

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use http::header::HOST;
use http::{HeaderValue, Request};
use hyper::body::Incoming;
use hyper::rt::Executor;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::timeouts::{HttpTimeouts, IDLE_DRAIN, REQUEST_DRAIN};
use crate::api::client_address::Peer;
use crate::api::request_context::ConnectionRefused;
use crate::server::connection_limits::ConnectionSlots;
use crate::server::tasks::Tasks;
use answer::Answer;
use streams::{Outlook, Streams};

/// Requests of one connection at one time. RFC 9113 (section 6.5.2) advises against fewer than 100.
const MAX_STREAMS: u32 = 100;
/// The headers of a request, each with 32 octets beyond its own (RFC 9113, section 6.5.2); as large as over HTTP/1.1.
const MAX_HEADER_BYTES: u32 = 64 << 10;
/// What a client may send of a body before the server has read of it.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// The same for all bodies of a connection: the memory of what has arrived and is not read.
const CONNECTION_WINDOW_BYTES: u32 = 256 << 10;
/// What is buffered of an answer for which the client has room.
const SEND_BUFFER_BYTES: usize = 16 << 10;
/// Requests at one time that were canceled before the server has looked at them.
const MAX_EARLY_RESETS: usize = 20;
/// Streams that the server had to reset for an error of the client, in the life of a connection.
const MAX_STREAM_ERRORS: usize = 1_024;
/// The longest pause between two looks at a connection. Where a time-out is short, the pause is a quarter of that.
const MAX_LOOK_PAUSE: Duration = Duration::from_secs(1);
const MIN_LOOK_PAUSE: Duration = Duration::from_millis(10);

/// What serves the requests of a connection, and what bounds them.
#[derive(Debug)]
pub struct Site {
    pub router: Router,
    /// What is served to a request that has no place: probes, and to all else a refusal.
    pub overflow: Router,
    pub slots: Arc<ConnectionSlots>,
    /// Each request runs as a task of its own among these.
    pub tasks: Tasks,
}

/// Serves a connection until it ends. After `stop` its client is told to open no further streams (GOAWAY), and requests
/// that run are finished; a client that does not take its answers is not waited for.
pub async fn serve<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    peer: Peer,
    site: Site,
    timeouts: HttpTimeouts,
    stop: CancellationToken,
) {
    let Site { router, overflow, slots, tasks } = site;
    let builder = builder(&slots, tasks);
    let streams = Streams::new();
    let begun = Arc::clone(&streams);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        name_host(&mut request);
        request.extensions_mut().insert(peer);
        let stream = begun.begin(|| slots.take(peer.0.ip()));
        let router = match stream.no_slot() {
            None => router.clone(),
            Some(no_slot) => {
                request.extensions_mut().insert(ConnectionRefused::from(no_slot));
                overflow.clone()
            }
        };
        async move {
            let answer = router.oneshot(request).await;
            answer.map(|answer| answer.map(|body| Answer::new(body, stream)))
        }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let look_pause = timeouts.headers.min(timeouts.write) / 4;
    let look_pause = look_pause.clamp(MIN_LOOK_PAUSE, MAX_LOOK_PAUSE);
    let mut leaving: Option<Instant> = None;
    let ended = loop {
        let must_leave = tokio::select! {
            ended = connection.as_mut() => break ended,
            () = stop.cancelled(), if leaving.is_none() => true,
            () = tokio::time::sleep(look_pause) => {
                let now = Instant::now();
                match (leaving, streams.outlook(now, timeouts)) {
                    (Some(since), outlook) => {
                        let left = now.duration_since(since);
                        let is_waited_for = streams.is_waited_for(now, IDLE_DRAIN);
                        if outlook == Outlook::Stalled
                            || left > REQUEST_DRAIN
                            || (left > IDLE_DRAIN && !is_waited_for)
                        {
                            return;
                        }
                        false
                    }
                    (None, Outlook::Stalled) => {
                        count_closed("answer_not_taken");
                        tracing::debug!("HTTP/2 connection closed: the client did not read the response in time");
                        return;
                    }
                    (None, Outlook::Canceling) => {
                        count_closed("requests_canceled");
                        tracing::debug!("HTTP/2 connection closed after its running requests: the client canceled too many requests");
                        true
                    }
                    (None, Outlook::Idle) => true,
                    (None, Outlook::Running) => false,
                }
            }
        };
        if must_leave {
            connection.as_mut().graceful_shutdown();
            leaving = Some(Instant::now());
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}

fn builder(slots: &ConnectionSlots, tasks: Tasks) -> Builder<StreamTasks> {
    // A client with one connection is never refused for the number of its requests: the client waits by itself.
    let of_address = u32::try_from(slots.max_connections_of_address()).unwrap_or(u32::MAX);
    let mut builder = Builder::new(StreamTasks(tasks));
    builder
        .max_concurrent_streams(of_address.min(MAX_STREAMS))
        .max_header_list_size(MAX_HEADER_BYTES)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .max_pending_accept_reset_streams(MAX_EARLY_RESETS)
        .max_local_error_reset_streams(MAX_STREAM_ERRORS);
    builder
}

/// Routes read the host in `Host`, and HTTP/2 has it in `:authority`. A request that names two has two lines, and is refused
/// for them as one of HTTP/1.1 is.
fn name_host(request: &mut Request<Body>) {
    let authority = request.uri().authority();
    let Some(host) = authority.and_then(|it| HeaderValue::from_str(it.as_str()).ok()) else {
        return;
    };
    let headers = request.headers_mut();
    if !headers.get_all(HOST).iter().any(|it| *it == host) {
        headers.append(HOST, host);
    }
}

fn count_closed(reason: &'static str) {
    metrics::counter!("waxwing_http2_connections_closed_total", "reason" => reason).increment(1);
}

/// Runs the requests of a connection among the tasks of its listener.
#[derive(Debug, Clone)]
struct StreamTasks(Tasks);

impl<F: Future<Output = ()> + Send + 'static> Executor<F> for StreamTasks {
    fn execute(&self, stream: F) {
        self.0.start("http request", stream);
    }
}

#[cfg(test)]
mod tests;
