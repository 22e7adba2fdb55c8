//! Is it alive, is it ready, and what does it count.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Api;
use super::problem::Problem;
use super::shapes::{Health, HealthInDetail};
use crate::journey::accept::refusal::{Outage, Refusal};

/// For how long an answer of the store counts.
const READY_CACHE_TIME: Duration = Duration::from_secs(1);
const PROBE_TIME: Duration = Duration::from_secs(5);

/// The process answers.
#[utoipa::path(get, path = "/healthz", tag = "health",
    responses((status = 200, description = "The process answers", body = Health)))]
pub async fn alive() -> Json<Health> {
    Json(Health { status: "ok" })
}

/// The store can be written and the plugins are loaded: sends can be accepted.
#[utoipa::path(get, path = "/readyz", tag = "health",
    responses(
        (status = 200, description = "Sends can be accepted", body = Health),
        (status = 503, description = "Sends cannot be accepted now",
         body = super::shapes::Problem, content_type = "application/problem+json"),
    ))]
pub async fn ready(State(api): State<Api>) -> Result<Json<Health>, Problem> {
    api.readiness.check(&api).await?;
    Ok(alive().await)
}

/// The same, and what the plugins do: for whoever watches the server.
pub async fn ready_in_detail(State(api): State<Api>) -> Result<Json<HealthInDetail>, Problem> {
    api.readiness.check(&api).await?;
    let slots = api.plugins.statuses().slots();
    let plugins = slots.iter().map(|(slot, view)| view.brief(slot)).collect();
    Ok(Json(HealthInDetail { status: "ok", plugins }))
}

/// Whether the store could be written when somebody last asked. It is written at most once a second,
/// however many ask: everybody may.
#[derive(Debug, Default)]
pub struct Readiness {
    last: Mutex<Option<(Instant, Ready)>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ready {
    Yes,
    No,
}

impl Readiness {
    async fn check(&self, api: &Api) -> Result<(), Problem> {
        match self.of(|| is_writable(api)).await {
            Ready::Yes => Ok(()),
            Ready::No => {
                let message = "the store cannot be written; the log says why";
                Err(Refusal::unavailable(Outage::Store, message).into())
            }
        }
    }

    /// Who asks while the store is being written waits for that answer.
    async fn of<F: Future<Output = Ready>>(&self, probe: impl FnOnce() -> F) -> Ready {
        let mut last = self.last.lock().await;
        if let Some((at, ready)) = *last
            && at.elapsed() < READY_CACHE_TIME
        {
            return ready;
        }
        let ready = probe().await;
        *last = Some((Instant::now(), ready));
        ready
    }
}

async fn is_writable(api: &Api) -> Ready {
    match tokio::time::timeout(PROBE_TIME, api.store.probe(api.clock.now())).await {
        Ok(Ok(())) => Ready::Yes,
        Ok(Err(error)) => {
            tracing::error!(%error, "not ready: the store cannot be written");
            Ready::No
        }
        Err(_) => {
            let seconds = PROBE_TIME.as_secs();
            tracing::error!(seconds, "not ready: the store was not written in time");
            Ready::No
        }
    }
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
    ([(header::CONTENT_TYPE, format)], api.metrics.render()).into_response()
}

/// Sets the gauges of the store. What cannot be read is not a number, rather than what it last was.
async fn measure_store(api: &Api) {
    let gauges = api.store.gauges(api.clock.now()).await;
    if let Err(error) = &gauges {
        tracing::warn!(%error, "the store's metrics cannot be read");
    }
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    let float = |number: i64| number as f64;
    let [oldest, waiting, bytes, free] = gauges.map_or([f64::NAN; 4], |it| {
        let oldest = it.oldest_due.as_secs_f64();
        [oldest, float(it.waiting), float(it.bytes), float(it.free_bytes)]
    });
    metrics::gauge!("waxwing_queue_oldest_due_seconds").set(oldest);
    metrics::gauge!("waxwing_queue_length").set(waiting);
    metrics::gauge!("waxwing_database_bytes").set(bytes);
    metrics::gauge!("waxwing_database_free_bytes").set(free);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn the_store_is_asked_at_most_once_a_second() {
        let (readiness, asked) = (Readiness::default(), AtomicU32::new(0));
        let ask = || {
            readiness.of(|| async {
                asked.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                Ready::Yes
            })
        };
        assert_eq!(join_all((0..100).map(|_| ask())).await, [Ready::Yes; 100]);
        assert_eq!(asked.load(Ordering::Relaxed), 1);
        *readiness.last.lock().await =
            Instant::now().checked_sub(READY_CACHE_TIME).map(|it| (it, Ready::Yes));
        assert_eq!(ask().await, Ready::Yes);
        assert_eq!(asked.load(Ordering::Relaxed), 2);
    }
}
