//! The sandbox inbox's SMTP server: mailin's protocol over connections that the caller accepts.
//!
//! It answers 250 only for what is stored. It has no TLS and no authentication: it is for this
//! machine's own processes.

mod session;

use std::net::SocketAddr;

use super::InboxError;

pub use session::{Inbox, serve};

/// Who may reach the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only this machine; any other address is refused.
    Loopback,
    /// Whoever can reach the address: only for closed networks, such as a container's.
    Anyone,
}

impl Reach {
    /// Whether the inbox may listen there.
    ///
    /// # Errors
    /// The address is reachable from other machines, and that is not allowed.
    pub fn check(self, address: SocketAddr) -> Result<(), InboxError> {
        if self == Self::Loopback && !address.ip().is_loopback() {
            return Err(InboxError::NotLoopback(address));
        }
        Ok(())
    }
}
