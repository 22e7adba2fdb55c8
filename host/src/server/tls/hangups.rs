//! SIGHUPs to this process.

/// Each SIGHUP from now on; they no longer end the process.
#[cfg(unix)]
#[derive(Debug)]
pub struct Hangups(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangups {
    pub fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::hangup()).map(Self)
    }

    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// A system without SIGHUP.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Hangups;

#[cfg(not(unix))]
impl Hangups {
    pub fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub async fn next(&mut self) {
        std::future::pending().await
    }
}
