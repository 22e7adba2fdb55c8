//! What surrounds every route: a request's identifier and address, the one shape of refusals, its line in the log, a count.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use http::{Extensions, HeaderMap, HeaderValue, StatusCode, Version, header};

use super::client_address::TrustedProxies;
use super::request_context::RefusalCode;
use super::{header_checks, problem, request_context};
use crate::clock::Clock;
use crate::id::RequestId;

/// What surrounds every route: a request gets its client's address and its identifier; an answer gets the same in
/// `X-Request-Id`, each refusal and each panic is a problem. One function, because each layer of a router is one
/// more box around all routes, cloned for each request.
pub async fn surround(
    State(proxies): State<Arc<TrustedProxies>>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = RequestId::new(Clock::system().now());
    let start = Instant::now();
    proxies.note(&mut request);
    let (method, protocol) = (request.method().clone(), request.version());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "unknown".to_owned(), |path| path.as_str().to_owned());
    let peer = request_context::ip(request.extensions()).to_canonical();
    let answer = AssertUnwindSafe(header_checks::well_formed(request, next)).catch_unwind();
    // Within the request: a problem names it.
    let answer = answer.map(|it| problem::as_problem(it.unwrap_or_else(problem::panicked)));
    let (answer, of) = request_context::within(id, answer).await;
    let mut response = keep_private(answer);
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
    let refusal = response.extensions().get::<RefusalCode>();
    // fail2ban reads this line: `peer` first, `status` behind it (OPERATING.md has the filter).
    tracing::info!(
        %peer,
        request = %id,
        %method,
        ?protocol,
        route,
        status,
        micros,
        key = of.map(|(key, _)| display(key)),
        account = of.map(|(_, account)| display(account)),
        refusal = refusal.map(|it| display(it.0)),
        "request"
    );
    response
}

/// Responses are private to the caller and are what their media type says, unless the route has set these headers itself.
fn keep_private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let nosniff = HeaderValue::from_static("nosniff");
    headers.entry(header::X_CONTENT_TYPE_OPTIONS).or_insert(nosniff);
    response
}

/// Whether an answer is JSON: what is worth compressing.
pub fn is_json(_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|it| it.starts_with("application/json"))
}
