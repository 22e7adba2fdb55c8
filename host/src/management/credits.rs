//! Grants of credits.

use crate::account::idempotency::{ANSWERS_KEPT, Idempotency};
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::AccountId;
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::{Granted, NewGrant, Store, StoreError};

/// Credits of one grant, at most.
const MAX_GRANTED: i64 = 1_000_000_000_000;
/// Characters of the reason of a grant, at most.
const MAX_REASON_CHARS: usize = 500;
/// The reason in the ledger if none was given.
pub const NO_REASON: &str = "granted by the operator";

/// A grant that is asked for.
#[derive(Debug, Clone)]
pub struct GrantRequest {
    pub account: AccountId,
    pub amount: i64,
    /// Why; stands in the ledger.
    pub reason: String,
    pub idempotency: Option<Idempotency>,
}

/// What is wrong with a grant that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GrantFault {
    #[error("must be from 1 to {MAX_GRANTED} credits")]
    Amount,
    #[error("must be at most {MAX_REASON_CHARS} characters {ONE_LINE}")]
    Reason,
}

/// What came of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// After it.
    pub balance: Credits,
    /// Whether it was granted before, under the same idempotency key.
    pub is_replayed: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// All that is wrong with it.
    #[error("{}", lines(.0))]
    Faults(Vec<GrantFault>),
    #[error("this idempotency key was used for another grant; use a new key")]
    Conflict,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl GrantFault {
    /// The member of a request that is at fault.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Amount => "amount",
            Self::Reason => "reason",
        }
    }
}

/// All that is wrong with a grant.
#[must_use]
pub fn faults(amount: i64, reason: &str) -> Vec<GrantFault> {
    let mut faults = Vec::new();
    if !(1..=MAX_GRANTED).contains(&amount) {
        faults.push(GrantFault::Amount);
    }
    if reason.chars().count() > MAX_REASON_CHARS || !is_one_line(reason) {
        faults.push(GrantFault::Reason);
    }
    faults
}

/// Grants credits to an account; once, where the request has an idempotency key.
///
/// # Errors
/// The grant is refused, there is no such account, or the database failed; nothing was granted.
pub async fn grant(
    store: &Store,
    request: GrantRequest,
    now: Timestamp,
) -> Result<Receipt, GrantError> {
    let faults = faults(request.amount, &request.reason);
    if !faults.is_empty() {
        return Err(GrantError::Faults(faults));
    }
    // No key of a send has a space, so the two never meet.
    let idempotency =
        request.idempotency.map(|it| Idempotency { key: format!("grant {}", it.key), ..it });
    let hash = idempotency.as_ref().map(|it| it.body_hash);
    let grant = NewGrant {
        account: request.account,
        amount: Credits(request.amount),
        reason: request.reason,
        idempotency,
        kept_until: now.after(ANSWERS_KEPT),
    };
    match store.grant(&grant, now).await? {
        Granted::Now(balance) => Ok(Receipt { balance, is_replayed: false }),
        Granted::Kept { body_hash, balance } if hash == Some(body_hash) => {
            Ok(Receipt { balance, is_replayed: true })
        }
        Granted::Kept { .. } => Err(GrantError::Conflict),
    }
}

fn lines(faults: &[GrantFault]) -> String {
    let lines: Vec<String> = faults.iter().map(|it| format!("{}: {it}", it.field())).collect();
    lines.join("\n")
}
