//! The envelope's sender of an attempt: an address of the message's own, to which its reports come back.
//!
//! It stands at the alias that the author's domain publishes for this, which brings SPF along and is
//! aligned with From (RFC 7489); else at a host of the server.

use std::sync::Arc;

use super::author_keys::{KeysUnread, author_keys};
use crate::domain::name::DomainName;
use crate::mail::verp::Verp;
use crate::message::address::EmailAddress;
use crate::store::facts::Facts;
use crate::store::records::{Lease, RouteChoice};

/// Why there is no return path now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoReturnPath {
    #[error(transparent)]
    Keys(#[from] KeysUnread),
    #[error("the return path's host is too long")]
    HostTooLong,
}

#[derive(Debug)]
pub struct ReturnPaths {
    verp: Verp,
    host: DomainName,
    facts: Arc<Facts>,
}

impl ReturnPaths {
    /// For domains without an alias of their own, reports come back to `host`.
    #[must_use]
    pub fn new(verp: Verp, host: DomainName, facts: Arc<Facts>) -> Self {
        Self { verp, host, facts }
    }

    /// The envelope's sender of an attempt; none for the empty path.
    ///
    /// # Errors
    /// The return path is unknown now.
    pub async fn of(&self, lease: &Lease) -> Result<Option<EmailAddress>, NoReturnPath> {
        match (&lease.sender, lease.route) {
            (None, _) => Ok(None),
            (Some(sender), RouteChoice::Sandbox) => Ok(Some(sender.clone())),
            (Some(_), RouteChoice::Configured) => {
                let message = lease.message_id;
                // What the author's domain publishes; none while it may not send, or is not the one any
                // more that the message was accepted for.
                let keys = author_keys(&self.facts, lease).await?;
                let same = keys.filter(|it| lease.domain.is_none_or(|id| id == it.domain));
                let sends = same.filter(|it| it.phase.may_send());
                let own = sends.and_then(|it| self.verp.address(message, it.return_path.as_ref()?));
                let path = own.or_else(|| self.verp.address(message, &self.host));
                path.map(Some).ok_or(NoReturnPath::HostTooLong)
            }
        }
    }
}
