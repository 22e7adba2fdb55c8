//! How hosts are that take mail: after failures they rest, and one attempt alone tries whether they are
//! well again. What they do to one account's mail is that account's own affair.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::destination::lock;
use super::memory::Repute;
use super::recovery::{Recovery, Wakes};
use crate::clock::Timestamp;
use crate::id::AccountId;

/// The rest after the first failure in a row; it doubles with each further one.
const REST: Duration = Duration::from_secs(15);
/// The longest rest, of all mail and of one account's.
const LONGEST_REST: Duration = Duration::from_mins(10);
const LONGEST_OF_ACCOUNT: Duration = Duration::from_mins(2);
/// For how long after a rest it is known that there were failures.
const REMEMBERED: Duration = Duration::from_hours(1);
/// An account's messages in a row that are sent away before it is not the messages.
pub(super) const SENT_AWAY: u32 = 5;
/// Attempts in a row that hang before it is not the messages.
const HUNG: u32 = 3;
/// Attempts at one time at hosts that have never taken or refused a message.
const FIRST: u32 = 2;

/// How the hosts of a domain, or a smarthost, are. Of two customers of one operator one may be down.
#[derive(Debug)]
pub struct Health {
    name: String,
    state: Mutex<State>,
    wakes: Arc<Wakes>,
}

/// Why a destination is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// Whose: what waits for them waits under this name.
    pub hosts: String,
    /// When they failed last.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// What went wrong, without the other side's words: other accounts read it.
    pub reason: String,
}

#[derive(Debug, Default)]
struct State {
    /// They have judged a message, and not failed since.
    is_known: bool,
    well_at: Option<Timestamp>,
    failures: u32,
    /// Attempts in a row that hung.
    hung: u32,
    /// Attempts that try how they are.
    probes: u32,
    rest: Option<Rest>,
    /// Of hosts that are new here, too: something may wait for them since an earlier time.
    recovery: Option<Recovery>,
    away: HashMap<AccountId, Away>,
}

/// What they do to the messages of one account.
#[derive(Debug)]
struct Away {
    in_a_row: u32,
    rests: u32,
    rest: Option<Rest>,
    last: Timestamp,
}

/// One attempt that tries how they are.
#[derive(Debug)]
pub struct Probe(Arc<Health>);

impl Health {
    /// Hosts that are new here; the operator's own are known.
    pub(super) fn new(name: String, is_ours: bool, wakes: Arc<Wakes>) -> Self {
        let recovery = Some(Recovery::default());
        let state = State { is_known: is_ours, recovery, ..State::default() };
        Self { name, state: Mutex::new(state), wakes }
    }

    /// Whether they have judged a message, and not failed since.
    #[must_use]
    pub fn repute(&self) -> Repute {
        if lock(&self.state).is_known { Repute::Known } else { Repute::Unknown }
    }

    /// They have judged a message of that account.
    pub fn is_well(&self, account: AccountId, now: Timestamp) {
        let mut state = lock(&self.state);
        if state.failures > 0 {
            tracing::info!(hosts = self.name, "they take mail again");
            state.recovery = Some(Recovery::default());
        }
        (state.is_known, state.failures, state.hung, state.rest) = (true, 0, 0, None);
        state.well_at = Some(now);
        let woken = state.recovery.as_mut().and_then(Recovery::has_taken_one);
        let away = state.away.remove(&account);
        drop(state);
        if let Some(woken) = woken {
            self.wakes.call(&self.name, woken);
        }
        if away.is_some_and(|it| it.rests > 0) {
            self.wakes.call(&self.name_for(account), Recovery::default().begin());
        }
    }

    /// Nothing waits for them.
    pub(super) fn nothing_waits(&self) {
        lock(&self.state).recovery = None;
    }

    /// They could not be reached, or would hear of no message. Failures of attempts that were under way
    /// together count as one.
    pub fn has_failed(&self, reason: &str, now: Timestamp) -> Rest {
        let mut state = lock(&self.state);
        if let Some(rest) = &mut state.rest
            && now < rest.until
            && rest.until <= now.after(LONGEST_REST)
        {
            rest.since = rest.since.max(now);
            return rest.clone();
        }
        let doubled = REST.saturating_mul(1 << state.failures.min(10));
        let until = now.after(doubled.min(LONGEST_REST));
        let hosts = self.name.clone();
        let rest = Rest { hosts, since: now, until, reason: reason.to_owned() };
        state.failures = state.failures.saturating_add(1);
        (state.is_known, state.hung, state.recovery) = (false, 0, None);
        tracing::warn!(hosts = self.name, reason, until = %rest.until, "they are left alone for a while");
        state.rest = Some(rest.clone());
        rest
    }

    /// They let us in and then said nothing more: after several in a row it is not the message.
    pub fn has_hung(&self, reason: &str, now: Timestamp) {
        let mut state = lock(&self.state);
        state.hung = state.hung.saturating_add(1);
        let is_enough = state.hung >= HUNG;
        drop(state);
        if is_enough {
            self.has_failed(reason, now);
        }
    }

    /// They sent a message of that account away, with a 421 or by hanging up: after several in a row the
    /// account's messages wait a while. Other accounts' do not: it may be this one that they mean.
    pub fn has_sent_away(&self, account: AccountId, reason: &str, now: Timestamp) {
        let hosts = self.name_for(account);
        let mut state = lock(&self.state);
        let new = || Away { in_a_row: 0, rests: 0, rest: None, last: now };
        let away = state.away.entry(account).or_insert_with(new);
        (away.in_a_row, away.last) = (away.in_a_row.saturating_add(1), now);
        if let Some(rest) = away.rest.as_mut().filter(|it| now < it.until) {
            rest.since = now;
            return;
        }
        if away.in_a_row < SENT_AWAY {
            return;
        }
        let doubled = REST.saturating_mul(1 << away.rests.min(10));
        let until = now.after(doubled.min(LONGEST_OF_ACCOUNT));
        // A few tell whether it is still so.
        (away.in_a_row, away.rests) = (SENT_AWAY - 2, away.rests.saturating_add(1));
        tracing::warn!(hosts = self.name, %account, reason, %until, "they send its mail away; it waits a while");
        away.rest = Some(Rest { hosts, since: now, until, reason: reason.to_owned() });
    }

    /// Until when they are left alone, with that account's mail or with all, and why.
    pub(super) fn rest(&self, account: AccountId, now: Timestamp) -> Option<Rest> {
        let state = lock(&self.state);
        let own = state.away.get(&account).and_then(|it| it.rest.as_ref());
        // A clock that was set back must not make the rest longer than any rest is.
        let is_on = |it: &&Rest| now < it.until && it.until <= now.after(LONGEST_REST);
        state.rest.as_ref().filter(is_on).or(own.filter(is_on)).cloned()
    }

    /// As long as it is not known that they are well, few attempts try it: after failures one alone. None
    /// while these are under way.
    #[expect(clippy::option_option, reason = "no attempt, any attempt, one of the few attempts")]
    pub(super) fn probe(self: &Arc<Self>) -> Option<Option<Probe>> {
        let mut state = lock(&self.state);
        if state.is_known {
            return Some(None);
        }
        let most = if state.failures > 0 { 1 } else { FIRST };
        if state.probes >= most {
            return None;
        }
        state.probes += 1;
        Some(Some(Probe(Arc::clone(self))))
    }

    /// Whether it is worth a little memory that they are well.
    pub(super) fn was_well_lately(&self, now: Timestamp) -> bool {
        let state = lock(&self.state);
        state.is_known && state.well_at.is_some_and(|at| now < at.after(REMEMBERED))
    }

    /// Whether there is something to remember of them.
    pub(super) fn is_remembered(&self, now: Timestamp) -> bool {
        let mut state = lock(&self.state);
        state.away.retain(|_, away| now < away.last.after(REMEMBERED));
        let until = state.rest.as_ref().map(|rest| rest.until);
        until.is_some_and(|until| now < until.after(REMEMBERED))
            || state.hung > 0
            || !state.away.is_empty()
    }

    fn name_for(&self, account: AccountId) -> String {
        format!("{} for {account}", self.name)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.probes = state.probes.saturating_sub(1);
    }
}
