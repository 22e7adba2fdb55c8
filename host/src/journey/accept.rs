//! Accept: from a connection to a [`submission::Submission`], or to a [`refusal::Refusal`].
//!
//! Both listeners make the same checks, and the cheap ones come first: what a check costs is spent only on clients
//! that have passed the checks before.
//!
//! | | check | over HTTP | over SMTP | refused with |
//! |---|---|---|---|---|
//! | 1 | announced size | `Content-Length`, before the key | `SIZE` of MAIL, behind the login | `PAYLOAD_TOO_LARGE`, 552 |
//! | 2 | [`Accept::log_in`]: the key, its account, what both may do | `x-api-key` | AUTH | `UNAUTHORIZED`, `FORBIDDEN`, `RATE_LIMITED` after many failures |
//! | 3 | [`Accept::take_sends`]: the rate of the key and of its account | one send; the further messages of a batch, and the sends of a template's test, once their number is known | each recipient; that of the first one at MAIL | `RATE_LIMITED` |
//! | 4 | envelope's sender: `Journey::check_sender` | a part of the message | MAIL | `DOMAIN_NOT_VERIFIED`, `FORBIDDEN` |
//! | 5 | memory for the content, shared by accounts: [`fair_share`](crate::fair_share) | before the body is read | while the content arrives | `UNAVAILABLE` |
//! | 6 | fields, all faults at once: [`submission`] | JSON | header fields and MIME parts | `BAD_REQUEST` |
//! | 7 | idempotency key: [`idempotency`] | `Idempotency-Key`; its form is checked before 5, because a header costs no memory | `X-Waxwing-Idempotency-Key` | `IDEMPOTENCY_CONFLICT` |
//!
//! What the server sends itself (invitations, password resets) is no client's request: it begins at `Journey::submit`, with
//! the operator's key, and takes no sends.
//!
//! In read-only mode `Journey::submit` and `Journey::check_sender` refuse with `UNAVAILABLE` ([`Accept::must_not_be_read_only`]).
//!
//! `Journey::submit` repeats 2 on the facts that the message is decided on: a key may be switched off at any moment. All
//! other requests over HTTP repeat it when their body has come ([`Accept::look_again`]).

pub mod authenticate;
pub mod batches;
pub mod decisions;
pub mod failed_logins;
pub mod idempotency;
pub mod json;
pub mod rate_limit;
pub mod refusal;
pub mod request;
pub mod resend;
pub(super) mod abort;
pub mod submission;
pub mod variables;

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Instant;

use crate::account::key::{ApiKey, Scope};
use crate::clock::Clock;
use crate::store::facts::Facts;
use authenticate::Caller;
use rate_limit::{Allowance, RateLimits};
use refusal::{Refusal, Refused};

/// The checks that stand before the content of a message, shared by both listeners.
#[derive(Debug, Clone)]
pub struct Accept {
    pub facts: Arc<Facts>,
    pub clock: Clock,
    pub rate_limits: Arc<RateLimits>,
}

#[derive(Debug)]
pub struct FailedLogin {
    pub refusal: Refusal,
    /// The key, for the log, where whoever presented it knows all of it: it has expired or was switched off.
    pub key: Option<Arc<ApiKey>>,
}

impl Accept {
    /// Finds the key that was presented and what it may do at this moment. A stranger's failures count against the
    /// address; a success is never slowed down, or a stranger behind the same proxy could lock out who has a key.
    ///
    /// # Errors
    /// `UNAUTHORIZED` (`RATE_LIMITED` to an address that guesses), `FORBIDDEN`, or `UNAVAILABLE` when the store
    /// fails.
    pub async fn log_in(
        &self,
        presented: Option<&str>,
        ip: IpAddr,
        scope: Scope,
    ) -> Result<Caller, FailedLogin> {
        match authenticate::authenticate(&self.facts, &self.clock, presented, ip, scope).await {
            Ok(caller) => Ok(caller),
            Err(Refused { refusal, .. }) => Err(self.failed_login(presented, ip, refusal).await),
        }
    }

    /// Counts a login that failed, also where a listener found more to refuse than the key.
    pub async fn failed_login(
        &self,
        presented: Option<&str>,
        ip: IpAddr,
        refusal: Refusal,
    ) -> FailedLogin {
        let key = authenticate::refused_key(&self.facts, presented).await;
        let is_stranger = refusal == Refusal::Unauthorized;
        let refusal = if is_stranger { self.rate_limits.failed_login(ip) } else { refusal };
        FailedLogin { refusal, key }
    }

    /// Looks again at a caller who was let in before the body of the request had come.
    ///
    /// # Errors
    /// `UNAUTHORIZED`, `FORBIDDEN`, or `UNAVAILABLE` when the store fails.
    pub async fn look_again(&self, caller: &Caller) -> Result<(), Refused> {
        authenticate::still_may(&self.facts, &self.clock, caller).await
    }

    /// Refuses while an operator has switched the server to read-only mode, as this node knows since the caller was found.
    pub fn must_not_be_read_only(&self) -> Result<(), Refusal> {
        match self.facts.maintenance() {
            None => Ok(()),
            Some(maintenance) => Err(Refusal::read_only(&maintenance.reason)),
        }
    }

    /// Takes sends from what the key and its account may send now.
    ///
    /// # Errors
    /// `RATE_LIMITED`, or `BAD_REQUEST` for more sends than are ever allowed at one time; with where the key stands.
    pub fn take_sends(
        &self,
        caller: &Caller,
        sends: NonZeroU32,
    ) -> Result<Allowance, (Refusal, Allowance)> {
        self.rate_limits.take(caller.key.id, caller.key.account_id, sends)
    }
}

/// A step of the journey whose time is recorded.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Accept,
    Policy,
    Render,
    Commit,
}

/// Records how long a step took. A label that stands in the code is not allocated.
pub fn record_step(step: Step, start: Instant) {
    let histogram = match step {
        Step::Accept => metrics::histogram!("waxwing_step_seconds", "step" => "accept"),
        Step::Policy => metrics::histogram!("waxwing_step_seconds", "step" => "policy"),
        Step::Render => metrics::histogram!("waxwing_step_seconds", "step" => "render"),
        Step::Commit => metrics::histogram!("waxwing_step_seconds", "step" => "commit"),
    };
    histogram.record(start.elapsed());
}
