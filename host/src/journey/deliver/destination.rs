//! Where mail goes, as one thing to be gentle with: a smarthost, the sandbox inbox, or all mail
//! exchangers of one operator. Bounds its connections and its rate, keeps connections for the next
//! message, and rests after failures.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::smtp::Session;
use crate::clock::Timestamp;

/// How long a connection is kept without a message; other servers close it after a minute or more.
const IDLE: Duration = Duration::from_secs(15);
/// The rest after the first failure in a row; it doubles with each further one.
const REST: Duration = Duration::from_secs(15);
/// The longest rest.
const LONGEST_REST: Duration = Duration::from_mins(10);
/// How soon a place is looked for again where only a probe is under way.
const PROBED: Duration = Duration::from_millis(500);

/// The bounds of a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections at one time, at least 1.
    pub connections: u32,
    /// Messages over one connection, at least 1.
    pub messages_per_connection: u32,
    /// Messages a minute; none for no bound.
    pub per_minute: Option<NonZeroU32>,
}

/// All destinations that are known.
#[derive(Debug, Default)]
pub struct Destinations {
    known: Mutex<HashMap<String, Arc<Destination>>>,
}

/// A destination.
#[derive(Debug)]
pub struct Destination {
    /// Its name, for logs and reasons.
    pub name: String,
    /// Its bounds.
    pub limits: Limits,
    /// Connections, and the line before them: it keeps them busy while the next messages are leased.
    connections: Arc<Semaphore>,
    places: Arc<Semaphore>,
    rate: Option<DefaultDirectRateLimiter>,
    health: Mutex<Health>,
    idle: Mutex<Vec<Kept>>,
}

/// A place in line for one connection; given back when it is dropped.
#[derive(Debug)]
pub struct Place {
    /// Where to.
    pub destination: Arc<Destination>,
    _permit: OwnedSemaphorePermit,
}

/// The right to one connection; given back when it is dropped.
#[derive(Debug)]
pub struct Turn {
    _permit: Option<OwnedSemaphorePermit>,
}

/// Whether there is a place.
#[derive(Debug)]
pub enum Taken {
    /// Here it is.
    Place(Place),
    /// Not before so long, or one is given back.
    Full(Duration),
    /// It rests: an attempt would be of no use.
    Resting(Rest),
}

/// Why a destination is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// Until when.
    pub until: Timestamp,
    /// What went wrong.
    pub reason: String,
}

#[derive(Debug, Default)]
struct Health {
    failures: u32,
    rest: Option<Rest>,
}

#[derive(Debug)]
struct Kept {
    key: String,
    session: Session,
    since: Instant,
}

impl Destinations {
    /// The destination of that name; it is made with those bounds, or anew where they have changed.
    #[must_use]
    pub fn get(&self, name: &str, limits: Limits) -> Arc<Destination> {
        let mut known = lock(&self.known);
        if let Some(destination) = known.get(name)
            && destination.limits == limits
        {
            return Arc::clone(destination);
        }
        let made = Arc::new(Destination::new(name.to_owned(), limits));
        known.insert(name.to_owned(), Arc::clone(&made));
        made
    }

    /// Closes connections that were kept too long, and forgets destinations about which there is
    /// nothing to remember.
    pub fn tidy(&self, now: Timestamp) {
        let mut closed = Vec::new();
        lock(&self.known).retain(|_, destination| {
            let mut idle = lock(&destination.idle);
            closed.extend(idle.extract_if(.., |kept| kept.since.elapsed() > IDLE));
            let is_idle = idle.is_empty() && Arc::strong_count(destination) == 1;
            drop(idle);
            !is_idle || destination.rate.is_some() || destination.rest(now).is_some()
        });
        // Sessions are dropped here, outside the lock: the connection is closed without a QUIT.
        drop(closed);
    }
}

impl Destination {
    fn new(name: String, limits: Limits) -> Self {
        Self {
            name,
            limits,
            connections: Arc::new(Semaphore::new(connections(limits))),
            places: Arc::new(Semaphore::new(places(limits))),
            rate: limits.per_minute.map(|it| RateLimiter::direct(Quota::per_minute(it))),
            health: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// A place, if there is one now. After failures one attempt alone tries whether it is well again.
    pub fn take(self: &Arc<Self>, now: Timestamp) -> Taken {
        if let Some(rest) = self.rest(now) {
            return Taken::Resting(rest);
        }
        let is_ill = lock(&self.health).failures > 0;
        if is_ill && self.places.available_permits() < places(self.limits) {
            return Taken::Full(PROBED);
        }
        let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() else {
            return Taken::Full(Duration::MAX);
        };
        if let Some(Err(not_until)) = self.rate.as_ref().map(RateLimiter::check) {
            use governor::clock::Clock as _;
            let wait = not_until.wait_time_from(governor::clock::DefaultClock::default().now());
            return Taken::Full(wait.max(Duration::from_millis(1)));
        }
        Taken::Place(Place { destination: Arc::clone(self), _permit: permit })
    }

    /// Waits for a connection to be free.
    pub async fn turn(&self) -> Turn {
        // Never closed, so the only answer is a turn.
        Turn { _permit: Arc::clone(&self.connections).acquire_owned().await.ok() }
    }

    /// Until when it is left alone, and why.
    #[must_use]
    pub fn rest(&self, now: Timestamp) -> Option<Rest> {
        let rest = lock(&self.health).rest.clone()?;
        // A clock that was set back must not make the rest longer than any rest is.
        (now < rest.until && rest.until <= now.after(LONGEST_REST)).then_some(rest)
    }

    /// It answered.
    pub fn is_well(&self) {
        let mut health = lock(&self.health);
        if health.failures > 0 {
            tracing::info!(destination = self.name, "a destination answers again");
        }
        *health = Health::default();
    }

    /// It could not be reached, or sent us away before it heard of any message. Failures of attempts
    /// that were under way together count as one.
    pub fn has_failed(&self, reason: &str, now: Timestamp) -> Rest {
        let mut health = lock(&self.health);
        if let Some(rest) = &health.rest
            && now < rest.until
        {
            return rest.clone();
        }
        let doubled = REST.saturating_mul(1 << health.failures.min(10));
        let rest = Rest { until: now.after(doubled.min(LONGEST_REST)), reason: reason.to_owned() };
        health.failures = health.failures.saturating_add(1);
        tracing::warn!(
            destination = self.name,
            reason,
            until = %rest.until,
            "a destination is left alone for a while"
        );
        health.rest = Some(rest.clone());
        rest
    }

    /// A kept connection to that host.
    #[must_use]
    pub fn kept(&self, key: &str) -> Option<Session> {
        let mut idle = lock(&self.idle);
        let at = idle.iter().rposition(|kept| kept.key == key && kept.since.elapsed() <= IDLE)?;
        Some(idle.remove(at).session)
    }

    /// Kept connections that are to be closed before another one is opened, so that there are never more
    /// than allowed, whoever uses them.
    #[must_use]
    pub fn room(&self) -> Vec<Session> {
        let most = connections(self.limits);
        let used = most.saturating_sub(self.connections.available_permits());
        let mut idle = lock(&self.idle);
        let excess = (idle.len() + used).saturating_sub(most).min(idle.len());
        idle.drain(..excess).map(|kept| kept.session).collect()
    }

    /// Keeps a connection for the next message; one that has carried its share is given back.
    pub fn keep(&self, key: String, session: Session) -> Option<Session> {
        if session.sent() >= self.limits.messages_per_connection {
            return Some(session);
        }
        let mut idle = lock(&self.idle);
        if idle.len() >= usize::try_from(self.limits.connections).unwrap_or(usize::MAX) {
            return Some(session);
        }
        idle.push(Kept { key, session, since: Instant::now() });
        None
    }
}

fn connections(limits: Limits) -> usize {
    usize::try_from(limits.connections.max(1)).unwrap_or(1)
}

/// The connections, and twice as many messages that wait for one.
fn places(limits: Limits) -> usize {
    connections(limits).saturating_mul(3)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn limits(connections: u32) -> Limits {
        Limits { connections, messages_per_connection: 10, per_minute: None }
    }

    fn place(taken: Taken) -> Option<Place> {
        match taken {
            Taken::Place(place) => Some(place),
            Taken::Full(_) | Taken::Resting(_) => None,
        }
    }

    #[tokio::test]
    async fn a_line_is_bounded_and_its_turns_are_the_connections() {
        let destinations = Destinations::default();
        let destination = destinations.get("mx.example", limits(2));
        let mut line: Vec<Place> = (0..6).filter_map(|_| place(destination.take(NOW))).collect();
        assert_eq!(line.len(), 6);
        assert!(matches!(destination.take(NOW), Taken::Full(_)));
        let (one, _two) = (destination.turn().await, destination.turn().await);
        assert!(destination.turn().now_or_never().is_none(), "two connections are in use");
        drop(one);
        assert!(destination.turn().now_or_never().is_some());
        line.pop();
        assert!(place(destinations.get("mx.example", limits(2)).take(NOW)).is_some());
    }

    #[test]
    fn rests_grow_to_their_bound_and_one_probe_ends_them() {
        let destination = Destinations::default().get("mx.example", limits(5));
        let mut now = NOW;
        for seconds in [15, 30, 60, 120, 240, 480, 600, 600] {
            let rest = destination.has_failed("no answer", now);
            assert_eq!(now.until(rest.until), Duration::from_secs(seconds));
            assert_eq!(destination.has_failed("at the same time", now), rest);
            assert!(matches!(destination.take(now), Taken::Resting(_)));
            now = rest.until;
        }
        let probe = place(destination.take(now)).expect("a probe");
        assert!(matches!(destination.take(now), Taken::Full(_)), "one alone");
        destination.is_well();
        let _second = place(destination.take(now)).expect("all again");
        drop(probe);
    }

    #[test]
    fn a_clock_that_is_set_back_prolongs_no_rest() {
        let destination = Destinations::default().get("mx.example", limits(5));
        destination.has_failed("no answer", NOW);
        let yesterday = NOW.before(Duration::from_hours(24));
        assert_eq!(destination.rest(yesterday), None);
    }

    #[test]
    fn a_rate_holds_whatever_the_connections() {
        let per_minute = NonZeroU32::new(3);
        let limits = Limits { per_minute, ..limits(100) };
        let destination = Destinations::default().get("mx.example", limits);
        let taken = (0..10).filter_map(|_| place(destination.take(NOW))).count();
        assert_eq!(taken, 3);
        let Taken::Full(wait) = destination.take(NOW) else { panic!("it is full") };
        assert!(wait <= Duration::from_secs(20), "{wait:?}");
    }
}
