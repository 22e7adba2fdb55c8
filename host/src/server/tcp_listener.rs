//! Binds ports, and accepts connections: if `accept(2)` fails (EMFILE), retries every 100 ms and logs once a minute.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};

use crate::clock::log_throttle::LogThrottle;

/// Descriptors come back when connections end.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Where mail servers, certificate authorities, browsers and applications look for this server.
const WELL_KNOWN: [u16; 5] = [25, 80, 443, 465, 587];

/// A port that cannot be bound.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}: {source}; {}", advice(*.address, .setting, .source))]
pub struct ListenError {
    pub address: SocketAddr,
    /// The key of the configuration, or the flag.
    pub setting: &'static str,
    pub source: std::io::Error,
}

/// What to do about a port that cannot be bound. Clients come to a well-known port and to no other, so the program that has it
/// must go.
fn advice(address: SocketAddr, setting: &str, error: &std::io::Error) -> String {
    let port = address.port();
    if error.kind() == ErrorKind::AddrInUse && WELL_KNOWN.contains(&port) {
        format!(
            "find the program that has the port with `ss -ltnp 'sport = :{port}'` and stop it, or choose an address of \
             this machine where the port is free with {setting}"
        )
    } else {
        format!("choose another with {setting}")
    }
}

/// Whether this machine has an address. Whether the port is free, and may be bound, is known at a start only.
pub fn check(address: SocketAddr, setting: &'static str) -> Result<(), ListenError> {
    let any_port = SocketAddr::new(address.ip(), 0);
    // Nothing is sent from it, and nobody can connect to it.
    let bound = UdpSocket::bind(any_port).map(drop);
    bound.map_err(|source| ListenError { address, setting, source })
}

/// Binds a port; `setting` says how to choose another.
pub async fn bind(
    address: SocketAddr,
    setting: &'static str,
) -> Result<(TcpListener, SocketAddr), ListenError> {
    check(address, setting)?;
    let failed = |source| ListenError { address, setting, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    Ok((listener, bound))
}

/// A listening socket.
#[derive(Debug)]
pub struct Acceptor {
    listener: TcpListener,
    name: &'static str,
    failures: LogThrottle<()>,
}

impl Acceptor {
    /// Accepts what comes to `listener`, which the log calls `name`.
    #[must_use]
    pub fn new(listener: TcpListener, name: &'static str) -> Self {
        Self { listener, name, failures: LogThrottle::default() }
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
            if self.failures.admit((), Instant::now()) {
                tracing::warn!(
                    listener = self.name,
                    %error,
                    "connections cannot be accepted; trying again every 100 ms (most often no file \
                     descriptors are left: raise LimitNOFILE= or ulimit -n)"
                );
            }
            tokio::time::sleep(ACCEPT_RETRY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_well_known_port_that_is_taken_leads_to_the_program_that_has_it() {
        let said = |port: u16, kind: ErrorKind| {
            let address = SocketAddr::from(([0, 0, 0, 0], port));
            ListenError { address, setting: "[bounces] listen", source: kind.into() }.to_string()
        };
        for port in [25, 80, 443, 587] {
            let taken = said(port, ErrorKind::AddrInUse);
            assert!(taken.contains(&format!("`ss -ltnp 'sport = :{port}'`")), "{taken}");
            assert!(taken.contains("[bounces] listen"), "{taken}");
        }
        for other in [said(2525, ErrorKind::AddrInUse), said(25, ErrorKind::AddrNotAvailable)] {
            assert!(other.ends_with("choose another with [bounces] listen"), "{other}");
        }
    }
}
