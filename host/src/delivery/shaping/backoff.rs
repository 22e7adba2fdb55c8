//! How hosts are that take mail: after failures they rest, and one attempt alone tries whether they are
//! well again. What they do to one account's mail is that account's own affair.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::memory_budget::Reputation;
use super::requeue::{FIRST_REQUEUE, Recovery, Requeue};
use crate::clock::Timestamp;
use crate::delivery::lock::lock;
use crate::delivery::outcome::Backoff;
use crate::id::AccountId;

/// The rest after the first failure in a row; it doubles with each further one.
const FIRST_BACKOFF: Duration = Duration::from_secs(15);
/// The longest rest, of all mail and of one account's.
const MAX_BACKOFF: Duration = Duration::from_mins(10);
const MAX_ACCOUNT_BACKOFF: Duration = Duration::from_mins(2);
/// For how long after a rest it is known that there were failures.
const FAILURES_REMEMBERED: Duration = Duration::from_hours(1);
/// The same of an account for which nothing waits.
const SUCCESS_REMEMBERED: Duration = Duration::from_mins(5);
/// An account's messages in a row that are sent away before it is not the messages.
pub(super) const MAX_TRANSIENT_FAILURES: u32 = 5;
/// Attempts in a row that hang before it is not the messages.
const MAX_STALLS: u32 = 3;
/// What stands between hosts and an account in the name of a rest.
pub(super) const FOR_ACCOUNT: &str = " for ";
/// Attempts that try at one time how hosts are, and how long one alone may take before another has its
/// turn: it may be its message that they cannot bear.
const MAX_PROBES: u32 = 5;
const PROBE_OVERDUE: Duration = Duration::from_secs(10);

/// How the hosts of a domain, or a smarthost, are. Of two customers of one operator one may be down.
#[derive(Debug)]
pub struct Health {
    name: String,
    state: Mutex<State>,
    requeue: Arc<Requeue>,
}

#[derive(Debug, Default)]
struct State {
    /// They have judged a message, and not failed since.
    is_proven: bool,
    succeeded_at: Option<Timestamp>,
    failures: u32,
    /// Attempts in a row that hung, and the last of them.
    stalls: u32,
    stalled_at: Option<Timestamp>,
    /// Attempts that try how they are, and when the last of them began.
    probes: u32,
    probed_at: Option<Timestamp>,
    /// Whether what waits was told that the rest is over.
    is_probe_requested: bool,
    backoff: Option<Backoff>,
    /// Of hosts that are new here, too: something may wait for them since an earlier time.
    recovery: Option<Recovery>,
    accounts: HashMap<AccountId, AccountBackoff>,
}

/// What they do to the messages of one account.
#[derive(Debug)]
struct AccountBackoff {
    in_a_row: u32,
    backoffs: u32,
    backoff: Option<Backoff>,
    is_probe_requested: bool,
    recovery: Option<Recovery>,
    last: Timestamp,
}

impl AccountBackoff {
    /// Something may wait for them since an earlier time.
    fn new(now: Timestamp) -> Self {
        let recovery = Some(Recovery::default());
        Self {
            in_a_row: 0,
            backoffs: 0,
            backoff: None,
            is_probe_requested: false,
            recovery,
            last: now,
        }
    }

    fn is_remembered(&self, now: Timestamp) -> bool {
        let says_something = self.in_a_row > 0 || self.recovery.is_some();
        let until =
            self.last.after(if says_something { FAILURES_REMEMBERED } else { SUCCESS_REMEMBERED });
        now < until && self.last <= now
    }

    fn record_success(&mut self, now: Timestamp) -> Option<u32> {
        if self.backoffs > 0 {
            self.recovery = Some(Recovery::default());
        }
        (self.in_a_row, self.backoffs, self.backoff, self.last) = (0, 0, None, now);
        self.recovery.as_mut().and_then(Recovery::record_success)
    }
}

/// One attempt that tries how they are.
#[derive(Debug)]
pub struct Probe(Arc<Health>);

impl Health {
    /// Hosts that are new here; the operator's own are known.
    pub(super) fn new(name: String, is_ours: bool, requeue: Arc<Requeue>) -> Self {
        let recovery = Some(Recovery::default());
        let state = State { is_proven: is_ours, recovery, ..State::default() };
        Self { name, state: Mutex::new(state), requeue }
    }

    /// Whether they have judged a message, and not failed since.
    #[must_use]
    pub fn repute(&self) -> Reputation {
        if lock(&self.state).is_proven { Reputation::Known } else { Reputation::Unknown }
    }

    /// They have judged a message of that account.
    pub fn record_success(&self, account: AccountId, now: Timestamp) {
        let mut state = lock(&self.state);
        if state.failures > 0 {
            tracing::info!(hosts = self.name, "destination recovered; resuming delivery");
            state.recovery = Some(Recovery::default());
        }
        (state.is_proven, state.failures, state.stalls, state.backoff) = (true, 0, 0, None);
        (state.succeeded_at, state.stalled_at) = (Some(now), None);
        let woken = state.recovery.as_mut().and_then(Recovery::record_success);
        let own = state
            .accounts
            .entry(account)
            .or_insert_with(|| AccountBackoff::new(now))
            .record_success(now);
        drop(state);
        if let Some(woken) = woken {
            self.requeue.request(&self.name, woken);
        }
        if let Some(woken) = own {
            self.requeue.request(&self.name_for(account), woken);
        }
    }

    /// Nothing waits for them under that name.
    pub(super) fn note_none_waiting(&self, name: &str) {
        let mut state = lock(&self.state);
        if name == self.name {
            state.recovery = None;
        }
        for (account, paused) in &mut state.accounts {
            if name == self.name_for(*account) {
                paused.recovery = None;
            }
        }
    }

    /// Something began to wait for them under that name. If they are well by now, it goes on.
    pub(super) fn note_waiting(&self, name: &str, now: Timestamp) {
        let mut state = lock(&self.state);
        let is_of_account = name != self.name;
        let is_backing_off = if is_of_account {
            let mut backoffs = state.accounts.iter().filter(|(it, _)| name == self.name_for(**it));
            backoffs.any(|(_, paused)| paused.backoff.as_ref().is_some_and(|it| is_on(it, now)))
        } else {
            !state.is_proven
        };
        if is_backing_off {
            return;
        }
        if !is_of_account {
            state.recovery = Some(Recovery::default());
        }
        drop(state);
        self.requeue.request(name, FIRST_REQUEUE);
    }

    /// Whose rest has that name: the hosts without the account.
    pub(super) fn hosts_of(name: &str) -> &str {
        name.split_once(FOR_ACCOUNT).map_or(name, |(hosts, _)| hosts)
    }

    /// They could not be reached, or would hear of no message, in an attempt that began then. Failures of
    /// attempts that were under way together count as one, and those of attempts that began before they
    /// were well for nothing.
    pub fn record_failure(
        &self,
        reason: &str,
        begun: Timestamp,
        now: Timestamp,
    ) -> Option<Backoff> {
        let mut state = lock(&self.state);
        if state.is_outdated(begun, now) {
            return None;
        }
        if let Some(backoff) = state.backoff.as_mut().filter(|it| is_on(it, now)) {
            backoff.since = backoff.since.max(now);
            return Some(backoff.clone());
        }
        let doubled = FIRST_BACKOFF.saturating_mul(1 << state.failures.min(10));
        let until = now.after(doubled.min(MAX_BACKOFF));
        let hosts = self.name.clone();
        state.failures = state.failures.saturating_add(1);
        let failures = state.failures;
        let backoff = Backoff { hosts, since: now, until, reason: reason.to_owned(), failures };
        (state.is_proven, state.is_probe_requested, state.stalls) = (false, false, 0);
        state.recovery = None;
        tracing::warn!(
            hosts = self.name,
            reason,
            failures,
            until = %backoff.until,
            "backing off from destination after a failure"
        );
        state.backoff = Some(backoff.clone());
        Some(backoff)
    }

    /// They let us in and then said nothing more: after several in a row it is not the message.
    pub fn record_stall(&self, reason: &str, begun: Timestamp, now: Timestamp) {
        let mut state = lock(&self.state);
        if state.is_outdated(begun, now) {
            return;
        }
        (state.stalls, state.stalled_at) = (state.stalls.saturating_add(1), Some(now));
        let is_enough = state.stalls >= MAX_STALLS;
        drop(state);
        if is_enough {
            let _told_to_who_comes = self.record_failure(reason, begun, now);
        }
    }

    /// They sent a message of that account away, with a 421 or by hanging up: after several in a row the
    /// account's messages wait a while. Other accounts' do not: it may be this one that they mean.
    pub fn record_transient_failure(&self, account: AccountId, reason: &str, now: Timestamp) {
        let hosts = self.name_for(account);
        let mut state = lock(&self.state);
        let paused = state.accounts.entry(account).or_insert_with(|| AccountBackoff::new(now));
        (paused.in_a_row, paused.last) = (paused.in_a_row.saturating_add(1), now);
        if let Some(backoff) = paused.backoff.as_mut().filter(|it| is_on(it, now)) {
            backoff.since = now;
            return;
        }
        if paused.in_a_row < MAX_TRANSIENT_FAILURES {
            return;
        }
        let doubled = FIRST_BACKOFF.saturating_mul(1 << paused.backoffs.min(10));
        let until = now.after(doubled.min(MAX_ACCOUNT_BACKOFF));
        // A few tell whether it is still so.
        (paused.in_a_row, paused.backoffs) =
            (MAX_TRANSIENT_FAILURES - 2, paused.backoffs.saturating_add(1));
        tracing::warn!(hosts = self.name, %account, reason, %until, "destination defers or drops this account's mail; pausing the account there");
        (paused.is_probe_requested, paused.recovery) = (false, None);
        let failures = paused.backoffs;
        paused.backoff =
            Some(Backoff { hosts, since: now, until, reason: reason.to_owned(), failures });
    }

    /// Until when they are left alone, with that account's mail or with all, and why.
    pub(super) fn backoff(&self, account: AccountId, now: Timestamp) -> Option<Backoff> {
        let state = lock(&self.state);
        let own = state.accounts.get(&account).and_then(|it| it.backoff.as_ref());
        let is_on = |it: &&Backoff| is_on(it, now);
        state.backoff.as_ref().filter(is_on).or(own.filter(is_on)).cloned()
    }

    /// As long as it is not known that they are well, one attempt alone tries it; a further one when that
    /// takes long. None while it is under way.
    #[expect(clippy::option_option, reason = "no attempt, any attempt, the attempt that tries")]
    pub(super) fn probe(self: &Arc<Self>, now: Timestamp) -> Option<Option<Probe>> {
        let mut state = lock(&self.state);
        if state.is_proven {
            return Some(None);
        }
        let takes_long =
            state.probed_at.is_none_or(|at| now >= at.after(PROBE_OVERDUE) || now < at);
        if state.probes > 0 && (state.probes >= MAX_PROBES || !takes_long) {
            return None;
        }
        (state.probes, state.probed_at) = (state.probes + 1, Some(now));
        Some(Some(Probe(Arc::clone(self))))
    }

    /// The names under which what waits may try them again, because a rest is over; each once.
    pub(super) fn ended_backoffs(&self, now: Timestamp) -> Vec<String> {
        let mut state = lock(&self.state);
        let mut ended = Vec::new();
        if !state.is_probe_requested && state.backoff.as_ref().is_some_and(|it| !is_on(it, now)) {
            state.is_probe_requested = true;
            ended.push(self.name.clone());
        }
        for (account, paused) in &mut state.accounts {
            if !paused.is_probe_requested
                && paused.backoff.as_ref().is_some_and(|it| !is_on(it, now))
            {
                paused.is_probe_requested = true;
                ended.push(self.name_for(*account));
            }
        }
        ended
    }

    /// Whether it is worth a little memory that they are well.
    pub(super) fn succeeded_recently(&self, now: Timestamp) -> bool {
        let state = lock(&self.state);
        state.is_proven && state.succeeded_at.is_some_and(|at| now < at.after(FAILURES_REMEMBERED))
    }

    /// Whether there is something to remember of them.
    pub(super) fn is_remembered(&self, now: Timestamp) -> bool {
        let mut state = lock(&self.state);
        state.accounts.retain(|_, paused| paused.is_remembered(now));
        let until = state.backoff.as_ref().map(|backoff| backoff.until);
        until.is_some_and(|until| now < until.after(FAILURES_REMEMBERED))
            || state.stalled_at.is_some_and(|at| now < at.after(FAILURES_REMEMBERED))
            || state.accounts.values().any(|it| it.in_a_row > 0)
    }

    fn name_for(&self, account: AccountId) -> String {
        format!("{}{FOR_ACCOUNT}{account}", self.name)
    }
}

/// Whether a back-off has not ended. A clock that was set back must not make it longer than any is.
fn is_on(backoff: &Backoff, now: Timestamp) -> bool {
    now < backoff.until && backoff.until <= now.after(MAX_BACKOFF)
}

impl State {
    /// Whether an attempt that began then says nothing about how they are: they were well since, by a clock
    /// that was not set back meanwhile.
    fn is_outdated(&self, begun: Timestamp, now: Timestamp) -> bool {
        self.succeeded_at.is_some_and(|succeeded_at| begun < succeeded_at && succeeded_at <= now)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.probes = state.probes.saturating_sub(1);
    }
}
