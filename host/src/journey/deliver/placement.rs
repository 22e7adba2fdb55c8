//! Finds each due message a place at its destination before it is leased: what has none stays in the
//! queue, where others pass it.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::destination::{Destination, Destinations, Limits, Load, Place, Taken, Wish};
use super::exchange::{Exchange, Exchanges, Hosts, operator};
use super::health::Rest;
use super::memory::{Memory, Repute, SMALL};
use super::novices::{Novice, Novices};
use super::outcome::{Report, Verdict};
use super::route::{Routes, SANDBOX, Smarthost, Way};
use crate::clock::{Clock, Timestamp};
use crate::id::{AccountId, fill_random};
use crate::mail::mta_sts::StsPolicy;
use crate::store::records::Due;

/// The embedded inbox serves 8 sessions, and others may want one.
const INBOX: Limits =
    Limits { connections: 6, messages_per_connection: u32::MAX, per_minute: None };

/// What places are found with.
#[derive(Debug)]
pub struct Placement {
    /// The operator's routes; another value is another configuration.
    pub routes: ArcSwap<RouteBook>,
    /// Where domains' mail goes.
    pub exchanges: Arc<Exchanges>,
    /// All destinations.
    pub destinations: Arc<Destinations>,
    /// The attempts at hosts of which nothing good is known.
    pub novices: Arc<Novices>,
    /// The memory that messages under way share.
    pub memory: Memory,
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
    /// There is no place now; one may be free after so long, or when one is given back.
    Full(Duration),
    /// There is none for this message now; another one of its lane may find one.
    Crowded,
    /// Where its domain's mail goes must be looked up first.
    Unknown,
}

/// What has no place in this round.
#[derive(Debug, Default)]
pub struct Passed {
    /// Lanes, where the way does not depend on the account.
    pub lanes: BTreeSet<String>,
    /// Ways and lanes of which is known that they have none.
    full: HashSet<(usize, String)>,
    /// Whether there were messages without a place of which others of their lane may have one.
    is_crowded: bool,
    /// When the first of them may have a place again; none where only a place given back helps.
    pub until: Option<Duration>,
}

impl Passed {
    /// Whether anything was passed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty() && self.full.is_empty() && !self.is_crowded
    }

    fn pass(&mut self, until: Duration) {
        if until < Duration::MAX {
            self.until = Some(self.until.map_or(until, |it| it.min(until)));
        }
    }
}

impl RouteBook {
    /// The bounds of an operator of mail exchangers.
    fn limits(&self, operator: &str) -> Limits {
        let own = self.exceptions.iter().find(|(name, _)| name == operator);
        own.map_or(self.direct, |(_, limits)| *limits)
    }
}

impl Placement {
    /// Finds a place; none where there is none in this round.
    #[must_use]
    pub fn find(&self, due: &Due, passed: &mut Passed) -> Option<Found> {
        let book = self.routes.load();
        let (number, way) = book.routes.way(due.account_id, &due.lane);
        // At smarthosts all lanes share the places.
        let lane = match way {
            Way::Direct => due.lane.clone(),
            Way::Sandbox | Way::Smarthosts(_) => String::new(),
        };
        let key = (number, lane);
        if passed.full.contains(&key) {
            return None;
        }
        let found = match way {
            Way::Sandbox => match self.sandbox(due) {
                Taken::Place(place) => Found::Course(Course::Sandbox(place)),
                Taken::Full(wait) => Found::Full(wait),
                Taken::Resting(rest) => resting(SANDBOX, rest),
            },
            Way::Smarthosts(smarthosts) => self.smarthost(smarthosts, due),
            Way::Direct => self.direct(due, &book),
        };
        let found = self.loaded(found, due);
        match &found {
            Found::Course(_) => {}
            Found::Crowded => passed.is_crowded = true,
            Found::Full(wait) => {
                passed.pass(*wait);
                passed.full.insert(key);
            }
            Found::Unknown => {
                passed.full.insert(key);
            }
        }
        if matches!(found, Found::Full(_) | Found::Unknown) && !book.routes.asks_for_accounts() {
            passed.lanes.insert(due.lane.clone());
        }
        Some(found)
    }

    /// Whether all mail but that for the sandbox goes the same way, so that nothing behind a message
    /// without a place has one.
    #[must_use]
    pub fn has_one_way(&self) -> bool {
        let book = self.routes.load();
        book.routes.rules.is_empty() && !matches!(book.routes.default, Way::Direct)
    }

    /// A place at another of the smarthosts, for a message that the first one did not take.
    #[must_use]
    pub fn next(&self, smarthost: &Smarthost, account: AccountId) -> Option<Place> {
        match self.at(smarthost, account, None) {
            Taken::Place(place) => Some(place),
            Taken::Full(_) | Taken::Resting(_) => None,
        }
    }

    /// The names under which messages wait that those hosts could take: a smarthost also takes what
    /// waits for another one of its route.
    #[must_use]
    pub fn names_of(&self, hosts: &str) -> BTreeSet<String> {
        let book = self.routes.load();
        let ways = book.routes.rules.iter().map(|rule| &rule.way);
        let routes =
            ways.chain(std::iter::once(&book.routes.default)).filter_map(|way| match way {
                Way::Smarthosts(smarthosts) => {
                    Some(smarthosts.iter().map(name_of).collect::<BTreeSet<String>>())
                }
                Way::Sandbox | Way::Direct => None,
            });
        let own = BTreeSet::from([hosts.to_owned()]);
        routes.filter(|it| it.contains(hosts)).fold(own, |all, names| &all | &names)
    }

    /// The destination that a mail exchanger belongs to, whoever names it.
    #[must_use]
    pub fn operator(&self, host: &str) -> Arc<Destination> {
        let name = operator(host);
        let limits = self.routes.load().limits(&name);
        self.destinations.get(&name, limits)
    }

    fn sandbox(&self, due: &Due) -> Taken {
        let (account, wanted) = (due.account_id, None);
        let wish =
            Wish { name: SANDBOX, limits: INBOX, hosts: SANDBOX, is_ours: true, account, wanted };
        self.destinations.take(&wish, self.clock.now())
    }

    fn at(&self, smarthost: &Smarthost, account: AccountId, wanted: Option<Timestamp>) -> Taken {
        let name = &name_of(smarthost);
        let limits = smarthost.limits;
        let wish = Wish { name, limits, hosts: name, is_ours: true, account, wanted };
        self.destinations.take(&wish, self.clock.now())
    }

    /// With all that the attempt holds besides, or nothing.
    fn loaded(&self, found: Found, due: &Due) -> Found {
        let Found::Course(mut course) = found else { return found };
        let (place, novice) = match &mut course {
            Course::Direct(place, ..) => {
                let novice = match place.health.repute() {
                    Repute::Known => None,
                    Repute::Unknown => match self.novices.take(due.account_id) {
                        Some(novice) => Some(novice),
                        None => return Found::Crowded,
                    },
                };
                (place, novice)
            }
            Course::Sandbox(place) | Course::Smarthosts(place, _) => (place, None),
            Course::Over(_) => return Found::Course(course),
        };
        match self.load(place, novice, due) {
            Some(load) => place.load = load,
            None => return Found::Crowded,
        }
        Found::Course(course)
    }

    fn load(&self, place: &Place, novice: Option<Novice>, due: &Due) -> Option<Load> {
        let (repute, octets) = (place.health.repute(), due.octets.unwrap_or(0));
        let large = if octets > SMALL { Some(place.destination.large()?) } else { None };
        Some(Load { memory: Some(self.memory.take(octets, repute)?), large, novice })
    }

    /// Counts a message against the rate of the operator whose host is tried first, where others' hosts
    /// stand behind it and the destination is another one.
    fn pace(&self, hosts: &Hosts) -> Result<(), Duration> {
        let first = hosts.hosts.first().map(|it| self.operator(&it.name));
        match first.filter(|it| it.name != hosts.group) {
            Some(operator) => operator.pace(),
            None => Ok(()),
        }
    }

    /// By weight among those that are well and have a place; the others follow, for the case that it
    /// fails.
    fn smarthost(&self, smarthosts: &[Smarthost], due: &Due) -> Found {
        let mut wait: Option<Duration> = None;
        let mut rests: Vec<(Rest, &Smarthost)> = Vec::new();
        let order = drawn(smarthosts);
        for (at, first) in order.iter().enumerate() {
            match self.at(first, due.account_id, wanted(due)) {
                Taken::Place(place) => {
                    let others = order.iter().enumerate().filter(|(other, _)| *other != at);
                    let others = others.map(|(_, it)| (*it).clone());
                    let all = std::iter::once((*first).clone()).chain(others).collect();
                    return Found::Course(Course::Smarthosts(place, all));
                }
                Taken::Full(it) => wait = Some(wait.map_or(it, |wait| wait.min(it))),
                Taken::Resting(rest) => rests.push((rest, first)),
            }
        }
        match (wait, rests.into_iter().min_by_key(|(rest, _)| rest.until)) {
            (Some(wait), _) => Found::Full(wait),
            (None, Some((rest, smarthost))) => resting(&smarthost.name, rest),
            (None, None) => over("smarthost", "no smarthost is configured for this route"),
        }
    }

    fn direct(&self, due: &Due, book: &RouteBook) -> Found {
        let Some(exchange) = self.exchanges.known(&due.lane) else { return Found::Unknown };
        match &*exchange {
            Exchange::Hosts(hosts) => {
                let mut names: Vec<&str> = hosts.hosts.iter().map(|it| it.name.as_str()).collect();
                names.sort_unstable();
                let now = self.clock.now();
                let mut health = names.join(" ");
                // Who insists on a valid certificate is refused where others are not.
                if hosts.policy.as_ref().is_some_and(StsPolicy::is_enforced) {
                    health.push_str(" enforced");
                }
                let wish = Wish {
                    name: &hosts.group,
                    limits: book.limits(&hosts.group),
                    hosts: &health,
                    is_ours: false,
                    account: due.account_id,
                    wanted: wanted(due),
                };
                match self.destinations.take(&wish, now) {
                    Taken::Place(place) => {
                        if let Err(wait) = self.pace(hosts) {
                            return Found::Full(wait);
                        }
                        Found::Course(Course::Direct(place, Arc::clone(&exchange), book.port))
                    }
                    Taken::Full(wait) => Found::Full(wait),
                    Taken::Resting(rest) => resting(DIRECT, rest),
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

fn resting(route: &str, rest: Rest) -> Found {
    let until: Timestamp = rest.until;
    let words =
        format!("not tried before {until}, because the last attempt failed: {}", rest.reason);
    let report = Report::new(Verdict::Deferred, route, words);
    Found::Course(Course::Over(Report { rest: Some(Box::new(rest)), ..report }))
}

fn wanted(due: &Due) -> Option<Timestamp> {
    due.is_wanted.then_some(due.due_at)
}

/// The name of a smarthost among all destinations: no registered domain has a space in its name.
fn name_of(smarthost: &Smarthost) -> String {
    format!("smarthost {}", smarthost.name)
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
