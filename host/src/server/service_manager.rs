//! What the service manager is told by `sd_notify`: that the server listens, reloads, stops, and still works. Without a
//! service manager (`NOTIFY_SOCKET`) nothing is told.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// The server listens, or has reloaded its configuration.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The server reads its configuration anew; [`ready`] follows.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "the service manager is not told of the reload"),
    }
}

/// The server drains.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Tells twice within the watchdog's time that the server works. A runtime whose threads are all blocked does not come to
/// it, and the service manager starts the server again.
pub async fn watchdog(stop: CancellationToken) {
    let Some(time) = sd_notify::watchdog_enabled() else { return };
    let mut ticks = tokio::time::interval((time / 2).max(Duration::from_millis(1)));
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "the service manager cannot be told of the server's state, and may stop it");
    }
}
