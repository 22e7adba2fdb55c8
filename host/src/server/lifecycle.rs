//! Signals: SIGINT (Ctrl-C), SIGTERM or a panic in a part of the server starts a graceful shutdown (drain); a second
//! signal stops at once. SIGHUP reloads the configuration.

use std::fmt;
use std::io;

use super::{RunningServer, service_manager};
use crate::config::Config;

/// Runs until the first stop signal or panic, then drains; another stop signal ends the drain at once.
/// On SIGHUP it takes over from `configuration` what a running server can.
///
/// # Errors
/// Signal handlers cannot be installed, or a part of the server has ended: it panicked, or must not go on.
pub async fn run<E: fmt::Display>(
    running: RunningServer,
    configuration: impl Fn() -> Result<Config, E>,
) -> io::Result<()> {
    let broken = running.broken();
    service_manager::ready();
    tokio::select! {
        stop = stop_signal() => stop?,
        // A server that lost a part still looks alive, so it exits and lets its supervisor restart it.
        () = broken.cancelled() => {}
        never = reload(&running, configuration) => never?,
    }
    service_manager::stopping();
    tokio::select! {
        () = running.drain() => {
            let ended = "the server stopped because a part of it ended; the log says why; start it again";
            if broken.is_cancelled() { Err(io::Error::other(ended)) } else { Ok(()) }
        }
        second = stop_signal() => {
            tracing::warn!("second stop signal received: stopping without draining; accepted messages are on disk");
            second
        }
    }
}

/// Reloads the configuration on each SIGHUP. A faulty configuration is logged and changes nothing.
#[cfg(unix)]
async fn reload<E: fmt::Display>(
    running: &RunningServer,
    configuration: impl Fn() -> Result<Config, E>,
) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    while hangup.recv().await.is_some() {
        service_manager::reloading();
        match configuration() {
            Ok(config) => running.reloader.apply(&config),
            Err(error) => {
                tracing::error!(%error, "the configuration was not reloaded because it has faults; all settings stay as they were");
            }
        }
        service_manager::ready();
    }
    std::future::pending().await
}

#[cfg(not(unix))]
async fn reload<E: fmt::Display>(
    _running: &RunningServer,
    _configuration: impl Fn() -> Result<Config, E>,
) -> io::Result<()> {
    std::future::pending().await
}

#[cfg(unix)]
async fn stop_signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn stop_signal() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
