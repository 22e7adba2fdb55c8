//! Why mail waits: what the queue says of a message or a domain, and what admission would decide now.

use std::collections::BTreeSet;

use super::at_lease::{AtLease, recheck};
use crate::clock::Timestamp;
use crate::delivery::outcome::{Deferral, FailureReason, Outcome, RouteTaken};
use crate::delivery::routing::mx::MxResolution;
use crate::delivery::shaping::admission::{Admission, AdmissionControl, BoundsOf};
use crate::delivery::shaping::backoff::HostError;
use crate::delivery::shaping::memory_budget::SMALL_MESSAGE;
use crate::delivery::shaping::reason::Reason;
use crate::id::{AccountId, MessageId};
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::message::waits_for::{Hosts, WaitsFor};
use crate::store::records::{Due, LeaseFacts};
use crate::store::{DestinationRow, LastAttempt, Queued, WaitingGroup};
use crate::store::{Store, StoreError};

/// Every reason why a message of the queue is not on its way to a server now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// Its `sendAt` is in the future.
    Scheduled,
    /// The pause after its last attempt.
    Retry,
    /// The message waits for hosts because of an earlier back-off; with an account for its mail alone. The last
    /// failure is none where the server has not seen one since it started.
    AfterBackOff { hosts: Hosts, account: Option<AccountId>, last_error: Option<HostError> },
    /// The MX of that domain cannot be resolved.
    UnresolvedMx(String),
    /// The message's own account is suspended.
    AccountSuspended(AccountId),
    /// Admission gives it no slot, or would give none if it were due: delivery backs off, or a bound is reached,
    /// with the place where that bound is set.
    Held(Reason, Option<BoundsOf>),
    /// It is due, and delivery is held since a backup was restored.
    AfterRestore,
    /// It is due, and an operator holds delivery in read-only mode.
    Maintenance,
    /// The next round ends the message without an attempt.
    Ending(Ending),
    /// It is due, and the next round of the worker starts it.
    Starting,
    /// An attempt is under way.
    Sending,
}

/// Why a message ends without an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Its recipient was suppressed after it was accepted.
    Suppressed,
    /// It cannot be sent, as these words say.
    Undeliverable(FailureReason, String),
}

/// Why a message waits, and until when if that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyMessage {
    pub waiting: Waiting,
    pub until: Option<Timestamp>,
}

/// What is known of a domain.
#[derive(Debug)]
pub struct WhyDomain {
    /// What its messages wait for, each with their number. Messages of one account, and of about one size, that are
    /// due were evaluated together; two entries may have the same reason.
    pub groups: Vec<(WhyMessage, u32)>,
    /// Hosts that fail and recover together: the mail exchangers of the domain, or smarthosts. None where no mail
    /// was on its way there lately.
    pub hosts: Vec<HostsHealth>,
    /// Why the MX was looked up without hosts.
    pub unresolved: Option<String>,
    /// The last attempt of all its messages.
    pub last_attempt: Option<LastAttempt>,
}

/// A destination for which mail waits, and why.
#[derive(Debug)]
pub struct WhyDestination {
    pub lane: String,
    /// At most [`crate::store::MAX_LISTED_MESSAGES`] are counted.
    pub messages: u32,
    /// Attempts that are under way.
    pub leased: u32,
    pub oldest_at: Option<Timestamp>,
    /// Why the message waits that is due first.
    pub first: WhyMessage,
}

/// How hosts take mail, as the running server knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostsHealth {
    pub hosts: Hosts,
    pub state: HealthState,
    /// Failures in a row.
    pub failures: u32,
    /// The last failure since a message was accepted or rejected. Before the first attempt since the start it is
    /// that of the messages which wait still.
    pub last_error: Option<HostError>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HealthState {
    /// A message was accepted or rejected since the last failure.
    Proven,
    /// No message has been accepted or rejected, and there was no failure, since the server started.
    Unproven,
    /// They failed, and the back-off is over: one probe at a time tries them.
    Failing,
    BackingOff {
        until: Timestamp,
    },
}

impl WhyMessage {
    fn new(waiting: Waiting, until: Option<Timestamp>) -> Self {
        Self { waiting, until }
    }
}

/// Why that message waits, with what the queue holds of it; none where nothing is left to be delivered.
pub async fn message(
    id: MessageId,
    store: &Store,
    admission: &AdmissionControl,
) -> Result<Option<(Queued, WhyMessage)>, StoreError> {
    let Some(queued) = store.queued(id).await? else { return Ok(None) };
    let account = BTreeSet::from([queued.due.account_id]);
    let address = queued.recipient.iter().map(|it| (queued.due.account_id, it.folded())).collect();
    let facts = store.lease_facts(&account, &address, admission.clock.now()).await?;
    let row = Row {
        due: &queued.due,
        recipient: queued.recipient.as_ref(),
        state: queued.state,
        waits_for: queued.waits_for.as_ref(),
        is_leased: queued.is_leased,
    };
    let why = why(&row, &facts, admission);
    Ok(Some((queued, why)))
}

/// Why mail to that domain waits; none where nothing waits and the server knows nothing of it.
pub async fn domain(
    domain: &str,
    store: &Store,
    admission: &AdmissionControl,
) -> Result<Option<WhyDomain>, StoreError> {
    let now = admission.clock.now();
    let groups = store.waiting_in(domain, SMALL_MESSAGE, now).await?;
    let accounts: BTreeSet<AccountId> = groups.iter().map(|it| it.due.account_id).collect();
    let facts = store.lease_facts(&accounts, &BTreeSet::new(), now).await?;
    let last_attempts = store.last_attempts_in(domain).await?;
    let (mut hosts, unresolved) = routes(domain, &accounts, admission);
    for group in &groups {
        if let Some(WaitsFor::Hosts { hosts: waited_for, .. }) = &group.waits_for
            && !hosts.contains(waited_for)
        {
            hosts.push(waited_for.clone());
        }
    }
    if groups.is_empty() && hosts.is_empty() && unresolved.is_none() {
        return Ok(None);
    }
    let hosts = hosts.into_iter().map(|it| health(it, &last_attempts, admission));
    let groups = groups.iter().map(|group| {
        let WaitingGroup { due, state, waits_for, is_leased, messages } = group;
        let (state, waits_for, is_leased) = (*state, waits_for.as_ref(), *is_leased);
        (
            why(&Row { due, recipient: None, state, waits_for, is_leased }, &facts, admission),
            *messages,
        )
    });
    Ok(Some(WhyDomain {
        groups: groups.collect(),
        hosts: hosts.collect(),
        unresolved,
        last_attempt: last_attempts.into_iter().max_by_key(|it| it.ended_at),
    }))
}

/// Destinations for which mail waits, by name, behind `after`, from `from` on.
pub async fn destinations(
    (after, from): (&str, &str),
    limit: u32,
    (store, admission): (&Store, &AdmissionControl),
) -> Result<Vec<WhyDestination>, StoreError> {
    let rows = store.destinations((after, from), limit).await?;
    let accounts: BTreeSet<AccountId> = rows.iter().map(|it| it.first.due.account_id).collect();
    let now = admission.clock.now();
    let facts = store.lease_facts(&accounts, &BTreeSet::new(), now).await?;
    let why = |it: DestinationRow| {
        let DestinationRow { first, leased, oldest_at } = it;
        let WaitingGroup { due, state, waits_for, is_leased, messages } = first;
        let waits_for = waits_for.as_ref();
        let row = Row { due: &due, recipient: None, state, waits_for, is_leased };
        let first = why(&row, &facts, admission);
        WhyDestination { lane: due.lane, messages, leased, oldest_at, first }
    };
    Ok(rows.into_iter().map(why).collect())
}

/// A row of the queue, or one that stands for many.
struct Row<'a> {
    due: &'a Due,
    /// None where it is nobody's alone.
    recipient: Option<&'a EmailAddress>,
    state: MessageState,
    waits_for: Option<&'a WaitsFor>,
    is_leased: bool,
}

fn why(row: &Row<'_>, facts: &LeaseFacts, admission: &AdmissionControl) -> WhyMessage {
    let (due, now) = (row.due, admission.clock.now());
    if row.is_leased {
        return WhyMessage::new(Waiting::Sending, None);
    }
    let until = (due.due_at > now).then_some(due.due_at);
    match recheck(due.account_id, row.recipient, facts) {
        AtLease::Send => {}
        // It goes on when somebody says so.
        AtLease::Wait { waits_for, .. } => {
            return WhyMessage::new(waiting_for(&waits_for, admission), None);
        }
        AtLease::Suppressed => {
            return WhyMessage::new(Waiting::Ending(Ending::Suppressed), until);
        }
    }
    if until.is_some() {
        return of_row(row, until, admission);
    }
    // First, because a release is refused in read-only mode.
    if admission.is_paused() {
        return WhyMessage::new(Waiting::Maintenance, None);
    }
    if admission.is_held() {
        return WhyMessage::new(Waiting::AfterRestore, None);
    }
    of_admission(due, admission)
}

/// What the row of a message says that is not due.
fn of_row(row: &Row<'_>, until: Option<Timestamp>, admission: &AdmissionControl) -> WhyMessage {
    let Some(waits_for) = row.waits_for else {
        let is_scheduled = row.state == MessageState::Scheduled;
        let waiting = if is_scheduled { Waiting::Scheduled } else { Waiting::Retry };
        return WhyMessage::new(waiting, until);
    };
    WhyMessage::new(waiting_for(waits_for, admission), until)
}

fn waiting_for(waits_for: &WaitsFor, admission: &AdmissionControl) -> Waiting {
    let (hosts, account) = match waits_for {
        WaitsFor::Hosts { hosts, account } => (hosts, *account),
        WaitsFor::Mx(domain) => return Waiting::UnresolvedMx(domain.clone()),
        WaitsFor::Account(account) => return Waiting::AccountSuspended(*account),
    };
    let health = admission.destinations.health_of(hosts);
    match health.as_ref().and_then(|it| it.backoff(account, admission.clock.now())) {
        Some(backoff) => Waiting::Held(Reason::BackOff(backoff), None),
        None => Waiting::AfterBackOff {
            hosts: hosts.clone(),
            account,
            last_error: health.and_then(|it| it.record().last_error),
        },
    }
}

/// What admission would decide of a message that is due.
fn of_admission(due: &Due, admission: &AdmissionControl) -> WhyMessage {
    let reason = match admission.look(due) {
        Admission::Start(_) => return WhyMessage::new(Waiting::Starting, None),
        Admission::Over(report) => {
            let waiting = match report.outcome {
                Outcome::Failed(reason) => {
                    Waiting::Ending(Ending::Undeliverable(reason, report.words))
                }
                Outcome::Deferred(Deferral::UnresolvedMx(domain)) => Waiting::UnresolvedMx(domain),
                // Admission asks no server, so there is no reply.
                Outcome::Deferred(_)
                | Outcome::Bounced(..)
                | Outcome::Delivered(_)
                | Outcome::Relayed(_) => Waiting::Starting,
            };
            return WhyMessage::new(waiting, None);
        }
        Admission::Wait(reason, _) => reason,
    };
    let until = match &reason {
        Reason::BackOff(backoff) => Some(backoff.until),
        // Nobody knows when it ends.
        Reason::Probing => None,
        Reason::DestinationFull
        | Reason::RateLimit(_)
        | Reason::OperatorRateLimit(_)
        | Reason::LargeMessages
        | Reason::Memory
        | Reason::Probation
        | Reason::Lookup
        | Reason::NoFreeAttempt => reason.wait().map(|wait| admission.clock.now().after(wait)),
    };
    let bounds = admission.bounds_of(due, &reason);
    WhyMessage::new(Waiting::Held(reason, bounds), until)
}

/// The hosts that take the mail of these accounts to the domain, and why its MX has none.
fn routes(
    domain: &str,
    accounts: &BTreeSet<AccountId>,
    admission: &AdmissionControl,
) -> (Vec<Hosts>, Option<String>) {
    let (mut hosts, mut is_direct) = (Vec::new(), accounts.is_empty());
    for account in accounts {
        match admission.smarthosts_of(*account, domain) {
            Some(smarthosts) => {
                for smarthost in smarthosts {
                    if !hosts.contains(&smarthost) {
                        hosts.push(smarthost);
                    }
                }
            }
            None => is_direct = true,
        }
    }
    let resolution = if is_direct { admission.mx.usable(domain) } else { None };
    let unresolved = match resolution.as_deref() {
        Some(MxResolution::Hosts(found)) => {
            hosts.push(found.with_one_health.clone());
            None
        }
        Some(MxResolution::Failed(failure)) => Some(failure.reason().to_owned()),
        None => None,
    };
    (hosts, unresolved)
}

fn health(hosts: Hosts, attempts: &[LastAttempt], admission: &AdmissionControl) -> HostsHealth {
    let now = admission.clock.now();
    let health = admission.destinations.health_of(&hosts);
    let record = health.as_ref().map(|it| it.record()).unwrap_or_default();
    let state = match health.and_then(|it| it.backoff(None, now)) {
        Some(backoff) => HealthState::BackingOff { until: backoff.until },
        None if record.failures > 0 => HealthState::Failing,
        None if record.has_succeeded => HealthState::Proven,
        None => HealthState::Unproven,
    };
    let last_error = match (&state, record.last_error) {
        (HealthState::Unproven, None) => {
            let attempts = attempts.iter().filter(|it| is_of(it, &hosts));
            let last = attempts.max_by_key(|it| it.ended_at);
            last.map(|it| HostError { at: it.ended_at, reason: it.reply.clone() })
        }
        (_, last_error) => last_error,
    };
    HostsHealth { hosts, state, failures: record.failures, last_error }
}

/// Whether an attempt ended at one of these hosts.
fn is_of(attempt: &LastAttempt, hosts: &Hosts) -> bool {
    match (hosts, RouteTaken::of_column(&attempt.route)) {
        (Hosts::MailExchangers { names, .. }, Some(RouteTaken::Direct)) => {
            attempt.host.as_ref().is_some_and(|it| names.contains(it))
        }
        (Hosts::Smarthost(name), Some(RouteTaken::Smarthost(taken))) => **name == *taken,
        (Hosts::Sandbox, Some(RouteTaken::Sandbox)) => true,
        (Hosts::MailExchangers { .. } | Hosts::Smarthost(_) | Hosts::Sandbox, _) => false,
    }
}
