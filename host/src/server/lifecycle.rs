//! When to stop: Ctrl-C or SIGTERM. The first one drains, a second one does not wait for anything.

use std::io;

use super::Running;

/// Runs until the first signal, drains, and stops at once at a second one.
///
/// # Errors
/// The operating system does not give signals.
pub async fn run(running: Running) -> io::Result<()> {
    stop_signal().await?;
    tokio::select! {
        () = running.drain() => Ok(()),
        second = stop_signal() => {
            tracing::warn!("a second signal: stopping at once; what was accepted is on disk");
            second
        }
    }
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
