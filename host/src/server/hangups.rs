//! SIGHUP, for everybody who acts on it.

use std::io;

/// Each SIGHUP to this process from now on. One that comes before somebody listens ends the process.
#[derive(Debug)]
pub struct Hangups(#[cfg(unix)] tokio::signal::unix::Signal);

impl Hangups {
    /// Notes SIGHUP from now on: a server that starts reloads its configuration as soon as it runs.
    ///
    /// # Errors
    /// The signal handler cannot be installed.
    #[cfg(unix)]
    pub fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    /// There is no SIGHUP on this system.
    ///
    /// # Errors
    /// None.
    #[cfg(not(unix))]
    pub fn listen() -> io::Result<Self> {
        Ok(Self())
    }

    #[cfg(unix)]
    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        std::future::pending().await
    }
}
