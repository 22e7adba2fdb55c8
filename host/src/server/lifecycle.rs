//! When to stop: Ctrl-C, SIGTERM, or a part of the server that has panicked. The first one drains,
//! a second signal does not wait for anything. A hang-up reads the configuration again.

use std::fmt;
use std::io;

use super::RunningServer;
use crate::config::Config;

/// Runs until the first signal or the first broken part, drains, and stops at once at another signal.
/// At a hang-up the limits and routes of what `configuration` answers replace those in use.
///
/// # Errors
/// The operating system does not give signals, or a part of the server has panicked.
pub async fn run<E: fmt::Display>(
    running: RunningServer,
    configuration: impl Fn() -> Result<Config, E>,
) -> io::Result<()> {
    let broken = running.broken();
    tokio::select! {
        stop = stop_signal() => stop?,
        // Half a server looks alive and is not; whoever supervises this one starts a whole one.
        () = broken.cancelled() => {}
        never = reload(&running, configuration) => never?,
    }
    tokio::select! {
        () = running.drain() => {
            let panicked = "a part of the server has panicked, see its log; start it again";
            if broken.is_cancelled() { Err(io::Error::other(panicked)) } else { Ok(()) }
        }
        second = stop_signal() => {
            tracing::warn!("a second signal: stopping at once; what was accepted is on disk");
            second
        }
    }
}

/// Takes limits and routes at each hang-up; faults in them are logged, and the old ones stay.
#[cfg(unix)]
async fn reload<E: fmt::Display>(
    running: &RunningServer,
    configuration: impl Fn() -> Result<Config, E>,
) -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut hangup = signal(SignalKind::hangup())?;
    while hangup.recv().await.is_some() {
        match configuration() {
            Ok(config) => running.reloader.apply(&config),
            Err(error) => {
                tracing::error!(%error, "the configuration was not reloaded because it has faults; limits, routes and all other settings stay as they were");
            }
        }
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
