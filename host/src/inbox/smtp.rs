//! The sandbox inbox's SMTP server: mailin-embedded on threads of its own.
//!
//! It answers 250 only for what the archive holds. It has no TLS, no authentication and no limits
//! against strangers, and it ends a message where a bare LF stands before a dot: it is for this
//! machine's own processes. It cannot be stopped; it goes when the process goes.

mod session;

use std::net::{SocketAddr, TcpListener};
use std::thread;

use mailin_embedded::Server;
use tokio::runtime::Handle;

use super::InboxError;
use super::archive::Archive;
use crate::clock::Clock;
use session::Session;

/// Sessions at a time; another client waits for its greeting until one of them ends.
pub const SESSIONS: u32 = 8;

/// Who may reach the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only this machine; any other address is refused.
    Loopback,
    /// Whoever can reach the address: only for closed networks, such as a container's.
    Anyone,
}

/// Listens on `address` and keeps what comes in; port 0 picks a free one. Answers the address.
///
/// # Errors
/// The address is reachable from other machines and `reach` does not allow it, or is taken.
pub fn listen(
    address: SocketAddr,
    reach: Reach,
    archive: Archive,
    clock: Clock,
    runtime: Handle,
) -> Result<SocketAddr, InboxError> {
    if reach == Reach::Loopback && !address.ip().is_loopback() {
        return Err(InboxError::NotLoopback(address));
    }
    let failed = |source| InboxError::Listen { address, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let mut server = Server::new(Session::new(archive, clock, runtime));
    server.with_name("sandbox.localhost").with_num_threads(SESSIONS).with_tcp_listener(listener);
    thread::Builder::new()
        .name("inbox-smtp".to_owned())
        .spawn(move || {
            if let Err(error) = server.serve() {
                tracing::error!(%error, "the sandbox inbox stopped taking mail");
            }
        })
        .map_err(failed)?;
    Ok(bound)
}
