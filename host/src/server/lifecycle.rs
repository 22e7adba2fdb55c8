//! Signals: SIGINT (Ctrl-C), SIGTERM or a panic in a part of the server starts a graceful shutdown (drain); a second
//! signal stops at once. SIGHUP reloads the configuration.

use std::convert::Infallible;
use std::fmt;
use std::io;

use super::hangups::Hangups;
use super::{RunningServer, service_manager};
use crate::config::Config;
use crate::management::acts::Act;
use crate::store::ActorId;

/// The signals that stop the server: SIGINT and SIGTERM; and a command, SIGHUP too. One that comes before somebody listens
/// ends the process at once.
#[derive(Debug)]
pub struct StopSignals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    /// None where it does not stop the process.
    #[cfg(unix)]
    hangup: Option<tokio::signal::unix::Signal>,
}

impl StopSignals {
    /// Catches SIGINT and SIGTERM from now on. Call this before anybody is told that the server listens: who was told may
    /// stop the server at once, and that stop drains like every other.
    ///
    /// # Errors
    /// A signal handler cannot be installed.
    #[cfg(unix)]
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)?, hangup: None })
    }

    /// Catches SIGINT, SIGTERM and SIGHUP from now on, for a command. SIGHUP is sent when the terminal of the command closes;
    /// where `nohup` has started the command, SIGHUP stays ignored.
    ///
    /// # Errors
    /// A signal handler cannot be installed.
    #[cfg(unix)]
    pub fn listen_as_command() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = if ignores_hangups() { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Self { hangup, ..Self::listen()? })
    }

    /// There are no signals on this system: [`StopSignals::next`] waits for Ctrl-C.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn listen() -> io::Result<Self> {
        Ok(Self {})
    }

    /// As [`StopSignals::listen`].
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn listen_as_command() -> io::Result<Self> {
        Self::listen()
    }

    /// Waits for the next one.
    ///
    /// # Errors
    /// Signals cannot be received.
    #[cfg(unix)]
    pub async fn next(&mut self) -> io::Result<()> {
        tokio::select! {
            _ = self.interrupt.recv() => Ok(()),
            _ = self.terminate.recv() => Ok(()),
            () = hung_up(self.hangup.as_mut()) => Ok(()),
        }
    }

    /// Waits for Ctrl-C.
    ///
    /// # Errors
    /// Signals cannot be received.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> io::Result<()> {
        tokio::signal::ctrl_c().await
    }
}

#[cfg(unix)]
async fn hung_up(hangup: Option<&mut tokio::signal::unix::Signal>) {
    match hangup {
        Some(hangup) => drop(hangup.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether this process was started with SIGHUP ignored, as `nohup` does it: a handler would undo that.
#[cfg(unix)]
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|it| it.strip_prefix("SigIgn:"));
    // A mask of bits in hexadecimal digits; SIGHUP is the first one.
    let mask = ignored.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
    mask.is_some_and(|it| it & 1 == 1)
}

/// Runs until the first of `stops` or a panic, then drains; another stop signal ends the drain at once.
/// On each of `hangups` it takes over from `configuration` what a running server can.
///
/// # Errors
/// Signals cannot be received, or a part of the server has ended: it panicked, or must not go on.
pub async fn run<E: fmt::Display>(
    running: RunningServer,
    mut stops: StopSignals,
    hangups: Hangups,
    configuration: impl Fn() -> Result<Config, E>,
) -> io::Result<()> {
    let broken = running.broken();
    service_manager::ready();
    tokio::select! {
        stop = stops.next() => stop?,
        // A server that lost a part still looks alive, so it exits and lets its supervisor restart it.
        () = broken.cancelled() => {}
        never = reload(&running, hangups, configuration) => match never {},
    }
    service_manager::stopping();
    tokio::select! {
        () = running.drain() => {
            let ended = "the server stopped because a part of it ended; the log says why; start it again";
            if broken.is_cancelled() { Err(io::Error::other(ended)) } else { Ok(()) }
        }
        second = stops.next() => {
            tracing::warn!("second stop signal received: stopping without draining; accepted messages are in the database and are delivered after the next start");
            second
        }
    }
}

/// Reloads the configuration on each SIGHUP. A faulty configuration is logged and changes nothing.
async fn reload<E: fmt::Display>(
    running: &RunningServer,
    mut hangups: Hangups,
    configuration: impl Fn() -> Result<Config, E>,
) -> Infallible {
    loop {
        hangups.next().await;
        service_manager::reloading();
        match configuration() {
            Ok(config) => {
                if let Some(act) = running.reloader.apply(&config) {
                    record(running, act).await;
                }
            }
            Err(error) => {
                tracing::error!(%error, "the configuration was not reloaded because it has faults; all settings stay as they were");
            }
        }
        service_manager::ready();
    }
}

/// Writes down what a signal had the server do: nobody knows who has sent it.
async fn record(running: &RunningServer, act: Act) {
    let row = act.row(ActorId::Server, running.clock.now());
    running.store.record_made_change(&row).await;
}
