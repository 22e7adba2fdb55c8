//! What the facts hold of the domain of a message's author: the keys that sign for it, and its return path.

use std::fmt::Display;
use std::sync::Arc;

use crate::store::SigningKeys;
use crate::store::facts::{FactError, Facts};
use crate::store::records::Lease;

/// How often they are read again while the facts move, at most.
const MAX_READS: usize = 5;

/// Why they are unknown now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeysUnread {
    #[error("the keys and the return path of its domain cannot be read now")]
    Unreadable,
    #[error("the keys and the return path of its domain are being changed")]
    Changing,
}

/// None where the account has no such domain.
pub async fn author_keys(
    facts: &Facts,
    lease: &Lease,
) -> Result<Option<Arc<SigningKeys>>, KeysUnread> {
    let Some(domain) = lease.author.domain() else { return Ok(None) };
    let unreadable = |error: &dyn Display| {
        tracing::error!(%domain, %error, "DKIM keys and return path of the domain cannot be read; deferring the message");
        KeysUnread::Unreadable
    };
    for _ in 0..MAX_READS {
        let snapshot = facts.snapshot();
        match snapshot.signing_keys(lease.account_id, domain).await {
            Ok(keys) => return Ok(keys),
            Err(FactError::Stale) => {
                facts.have_moved(snapshot.revision()).await.map_err(|it| unreadable(&it))?;
            }
            Err(FactError::Store(error)) => return Err(unreadable(&error)),
        }
    }
    Err(KeysUnread::Changing)
}
