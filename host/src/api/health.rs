//! Is it alive, is it ready, and what does it count.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use serde_json::json;

use super::Api;
use super::problem::Problem;

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "health",
    responses((status = 200, description = "The process answers", body = super::shapes::Health)))]
pub async fn alive() -> Response {
    axum::Json(json!({"status": "ok"})).into_response()
}

/// The store can be written and the plugins are loaded: sends can be accepted.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses(
        (status = 200, description = "Sends can be accepted", body = super::shapes::Health),
        (status = 503, description = "Sends cannot be accepted now",
         body = super::shapes::Problem, content_type = "application/problem+json"),
    ))]
pub async fn ready(State(api): State<Api>) -> Response {
    if let Err(error) = api.store.probe(api.clock.now()).await {
        tracing::error!(%error, "not ready");
        let message = "the store cannot be written; the log says why";
        return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
            .into_response();
    }
    let plugins: Vec<_> =
        api.plugins.board().slots().iter().map(|(slot, view)| view.brief(slot)).collect();
    axum::Json(json!({"status": "ok", "plugins": plugins})).into_response()
}

/// Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "Prometheus text format", body = String,
               content_type = "text/plain")))]
pub async fn metrics(State(api): State<Api>) -> Response {
    if let Ok(waiting) = api.store.queue_length().await {
        #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
        metrics::gauge!("waxwing_queue_length").set(waiting as f64);
    }
    let format = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], api.metrics.render()).into_response()
}
