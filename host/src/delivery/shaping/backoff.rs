//! Health of receiving hosts. After a failure delivery backs off from them; when the back-off ends,
//! a single probe decides whether it resumes. A host that defers only one account's mail causes a
//! back-off for that account alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::memory_budget::Reputation;
use super::reason::Purpose;
use super::requeue::{FIRST_REQUEUE, Recovery, Requeue};
use crate::clock::Timestamp;
use crate::delivery::lock::lock;
use crate::delivery::outcome::Backoff;
use crate::id::AccountId;
use crate::message::waits_for::{Hosts, WaitsFor};

/// Doubles with each further failure in a row.
const FIRST_BACKOFF: Duration = Duration::from_secs(15);
/// The caps of a back-off for all mail and for one account's.
const MAX_BACKOFF: Duration = Duration::from_mins(10);
const MAX_ACCOUNT_BACKOFF: Duration = Duration::from_mins(2);
/// How long failures are remembered after a back-off has ended.
const FAILURES_REMEMBERED: Duration = Duration::from_hours(1);
/// How long an account without failures and without waiting mail is remembered.
const SUCCESS_REMEMBERED: Duration = Duration::from_mins(5);
/// Transient failures in a row that blame the account instead of its messages.
pub(super) const MAX_TRANSIENT_FAILURES: u32 = 5;
/// Stalls in a row that blame the hosts instead of the messages.
const MAX_STALLS: u32 = 3;
/// Parallel probes at most, and the time after which a further probe starts: a probe may be slow
/// because of its own message.
const MAX_PROBES: u32 = 5;
const PROBE_OVERDUE: Duration = Duration::from_secs(10);

/// Health of the hosts of a domain, or of a smarthost. It is kept by hosts and not by operator,
/// because one of two customers of an operator may be down alone.
#[derive(Debug)]
pub struct Health {
    hosts: Hosts,
    state: Mutex<State>,
    requeue: Arc<Requeue>,
}

/// Whether hosts are on probation before the first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostTrust {
    /// The sandbox inbox, and smarthosts, which the operator chose.
    Trusted,
    /// The mail exchangers of others.
    Unproven,
}

/// A failure of hosts, whichever account's message met it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    pub at: Timestamp,
    pub reason: String,
}

/// How hosts took mail since the server started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// A message was accepted or rejected since the last failure.
    pub has_succeeded: bool,
    /// Failures in a row that caused a back-off from them, also where it is over.
    pub failures: u32,
    /// The last failure, or stall, or deferral of an account, since a message was accepted or rejected.
    pub last_error: Option<HostError>,
}

#[derive(Debug, Default)]
struct State {
    /// A message was accepted or rejected since the last failure.
    is_trusted: bool,
    succeeded_at: Option<Timestamp>,
    failures: u32,
    last_error: Option<HostError>,
    /// Stalled attempts in a row, and the time of the last.
    stalls: u32,
    stalled_at: Option<Timestamp>,
    /// Probes under way, and when the last began.
    probes: u32,
    probed_at: Option<Timestamp>,
    /// Whether a probe was requested since the back-off ended.
    is_probe_requested: bool,
    backoff: Option<Backoff>,
    /// Also set for new hosts: messages may wait for them since before a restart.
    recovery: Option<Recovery>,
    accounts: HashMap<AccountId, AccountBackoff>,
}

/// How the hosts treat one account's mail.
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
    /// Starts with a recovery: messages may wait since before a restart.
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

/// A probe under way; its drop ends it.
#[derive(Debug)]
pub struct Probe(Arc<Health>);

/// Whether an attempt may begin.
#[derive(Debug)]
pub(super) enum ProbeAdmission {
    /// The hosts are trusted: it may.
    NotNeeded,
    /// It may, as the probe of hosts on probation.
    Probe(Probe),
    /// It may not: a probe is under way.
    UnderWay,
}

impl Health {
    /// New hosts without trust start on probation.
    pub(super) fn new(hosts: Hosts, trust: HostTrust, requeue: Arc<Requeue>) -> Self {
        let recovery = Some(Recovery::default());
        let state = State { is_trusted: trust == HostTrust::Trusted, recovery, ..State::default() };
        Self { hosts, state: Mutex::new(state), requeue }
    }

    /// `Known` once a message was accepted or rejected, until the next failure.
    #[must_use]
    pub fn repute(&self) -> Reputation {
        if lock(&self.state).is_trusted { Reputation::Known } else { Reputation::Unknown }
    }

    #[must_use]
    pub fn record(&self) -> Record {
        let state = lock(&self.state);
        Record {
            // The operator's own smarthosts are trusted before the first message.
            has_succeeded: state.is_trusted && state.succeeded_at.is_some(),
            failures: state.failures,
            last_error: state.last_error.clone(),
        }
    }

    /// Records that a message of the account was accepted or rejected: the hosts work.
    pub fn record_success(&self, account: AccountId, now: Timestamp) {
        let mut state = lock(&self.state);
        if state.failures > 0 {
            tracing::info!(hosts = %self.hosts, "destination recovered; resuming delivery");
            state.recovery = Some(Recovery::default());
        }
        (state.is_trusted, state.failures, state.stalls, state.backoff) = (true, 0, 0, None);
        (state.succeeded_at, state.stalled_at, state.last_error) = (Some(now), None, None);
        let may_be_requeued = state.recovery.as_mut().and_then(Recovery::record_success);
        let own = state
            .accounts
            .entry(account)
            .or_insert_with(|| AccountBackoff::new(now))
            .record_success(now);
        drop(state);
        if let Some(most) = may_be_requeued {
            self.requeue.request(self.waits_for(None), most);
        }
        if let Some(most) = own {
            self.requeue.request(self.waits_for(Some(account)), most);
        }
    }

    /// Ends the recovery of that name: no message waits under it.
    pub(super) fn note_none_waiting(&self, account: Option<AccountId>) {
        let mut state = lock(&self.state);
        match account {
            None => state.recovery = None,
            Some(account) => {
                if let Some(paused) = state.accounts.get_mut(&account) {
                    paused.recovery = None;
                }
            }
        }
    }

    /// Records that a message began to wait under that name, and requeues it if the hosts have
    /// recovered meanwhile.
    pub(super) fn note_waiting(&self, account: Option<AccountId>, now: Timestamp) {
        let mut state = lock(&self.state);
        let is_backing_off = match account {
            None => !state.is_trusted,
            Some(account) => {
                let own = state.accounts.get(&account).and_then(|it| it.backoff.as_ref());
                own.is_some_and(|it| is_on(it, now))
            }
        };
        if is_backing_off {
            return;
        }
        if account.is_none() {
            state.recovery = Some(Recovery::default());
        }
        drop(state);
        self.requeue.request(self.waits_for(account), FIRST_REQUEUE);
    }

    /// Records that an attempt which began at `begun` found the hosts unreachable or unwilling.
    /// Failures during a back-off count once, and failures of attempts that began before the last
    /// success not at all.
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
        state.note_error(reason, now);
        if let Some(backoff) = state.backoff.as_mut().filter(|it| is_on(it, now)) {
            backoff.since = backoff.since.max(now);
            return Some(backoff.clone());
        }
        let doubled = FIRST_BACKOFF.saturating_mul(1 << state.failures.min(10));
        let until = now.after(doubled.min(MAX_BACKOFF));
        state.failures = state.failures.saturating_add(1);
        let failures = state.failures;
        let backoff = self.begun_backoff(None, reason, (now, until), failures);
        (state.is_trusted, state.is_probe_requested, state.stalls) = (false, false, 0);
        state.recovery = None;
        tracing::warn!(
            hosts = %self.hosts,
            reason,
            failures,
            until = %backoff.until,
            "backing off from destination after a failure"
        );
        state.backoff = Some(backoff.clone());
        Some(backoff)
    }

    /// Records that the hosts stopped answering in the middle of a transaction; several in a row
    /// count as a failure.
    pub fn record_stall(&self, reason: &str, begun: Timestamp, now: Timestamp) {
        let mut state = lock(&self.state);
        if state.is_outdated(begun, now) {
            return;
        }
        state.note_error(reason, now);
        (state.stalls, state.stalled_at) = (state.stalls.saturating_add(1), Some(now));
        let is_enough = state.stalls >= MAX_STALLS;
        drop(state);
        if is_enough {
            let _backoff = self.record_failure(reason, begun, now);
        }
    }

    /// Records that the hosts deferred a message of the account with a 421 or by closing the
    /// connection. Several in a row pause this account there; other accounts go on, because only
    /// this one may be meant.
    pub fn record_transient_failure(&self, account: AccountId, reason: &str, now: Timestamp) {
        let mut state = lock(&self.state);
        state.note_error(reason, now);
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
        // After the back-off two more transient failures are enough.
        (paused.in_a_row, paused.backoffs) =
            (MAX_TRANSIENT_FAILURES - 2, paused.backoffs.saturating_add(1));
        tracing::warn!(hosts = %self.hosts, %account, reason, %until, "destination defers or drops this account's mail; pausing the account there");
        (paused.is_probe_requested, paused.recovery) = (false, None);
        let failures = paused.backoffs;
        paused.backoff = Some(self.begun_backoff(Some(account), reason, (now, until), failures));
    }

    /// The back-off that holds now for the account's mail; without an account, for all mail.
    #[must_use]
    pub fn backoff(&self, account: Option<AccountId>, now: Timestamp) -> Option<Backoff> {
        let state = lock(&self.state);
        let own = account.and_then(|it| state.accounts.get(&it)).and_then(|it| it.backoff.as_ref());
        let is_on = |it: &&Backoff| is_on(it, now);
        state.backoff.as_ref().filter(is_on).or(own.filter(is_on)).cloned()
    }

    /// Admits an attempt. While the hosts are on probation it is a probe, one at a time; none while
    /// that is under way and not overdue.
    pub(super) fn probe(self: &Arc<Self>, now: Timestamp, purpose: Purpose) -> ProbeAdmission {
        let mut state = lock(&self.state);
        if state.is_trusted {
            return ProbeAdmission::NotNeeded;
        }
        let takes_long =
            state.probed_at.is_none_or(|at| now >= at.after(PROBE_OVERDUE) || now < at);
        if state.probes > 0 && (state.probes >= MAX_PROBES || !takes_long) {
            return ProbeAdmission::UnderWay;
        }
        state.probes += 1;
        if purpose == Purpose::Start {
            state.probed_at = Some(now);
        }
        ProbeAdmission::Probe(Probe(Arc::clone(self)))
    }

    /// The back-offs that have ended since the last call: each may get a probe.
    pub(super) fn ended_backoffs(&self, now: Timestamp) -> Vec<WaitsFor> {
        let mut state = lock(&self.state);
        let mut ended = Vec::new();
        if !state.is_probe_requested && state.backoff.as_ref().is_some_and(|it| !is_on(it, now)) {
            state.is_probe_requested = true;
            ended.push(self.waits_for(None));
        }
        for (account, paused) in &mut state.accounts {
            if !paused.is_probe_requested
                && paused.backoff.as_ref().is_some_and(|it| !is_on(it, now))
            {
                paused.is_probe_requested = true;
                ended.push(self.waits_for(Some(*account)));
            }
        }
        ended
    }

    /// Whether the hosts' record is worth keeping while there is room.
    pub(super) fn succeeded_recently(&self, now: Timestamp) -> bool {
        let state = lock(&self.state);
        state.is_trusted && state.succeeded_at.is_some_and(|at| now < at.after(FAILURES_REMEMBERED))
    }

    /// Whether the hosts have failures or stalls to remember.
    pub(super) fn is_remembered(&self, now: Timestamp) -> bool {
        let mut state = lock(&self.state);
        state.accounts.retain(|_, paused| paused.is_remembered(now));
        let until = state.backoff.as_ref().map(|backoff| backoff.until);
        until.is_some_and(|until| now < until.after(FAILURES_REMEMBERED))
            || state.stalled_at.is_some_and(|at| now < at.after(FAILURES_REMEMBERED))
            || state.accounts.values().any(|it| it.in_a_row > 0)
    }

    fn begun_backoff(
        &self,
        account: Option<AccountId>,
        reason: &str,
        (since, until): (Timestamp, Timestamp),
        failures: u32,
    ) -> Backoff {
        let (hosts, reason) = (self.hosts.clone(), reason.to_owned());
        Backoff { hosts, account, since, until, reason, failures }
    }

    fn waits_for(&self, account: Option<AccountId>) -> WaitsFor {
        WaitsFor::Hosts { hosts: self.hosts.clone(), account }
    }
}

/// Whether a back-off has not ended. A clock that was set back must not make it longer than any is.
fn is_on(backoff: &Backoff, now: Timestamp) -> bool {
    now < backoff.until && backoff.until <= now.after(MAX_BACKOFF)
}

impl State {
    fn note_error(&mut self, reason: &str, at: Timestamp) {
        self.last_error = Some(HostError { at, reason: reason.to_owned() });
    }

    /// Whether the hosts have succeeded since the attempt began, so that its failure says nothing
    /// about now.
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
