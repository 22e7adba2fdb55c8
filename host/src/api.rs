//! HTTP with JSON: the first door. It parses, asks the journey, and maps the answer; it decides
//! nothing.

mod batch;
mod body;
mod health;
mod openapi;
pub mod problem;
pub mod request;
mod send;
mod shapes;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, map_response};
use axum::routing::{get, post};
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Semaphore;
use tower_http::catch_panic::CatchPanicLayer;

use crate::clock::Clock;
use crate::journey::Journey;
use crate::journey::accept::rate_limit::RateLimits;
use crate::plugin::Plugins;
use crate::store::Store;
use crate::store::facts::Facts;

/// All that the handlers need.
#[derive(Debug, Clone)]
pub struct Api {
    /// Where sends go.
    pub journey: Arc<Journey>,
    /// For authentication.
    pub facts: Arc<Facts>,
    /// For health.
    pub store: Store,
    /// For health.
    pub plugins: Arc<Plugins>,
    /// The buckets.
    pub rate_limits: Arc<RateLimits>,
    /// The time.
    pub clock: Clock,
    /// What a request may be.
    pub limits: RequestLimits,
    /// KiB of bodies that may be in memory at one time.
    pub body_memory: Arc<Semaphore>,
    /// Renders `/metrics`.
    pub metrics: PrometheusHandle,
}

/// What a request may be.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Time for a body to arrive.
    pub body_time: Duration,
}

/// The routes, each answer with its `X-Request-Id`, each refusal as a problem.
pub fn router(api: Api) -> Router {
    Router::new()
        .route("/messages/send", post(send::send))
        .route("/messages/send/batch", post(batch::send_batch))
        .route("/openapi.json", get(openapi::document))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .with_state(api)
}

/// What surrounds every route of this server: identifier, log line, panics as problems.
pub fn surround(router: Router) -> Router {
    router
        .method_not_allowed_fallback(problem::method_not_allowed)
        .fallback(problem::not_found)
        .layer(map_response(problem::in_one_shape))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(from_fn(request::identify))
}
