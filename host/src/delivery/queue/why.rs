//! Why mail waits: what the queue says of a message or a domain, and what admission would decide now.

use crate::clock::Timestamp;
use crate::delivery::outcome::Backoff;
use crate::delivery::routing::mx::MxResolution;
use crate::delivery::shaping::admission::{Admission, AdmissionControl};
use crate::delivery::shaping::memory_budget::Reputation;
use crate::delivery::shaping::reason::Reason;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::message::waits_for::{Hosts, WaitsFor};
use crate::store::{Queued, WaitingGroup};
use crate::store::{Store, StoreError};

/// Every reason why a message of the queue is not on its way to a server now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// Its `sendAt` is in the future.
    Scheduled,
    /// The pause after its last attempt.
    Retry,
    /// What it waits for besides its next attempt.
    For(WaitsFor),
    /// It is due, and admission has no room for it.
    Held(Reason),
    /// It is due, and the next round of the worker starts it.
    Starting,
    /// An attempt is under way.
    Sending,
}

/// Why a message waits, and until when if that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WhyMessage {
    pub waiting: Waiting,
    pub until: Option<Timestamp>,
    /// The back-off of what it waits for, as the running server knows it.
    pub backoff: Option<Backoff>,
}

/// What is known of a domain.
#[derive(Debug)]
pub struct WhyDomain {
    /// What its messages wait for, the most first.
    pub groups: Vec<(WhyMessage, u32)>,
    pub route: WhyRoute,
    /// The message that is due first.
    pub first: Option<MessageId>,
}

/// Where a domain's mail goes, as the running server knows.
#[derive(Debug)]
pub enum WhyRoute {
    /// Each of the hosts that share one health: the mail exchangers of the domain, or smarthosts.
    Hosts(Vec<HostsHealth>),
    /// The MX was looked up without a result, or with one that takes no mail.
    Unresolved(String),
    /// Nothing is cached: no mail was on its way there lately.
    Unknown,
}

#[derive(Debug)]
pub struct HostsHealth {
    pub hosts: Hosts,
    pub state: HealthState,
}

#[derive(Debug)]
pub enum HealthState {
    /// A message was accepted or rejected since the last failure.
    Proven,
    /// No message has been accepted or rejected yet.
    Unproven,
    BackingOff(Backoff),
}

/// Why that message waits.
#[must_use]
pub fn message(queued: &Queued, admission: &AdmissionControl) -> WhyMessage {
    let (due, now) = (&queued.due, admission.clock.now());
    if queued.is_leased || due.due_at > now {
        let waits_for = queued.waits_for.as_ref();
        return of_row(queued.state, waits_for, queued.is_leased, due.due_at, admission);
    }
    match admission.look(due) {
        Admission::Start(_) | Admission::Over(_) => {
            WhyMessage { waiting: Waiting::Starting, until: None, backoff: None }
        }
        Admission::Wait(reason, _) => {
            let backoff = match &reason {
                Reason::BackOff(backoff) => Some(backoff.clone()),
                Reason::Probing
                | Reason::DestinationFull
                | Reason::RateLimit(_)
                | Reason::OperatorRateLimit(_)
                | Reason::LargeMessages
                | Reason::Memory
                | Reason::Probation
                | Reason::Lookup
                | Reason::NoFreeAttempt => None,
            };
            let until = match &backoff {
                Some(backoff) => Some(backoff.until),
                None => reason.wait().map(|wait| now.after(wait)),
            };
            WhyMessage { waiting: Waiting::Held(reason), until, backoff }
        }
    }
}

/// Why mail to that domain waits; none where nothing waits and the server knows nothing of it.
///
/// # Errors
/// The database failed.
pub async fn domain(
    domain: &str,
    store: &Store,
    admission: &AdmissionControl,
) -> Result<Option<WhyDomain>, StoreError> {
    let now = admission.clock.now();
    let first = store.first_queued_in(domain).await?;
    let groups = store.waiting_in(domain, now).await?;
    let groups = groups.into_iter().map(|group| {
        let WaitingGroup { waits_for, state, is_leased, is_due, messages, due_at } = group;
        let why = match &first {
            Some(first) if is_due && !is_leased => message(first, admission),
            Some(_) | None => of_row(state, waits_for.as_ref(), is_leased, due_at, admission),
        };
        (why, messages)
    });
    let groups: Vec<_> = groups.collect();
    let (first, account) = first.map(|it| (it.due.message_id, it.due.account_id)).unzip();
    let route = route(domain, account, admission);
    let is_known = !groups.is_empty() || !matches!(route, WhyRoute::Unknown);
    Ok(is_known.then_some(WhyDomain { groups, route, first }))
}

/// What the row of a message says that is not due, or whose attempt is under way.
fn of_row(
    state: MessageState,
    waits_for: Option<&WaitsFor>,
    is_leased: bool,
    due_at: Timestamp,
    admission: &AdmissionControl,
) -> WhyMessage {
    let (now, mut backoff) = (admission.clock.now(), None);
    let waiting = match waits_for {
        _ if is_leased => Waiting::Sending,
        None if state == MessageState::Scheduled => Waiting::Scheduled,
        None if due_at <= now => Waiting::Starting,
        None => Waiting::Retry,
        Some(waits_for) => {
            if let WaitsFor::Hosts { hosts, account } = waits_for {
                let health = admission.destinations.health_of(hosts);
                backoff = health.and_then(|it| it.backoff(*account, now));
            }
            Waiting::For(waits_for.clone())
        }
    };
    let until = (due_at > now && !is_leased).then_some(due_at);
    WhyMessage { waiting, until, backoff }
}

fn route(domain: &str, account: Option<AccountId>, admission: &AdmissionControl) -> WhyRoute {
    let now = admission.clock.now();
    let hosts = match account.and_then(|it| admission.smarthosts_of(it, domain)) {
        Some(smarthosts) => smarthosts,
        None => match admission.mx.known(domain).as_deref() {
            Some(MxResolution::Hosts(hosts)) => vec![hosts.with_one_health.clone()],
            Some(
                MxResolution::PermanentFailure { reason, .. }
                | MxResolution::TemporaryFailure { reason },
            ) => return WhyRoute::Unresolved(reason.clone()),
            None => return WhyRoute::Unknown,
        },
    };
    let with_health = hosts.into_iter().map(|hosts| {
        let health = admission.destinations.health_of(&hosts);
        let state = match health {
            None => HealthState::Unproven,
            Some(health) => match health.backoff(None, now) {
                Some(backoff) => HealthState::BackingOff(backoff),
                None if health.repute() == Reputation::Known => HealthState::Proven,
                None => HealthState::Unproven,
            },
        };
        HostsHealth { hosts, state }
    });
    WhyRoute::Hosts(with_health.collect())
}
