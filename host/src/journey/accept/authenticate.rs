//! Who sends or manages: an API key, its account, and what both may do at this moment.

use std::net::IpAddr;
use std::sync::Arc;

use super::abort::{Abort, on_current_facts};
use super::refusal::{Refusal, Refused};
use crate::account::AccountState;
use crate::account::key::{ApiKey, Mode, PresentedKey, Scope};
use crate::clock::{Clock, Timestamp};
use crate::store::facts::{AccountFacts, Facts, Snapshot};

/// A key that was presented and found true.
#[derive(Debug, Clone)]
pub struct Caller {
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
    pub account: Arc<AccountFacts>,
}

/// Finds the key that was presented, on the facts as they are now. All that is wrong with a key
/// itself has one answer.
///
/// # Errors
/// `UNAUTHORIZED`, `FORBIDDEN` (address, scope, mode or account), or `UNAVAILABLE` when the store
/// fails.
pub async fn authenticate(
    facts: &Facts,
    clock: &Clock,
    presented: Option<&str>,
    ip: IpAddr,
    scope: Scope,
) -> Result<Caller, Refused> {
    let presented: PresentedKey =
        presented.and_then(|text| text.parse().ok()).ok_or(Refusal::Unauthorized)?;
    let presented = &presented;
    on_current_facts(facts, |snapshot| async move {
        let key = snapshot.key(presented.lookup()).await?;
        let key = key.filter(|key| key.hash.matches(&presented.hash()));
        let caller = Caller { key: key.ok_or_else(unauthorized)?, ip, scope };
        decide(&snapshot, &caller.key, &caller, clock.now()).await?;
        Ok(caller)
    })
    .await
}

/// Whether `address` is the one that the caller's account sends from, in any case of letters.
///
/// # Errors
/// `UNAVAILABLE` when the store fails.
pub async fn has_address(facts: &Facts, caller: &Caller, address: &str) -> Result<bool, Refused> {
    on_current_facts(facts, |snapshot| async move {
        let account = snapshot.account(caller.key.account_id).await?;
        let own = account.and_then(|it| it.account.sender.as_ref().map(ToString::to_string));
        Ok(own.is_some_and(|own| own.eq_ignore_ascii_case(address)))
    })
    .await
}

/// The key that failed to log in, where whoever presented it knows all of it.
pub(super) async fn refused_key(facts: &Facts, presented: Option<&str>) -> Option<Arc<ApiKey>> {
    let presented: PresentedKey = presented?.parse().ok()?;
    let key = facts.snapshot().key(presented.lookup()).await.ok().flatten()?;
    key.hash.matches(&presented.hash()).then_some(key)
}

/// Looks at a caller again when the whole request has come: while its body came, the key may have been changed.
///
/// # Errors
/// As for [`authenticate`]; and `FORBIDDEN` where the rights of the key are others now.
pub async fn still_may(facts: &Facts, clock: &Clock, caller: &Caller) -> Result<(), Refused> {
    on_current_facts(facts, |snapshot| async move {
        let sender = recheck_caller(&snapshot, caller, clock.now()).await?;
        if sender.key.has_rights_of(&caller.key) {
            return Ok(());
        }
        Err(forbidden("the key was changed while the request came in; send the request again"))
    })
    .await
}

/// Looks at the caller again in the snapshot that its messages are decided on.
pub(in crate::journey) async fn recheck_caller(
    snapshot: &Snapshot,
    caller: &Caller,
    now: Timestamp,
) -> Result<Sender, Abort> {
    let key = snapshot.key(&caller.key.lookup).await?.ok_or_else(unauthorized)?;
    decide(snapshot, &key, caller, now).await
}

/// Whether a key may do at that moment what its caller wants: the one place where this is decided.
async fn decide(
    snapshot: &Snapshot,
    key: &Arc<ApiKey>,
    caller: &Caller,
    now: Timestamp,
) -> Result<Sender, Abort> {
    if !key.is_usable_at(now) {
        return Err(unauthorized());
    }
    may(key, caller.ip, caller.scope)?;
    let account = snapshot.account(key.account_id).await?.ok_or_else(unauthorized)?;
    match account.account.state {
        AccountState::Active => Ok(Sender { key: Arc::clone(key), account }),
        AccountState::Suspended => {
            Err(forbidden("the account is suspended; ask the operator of this server"))
        }
        AccountState::Deleting => Err(forbidden("the account is being deleted")),
    }
}

fn may(key: &ApiKey, ip: IpAddr, scope: Scope) -> Result<(), Abort> {
    if !key.allows_ip(ip) {
        return Err(forbidden("the key may not be used from this address"));
    }
    if key.mode == Mode::Test && scope == Scope::Operator {
        let message =
            "a test key does not manage the server; use a live key with the scope operator";
        return Err(forbidden(message));
    }
    if key.allows(scope) {
        return Ok(());
    }
    let wanted = scope.as_str();
    let has: Vec<&str> = key.scopes.iter().map(|scope| scope.as_str()).collect();
    let has = if has.is_empty() { "none".to_owned() } else { has.join(", ") };
    Err(forbidden(format!(
        "the key does not have the scope {wanted} that this needs; its scopes: {has}"
    )))
}

fn forbidden(message: impl Into<String>) -> Abort {
    Abort::request(Refusal::Forbidden { message: message.into(), retry_after_s: None })
}

fn unauthorized() -> Abort {
    Abort::request(Refusal::Unauthorized)
}
