//! Admission: a due message is leased only once it has a slot at its destination. What has none
//! stays in the queue, where other messages pass it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;

use super::destination::{Destination, Destinations, Slot, SlotGrant, SlotRequest};
use super::memory_budget::{MemoryBudget, Reputation, SMALL_MESSAGE};
use super::probation::Probation;
use super::round_skips::{Bottleneck, RoundSkips};
use crate::clock::{Clock, Timestamp};
use crate::delivery::limits::Limits;
use crate::delivery::outcome::{AddressJudgement, Backoff, Report, Verdict};
use crate::delivery::routing::mx::{MxHosts, MxResolution, MxResolver, operator};
use crate::delivery::routing::route::{Route, Routes, SANDBOX, Smarthost};
use crate::id::{AccountId, fill_random};
use crate::message::waits_for::{Hosts, WaitsFor};
use crate::store::records::Due;

/// Leaves the inbox's other sessions to clients of its SMTP port.
const SANDBOX_LIMITS: Limits =
    Limits { connections: 6, messages_per_connection: u32::MAX, per_minute: None };

#[derive(Debug)]
pub struct AdmissionControl {
    /// The routing table; a reload of the configuration replaces the whole table.
    pub routes: ArcSwap<RoutingTable>,
    pub mx: Arc<MxResolver>,
    pub destinations: Arc<Destinations>,
    pub probation: Arc<Probation>,
    pub memory: MemoryBudget,
    pub clock: Clock,
}

/// The routes and the bounds of mail exchangers.
#[derive(Debug, Clone)]
pub struct RoutingTable {
    pub routes: Routes,
    /// The bounds of each operator of mail exchangers without an exception.
    pub direct: Limits,
    /// Bounds of single operators, by the group's name.
    pub exceptions: Vec<(String, Limits)>,
    pub port: u16,
}

/// How an attempt is to be made.
#[derive(Debug)]
pub enum Plan {
    Sandbox(Slot),
    /// The slot is at the first; the others follow as fail-over.
    Smarthosts(Slot, Vec<Smarthost>),
    Direct(Slot, Arc<MxResolution>, u16),
    /// Decided without a connection.
    Settle(Report),
}

#[derive(Debug)]
pub enum Admission {
    /// It can be leased.
    Start(Plan),
    /// The message waits, without an attempt.
    BackOff(Backoff),
    /// No slot now for anything behind the same bottleneck, until this time has passed or a slot is
    /// released.
    Full(Bottleneck, Duration),
    /// This message is too large for what is free; another of its lane may fit.
    NoCapacity,
    NeedsLookup,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shortage {
    /// Memory or another permit that a smaller message may not need.
    Capacity,
    /// A slot at the destination.
    Destination(Duration),
    /// The rate of a further operator, which other lanes may not need.
    OtherOperator(Duration),
}

impl From<Plan> for Admission {
    fn from(plan: Plan) -> Self {
        Self::Start(plan)
    }
}

impl Shortage {
    fn at(self, bottleneck: &Bottleneck) -> Admission {
        match self {
            Self::Capacity => Admission::NoCapacity,
            Self::Destination(wait) => Admission::Full(bottleneck.clone(), wait),
            Self::OtherOperator(wait) => Admission::Full(Bottleneck::ThisLane, wait),
        }
    }
}

impl RoutingTable {
    fn limits(&self, operator: &str) -> Limits {
        let own = self.exceptions.iter().find(|(name, _)| name == operator);
        own.map_or(self.direct, |(_, limits)| *limits)
    }
}

impl AdmissionControl {
    /// Decides whether a due message may be leased now, and takes its slot.
    #[must_use]
    pub fn admit(&self, due: &Due, skips: &mut RoundSkips) -> Admission {
        let book = self.routes.load();
        let (number, route) = book.routes.select(due.account_id, &due.lane);
        // At smarthosts all lanes share the slots.
        let bottleneck = Bottleneck::Full(number, String::new());
        let found = match route {
            Route::Direct => self.direct(due, &book, number, skips),
            Route::Sandbox | Route::Smarthosts(_) if skips.full.contains(&bottleneck) => {
                Admission::Full(bottleneck, Duration::MAX)
            }
            Route::Sandbox => match self.sandbox(due) {
                SlotGrant::Granted(slot) => self
                    .ready(slot, due)
                    .map_or_else(|short| short.at(&bottleneck), |it| Plan::Sandbox(it).into()),
                SlotGrant::Full(wait) => Admission::Full(bottleneck, wait),
                SlotGrant::BackingOff(backoff) => Admission::BackOff(backoff),
            },
            Route::Smarthosts(smarthosts) => self.smarthost(smarthosts, due, &bottleneck),
        };
        if let Admission::Full(bottleneck, wait) = &found {
            skips.note_wait(*wait);
            if *bottleneck != Bottleneck::ThisLane {
                skips.full.insert(bottleneck.clone());
            }
        }
        found
    }

    /// Free slots behind a bottleneck; unlimited where only a try can tell.
    #[must_use]
    pub fn free_slots(&self, bottleneck: &Bottleneck) -> usize {
        let Bottleneck::Full(number, destination) = bottleneck else { return usize::MAX };
        let book = self.routes.load();
        let room = |name: &str| self.destinations.free_slots(name);
        match book.routes.numbered(*number) {
            Route::Sandbox => room(SANDBOX),
            Route::Smarthosts(smarthosts) => {
                smarthosts.iter().map(|it| room(&name_of(it))).fold(0, usize::saturating_add)
            }
            Route::Direct => room(destination),
        }
    }

    /// The bottleneck of all mail but the sandbox's, where one route takes it all: nothing behind a
    /// message without a slot has one then.
    #[must_use]
    pub fn sole_bottleneck(&self) -> Option<Bottleneck> {
        let book = self.routes.load();
        let is_one = book.routes.rules.is_empty() && !matches!(book.routes.default, Route::Direct);
        is_one.then(|| Bottleneck::Full(0, String::new()))
    }

    #[must_use]
    pub fn sandbox_bottleneck() -> Bottleneck {
        Bottleneck::Full(usize::MAX, String::new())
    }

    /// A slot at a further smarthost, for a message that the first one did not take.
    #[must_use]
    pub fn further_slot(&self, smarthost: &Smarthost, account: AccountId) -> Option<Slot> {
        match self.at(smarthost, account, None) {
            SlotGrant::Granted(slot) => {
                slot.destination.count_against_rate().is_ok().then_some(slot)
            }
            SlotGrant::Full(_) | SlotGrant::BackingOff(_) => None,
        }
    }

    /// Whether no route has that smarthost any more.
    #[must_use]
    pub fn is_removed_smarthost(&self, name: &str) -> bool {
        let book = self.routes.load();
        let routes = book.routes.rules.iter().map(|rule| &rule.route);
        let mut smarthosts = routes.chain([&book.routes.default]).flat_map(|route| match route {
            Route::Smarthosts(smarthosts) => &smarthosts[..],
            Route::Sandbox | Route::Direct => &[],
        });
        !smarthosts.any(|it| it.name == name)
    }

    /// All that messages wait for which those hosts could take: a smarthost also takes what waits
    /// for another one of its route.
    #[must_use]
    pub fn waiting_for_same(&self, waits_for: &WaitsFor) -> BTreeSet<WaitsFor> {
        let book = self.routes.load();
        let routes = book.routes.rules.iter().map(|rule| &rule.route);
        let routes =
            routes.chain(std::iter::once(&book.routes.default)).filter_map(|route| match route {
                Route::Smarthosts(smarthosts) => {
                    Some(smarthosts.iter().map(waits_for_smarthost).collect::<BTreeSet<_>>())
                }
                Route::Sandbox | Route::Direct => None,
            });
        let own = BTreeSet::from([waits_for.clone()]);
        routes.filter(|it| it.contains(waits_for)).fold(own, |all, others| &all | &others)
    }

    /// The destination of a mail exchanger, whichever domain names it.
    #[must_use]
    pub fn operator(&self, host: &str) -> Arc<Destination> {
        let name = operator(host);
        let limits = self.routes.load().limits(&name);
        self.destinations.get(&name, limits)
    }

    fn sandbox(&self, due: &Due) -> SlotGrant {
        let (account, requested_at) = (due.account_id, None);
        let request = SlotRequest {
            name: SANDBOX,
            limits: SANDBOX_LIMITS,
            hosts: &Hosts::Sandbox,
            is_ours: true,
            account,
            requested_at,
        };
        self.destinations.take(&request, self.clock.now())
    }

    fn at(
        &self,
        smarthost: &Smarthost,
        account: AccountId,
        requested_at: Option<Timestamp>,
    ) -> SlotGrant {
        let (name, hosts) = (&name_of(smarthost), &hosts_of(smarthost));
        let limits = smarthost.limits;
        let request = SlotRequest { name, limits, hosts, is_ours: true, account, requested_at };
        self.destinations.take(&request, self.clock.now())
    }

    /// Adds the permits that the attempt needs besides its slot. The rate comes last, because it
    /// cannot be given back.
    fn ready(&self, mut slot: Slot, due: &Due) -> Result<Slot, Shortage> {
        let (repute, octets) = (slot.health.repute(), due.octets.unwrap_or(0));
        if octets > SMALL_MESSAGE {
            slot.permits.large =
                Some(slot.destination.large_message_permit().ok_or(Shortage::Capacity)?);
        }
        slot.permits.memory = Some(self.memory.take(octets, repute).ok_or(Shortage::Capacity)?);
        slot.destination.count_against_rate().map_err(Shortage::Destination)?;
        Ok(slot)
    }

    /// The same at mail exchangers. Where the first host belongs to another operator than the
    /// group, its rate counts, too.
    fn ready_at(&self, hosts: &MxHosts, mut slot: Slot, due: &Due) -> Result<Slot, Shortage> {
        if slot.health.repute() == Reputation::Unknown {
            let probation = self.probation.take(due.account_id);
            slot.permits.probation = Some(probation.ok_or(Shortage::Capacity)?);
        }
        let slot = self.ready(slot, due)?;
        let first = hosts.hosts.first().map(|it| self.operator(&it.name));
        if let Some(operator) = first.filter(|it| it.name != slot.destination.name) {
            operator.count_against_rate().map_err(Shortage::OtherOperator)?;
        }
        Ok(slot)
    }

    /// Picks a smarthost by weight among those with a free slot; the others follow as fail-over.
    fn smarthost(&self, smarthosts: &[Smarthost], due: &Due, bottleneck: &Bottleneck) -> Admission {
        let mut short: Option<Shortage> = None;
        let mut backoffs: Vec<Backoff> = Vec::new();
        let order = drawn(smarthosts);
        for (at, first) in order.iter().enumerate() {
            let ready = match self.at(first, due.account_id, requested_at(due)) {
                SlotGrant::Granted(slot) => self.ready(slot, due),
                SlotGrant::Full(wait) => Err(Shortage::Destination(wait)),
                SlotGrant::BackingOff(backoff) => {
                    backoffs.push(backoff);
                    continue;
                }
            };
            match ready {
                Ok(slot) => {
                    let others = order.iter().enumerate().filter(|(other, _)| *other != at);
                    let others = others.map(|(_, it)| (*it).clone());
                    let all = std::iter::once((*first).clone()).chain(others).collect();
                    return Plan::Smarthosts(slot, all).into();
                }
                Err(it) => short = Some(short.map_or(it, |short| short.min(it))),
            }
        }
        match (short, backoffs.into_iter().min_by_key(|backoff| backoff.until)) {
            (Some(short), _) => short.at(bottleneck),
            (None, Some(backoff)) => Admission::BackOff(backoff),
            (None, None) => over("smarthost", "no smarthost is configured for this route"),
        }
    }

    fn direct(
        &self,
        due: &Due,
        book: &RoutingTable,
        route: usize,
        skips: &RoundSkips,
    ) -> Admission {
        let known = if skips.renewed.contains(&due.lane) {
            self.mx.usable(&due.lane)
        } else {
            self.mx.known(&due.lane)
        };
        let Some(exchange) = known else { return Admission::NeedsLookup };
        match &*exchange {
            MxResolution::Hosts(hosts) => {
                // All lanes of one operator share its slots.
                let bottleneck = Bottleneck::Full(route, hosts.group.clone());
                if skips.full.contains(&bottleneck) {
                    return Admission::Full(bottleneck, Duration::MAX);
                }
                let now = self.clock.now();
                let request = SlotRequest {
                    name: &hosts.group,
                    limits: book.limits(&hosts.group),
                    hosts: &hosts.with_one_health,
                    is_ours: false,
                    account: due.account_id,
                    requested_at: requested_at(due),
                };
                match self.destinations.take(&request, now) {
                    SlotGrant::Granted(slot) => match self.ready_at(hosts, slot, due) {
                        Ok(it) => Plan::Direct(it, Arc::clone(&exchange), book.port).into(),
                        Err(short) => short.at(&bottleneck),
                    },
                    // Only a released slot helps all lanes; a wait concerns these hosts alone.
                    SlotGrant::Full(Duration::MAX) => Admission::Full(bottleneck, Duration::MAX),
                    SlotGrant::Full(wait) => Admission::Full(Bottleneck::ThisLane, wait),
                    SlotGrant::BackingOff(backoff) => Admission::BackOff(backoff),
                }
            }
            // DNS says that the address can take no mail: now, and perhaps by mistake.
            MxResolution::PermanentFailure { enhanced, reason } => {
                let report = Report::new(Verdict::Failed, DIRECT, reason.clone());
                let is_about_it = matches!(*enhanced, "5.1.2" | "5.1.10");
                let address_judgement = if is_about_it {
                    AddressJudgement::Suspect
                } else {
                    AddressJudgement::Unjudged
                };
                let enhanced = Some((*enhanced).to_owned());
                Admission::Start(Plan::Settle(Report { enhanced, address_judgement, ..report }))
            }
            MxResolution::TemporaryFailure { reason } => {
                let (waits_for, now) = (WaitsFor::Mx(due.lane.clone()), self.clock.now());
                let reason = reason.clone();
                let report = Report::new(Verdict::Deferred, DIRECT, reason.clone());
                let backoff = Backoff { waits_for, since: now, until: now, reason, failures: 0 };
                Admission::Start(Plan::Settle(Report {
                    backoff: Some(Box::new(backoff)),
                    ..report
                }))
            }
        }
    }
}

/// The route's name where no smarthost is between.
pub const DIRECT: &str = "direct";

fn over(route: &str, reason: &str) -> Admission {
    Admission::Start(Plan::Settle(Report::new(Verdict::Deferred, route, reason)))
}

fn requested_at(due: &Due) -> Option<Timestamp> {
    due.is_wanted.then_some(due.due_at)
}

/// The name of a smarthost among all destinations.
fn name_of(smarthost: &Smarthost) -> String {
    hosts_of(smarthost).to_string()
}

fn hosts_of(smarthost: &Smarthost) -> Hosts {
    Hosts::Smarthost(smarthost.name.as_str().into())
}

fn waits_for_smarthost(smarthost: &Smarthost) -> WaitsFor {
    WaitsFor::Hosts { hosts: hosts_of(smarthost), account: None }
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
