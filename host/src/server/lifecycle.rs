//! When to stop: Ctrl-C, SIGTERM, or a part of the server that has panicked. The first one drains,
//! a second signal does not wait for anything.

use std::io;

use super::Running;

/// Runs until the first signal or the first broken part, drains, and stops at once at another signal.
///
/// # Errors
/// The operating system does not give signals, or a part of the server has panicked.
pub async fn run(running: Running) -> io::Result<()> {
    let broken = running.broken();
    tokio::select! {
        stop = stop_signal() => stop?,
        // Half a server looks alive and is not; whoever supervises this one starts a whole one.
        () = broken.cancelled() => {}
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

#[cfg(unix)]
async fn stop_signal() -> io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    // A hang-up asks for a reload; where there is nothing to reload it must not end the server.
    let _reload = signal(SignalKind::hangup())?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted,
        _ = terminate.recv() => Ok(()),
    }
}

#[cfg(not(unix))]
async fn stop_signal() -> io::Result<()> {
    tokio::signal::ctrl_c().await
}
