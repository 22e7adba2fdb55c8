//! The requests of one connection of HTTP/2: which of them run, which wait for their client, and how many the client has
//! canceled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::server::connection_limits::{ConnectionSlot, NoSlot};
use crate::server::listeners::timeouts::HttpTimeouts;

/// Requests that a client may cancel before they are answered, in the life of a connection.
const MAX_CANCELED_REQUESTS: usize = 100;

#[derive(Debug)]
pub struct Streams {
    state: Mutex<State>,
}

/// What is to become of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outlook {
    Running,
    /// There is no request, for longer than a connection may be idle.
    Idle,
    /// The client has canceled too many requests.
    Canceling,
    /// The client does not take the next part of an answer.
    Stalled,
}

/// A request, from its head to the end of its answer.
#[derive(Debug)]
pub struct Stream {
    streams: Arc<Streams>,
    number: u64,
    place: Place,
    is_answered: bool,
}

#[derive(Debug)]
struct State {
    begun: u64,
    stages: BTreeMap<u64, Stage>,
    idle_since: Instant,
    canceled: usize,
    /// Whether a request has the place of the connection itself.
    is_place_taken: bool,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// The server has the next step.
    Working,
    /// The client has the next step: since then a part of its answer waits for it.
    Offered(Instant),
}

/// What a request counts as among the connections of its client.
#[derive(Debug)]
enum Place {
    /// The connection that it came on.
    OfConnection,
    Own(#[expect(dead_code, reason = "given back when it is dropped")] ConnectionSlot),
    Missing(NoSlot),
}

impl Streams {
    #[must_use]
    pub fn new() -> Arc<Self> {
        let state = State {
            begun: 0,
            stages: BTreeMap::new(),
            idle_since: Instant::now(),
            canceled: 0,
            is_place_taken: false,
        };
        Arc::new(Self { state: Mutex::new(state) })
    }

    /// Notes a request. One that runs beside others needs a place of its own.
    pub fn begin(
        self: &Arc<Self>,
        take: impl FnOnce() -> Result<ConnectionSlot, NoSlot>,
    ) -> Stream {
        let mut state = self.state();
        let place = if state.is_place_taken {
            take().map_or_else(Place::Missing, Place::Own)
        } else {
            state.is_place_taken = true;
            Place::OfConnection
        };
        state.begun += 1;
        let number = state.begun;
        state.stages.insert(number, Stage::Working);
        Stream { streams: Arc::clone(self), number, place, is_answered: false }
    }

    /// What is to become of the connection, as its requests are now.
    pub fn outlook(&self, now: Instant, timeouts: HttpTimeouts) -> Outlook {
        let state = self.state();
        if state.stages.values().any(|it| it.waits_for_client(now) > timeouts.write) {
            Outlook::Stalled
        } else if state.canceled > MAX_CANCELED_REQUESTS {
            Outlook::Canceling
        } else if state.stages.is_empty() && now.duration_since(state.idle_since) > timeouts.headers
        {
            Outlook::Idle
        } else {
            Outlook::Running
        }
    }

    /// Whether there is a request whose answer is being made, or taken by its client.
    pub fn is_waited_for(&self, now: Instant, patience: Duration) -> bool {
        self.state().stages.values().any(|it| it.waits_for_client(now) <= patience)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stage {
    fn waits_for_client(self, now: Instant) -> Duration {
        match self {
            Self::Working => Duration::ZERO,
            Self::Offered(since) => now.duration_since(since),
        }
    }
}

impl Stream {
    /// Why the request has no place; none where it has one.
    pub fn no_slot(&self) -> Option<NoSlot> {
        match self.place {
            Place::OfConnection | Place::Own(_) => None,
            Place::Missing(no_slot) => Some(no_slot),
        }
    }

    /// Notes that the answer has begun: the request counts as canceled no more.
    pub fn answer(&mut self) {
        self.is_answered = true;
    }

    /// Notes that a part of the answer waits for the client.
    pub fn offer(&self) {
        self.enter(Stage::Offered(Instant::now()));
    }

    /// Notes that the client has taken what waited for it.
    pub fn work(&self) {
        self.enter(Stage::Working);
    }

    fn enter(&self, stage: Stage) {
        self.streams.state().stages.insert(self.number, stage);
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut state = self.streams.state();
        state.stages.remove(&self.number);
        if matches!(self.place, Place::OfConnection) {
            state.is_place_taken = false;
        }
        if !self.is_answered {
            state.canceled += 1;
        }
        if state.stages.is_empty() {
            state.idle_since = Instant::now();
        }
    }
}
