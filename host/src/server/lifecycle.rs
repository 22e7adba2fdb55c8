//! When to stop: Ctrl-C or SIGTERM; a second one does not wait for anything.

use std::io;

/// Waits for the first signal to stop.
///
/// # Errors
/// The operating system does not give signals.
#[cfg(unix)]
pub async fn stop_signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

/// Waits for Ctrl-C.
///
/// # Errors
/// The operating system does not give signals.
#[cfg(not(unix))]
pub async fn stop_signal() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
