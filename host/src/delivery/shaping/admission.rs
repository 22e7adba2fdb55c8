//! Finds each due message a place at its destination before it is leased: what has none stays in the
//! queue, where others pass it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::backoff::FOR;
use super::destination::{Destination, Destinations, Place, Taken, Wish};
use super::memory_budget::{Memory, Repute, SMALL};
use super::probation::Novices;
use super::round_skips::{Hold, Passed};
use super::unresolved_domains::waiting_for;
use crate::clock::{Clock, Timestamp};
use crate::delivery::limits::Limits;
use crate::delivery::outcome::{AddressIs, Report, Rest, Verdict};
use crate::delivery::routing::mx::{Exchange, Exchanges, Hosts, operator};
use crate::delivery::routing::route::{Routes, SANDBOX, Smarthost, Way};
use crate::id::{AccountId, fill_random};
use crate::mail::mta_sts::StsPolicy;
use crate::store::records::Due;

/// Deliveries into the sandbox inbox at one time; its other sessions are for clients of its SMTP port.
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
    /// Its destination is backed off from: it waits, without an attempt.
    BackOff(Rest),
    /// There is no place now, and none for what waits for the same; one may be free after so long, or when
    /// one is given back.
    Full(Hold, Duration),
    /// There is none for this message now; another one of its lane may find one.
    Crowded,
    /// Where its domain's mail goes must be looked up first.
    Unknown,
}

/// What is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Short {
    /// Something that another message of the lane may not need.
    Crowded,
    /// A place at the destination, for so long.
    Full(Duration),
    /// A place elsewhere, which messages of other lanes may not need.
    FullElsewhere(Duration),
}

impl From<Course> for Found {
    fn from(course: Course) -> Self {
        Self::Course(course)
    }
}

impl Short {
    fn at(self, hold: &Hold) -> Found {
        match self {
            Self::Crowded => Found::Crowded,
            Self::Full(wait) => Found::Full(hold.clone(), wait),
            Self::FullElsewhere(wait) => Found::Full(Hold::Own, wait),
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
    /// Finds a place.
    #[must_use]
    pub fn find(&self, due: &Due, passed: &mut Passed) -> Found {
        let book = self.routes.load();
        let (number, way) = book.routes.way(due.account_id, &due.lane);
        // At smarthosts all lanes share the places.
        let hold = Hold::Full(number, String::new());
        let found = match way {
            Way::Direct => self.direct(due, &book, number, passed),
            Way::Sandbox | Way::Smarthosts(_) if passed.full.contains(&hold) => {
                Found::Full(hold, Duration::MAX)
            }
            Way::Sandbox => match self.sandbox(due) {
                Taken::Place(place) => self
                    .ready(place, due)
                    .map_or_else(|short| short.at(&hold), |it| Course::Sandbox(it).into()),
                Taken::Full(wait) => Found::Full(hold, wait),
                Taken::Resting(rest) => Found::BackOff(rest),
            },
            Way::Smarthosts(smarthosts) => self.smarthost(smarthosts, due, &hold),
        };
        if let Found::Full(hold, wait) = &found {
            passed.pass(*wait);
            if *hold != Hold::Own {
                passed.full.insert(hold.clone());
            }
        }
        found
    }

    /// How many places there are for what was held up by that; as many as are wanted where only a try can
    /// tell.
    #[must_use]
    pub fn room(&self, hold: &Hold) -> usize {
        let Hold::Full(number, destination) = hold else { return usize::MAX };
        let book = self.routes.load();
        let room = |name: &str| self.destinations.room(name);
        match book.routes.numbered(*number) {
            Way::Sandbox => room(SANDBOX),
            Way::Smarthosts(smarthosts) => {
                smarthosts.iter().map(|it| room(&name_of(it))).fold(0, usize::saturating_add)
            }
            Way::Direct => room(destination),
        }
    }

    /// What holds up all mail but that for the sandbox where it is full, if all of it goes the same way:
    /// nothing behind a message without a place has one then.
    #[must_use]
    pub fn the_one_way(&self) -> Option<Hold> {
        let book = self.routes.load();
        let is_one = book.routes.rules.is_empty() && !matches!(book.routes.default, Way::Direct);
        is_one.then(|| Hold::Full(0, String::new()))
    }

    /// The same of mail for the sandbox.
    #[must_use]
    pub fn sandbox_way() -> Hold {
        Hold::Full(usize::MAX, String::new())
    }

    /// A place at another of the smarthosts, for a message that the first one did not take.
    #[must_use]
    pub fn next(&self, smarthost: &Smarthost, account: AccountId) -> Option<Place> {
        match self.at(smarthost, account, None) {
            Taken::Place(place) => place.destination.pace().is_ok().then_some(place),
            Taken::Full(_) | Taken::Resting(_) => None,
        }
    }

    /// Whether it is the name of a smarthost that no route has any more.
    #[must_use]
    pub fn is_gone(&self, name: &str) -> bool {
        let book = self.routes.load();
        let ways = book.routes.rules.iter().map(|rule| &rule.way);
        let mut smarthosts = ways.chain([&book.routes.default]).flat_map(|way| match way {
            Way::Smarthosts(smarthosts) => &smarthosts[..],
            Way::Sandbox | Way::Direct => &[],
        });
        let smarthost = name.split(FOR).next().unwrap_or(name);
        smarthost.starts_with(SMARTHOST) && !smarthosts.any(|it| name_of(it) == smarthost)
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

    /// A place with all that the attempt needs besides: first what can be given back, the rate last.
    fn ready(&self, mut place: Place, due: &Due) -> Result<Place, Short> {
        let (repute, octets) = (place.health.repute(), due.octets.unwrap_or(0));
        if octets > SMALL {
            place.load.large = Some(place.destination.large().ok_or(Short::Crowded)?);
        }
        place.load.memory = Some(self.memory.take(octets, repute).ok_or(Short::Crowded)?);
        place.destination.pace().map_err(Short::Full)?;
        Ok(place)
    }

    /// The same at mail exchangers. The operator whose host is tried first counts, too, where others'
    /// hosts stand behind it and the destination is another one.
    fn ready_at(&self, hosts: &Hosts, mut place: Place, due: &Due) -> Result<Place, Short> {
        if place.health.repute() == Repute::Unknown {
            let novice = self.novices.take(due.account_id);
            place.load.novice = Some(novice.ok_or(Short::Crowded)?);
        }
        let place = self.ready(place, due)?;
        let first = hosts.hosts.first().map(|it| self.operator(&it.name));
        if let Some(operator) = first.filter(|it| it.name != place.destination.name) {
            operator.pace().map_err(Short::FullElsewhere)?;
        }
        Ok(place)
    }

    /// By weight among those that are well and have a place; the others follow, for the case that it
    /// fails.
    fn smarthost(&self, smarthosts: &[Smarthost], due: &Due, hold: &Hold) -> Found {
        let mut short: Option<Short> = None;
        let mut rests: Vec<Rest> = Vec::new();
        let order = drawn(smarthosts);
        for (at, first) in order.iter().enumerate() {
            let ready = match self.at(first, due.account_id, wanted(due)) {
                Taken::Place(place) => self.ready(place, due),
                Taken::Full(wait) => Err(Short::Full(wait)),
                Taken::Resting(rest) => {
                    rests.push(rest);
                    continue;
                }
            };
            match ready {
                Ok(place) => {
                    let others = order.iter().enumerate().filter(|(other, _)| *other != at);
                    let others = others.map(|(_, it)| (*it).clone());
                    let all = std::iter::once((*first).clone()).chain(others).collect();
                    return Course::Smarthosts(place, all).into();
                }
                Err(it) => short = Some(short.map_or(it, |short| short.min(it))),
            }
        }
        match (short, rests.into_iter().min_by_key(|rest| rest.until)) {
            (Some(short), _) => short.at(hold),
            (None, Some(rest)) => Found::BackOff(rest),
            (None, None) => over("smarthost", "no smarthost is configured for this route"),
        }
    }

    fn direct(&self, due: &Due, book: &RouteBook, route: usize, passed: &Passed) -> Found {
        let known = if passed.renewed.contains(&due.lane) {
            self.exchanges.usable(&due.lane)
        } else {
            self.exchanges.known(&due.lane)
        };
        let Some(exchange) = known else { return Found::Unknown };
        match &*exchange {
            Exchange::Hosts(hosts) => {
                // All lanes of one operator share its places.
                let hold = Hold::Full(route, hosts.group.clone());
                if passed.full.contains(&hold) {
                    return Found::Full(hold, Duration::MAX);
                }
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
                    Taken::Place(place) => match self.ready_at(hosts, place, due) {
                        Ok(it) => Course::Direct(it, Arc::clone(&exchange), book.port).into(),
                        Err(short) => short.at(&hold),
                    },
                    // Only a place that is given back helps: otherwise it is about these hosts alone.
                    Taken::Full(Duration::MAX) => Found::Full(hold, Duration::MAX),
                    Taken::Full(wait) => Found::Full(Hold::Own, wait),
                    Taken::Resting(rest) => Found::BackOff(rest),
                }
            }
            // DNS says that the address can take no mail: now, and perhaps by mistake.
            Exchange::Never { enhanced, reason } => {
                let report = Report::new(Verdict::Failed, DIRECT, reason.clone());
                let is_about_it = matches!(*enhanced, "5.1.2" | "5.1.10");
                let address_is = if is_about_it { AddressIs::Suspect } else { AddressIs::Unjudged };
                let enhanced = Some((*enhanced).to_owned());
                Found::Course(Course::Over(Report { enhanced, address_is, ..report }))
            }
            Exchange::NotNow { reason } => {
                let (hosts, now) = (waiting_for(&due.lane), self.clock.now());
                let reason = reason.clone();
                let report = Report::new(Verdict::Deferred, DIRECT, reason.clone());
                let rest = Rest { hosts, since: now, until: now, reason, failures: 0 };
                Found::Course(Course::Over(Report { rest: Some(Box::new(rest)), ..report }))
            }
        }
    }
}

/// The route's name where no smarthost is between.
pub const DIRECT: &str = "direct";

fn over(route: &str, reason: &str) -> Found {
    Found::Course(Course::Over(Report::new(Verdict::Deferred, route, reason)))
}

fn wanted(due: &Due) -> Option<Timestamp> {
    due.is_wanted.then_some(due.due_at)
}

/// What stands before the name of a smarthost among all destinations: no registered domain has a space in
/// its name.
const SMARTHOST: &str = "smarthost ";

/// The name of a smarthost among all destinations.
fn name_of(smarthost: &Smarthost) -> String {
    format!("{SMARTHOST}{}", smarthost.name)
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
