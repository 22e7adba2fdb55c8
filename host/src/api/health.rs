//! Is it alive, is it ready, is it well, and what does it count.

use std::fmt::Write as _;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;

use super::operator::Operator;
use super::problem::Problem;
use super::shapes::{Health, HealthInDetail, HealthReport, Maintenance, Ready};
use super::state::Api;

/// Series that are counted in microseconds, because counters are whole numbers, and shown in seconds, the base unit of
/// Prometheus.
const COUNTED_IN_MICROSECONDS: &str = "waxwing_plugin_cpu_seconds_total{";

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "health",
    responses((status = 200, description = "The process answers", body = Health)))]
pub async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// The store can be written and the plugins are loaded: sends can be accepted.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses(
        (status = 200, description = "Sends can be accepted, or the server is in read-only mode and says so",
         body = Ready),
        (status = 503, description = "Sends cannot be accepted now",
         body = super::shapes::Problem, content_type = "application/problem+json"),
    ))]
pub async fn ready(State(api): State<Api>) -> Result<Json<Ready>, Problem> {
    api.readiness.check(&api.store, api.clock.now()).await?;
    let known = api.journey.accept.facts.current_maintenance().await?;
    // In read-only mode the server answers, and says why it takes nothing.
    let maintenance = known.map(|it| Maintenance::new(Some(&it)));
    Ok(Json(Ready { status: "ok", maintenance }))
}

/// Whether sends can be accepted, and what the plugins do: for whoever watches the server.
pub async fn ready_in_detail(State(api): State<Api>) -> Result<Json<HealthInDetail>, Problem> {
    let Json(ready) = ready(State(api.clone())).await?;
    let slots = api.plugins.statuses().slots();
    let plugins = slots.iter().map(|(slot, view)| view.brief(slot)).collect();
    Ok(Json(HealthInDetail { ready, plugins }))
}

/// What the checks of the server's health found last, each with why it matters and what to do.
///
/// They are made every `health.every_minutes`; those that ask servers of others, as for block lists, once an hour.
#[utoipa::path(get, path = "/v1/health", operation_id = "show_health", tag = "health",
    security(("apiKey" = [])),
    responses((status = 200, description = "The findings", body = HealthReport),
              super::shapes::OperatorReadRefusals))]
pub async fn findings(_: Operator, State(api): State<Api>) -> Json<HealthReport> {
    Json(HealthReport::from(&*api.health.last().await))
}

/// Makes all checks of the server's health now, which takes up to half a minute.
///
/// Whoever asks while they are being made waits for the next run, together with all others.
#[utoipa::path(post, path = "/v1/health/check", operation_id = "check_health", tag = "health",
    security(("apiKey" = [])),
    responses((status = 200, description = "The findings", body = HealthReport),
              super::shapes::OperatorReadRefusals))]
pub async fn check(_: Operator, State(api): State<Api>) -> Json<HealthReport> {
    Json(HealthReport::from(&*api.health.check_now().await))
}

/// Prometheus text format.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses(
        (status = 200, description = "Prometheus text format", body = String,
         content_type = "text/plain"),
        (status = 404, description = "`NOT_FOUND`: this listener does not show metrics ([http] metrics_listen)",
         body = super::shapes::Problem, content_type = "application/problem+json")))]
pub async fn metrics(State(api): State<Api>) -> Response {
    measure_store(&api).await;
    let format = "text/plain; version=0.0.4; charset=utf-8";
    ([(header::CONTENT_TYPE, format)], in_seconds(&api.metrics.render())).into_response()
}

/// What `/metrics` shows, at the address of the API and wherever that listens: for an operator.
#[utoipa::path(get, path = "/v1/metrics", operation_id = "show_metrics", tag = "health",
    security(("apiKey" = [])),
    responses(
        (status = 200, description = "Prometheus text format", body = String,
         content_type = "text/plain"),
        super::shapes::OperatorReadRefusals))]
pub async fn show_metrics(_: Operator, api: State<Api>) -> Response {
    metrics(api).await
}

/// Sets the gauges of the store. What cannot be read is not a number, rather than what it last was.
async fn measure_store(api: &Api) {
    let gauges = api.store.gauges(api.clock.now()).await;
    if let Err(error) = &gauges {
        tracing::warn!(%error, "the store's metrics cannot be read");
    }
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    let float = |number: i64| number as f64;
    let [oldest, waiting] = gauges
        .as_ref()
        .map_or([f64::NAN; 2], |it| [it.oldest_due.as_secs_f64(), float(it.waiting)]);
    metrics::gauge!("waxwing_queue_oldest_due_seconds").set(oldest);
    metrics::gauge!("waxwing_queue_length").set(waiting);
    let maintenance = api.journey.accept.facts.current_maintenance().await.ok().flatten();
    let flag = |is_set: bool| if is_set { 1.0 } else { 0.0 };
    metrics::gauge!("waxwing_read_only").set(flag(maintenance.is_some()));
    metrics::gauge!("waxwing_delivery_paused").set(flag(api.admission.is_paused()));
    if api.store.has_file() {
        let file = gauges.ok().and_then(|it| it.file);
        let [bytes, free] =
            file.map_or([f64::NAN; 2], |it| [float(it.bytes), float(it.free_bytes)]);
        metrics::gauge!("waxwing_database_bytes").set(bytes);
        metrics::gauge!("waxwing_database_free_bytes").set(free);
    }
}

/// The text as Prometheus reads it, with each time in seconds.
fn in_seconds(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for line in text.lines() {
        let counted = line.rsplit_once(' ').filter(|_| line.starts_with(COUNTED_IN_MICROSECONDS));
        let counted =
            counted.and_then(|(series, value)| Some((series, value.parse::<u64>().ok()?)));
        let _infallible = match counted {
            Some((series, micros)) => {
                writeln!(shown, "{series} {}.{:06}", micros / 1_000_000, micros % 1_000_000)
            }
            None => writeln!(shown, "{line}"),
        };
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_that_is_counted_in_microseconds_is_shown_in_seconds() {
        let series =
            |value| format!("waxwing_plugin_cpu_seconds_total{{plugin=\"a b\"}} {value}\n");
        let others = "# HELP waxwing_plugin_cpu_seconds_total CPU time\n\nwaxwing_queue_length 7\n";
        let shown = in_seconds(&[others, &series("12034567"), &series("8")].concat());
        assert_eq!(shown, [others, &series("12.034567"), &series("0.000008")].concat());
    }
}
