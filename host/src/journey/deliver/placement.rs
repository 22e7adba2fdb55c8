//! Finds each due message a place at its destination before it is leased: what has none stays in the
//! queue, where others pass it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::destination::{Destinations, Limits, Place, Rest, Taken};
use super::exchange::{Exchange, Exchanges};
use super::outcome::{Report, Verdict};
use super::route::{Routes, SANDBOX, Smarthost, Way};
use crate::clock::{Clock, Timestamp};
use crate::id::fill_random;
use crate::store::records::Due;

/// The embedded inbox serves 8 sessions, and others may want one.
const INBOX: Limits =
    Limits { connections: 6, messages_per_connection: u32::MAX, per_minute: None };

/// What places are found with.
#[derive(Debug)]
pub struct Placement {
    /// The operator's routes; another value is another configuration.
    pub routes: Arc<ArcSwap<RouteBook>>,
    /// Where domains' mail goes.
    pub exchanges: Arc<Exchanges>,
    /// All destinations.
    pub destinations: Arc<Destinations>,
    /// The time.
    pub clock: Clock,
}

/// The routes and the bounds of mail exchangers.
#[derive(Debug, Clone)]
pub struct RouteBook {
    /// Which way.
    pub routes: Routes,
    /// The bounds of each operator of mail exchangers.
    pub direct: Limits,
    /// Other bounds for some, by the group's name.
    pub exceptions: Vec<(String, Limits)>,
    /// The port of mail exchangers.
    pub port: u16,
}

/// How an attempt is to be made.
#[derive(Debug)]
pub enum Course {
    /// Into the sandbox inbox.
    Sandbox(Place),
    /// Through the first of these, or another one of them if it cannot be reached.
    Smarthosts(Place, Vec<Smarthost>),
    /// To the mail exchangers.
    Direct(Place, Arc<Exchange>, u16),
    /// It is over before it began.
    Over(Report),
}

/// What was found for a message.
#[derive(Debug)]
pub enum Found {
    /// It can be leased.
    Course(Course),
    /// Its lane is passed over; a place may be free after so long, or when one is given back.
    Full(Duration),
    /// Where its domain's mail goes must be looked up first.
    Unknown,
}

/// The lanes that one round passes over.
#[derive(Debug, Default)]
pub struct Passed {
    /// Their names.
    pub lanes: BTreeSet<String>,
    /// When the first of them may have a place again; none where only a place given back helps.
    pub until: Option<Duration>,
}

impl Passed {
    /// Passes over a lane from now on.
    pub fn pass(&mut self, lane: String, until: Duration) {
        self.lanes.insert(lane);
        if until < Duration::MAX {
            self.until = Some(self.until.map_or(until, |it| it.min(until)));
        }
    }
}

impl Placement {
    /// Finds a place.
    #[must_use]
    pub fn find(&self, due: &Due) -> Found {
        let book = self.routes.load();
        match book.routes.way(due.account_id, &due.lane) {
            Way::Sandbox => match self.destinations.get(SANDBOX, INBOX).take(self.clock.now()) {
                Taken::Place(place) => Found::Course(Course::Sandbox(place)),
                Taken::Full(wait) => Found::Full(wait),
                Taken::Resting(rest) => resting(SANDBOX, &rest),
            },
            Way::Smarthosts(smarthosts) => self.smarthost(smarthosts),
            Way::Direct => self.direct(&due.lane, &book),
        }
    }

    /// A place at another of the smarthosts, for a message that the first one did not take.
    #[must_use]
    pub fn next(&self, smarthost: &Smarthost) -> Option<Place> {
        let destination = self.destinations.get(&smarthost.name, smarthost.limits);
        match destination.take(self.clock.now()) {
            Taken::Place(place) => Some(place),
            Taken::Full(_) | Taken::Resting(_) => None,
        }
    }

    /// By weight among those that are well and have a place; the others follow, for the case that it
    /// fails.
    fn smarthost(&self, smarthosts: &[Smarthost]) -> Found {
        let now = self.clock.now();
        let mut wait: Option<Duration> = None;
        let mut rests: Vec<Rest> = Vec::new();
        let order = drawn(smarthosts);
        for (at, first) in order.iter().enumerate() {
            match self.destinations.get(&first.name, first.limits).take(now) {
                Taken::Place(place) => {
                    let others = order.iter().enumerate().filter(|(other, _)| *other != at);
                    let others = others.map(|(_, it)| (*it).clone());
                    let all = std::iter::once((*first).clone()).chain(others).collect();
                    return Found::Course(Course::Smarthosts(place, all));
                }
                Taken::Full(it) => wait = Some(wait.map_or(it, |wait| wait.min(it))),
                Taken::Resting(rest) => rests.push(rest),
            }
        }
        match (wait, rests.into_iter().min_by_key(|it| it.until)) {
            (Some(wait), _) => Found::Full(wait),
            (None, Some(rest)) => resting(order.first().map_or("", |it| &it.name), &rest),
            (None, None) => over("smarthost", "no smarthost is configured for this route"),
        }
    }

    fn direct(&self, lane: &str, book: &RouteBook) -> Found {
        let Some(exchange) = self.exchanges.known(lane) else { return Found::Unknown };
        match &*exchange {
            Exchange::Hosts(hosts) => {
                let limits = book.exceptions.iter().find(|(group, _)| *group == hosts.group);
                let limits = limits.map_or(book.direct, |(_, limits)| *limits);
                match self.destinations.get(&hosts.group, limits).take(self.clock.now()) {
                    Taken::Place(place) => {
                        Found::Course(Course::Direct(place, Arc::clone(&exchange), book.port))
                    }
                    Taken::Full(wait) => Found::Full(wait),
                    Taken::Resting(rest) => resting(DIRECT, &rest),
                }
            }
            // The domain itself says that the address can take no mail.
            Exchange::Never { enhanced, reason } => {
                let report = Report::new(Verdict::Failed, DIRECT, reason.clone());
                let is_dead = matches!(*enhanced, "5.1.2" | "5.1.10");
                let enhanced = Some((*enhanced).to_owned());
                Found::Course(Course::Over(Report { enhanced, is_dead, ..report }))
            }
            Exchange::NotNow { reason } => over(DIRECT, reason),
        }
    }
}

/// The route's name where no smarthost is between.
pub const DIRECT: &str = "direct";

fn over(route: &str, reason: &str) -> Found {
    Found::Course(Course::Over(Report::new(Verdict::Deferred, route, reason)))
}

fn resting(route: &str, rest: &Rest) -> Found {
    let until: Timestamp = rest.until;
    let words =
        format!("not tried before {until}, because the last attempt failed: {}", rest.reason);
    let report = Report::new(Verdict::Deferred, route, words);
    Found::Course(Course::Over(Report { not_before: Some(until), ..report }))
}

/// All of them in a random order in which the share of the first places is their weight.
fn drawn(smarthosts: &[Smarthost]) -> Vec<&Smarthost> {
    let mut left: Vec<&Smarthost> = smarthosts.iter().collect();
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let sum: u64 = left.iter().map(|it| u64::from(it.weight.max(1))).sum();
        let mut bytes = [0; 8];
        fill_random(&mut bytes);
        let mut mark = u64::from_le_bytes(bytes) % sum;
        let at = left.iter().position(|it| {
            let weight = u64::from(it.weight.max(1));
            let is_here = mark < weight;
            mark = mark.saturating_sub(weight);
            is_here
        });
        order.push(left.remove(at.unwrap_or(0)));
    }
    order
}
