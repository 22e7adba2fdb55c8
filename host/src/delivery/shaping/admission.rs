//! Admission: a due message is leased only once it has a slot at its destination. What has none
//! stays in the queue, where other messages pass it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;

use super::backoff::HostTrust;
use super::destination::{Destination, Destinations, Slot, SlotRequest};
use super::memory_budget::{MemoryBudget, Reputation, SMALL_MESSAGE};
use super::probation::Probation;
use super::reason::{Purpose, Reason};
use super::round_skips::{Bottleneck, RoundSkips};
use crate::clock::{Clock, Timestamp};
use crate::delivery::limits::Limits;
use crate::delivery::outcome::{Deferral, Outcome, Report, RouteTaken};
use crate::delivery::routing::mx::{LookupFailure, MxHosts, MxResolution, MxResolver, operator};
use crate::delivery::routing::route::{Route, RouteKey, Routes, Smarthost};
use crate::id::{AccountId, fill_random};
use crate::message::waits_for::{Hosts, SANDBOX, WaitsFor};
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
    /// All attempts of the worker are under way.
    pub has_no_free_attempt: AtomicBool,
    /// A backup was restored, and nobody has released delivery since.
    pub is_held: AtomicBool,
    /// Nothing is attempted in read-only mode whose operator holds delivery.
    pub is_paused: AtomicBool,
    pub clock: Clock,
}

/// Where the configuration bounds the mail of a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundsOf {
    /// At smarthosts of these names.
    Smarthosts(Vec<String>),
    /// At the operator of mail exchangers.
    Operator(String),
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
    /// To these hosts, at this port.
    Direct(Slot, Arc<MxHosts>, u16),
}

#[derive(Debug)]
pub enum Admission {
    /// The message can be leased.
    Start(Plan),
    /// The message waits, and everything else behind the same bottleneck; without one only this message
    /// does.
    Wait(Reason, Option<Bottleneck>),
    /// The message is leased and settled without a connection.
    Over(Report),
}

impl Plan {
    #[must_use]
    pub fn slot(&self) -> &Slot {
        match self {
            Self::Sandbox(slot) | Self::Smarthosts(slot, _) | Self::Direct(slot, ..) => slot,
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
        let admission = self.decide(due, skips, Purpose::Start);
        if let Admission::Wait(reason, Some(behind)) = &admission {
            skips.note(reason, behind);
        }
        admission
    }

    /// Whether delivery is held since a backup was restored.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Relaxed)
    }

    /// Whether an operator holds delivery in read-only mode.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// What [`Self::admit`] would decide now; nothing is counted.
    #[must_use]
    pub fn look(&self, due: &Due) -> Admission {
        if self.has_no_free_attempt.load(Ordering::Relaxed) {
            return Admission::Wait(Reason::NoFreeAttempt, None);
        }
        self.decide(due, &RoundSkips::default(), Purpose::Look)
    }

    fn decide(&self, due: &Due, skips: &RoundSkips, purpose: Purpose) -> Admission {
        let routing = self.routes.load();
        let (key, route) = routing.routes.select(due.account_id, &due.lane);
        let smarthosts = match route {
            Route::Direct => return self.direct(due, &routing, skips, purpose),
            Route::Sandbox => None,
            Route::Smarthosts(smarthosts) => Some(smarthosts),
        };
        let bottleneck = Bottleneck::Route(key);
        if skips.full.contains(&bottleneck) {
            return Admission::Wait(Reason::DestinationFull, Some(bottleneck));
        }
        let found = match smarthosts {
            None => self
                .sandbox(due, purpose)
                .and_then(|slot| self.add_permits(slot, due, purpose))
                .map(Plan::Sandbox),
            Some(smarthosts) if smarthosts.is_empty() => {
                let words = "no smarthost is configured for this route";
                return Admission::Over(Report::deferred(None, words));
            }
            Some(smarthosts) => self.smarthost(smarthosts, due, purpose),
        };
        match found {
            Ok(plan) => Admission::Start(plan),
            Err(reason @ Reason::BackOff(_)) => Admission::Wait(reason, None),
            Err(reason) => {
                let behind = (!reason.is_of_message()).then_some(bottleneck);
                Admission::Wait(reason, behind)
            }
        }
    }

    /// Free slots behind a bottleneck; unlimited where only a try can tell.
    #[must_use]
    pub fn free_slots(&self, bottleneck: &Bottleneck) -> usize {
        let room = |name: &str| self.destinations.free_slots(name);
        let key = match bottleneck {
            Bottleneck::Route(key) => *key,
            Bottleneck::Destination(name) => return room(name),
            Bottleneck::Lookup(_) | Bottleneck::ThisLane => return usize::MAX,
        };
        match self.routes.load().routes.route(key) {
            Route::Sandbox => room(SANDBOX),
            Route::Smarthosts(smarthosts) => {
                smarthosts.iter().map(|it| room(&name_of(it))).fold(0, usize::saturating_add)
            }
            // A reload put it where smarthosts were.
            Route::Direct => usize::MAX,
        }
    }

    /// The bottleneck of all mail but the sandbox's, where one route takes it all: nothing behind a
    /// message without a slot has one then.
    #[must_use]
    pub fn sole_bottleneck(&self) -> Option<Bottleneck> {
        let routing = self.routes.load();
        let is_one =
            routing.routes.rules.is_empty() && !matches!(routing.routes.default, Route::Direct);
        is_one.then_some(Bottleneck::Route(RouteKey::Default))
    }

    /// A slot at a further smarthost, for a message that the first one did not take.
    #[must_use]
    pub fn further_slot(&self, smarthost: &Smarthost, account: AccountId) -> Option<Slot> {
        let slot = self.slot_at_smarthost(smarthost, account, None, Purpose::Start).ok()?;
        slot.destination.count_against_rate(Purpose::Start).is_ok().then_some(slot)
    }

    /// The smarthosts that take the account's mail to that lane; none where it goes to its exchangers.
    #[must_use]
    pub fn smarthosts_of(&self, account: AccountId, lane: &str) -> Option<Vec<Hosts>> {
        match self.routes.load().routes.select(account, lane).1 {
            Route::Sandbox => Some(vec![Hosts::Sandbox]),
            Route::Smarthosts(smarthosts) => Some(smarthosts.iter().map(hosts_of).collect()),
            Route::Direct => None,
        }
    }

    /// Where the bound is set that a message waits behind for that reason; none where it waits behind no
    /// destination's, and for the sandbox inbox, whose bounds are fixed.
    #[must_use]
    pub fn bounds_of(&self, due: &Due, reason: &Reason) -> Option<BoundsOf> {
        let is_first_hosts = match reason {
            Reason::OperatorRateLimit(_) => true,
            Reason::DestinationFull | Reason::RateLimit(_) => false,
            Reason::BackOff(_)
            | Reason::Probing
            | Reason::LargeMessages
            | Reason::Memory
            | Reason::Probation
            | Reason::Lookup
            | Reason::NoFreeAttempt => return None,
        };
        match self.routes.load().routes.select(due.account_id, &due.lane).1 {
            Route::Sandbox => None,
            Route::Smarthosts(smarthosts) => {
                let names = smarthosts.iter().map(|it| it.name.clone());
                Some(BoundsOf::Smarthosts(names.collect()))
            }
            Route::Direct => match self.mx.usable(&due.lane).as_deref() {
                Some(MxResolution::Hosts(hosts)) if is_first_hosts => {
                    hosts.hosts.first().map(|it| BoundsOf::Operator(operator(&it.name)))
                }
                Some(MxResolution::Hosts(hosts)) => Some(BoundsOf::Operator(hosts.group.clone())),
                Some(MxResolution::Failed(_)) | None => None,
            },
        }
    }

    /// Whether no route has that smarthost any more.
    #[must_use]
    pub fn is_removed_smarthost(&self, name: &str) -> bool {
        let routing = self.routes.load();
        let routes = routing.routes.rules.iter().map(|rule| &rule.route);
        let mut smarthosts =
            routes.chain([&routing.routes.default]).flat_map(|route| match route {
                Route::Smarthosts(smarthosts) => &smarthosts[..],
                Route::Sandbox | Route::Direct => &[],
            });
        !smarthosts.any(|it| it.name == name)
    }

    /// All that messages wait for which those hosts could take: a smarthost also takes what waits
    /// for another one of its route.
    #[must_use]
    pub fn waiting_for_same(&self, known: &WaitsFor) -> BTreeSet<WaitsFor> {
        let waits_for = |it: &Smarthost| WaitsFor::Hosts { hosts: hosts_of(it), account: None };
        let routing = self.routes.load();
        let routes = routing.routes.rules.iter().map(|rule| &rule.route);
        let routes =
            routes.chain(std::iter::once(&routing.routes.default)).filter_map(
                |route| match route {
                    Route::Smarthosts(smarthosts) => {
                        Some(smarthosts.iter().map(waits_for).collect::<BTreeSet<_>>())
                    }
                    Route::Sandbox | Route::Direct => None,
                },
            );
        let own = BTreeSet::from([known.clone()]);
        routes.filter(|it| it.contains(known)).fold(own, |all, others| &all | &others)
    }

    /// The destination of a mail exchanger, whichever domain names it.
    #[must_use]
    pub fn operator(&self, host: &str) -> Arc<Destination> {
        let name = operator(host);
        let limits = self.routes.load().limits(&name);
        self.destinations.get(&name, limits)
    }

    fn sandbox(&self, due: &Due, purpose: Purpose) -> Result<Slot, Reason> {
        let (account, requested_at) = (due.account_id, None);
        let request = SlotRequest {
            name: SANDBOX,
            limits: SANDBOX_LIMITS,
            hosts: &Hosts::Sandbox,
            trust: HostTrust::Trusted,
            account,
            requested_at,
            purpose,
        };
        self.destinations.take(&request, self.clock.now())
    }

    fn slot_at_smarthost(
        &self,
        smarthost: &Smarthost,
        account: AccountId,
        requested_at: Option<Timestamp>,
        purpose: Purpose,
    ) -> Result<Slot, Reason> {
        let (name, hosts) = (&name_of(smarthost), &hosts_of(smarthost));
        let limits = smarthost.limits;
        let request = SlotRequest {
            name,
            limits,
            hosts,
            trust: HostTrust::Trusted,
            account,
            requested_at,
            purpose,
        };
        self.destinations.take(&request, self.clock.now())
    }

    /// Adds the permits that the attempt needs besides its slot. The rate comes last, because it
    /// cannot be given back.
    fn add_permits(&self, mut slot: Slot, due: &Due, purpose: Purpose) -> Result<Slot, Reason> {
        let (repute, octets) = (slot.health.repute(), due.octets.unwrap_or(0));
        if octets > SMALL_MESSAGE {
            let large = slot.destination.large_message_permit();
            slot.permits.large = Some(large.ok_or(Reason::LargeMessages)?);
        }
        slot.permits.memory = Some(self.memory.take(octets, repute).ok_or(Reason::Memory)?);
        slot.destination.count_against_rate(purpose).map_err(Reason::RateLimit)?;
        Ok(slot)
    }

    /// The same at mail exchangers. Where the first host belongs to another operator than the
    /// group, its rate counts, too.
    fn add_mx_permits(
        &self,
        hosts: &MxHosts,
        mut slot: Slot,
        due: &Due,
        purpose: Purpose,
    ) -> Result<Slot, Reason> {
        if slot.health.repute() == Reputation::Unknown {
            let probation = self.probation.take(due.account_id);
            slot.permits.probation = Some(probation.ok_or(Reason::Probation)?);
        }
        let slot = self.add_permits(slot, due, purpose)?;
        let first = hosts.hosts.first().map(|it| self.operator(&it.name));
        if let Some(operator) = first.filter(|it| it.name != slot.destination.name) {
            operator.count_against_rate(purpose).map_err(Reason::OperatorRateLimit)?;
        }
        Ok(slot)
    }

    /// Picks a smarthost by weight among those with a free slot; the others follow as fail-over.
    fn smarthost(
        &self,
        smarthosts: &[Smarthost],
        due: &Due,
        purpose: Purpose,
    ) -> Result<Plan, Reason> {
        let mut earliest_wait: Option<Reason> = None;
        let order = drawn(smarthosts);
        for (at, first) in order.iter().enumerate() {
            let slot = self.slot_at_smarthost(first, due.account_id, requested_at(due), purpose);
            match slot.and_then(|slot| self.add_permits(slot, due, purpose)) {
                Ok(slot) => {
                    let others = order.iter().enumerate().filter(|(other, _)| *other != at);
                    let others = others.map(|(_, it)| (*it).clone());
                    let all = std::iter::once((*first).clone()).chain(others).collect();
                    return Ok(Plan::Smarthosts(slot, all));
                }
                Err(it) if earliest_wait.as_ref().is_none_or(|other| end(&it) < end(other)) => {
                    earliest_wait = Some(it);
                }
                Err(_) => {}
            }
        }
        Err(earliest_wait.unwrap_or(Reason::DestinationFull))
    }

    fn direct(
        &self,
        due: &Due,
        routing: &RoutingTable,
        skips: &RoundSkips,
        purpose: Purpose,
    ) -> Admission {
        let known = if skips.renewed.contains(&due.lane) {
            self.mx.usable(&due.lane)
        } else {
            self.mx.known(&due.lane)
        };
        let Some(resolution) = known else {
            return Admission::Wait(Reason::Lookup, Some(Bottleneck::Lookup(due.lane.clone())));
        };
        let direct = Some(RouteTaken::Direct);
        let hosts = match &*resolution {
            MxResolution::Hosts(hosts) => hosts,
            MxResolution::Failed(why) => {
                let outcome = match why {
                    LookupFailure::Permanent { failure, .. } => Outcome::Failed(*failure),
                    LookupFailure::Temporary { .. } => {
                        Outcome::Deferred(Deferral::UnresolvedMx(due.lane.clone()))
                    }
                };
                return Admission::Over(Report::new(outcome, direct, why.reason()));
            }
        };
        // All lanes of one operator share its slots.
        let bottleneck = Bottleneck::Destination(hosts.group.clone());
        if skips.full.contains(&bottleneck) {
            return Admission::Wait(Reason::DestinationFull, Some(bottleneck));
        }
        let request = SlotRequest {
            name: &hosts.group,
            limits: routing.limits(&hosts.group),
            hosts: &hosts.with_one_health,
            trust: HostTrust::Unproven,
            account: due.account_id,
            requested_at: requested_at(due),
            purpose,
        };
        let slot = self.destinations.take(&request, self.clock.now());
        let reason = match slot.and_then(|slot| self.add_mx_permits(hosts, slot, due, purpose)) {
            Ok(slot) => {
                return Admission::Start(Plan::Direct(slot, Arc::clone(hosts), routing.port));
            }
            Err(reason) => reason,
        };
        let behind = match &reason {
            Reason::DestinationFull | Reason::RateLimit(_) => Some(bottleneck),
            // A probe concerns these hosts alone, and the other operator's rate not all lanes.
            Reason::Probing
            | Reason::OperatorRateLimit(_)
            | Reason::Lookup
            | Reason::NoFreeAttempt => Some(Bottleneck::ThisLane),
            Reason::BackOff(_) | Reason::LargeMessages | Reason::Memory | Reason::Probation => None,
        };
        Admission::Wait(reason, behind)
    }
}

/// Orders what several smarthosts lack: first what another message may not need, then the shortest
/// wait, last the back-off that ends first.
fn end(reason: &Reason) -> (u8, Duration, Option<Timestamp>) {
    match reason {
        Reason::LargeMessages | Reason::Memory | Reason::Probation => (0, Duration::ZERO, None),
        Reason::Probing
        | Reason::DestinationFull
        | Reason::RateLimit(_)
        | Reason::OperatorRateLimit(_)
        | Reason::Lookup
        | Reason::NoFreeAttempt => (1, reason.wait().unwrap_or(Duration::MAX), None),
        Reason::BackOff(backoff) => (2, Duration::MAX, Some(backoff.until)),
    }
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
