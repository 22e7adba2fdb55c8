//! The envelope's sender of an attempt: an address of the message's own, to which its reports come back.
//!
//! It stands at the alias that the author's domain publishes for this, which brings SPF along and is
//! aligned with From (RFC 7489); else at a host of the server.

use std::sync::Arc;

use crate::domain::name::DomainName;
use crate::mail::verp::Verp;
use crate::message::address::EmailAddress;
use crate::store::facts::{FactError, Facts};
use crate::store::records::{Lease, RouteChoice};

/// How often the alias is read again while the facts move.
const MAX_READS: usize = 5;

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
    /// The reason why the return path is unknown now.
    pub async fn of(&self, lease: &Lease) -> Result<Option<EmailAddress>, String> {
        match (&lease.sender, lease.route) {
            (None, _) => Ok(None),
            (Some(sender), RouteChoice::Sandbox) => Ok(Some(sender.clone())),
            (Some(_), RouteChoice::Configured) => {
                let message = lease.message_id;
                let own = self.alias(lease).await?;
                let own = own.and_then(|host| self.verp.address(message, &host));
                let path = own.or_else(|| self.verp.address(message, &self.host));
                path.map(Some).ok_or_else(|| "the return path's host is too long".to_owned())
            }
        }
    }

    /// What the author's domain publishes; none while it may not send, or is not the one any more that
    /// the message was accepted for.
    async fn alias(&self, lease: &Lease) -> Result<Option<DomainName>, String> {
        let Some(domain) = lease.author.domain() else { return Ok(None) };
        let failed = |error: &dyn std::fmt::Display| {
            tracing::error!(%domain, %error, "return path of the domain cannot be read");
            "its return path cannot be read".to_owned()
        };
        for _ in 0..MAX_READS {
            let snapshot = self.facts.snapshot();
            match snapshot.signing_keys(lease.account_id, domain).await {
                Ok(found) => {
                    let same = found.filter(|it| lease.domain.is_none_or(|id| id == it.domain));
                    let sends = same.filter(|it| it.phase.may_send());
                    return Ok(sends.and_then(|it| it.return_path.clone()));
                }
                Err(FactError::Stale) => {
                    self.facts.have_moved(snapshot.revision()).await.map_err(|it| failed(&it))?;
                }
                Err(FactError::Store(error)) => return Err(failed(&error)),
            }
        }
        Err("its return path is changing".to_owned())
    }
}
