//! How hosts are that take mail: after failures they rest, and one attempt alone tries whether they are
//! well again. What they do to one account's mail is that account's own affair.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::memory_budget::Repute;
use super::requeue::{FIRST, Recovery, Wakes};
use crate::clock::Timestamp;
use crate::delivery::lock::lock;
use crate::delivery::outcome::Rest;
use crate::id::AccountId;

/// The rest after the first failure in a row; it doubles with each further one.
const REST: Duration = Duration::from_secs(15);
/// The longest rest, of all mail and of one account's.
const LONGEST_REST: Duration = Duration::from_mins(10);
const LONGEST_OF_ACCOUNT: Duration = Duration::from_mins(2);
/// For how long after a rest it is known that there were failures.
const REMEMBERED: Duration = Duration::from_hours(1);
/// The same of an account for which nothing waits.
const NOTHING_SAID: Duration = Duration::from_mins(5);
/// An account's messages in a row that are sent away before it is not the messages.
pub(super) const SENT_AWAY: u32 = 5;
/// Attempts in a row that hang before it is not the messages.
const HUNG: u32 = 3;
/// What stands between hosts and an account in the name of a rest.
pub(super) const FOR: &str = " for ";
/// Attempts that try at one time how hosts are, and how long one alone may take before another has its
/// turn: it may be its message that they cannot bear.
const PROBES: u32 = 5;
const PROBE: Duration = Duration::from_secs(10);

/// How the hosts of a domain, or a smarthost, are. Of two customers of one operator one may be down.
#[derive(Debug)]
pub struct Health {
    name: String,
    state: Mutex<State>,
    wakes: Arc<Wakes>,
}

#[derive(Debug, Default)]
struct State {
    /// They have judged a message, and not failed since.
    is_known: bool,
    well_at: Option<Timestamp>,
    failures: u32,
    /// Attempts in a row that hung, and the last of them.
    hung: u32,
    hung_at: Option<Timestamp>,
    /// Attempts that try how they are, and when the last of them began.
    probes: u32,
    probed_at: Option<Timestamp>,
    /// Whether what waits was told that the rest is over.
    is_told: bool,
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
    is_told: bool,
    recovery: Option<Recovery>,
    last: Timestamp,
}

impl Away {
    /// Something may wait for them since an earlier time.
    fn new(now: Timestamp) -> Self {
        let recovery = Some(Recovery::default());
        Self { in_a_row: 0, rests: 0, rest: None, is_told: false, recovery, last: now }
    }

    fn is_remembered(&self, now: Timestamp) -> bool {
        let says_something = self.in_a_row > 0 || self.recovery.is_some();
        let until = self.last.after(if says_something { REMEMBERED } else { NOTHING_SAID });
        now < until && self.last <= now
    }

    fn has_taken_one(&mut self, now: Timestamp) -> Option<u32> {
        if self.rests > 0 {
            self.recovery = Some(Recovery::default());
        }
        (self.in_a_row, self.rests, self.rest, self.last) = (0, 0, None, now);
        self.recovery.as_mut().and_then(Recovery::has_taken_one)
    }
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
            tracing::info!(hosts = self.name, "destination recovered; resuming delivery");
            state.recovery = Some(Recovery::default());
        }
        (state.is_known, state.failures, state.hung, state.rest) = (true, 0, 0, None);
        (state.well_at, state.hung_at) = (Some(now), None);
        let woken = state.recovery.as_mut().and_then(Recovery::has_taken_one);
        let own = state.away.entry(account).or_insert_with(|| Away::new(now)).has_taken_one(now);
        drop(state);
        if let Some(woken) = woken {
            self.wakes.call(&self.name, woken);
        }
        if let Some(woken) = own {
            self.wakes.call(&self.name_for(account), woken);
        }
    }

    /// Nothing waits for them under that name.
    pub(super) fn nothing_waits(&self, name: &str) {
        let mut state = lock(&self.state);
        if name == self.name {
            state.recovery = None;
        }
        for (account, away) in &mut state.away {
            if name == self.name_for(*account) {
                away.recovery = None;
            }
        }
    }

    /// Something began to wait for them under that name. If they are well by now, it goes on.
    pub(super) fn one_waits(&self, name: &str, now: Timestamp) {
        let mut state = lock(&self.state);
        let is_of_account = name != self.name;
        let is_resting = if is_of_account {
            let mut rests = state.away.iter().filter(|(it, _)| name == self.name_for(**it));
            rests.any(|(_, away)| away.rest.as_ref().is_some_and(|it| is_on(it, now)))
        } else {
            !state.is_known
        };
        if is_resting {
            return;
        }
        if !is_of_account {
            state.recovery = Some(Recovery::default());
        }
        drop(state);
        self.wakes.call(name, FIRST);
    }

    /// Whose rest has that name: the hosts without the account.
    pub(super) fn hosts_of(name: &str) -> &str {
        name.split_once(FOR).map_or(name, |(hosts, _)| hosts)
    }

    /// They could not be reached, or would hear of no message, in an attempt that began then. Failures of
    /// attempts that were under way together count as one, and those of attempts that began before they
    /// were well for nothing.
    pub fn has_failed(&self, reason: &str, begun: Timestamp, now: Timestamp) -> Option<Rest> {
        let mut state = lock(&self.state);
        if state.is_outdated(begun, now) {
            return None;
        }
        if let Some(rest) = state.rest.as_mut().filter(|it| is_on(it, now)) {
            rest.since = rest.since.max(now);
            return Some(rest.clone());
        }
        let doubled = REST.saturating_mul(1 << state.failures.min(10));
        let until = now.after(doubled.min(LONGEST_REST));
        let hosts = self.name.clone();
        state.failures = state.failures.saturating_add(1);
        let failures = state.failures;
        let rest = Rest { hosts, since: now, until, reason: reason.to_owned(), failures };
        (state.is_known, state.is_told, state.hung) = (false, false, 0);
        state.recovery = None;
        tracing::warn!(
            hosts = self.name,
            reason,
            failures,
            until = %rest.until,
            "backing off from destination after a failure"
        );
        state.rest = Some(rest.clone());
        Some(rest)
    }

    /// They let us in and then said nothing more: after several in a row it is not the message.
    pub fn has_hung(&self, reason: &str, begun: Timestamp, now: Timestamp) {
        let mut state = lock(&self.state);
        if state.is_outdated(begun, now) {
            return;
        }
        (state.hung, state.hung_at) = (state.hung.saturating_add(1), Some(now));
        let is_enough = state.hung >= HUNG;
        drop(state);
        if is_enough {
            let _told_to_who_comes = self.has_failed(reason, begun, now);
        }
    }

    /// They sent a message of that account away, with a 421 or by hanging up: after several in a row the
    /// account's messages wait a while. Other accounts' do not: it may be this one that they mean.
    pub fn has_sent_away(&self, account: AccountId, reason: &str, now: Timestamp) {
        let hosts = self.name_for(account);
        let mut state = lock(&self.state);
        let away = state.away.entry(account).or_insert_with(|| Away::new(now));
        (away.in_a_row, away.last) = (away.in_a_row.saturating_add(1), now);
        if let Some(rest) = away.rest.as_mut().filter(|it| is_on(it, now)) {
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
        tracing::warn!(hosts = self.name, %account, reason, %until, "destination defers or drops this account's mail; pausing the account there");
        (away.is_told, away.recovery) = (false, None);
        let failures = away.rests;
        away.rest = Some(Rest { hosts, since: now, until, reason: reason.to_owned(), failures });
    }

    /// Until when they are left alone, with that account's mail or with all, and why.
    pub(super) fn rest(&self, account: AccountId, now: Timestamp) -> Option<Rest> {
        let state = lock(&self.state);
        let own = state.away.get(&account).and_then(|it| it.rest.as_ref());
        let is_on = |it: &&Rest| is_on(it, now);
        state.rest.as_ref().filter(is_on).or(own.filter(is_on)).cloned()
    }

    /// As long as it is not known that they are well, one attempt alone tries it; a further one when that
    /// takes long. None while it is under way.
    #[expect(clippy::option_option, reason = "no attempt, any attempt, the attempt that tries")]
    pub(super) fn probe(self: &Arc<Self>, now: Timestamp) -> Option<Option<Probe>> {
        let mut state = lock(&self.state);
        if state.is_known {
            return Some(None);
        }
        let takes_long = state.probed_at.is_none_or(|at| now >= at.after(PROBE) || now < at);
        if state.probes > 0 && (state.probes >= PROBES || !takes_long) {
            return None;
        }
        (state.probes, state.probed_at) = (state.probes + 1, Some(now));
        Some(Some(Probe(Arc::clone(self))))
    }

    /// The names under which what waits may try them again, because a rest is over; each once.
    pub(super) fn ended_rests(&self, now: Timestamp) -> Vec<String> {
        let mut state = lock(&self.state);
        let mut ended = Vec::new();
        if !state.is_told && state.rest.as_ref().is_some_and(|it| !is_on(it, now)) {
            state.is_told = true;
            ended.push(self.name.clone());
        }
        for (account, away) in &mut state.away {
            if !away.is_told && away.rest.as_ref().is_some_and(|it| !is_on(it, now)) {
                away.is_told = true;
                ended.push(self.name_for(*account));
            }
        }
        ended
    }

    /// Whether it is worth a little memory that they are well.
    pub(super) fn was_well_lately(&self, now: Timestamp) -> bool {
        let state = lock(&self.state);
        state.is_known && state.well_at.is_some_and(|at| now < at.after(REMEMBERED))
    }

    /// Whether there is something to remember of them.
    pub(super) fn is_remembered(&self, now: Timestamp) -> bool {
        let mut state = lock(&self.state);
        state.away.retain(|_, away| away.is_remembered(now));
        let until = state.rest.as_ref().map(|rest| rest.until);
        until.is_some_and(|until| now < until.after(REMEMBERED))
            || state.hung_at.is_some_and(|at| now < at.after(REMEMBERED))
            || state.away.values().any(|it| it.in_a_row > 0)
    }

    fn name_for(&self, account: AccountId) -> String {
        format!("{}{FOR}{account}", self.name)
    }
}

/// Whether a back-off has not ended. A clock that was set back must not make it longer than any is.
fn is_on(rest: &Rest, now: Timestamp) -> bool {
    now < rest.until && rest.until <= now.after(LONGEST_REST)
}

impl State {
    /// Whether an attempt that began then says nothing about how they are: they were well since, by a clock
    /// that was not set back meanwhile.
    fn is_outdated(&self, begun: Timestamp, now: Timestamp) -> bool {
        self.well_at.is_some_and(|well_at| begun < well_at && well_at <= now)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        let mut state = lock(&self.0.state);
        state.probes = state.probes.saturating_sub(1);
    }
}
