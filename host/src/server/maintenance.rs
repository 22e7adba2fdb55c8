//! Watches read-only mode, which another process may switch: requests look by themselves, the worker does not.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::delivery::shaping::admission::AdmissionControl;
use crate::store::Maintenance;
use crate::store::facts::Facts;

const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Has the worker hold deliveries or go on, and logs what has changed, until `stop`.
pub async fn watch(
    facts: Arc<Facts>,
    admission: Arc<AdmissionControl>,
    wake: Arc<Notify>,
    stop: CancellationToken,
) {
    let mut known = None;
    loop {
        match facts.current_maintenance().await {
            Ok(now) => {
                // Not `now`: an operator may have switched the mode since it was read.
                let is_held = facts.maintenance().is_some_and(|it| it.holds_delivery());
                admission.is_paused.store(is_held, Ordering::Relaxed);
                if now != known {
                    log(now.as_deref());
                    known = now;
                    wake.notify_one();
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot read whether the server is in read-only mode; it stays as it was");
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

fn log(now: Option<&Maintenance>) {
    if let Some(now) = now {
        tracing::warn!(
            reason = now.reason,
            since = %now.since,
            holds_delivery = now.holds_delivery(),
            "read-only mode is on: messages and changes are refused with 503 (SMTP 451) until `waxwing maintenance off`"
        );
    } else {
        tracing::info!("read-only mode is off: messages and changes are accepted again");
    }
}
