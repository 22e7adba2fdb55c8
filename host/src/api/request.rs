//! What every request gets: an identifier, its peer, a line in the log, a count.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::middleware::Next;
use axum::response::Response;
use http::HeaderValue;

use crate::clock::Clock;
use crate::id::RequestId;

/// The other end of the connection; the listener puts it there.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

tokio::task_local! {
    static CURRENT: RequestId;
}

/// The identifier of the request that this task answers.
#[must_use]
pub fn current() -> RequestId {
    CURRENT.try_with(|id| *id).unwrap_or_else(|_| RequestId::new(Clock::system().now()))
}

/// The address that a request came from.
#[must_use]
pub fn ip(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<Peer>();
    peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip())
}

/// Gives a request its identifier, and its answer the same in `X-Request-Id`.
pub async fn identify(request: Request, next: Next) -> Response {
    let id = RequestId::new(Clock::system().now());
    let start = Instant::now();
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unknown".to_owned(), |path| path.as_str().to_owned());
    let mut response = CURRENT.scope(id, next.run(request)).await;
    if let Ok(value) = HeaderValue::from_str(&id.to_string()) {
        response.headers_mut().insert("x-request-id", value);
    }
    let status = response.status().as_u16();
    let took = start.elapsed();
    metrics::counter!(
        "waxwing_http_requests_total", "route" => route.clone(), "status" => status.to_string()
    )
    .increment(1);
    metrics::histogram!("waxwing_http_seconds", "route" => route.clone()).record(took);
    let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    tracing::info!(request = %id, %method, route, status, micros, "request");
    response
}
