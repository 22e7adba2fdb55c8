//! How every listener accepts: where the system gives no connection, it pauses, and says so once a minute.
//! A loop without a pause fills the disk with its log.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;

/// Descriptors come back when connections end.
const PAUSE: Duration = Duration::from_millis(100);
const BETWEEN_LINES: Duration = Duration::from_mins(1);

/// A listening socket.
#[derive(Debug)]
pub struct Acceptor {
    listener: TcpListener,
    name: &'static str,
    told: Option<Instant>,
}

impl Acceptor {
    /// Accepts what comes to `listener`, which the log calls `name`.
    #[must_use]
    pub fn new(listener: TcpListener, name: &'static str) -> Self {
        Self { listener, name, told: None }
    }

    /// The next connection. A call that is dropped loses none.
    pub async fn next(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let error = match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => error,
            };
            // A client that is gone already says nothing about this machine.
            if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) {
                continue;
            }
            if self.told.is_none_or(|told| told.elapsed() >= BETWEEN_LINES) {
                self.told = Some(Instant::now());
                tracing::warn!(
                    listener = self.name,
                    %error,
                    "connections cannot be accepted; trying again every 100 ms (most often no file \
                     descriptors are left: raise LimitNOFILE= or ulimit -n)"
                );
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
