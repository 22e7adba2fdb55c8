//! Who sends: an API key, its account, and whether both may send at this moment.

use std::net::IpAddr;
use std::sync::Arc;

use super::refusal::Refusal;
use crate::account::AccountState;
use crate::account::key::{ApiKey, PresentedKey, Scope};
use crate::clock::{Clock, Timestamp};
use crate::journey::{Stop, unreachable_store};
use crate::store::facts::{AccountFacts, FactError, Facts, Snapshot};

/// A key that was presented and found true.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The key.
    pub key: Arc<ApiKey>,
    /// Where the request came from.
    pub ip: IpAddr,
    /// What it was presented for.
    pub scope: Scope,
}

/// A caller's standing in one snapshot of the facts.
#[derive(Debug)]
pub struct Sender {
    /// The key, as it is now.
    pub key: Arc<ApiKey>,
    /// Its account.
    pub account: Arc<AccountFacts>,
}

/// Finds the key that was presented. All that is wrong with a key has one answer.
///
/// # Errors
/// `UNAUTHORIZED`, `FORBIDDEN` (address or scope), or `UNAVAILABLE` when the store fails.
pub async fn authenticate(
    facts: &Facts,
    clock: &Clock,
    presented: Option<&str>,
    ip: IpAddr,
    scope: Scope,
) -> Result<Caller, Refusal> {
    let presented: PresentedKey =
        presented.and_then(|text| text.parse().ok()).ok_or(Refusal::Unauthorized)?;
    loop {
        let snapshot = facts.snapshot();
        let refusal = match snapshot.key(presented.lookup()).await {
            Ok(key) => match allowed(key, &presented, clock.now(), ip, scope) {
                Ok(key) => return Ok(Caller { key, ip, scope }),
                Err(refusal) => Some(refusal),
            },
            Err(FactError::Stale) => None,
            Err(FactError::Store(error)) => return Err(unreachable_store(&error)),
        };
        let moved = facts.have_moved(snapshot.revision()).await;
        let moved = moved.map_err(|error| unreachable_store(&error))?;
        match refusal {
            Some(refusal) if !moved => return Err(refusal),
            Some(_) | None => {}
        }
    }
}

fn allowed(
    key: Option<Arc<ApiKey>>,
    presented: &PresentedKey,
    now: Timestamp,
    ip: IpAddr,
    scope: Scope,
) -> Result<Arc<ApiKey>, Refusal> {
    let key = key
        .filter(|key| key.hash.matches(&presented.hash()) && key.is_live_at(now))
        .ok_or(Refusal::Unauthorized)?;
    if !key.allows_ip(ip) {
        return Err(forbidden("the key may not be used from this address"));
    }
    if !key.allows(scope) {
        return Err(forbidden("the key does not have the scope that this needs"));
    }
    Ok(key)
}

/// Looks at the caller again in the snapshot that its messages are decided on.
pub(in crate::journey) async fn standing(
    snapshot: &Snapshot,
    caller: &Caller,
    now: Timestamp,
) -> Result<Sender, Stop> {
    let key = snapshot
        .key(&caller.key.lookup)
        .await?
        .filter(|key| key.is_live_at(now) && key.allows_ip(caller.ip))
        .filter(|key| key.allows(caller.scope))
        .ok_or(Stop::refused(Refusal::Unauthorized))?;
    let account =
        snapshot.account(key.account_id).await?.ok_or(Stop::refused(Refusal::Unauthorized))?;
    match account.account.state {
        AccountState::Active => Ok(Sender { key, account }),
        AccountState::Suspended => Err(Stop::refused(forbidden(
            "the account is suspended; ask the operator of this server",
        ))),
    }
}

fn forbidden(message: &str) -> Refusal {
    Refusal::Forbidden { message: message.to_owned(), retry_after_s: None }
}
