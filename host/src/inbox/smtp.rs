//! The sandbox inbox's SMTP listener (a mail catcher): which addresses it may listen on. `session` speaks SMTP with
//! the crate mailin.
//!
//! It replies 250 only after the message is stored. It has no TLS and no authentication, so by default it listens on
//! loopback only.

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
    /// Refuses to listen on an address that other machines can reach, unless [`Reach::Anyone`] allows it.
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
