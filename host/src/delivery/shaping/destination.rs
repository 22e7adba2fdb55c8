//! A destination: a smarthost, the sandbox inbox, or all mail exchangers of one operator. Bounds
//! its connections and its message rate, and keeps idle connections for the next message.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::backoff::{Health, HostTrust, Probe, ProbeAdmission};
use super::capacity::{Capacity, CapacityPermit};
use super::memory_budget::MemoryPermit;
use super::probation::ProbationPermit;
use super::reason::{Purpose, Reason};
use super::requeue::{Requeue, RequeueRequests};
use crate::clock::Timestamp;
use crate::delivery::limits::Limits;
use crate::delivery::lock::lock;
use crate::delivery::smtp::Session;
use crate::id::AccountId;
use crate::message::waits_for::Hosts;

/// How long a message waits for a connection to a further smarthost, or to an operator other than its destination.
pub const CONNECTION_WAIT: Duration = Duration::from_secs(30);
/// How long an idle connection is kept; other servers close it after a minute or more.
const MAX_IDLE: Duration = Duration::from_secs(15);
/// The period of a message rate.
const RATE_PERIOD: Duration = Duration::from_mins(1);
/// Hosts without failures whose health is remembered, at most.
const MAX_HEALTHY_HOSTS: usize = 20_000;
/// Large messages to one destination in parallel, at most.
const MAX_LARGE_MESSAGES: usize = 4;

/// All destinations that are known.
#[derive(Debug, Default)]
pub struct Destinations {
    known: Mutex<HashMap<String, Arc<Destination>>>,
    /// Divides the slots of every destination while many attempts are under way.
    shortened: AtomicUsize,
    /// How many nodes deliver; 0 until somebody has said so, which counts as one.
    nodes: AtomicU32,
    health_by_hosts: Mutex<HashMap<Hosts, Arc<Health>>>,
    requeue: Arc<Requeue>,
}

#[derive(Debug)]
pub struct Destination {
    /// Shown in the reason of a deferral.
    pub name: String,
    limits: Mutex<Divided>,
    /// Connections, and twice as many slots: the messages in the queue for a connection keep it
    /// busy while the next ones are leased. What is under way goes on counting where the limits change.
    connections: Arc<Capacity>,
    slots: Arc<Capacity>,
    /// Bounds large messages: they share their memory with those of other destinations.
    large: Arc<Semaphore>,
    rate: Mutex<Option<Arc<DefaultDirectRateLimiter>>>,
    /// Until when the rate is used up, as the last message that it held up was deferred.
    rate_used_up: Mutex<Option<Instant>>,
    idle: Mutex<Vec<IdleSession>>,
    used_at: Mutex<Instant>,
}

/// The limits of a destination, which all nodes keep to together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Divided {
    /// Of all nodes together.
    whole: Limits,
    /// Of this node.
    part: Limits,
}

/// The right to be leased for this destination and to wait for one of its connections; released on
/// drop.
#[derive(Debug)]
pub struct Slot {
    pub destination: Arc<Destination>,
    pub health: Arc<Health>,
    pub permits: Permits,
    _permit: CapacityPermit,
    _probe: Option<Probe>,
}

#[derive(Debug, Clone, Copy)]
pub struct SlotRequest<'a> {
    pub name: &'a str,
    pub limits: Limits,
    /// The hosts whose health decides.
    pub hosts: &'a Hosts,
    pub trust: HostTrust,
    pub account: AccountId,
    /// When an operator requested a retry: it overrides a back-off unless the hosts have failed
    /// since.
    pub requested_at: Option<Timestamp>,
    pub purpose: Purpose,
}

/// What an attempt holds besides its slot.
#[derive(Debug, Default)]
pub struct Permits {
    pub memory: Option<MemoryPermit>,
    pub large: Option<OwnedSemaphorePermit>,
    pub probation: Option<ProbationPermit>,
}

/// The right to one connection; released on drop.
#[derive(Debug)]
pub struct ConnectionPermit {
    _permit: Option<CapacityPermit>,
}

#[derive(Debug)]
struct IdleSession {
    key: String,
    session: Session,
    since: Instant,
}

impl Destinations {
    /// Takes a slot unless the destination is full or backed off from.
    pub fn take(&self, request: &SlotRequest<'_>, now: Timestamp) -> Result<Slot, Reason> {
        let health = self.health(request);
        if let Some(backoff) = health.backoff(Some(request.account), now)
            && request.requested_at.is_none_or(|requested_at| requested_at <= backoff.since)
        {
            return Err(Reason::BackOff(backoff));
        }
        let destination = self.get(request.name, request.limits);
        let probe = match health.probe(now, request.purpose) {
            ProbeAdmission::NotNeeded => None,
            ProbeAdmission::Probe(probe) => Some(probe),
            ProbeAdmission::UnderWay => return Err(Reason::Probing),
        };
        let permit = destination.slot(self.shortened.load(Ordering::Relaxed).max(1));
        let permit = permit.ok_or(Reason::DestinationFull)?;
        let permits = Permits::default();
        Ok(Slot { destination, health, permits, _permit: permit, _probe: probe })
    }

    /// Free slots of a destination; unlimited where it is not known yet.
    #[must_use]
    pub fn free_slots(&self, name: &str) -> usize {
        let shortened = self.shortened.load(Ordering::Relaxed).max(1);
        lock(&self.known).get(name).map_or(usize::MAX, |it| it.free_slots(shortened))
    }

    /// Divides the slots of all destinations, so that slow ones leave attempts for others; 1
    /// restores them.
    pub fn shorten(&self, by: usize) {
        self.shortened.store(by, Ordering::Relaxed);
    }

    /// Divides the limits among so many nodes, this one included: all of them may connect to one host, each for domains
    /// of its own.
    pub fn divide_among(&self, nodes: u32) {
        self.nodes.store(nodes, Ordering::Relaxed);
        let known: Vec<Arc<Destination>> = lock(&self.known).values().cloned().collect();
        for destination in known {
            let whole = lock(&destination.limits).whole;
            destination.limit(whole, nodes);
        }
    }

    /// Forgets the health of all hosts and closes idle connections, because the settings may have
    /// changed. Messages under way still count against the bounds.
    pub fn forget(&self) {
        lock(&self.health_by_hosts).clear();
        let known: Vec<Arc<Destination>> = lock(&self.known).values().cloned().collect();
        let closed: Vec<Vec<IdleSession>> =
            known.iter().map(|it| std::mem::take(&mut *lock(&it.idle))).collect();
        // Sessions are dropped outside the locks.
        drop(closed);
    }

    /// What is known of these hosts; none where delivery has not met them lately.
    #[must_use]
    pub fn health_of(&self, hosts: &Hosts) -> Option<Arc<Health>> {
        lock(&self.health_by_hosts).get(hosts).cloned()
    }

    #[must_use]
    pub fn requeue(&self) -> &Requeue {
        &self.requeue
    }

    /// Requests a probe for each back-off that has ended.
    pub fn request_probes(&self, now: Timestamp) {
        let health_by_hosts: Vec<Arc<Health>> =
            lock(&self.health_by_hosts).values().cloned().collect();
        for waits_for in health_by_hosts.iter().flat_map(|it| it.ended_backoffs(now)) {
            self.requeue.request_probe(waits_for);
        }
    }

    #[must_use]
    pub fn take_requeue_requests(&self) -> RequeueRequests {
        self.requeue.take()
    }

    pub fn note_none_waiting(&self, hosts: &Hosts, account: Option<AccountId>) {
        if let Some(health) = lock(&self.health_by_hosts).get(hosts) {
            health.note_none_waiting(account);
        }
    }

    /// Records that a message began to wait for these hosts, which may have recovered meanwhile.
    pub fn note_waiting(&self, hosts: &Hosts, account: Option<AccountId>, now: Timestamp) {
        if let Some(health) = lock(&self.health_by_hosts).get(hosts) {
            health.note_waiting(account, now);
        }
    }

    /// Closes idle connections that are too old and forgets destinations without state.
    pub fn tidy(&self, now: Timestamp) {
        let mut closed = Vec::new();
        lock(&self.known).retain(|_, destination| {
            let mut idle = lock(&destination.idle);
            closed.extend(idle.extract_if(.., |kept| kept.since.elapsed() > MAX_IDLE));
            let is_idle = idle.is_empty() && Arc::strong_count(destination) == 1;
            drop(idle);
            // After a minute nothing is left that its rate would remember.
            let has_rate = lock(&destination.rate).is_some();
            let is_counted = has_rate && lock(&destination.used_at).elapsed() < RATE_PERIOD;
            !is_idle || is_counted
        });
        let mut health_by_hosts = lock(&self.health_by_hosts);
        let has_room = health_by_hosts.len() <= MAX_HEALTHY_HOSTS;
        health_by_hosts.retain(|_, health| {
            Arc::strong_count(health) > 1
                || health.is_remembered(now)
                || (has_room && health.succeeded_recently(now))
        });
        drop(health_by_hosts);
        // Sessions are dropped here, outside the lock: the connection is closed without a QUIT.
        drop(closed);
    }

    /// The destination of that name, which from now on keeps to these limits together with the other nodes.
    #[must_use]
    pub fn get(&self, name: &str, limits: Limits) -> Arc<Destination> {
        let nodes = self.nodes.load(Ordering::Relaxed);
        let mut known = lock(&self.known);
        if let Some(destination) = known.get(name).cloned() {
            drop(known);
            destination.limit(limits, nodes);
            return destination;
        }
        let made = Arc::new(Destination::new(name.to_owned(), limits, nodes));
        known.insert(name.to_owned(), Arc::clone(&made));
        made
    }

    fn health(&self, request: &SlotRequest<'_>) -> Arc<Health> {
        let mut health_by_hosts = lock(&self.health_by_hosts);
        if let Some(health) = health_by_hosts.get(request.hosts) {
            return Arc::clone(health);
        }
        let (hosts, requeue) = (request.hosts.clone(), Arc::clone(&self.requeue));
        let health = Arc::new(Health::new(hosts.clone(), request.trust, requeue));
        health_by_hosts.insert(hosts, Arc::clone(&health));
        health
    }
}

impl Destination {
    fn new(name: String, whole: Limits, nodes: u32) -> Self {
        let part = whole.among(nodes);
        Self {
            name,
            limits: Mutex::new(Divided { whole, part }),
            connections: Arc::new(Capacity::new(connections(part))),
            slots: Arc::new(Capacity::new(slots(part))),
            large: Arc::new(Semaphore::new(MAX_LARGE_MESSAGES)),
            rate: Mutex::new(rate(part)),
            rate_used_up: Mutex::default(),
            idle: Mutex::default(),
            used_at: Mutex::new(Instant::now()),
        }
    }

    /// From now on keeps to these limits together with the other nodes. Closes idle connections beyond this node's part.
    fn limit(&self, whole: Limits, nodes: u32) {
        let new = Divided { whole, part: whole.among(nodes) };
        let mut limits = lock(&self.limits);
        if *limits == new {
            return;
        }
        *limits = new;
        self.connections.resize(connections(new.part));
        self.slots.resize(slots(new.part));
        *lock(&self.rate) = rate(new.part);
        *lock(&self.rate_used_up) = None;
        drop(limits);
        let room = self.connections.most().saturating_sub(self.connections.used());
        let mut idle = lock(&self.idle);
        let surplus = idle.len().saturating_sub(room);
        let closed: Vec<IdleSession> = idle.drain(..surplus).collect();
        drop(idle);
        // Sessions are dropped here, outside the lock: the connection is closed without a QUIT.
        drop(closed);
    }

    fn slot(&self, shortened: usize) -> Option<CapacityPermit> {
        let has_room = self.free_slots(shortened) > 0;
        has_room.then(|| self.slots.try_acquire()).flatten()
    }

    fn free_slots(&self, shortened: usize) -> usize {
        self.slots.most().div_ceil(shortened).saturating_sub(self.slots.used())
    }

    /// Counts a message against the rate; the caller has everything else that the message needs.
    ///
    /// # Errors
    /// The rate is used up; the time until the next message may go.
    pub fn count_against_rate(&self, purpose: Purpose) -> Result<(), Duration> {
        if purpose == Purpose::Look {
            let until =
                lock(&self.rate_used_up).and_then(|it| it.checked_duration_since(Instant::now()));
            return until.map_or(Ok(()), Err);
        }
        let rate = lock(&self.rate).clone();
        if let Some(Err(not_until)) = rate.as_deref().map(RateLimiter::check) {
            use governor::clock::Clock as _;
            let wait = not_until.wait_time_from(governor::clock::DefaultClock::default().now());
            let wait = wait.max(Duration::from_millis(1));
            *lock(&self.rate_used_up) = Instant::now().checked_add(wait);
            return Err(wait);
        }
        *lock(&self.used_at) = Instant::now();
        Ok(())
    }

    /// Waits for a connection to be free.
    pub async fn connection_permit(&self) -> ConnectionPermit {
        ConnectionPermit { _permit: self.connections.acquire().await }
    }

    #[must_use]
    pub fn large_message_permit(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.large).try_acquire_owned().ok()
    }

    #[must_use]
    pub fn take_idle(&self, key: &str) -> Option<Session> {
        let mut idle = lock(&self.idle);
        let at = idle.iter().rposition(|kept| kept.is_of_use(key))?;
        Some(idle.remove(at).session)
    }

    #[must_use]
    pub fn has_idle(&self, key: &str) -> bool {
        lock(&self.idle).iter().any(|kept| kept.is_of_use(key))
    }

    /// An idle connection that the holder of a permit must close before it opens another, so that
    /// idle and busy ones together stay within the bound.
    #[must_use]
    pub fn idle_to_close(&self) -> Option<Session> {
        let used = self.connections.used();
        let mut idle = lock(&self.idle);
        let is_full = !idle.is_empty() && idle.len() + used > self.connections.most();
        is_full.then(|| idle.remove(0).session)
    }

    /// Keeps a connection for the next message; answers it where it has carried its share or there
    /// are enough.
    pub fn keep_idle(&self, key: String, session: Session) -> Option<Session> {
        if session.sent() >= lock(&self.limits).part.messages_per_connection {
            return Some(session);
        }
        let mut idle = lock(&self.idle);
        let most = self.connections.most();
        // More are used than there may be where the limit has shrunk since.
        if idle.len() >= most || self.connections.used() > most {
            return Some(session);
        }
        idle.push(IdleSession { key, session, since: Instant::now() });
        None
    }
}

impl IdleSession {
    fn is_of_use(&self, key: &str) -> bool {
        self.key == key && self.since.elapsed() <= MAX_IDLE
    }
}

fn connections(limits: Limits) -> usize {
    usize::try_from(limits.connections.max(1)).unwrap_or(1)
}

fn rate(limits: Limits) -> Option<Arc<DefaultDirectRateLimiter>> {
    limits.per_minute.map(|it| Arc::new(RateLimiter::direct(Quota::per_minute(it))))
}

/// As many messages wait for a connection as there are connections.
fn slots(limits: Limits) -> usize {
    connections(limits).saturating_mul(2)
}

#[cfg(test)]
mod tests;
