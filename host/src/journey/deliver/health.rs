//! How hosts are that take mail: after failures they rest, and one attempt alone tries whether they are
//! well again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::destination::lock;
use super::recovery::{Recovery, Wakes};
use crate::clock::Timestamp;

/// The rest after the first failure in a row; it doubles with each further one.
const REST: Duration = Duration::from_secs(15);
/// The longest rest.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// For how long after a rest it is known that there were failures.
const REMEMBERED: Duration = Duration::from_hours(1);
/// Messages in a row that are sent away before it is not the messages.
pub(super) const SENT_AWAY: u32 = 5;

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

#[derive(Debug)]
struct State {
    failures: u32,
    /// Messages in a row that were sent away with a 421.
    sent_away: u32,
    is_probed: bool,
    rest: Option<Rest>,
    /// Of hosts that are new here, too: something may wait for them since an earlier time.
    recovery: Option<Recovery>,
}

/// The one attempt that tries whether it is well again.
#[derive(Debug)]
pub struct Probe(Arc<Health>);

impl Health {
    /// Hosts that are new here.
    pub(super) fn new(name: String, wakes: Arc<Wakes>) -> Self {
        let recovery = Some(Recovery::default());
        let state = State { failures: 0, sent_away: 0, is_probed: false, rest: None, recovery };
        Self { name, state: Mutex::new(state), wakes }
    }

    /// Nothing waits for them.
    pub(super) fn nothing_waits(&self) {
        lock(&self.state).recovery = None;
    }

    /// They answered.
    pub fn is_well(&self) {
        let mut state = lock(&self.state);
        if state.failures > 0 {
            tracing::info!(hosts = self.name, "they take mail again");
            state.recovery = Some(Recovery::default());
        }
        (state.failures, state.sent_away, state.rest) = (0, 0, None);
        let woken = state.recovery.as_mut().and_then(Recovery::has_taken_one);
        drop(state);
        if let Some(woken) = woken {
            self.wakes.call(&self.name, woken);
        }
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
        (state.sent_away, state.recovery) = (0, None);
        tracing::warn!(hosts = self.name, reason, until = %rest.until, "they are left alone for a while");
        state.rest = Some(rest.clone());
        rest
    }

    /// They sent a message away with a 421: after several in a row it is not the message.
    pub fn has_sent_away(&self, reason: &str, now: Timestamp) {
        let mut state = lock(&self.state);
        state.sent_away = state.sent_away.saturating_add(1);
        let is_enough = state.sent_away >= SENT_AWAY;
        drop(state);
        if is_enough {
            self.has_failed(reason, now);
        }
    }

    /// Until when they are left alone, and why.
    pub(super) fn rest(&self, now: Timestamp) -> Option<Rest> {
        let rest = lock(&self.state).rest.clone()?;
        // A clock that was set back must not make the rest longer than any rest is.
        (now < rest.until && rest.until <= now.after(LONGEST_REST)).then_some(rest)
    }

    /// After failures one attempt alone tries whether they are well again; none while that is under way.
    #[expect(clippy::option_option, reason = "no attempt, any attempt, the one attempt")]
    pub(super) fn probe(self: &Arc<Self>) -> Option<Option<Probe>> {
        let mut state = lock(&self.state);
        if state.failures == 0 {
            return Some(None);
        }
        if std::mem::replace(&mut state.is_probed, true) {
            return None;
        }
        Some(Some(Probe(Arc::clone(self))))
    }

    /// Whether there is something to remember of them.
    pub(super) fn is_remembered(&self, now: Timestamp) -> bool {
        let state = lock(&self.state);
        let until = state.rest.as_ref().map(|rest| rest.until);
        until.is_some_and(|until| now < until.after(REMEMBERED)) || state.sent_away > 0
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        lock(&self.0.state).is_probed = false;
    }
}
