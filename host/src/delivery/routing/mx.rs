//! Resolves the mail exchangers of a domain: MX (RFC 5321 section 5.1), null MX (RFC 7505), MTA-STS
//! (RFC 8461). Results are cached by their TTL, and parallel lookups of a domain are one.

mod addresses;
mod candidates;
mod lookup_failure;
mod mta_sts_fetch;
mod single_flight;
mod sts_policies;
mod ttl;

#[cfg(test)]
mod tests;

pub use addresses::AddressFamilies;
pub use candidates::operator;
pub use lookup_failure::LookupFailure;
pub use mta_sts_fetch::{StsFetchSettings, StsPolicyFetcher};
pub use sts_policies::StsPolicies;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use moka::sync::Cache;

use crate::clock::{Clock, Timestamp};
use crate::delivery::outcome::FailureReason;
use crate::dns::{Reach, RecordType, Resolver};
use crate::domain::name::DomainName;
use crate::mail::mta_sts::StsPolicy;
use crate::message::waits_for::Hosts;

use addresses::{AddressLookup, addresses};
use candidates::{Candidate, Candidates};
use single_flight::SingleFlight;
use sts_policies::AppliedPolicy;
use ttl::{MAX_TTL, MIN_TTL, PERMANENT_FAILURE_TTL, STALE_TTL, TEMPORARY_FAILURE_TTL};

const MAX_CACHED_DOMAINS: u64 = 100_000;
const MAX_HOSTS: usize = 16;
/// Parallel address lookups for the hosts of a domain, at most.
const MAX_PARALLEL_LOOKUPS: usize = 4;

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MxResolution {
    Hosts(Arc<MxHosts>),
    Failed(LookupFailure),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MxHosts {
    /// The operator: the hosts' organizational domains, or names where they have none, joined by
    /// `+`. The same for all customers of one operator.
    pub group: String,
    /// In the order in which they are to be tried; at least one, at most 16.
    pub hosts: Vec<MxHost>,
    /// The domain's MTA-STS policy, of mode `enforce` or `testing`.
    pub policy: Option<StsPolicy>,
    /// The same hosts, as those that fail and recover together.
    pub with_one_health: Hosts,
}

impl MxHosts {
    fn new(group: String, hosts: Vec<MxHost>, policy: Option<StsPolicy>) -> Self {
        let is_enforced = policy.as_ref().is_some_and(StsPolicy::is_enforced);
        let mut names: Vec<String> = hosts.iter().map(|it| it.name.clone()).collect();
        names.sort_unstable();
        let with_one_health = Hosts::MailExchangers { names: names.into(), is_enforced };
        Self { group, hosts, policy, with_one_health }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MxHost {
    /// Its name in the MX record: lower case, A-labels, no last dot; or an address literal.
    pub name: String,
    /// That of its MX record: of hosts with the same one any may be tried first.
    pub preference: u16,
    /// In the order in which they are to be tried; at least one, at most 8.
    pub addresses: Vec<IpAddr>,
    /// Whether the domain's policy names it; true where there is none. A policy that is enforced has
    /// already taken all others out.
    pub allowed_by_policy: bool,
}

#[derive(Debug, Clone, Default)]
pub struct MxSettings {
    /// The kinds of addresses that this machine can connect to.
    pub addresses: AddressFamilies,
    /// The addresses that a host may have.
    pub reach: Reach,
    /// The names of this server: mail is never handed to itself (RFC 5321 section 5.1).
    pub own_names: Vec<String>,
}

/// Resolves domains and caches the results.
#[derive(Debug)]
pub struct MxResolver {
    resolver: Resolver,
    policies: Option<StsPolicies>,
    clock: Clock,
    settings: MxSettings,
    known: Cache<String, CachedResolution>,
    flights: SingleFlight,
}

/// Valid only between two moments, so that a clock that is set back makes nothing last longer.
#[derive(Debug, Clone)]
struct CachedResolution {
    resolution: Arc<MxResolution>,
    from: Timestamp,
    until: Timestamp,
}

impl MxResolver {
    /// Without `policies` MTA-STS is ignored.
    #[must_use]
    pub fn new(
        resolver: Resolver,
        policies: Option<StsPolicies>,
        clock: Clock,
        settings: MxSettings,
    ) -> Self {
        let known = Cache::builder().max_capacity(MAX_CACHED_DOMAINS).build();
        Self { resolver, policies, clock, settings, known, flights: SingleFlight::default() }
    }

    /// The cached result of a domain, in lower case and A-labels, or of an address literal.
    #[must_use]
    pub fn known(&self, domain: &str) -> Option<Arc<MxResolution>> {
        let known = self.known.get(domain)?;
        let now = self.clock.now();
        (known.from <= now && now < known.until).then_some(known.resolution)
    }

    /// The cached result, or hosts that expired some minutes ago: mail goes on while a new lookup
    /// is slow.
    #[must_use]
    pub fn usable(&self, domain: &str) -> Option<Arc<MxResolution>> {
        let known = self.known.get(domain)?;
        let now = self.clock.now();
        let until = match *known.resolution {
            MxResolution::Hosts(_) => known.until.after(STALE_TTL),
            MxResolution::Failed(_) => known.until,
        };
        (known.from <= now && now < until).then_some(known.resolution)
    }

    /// Whether the cache holds hosts or a permanent failure of a domain.
    #[must_use]
    pub fn knows_where(&self, domain: &str) -> bool {
        self.known(domain)
            .is_some_and(|it| !matches!(*it, MxResolution::Failed(LookupFailure::Temporary { .. })))
    }

    /// Looks a domain up unless it is cached; parallel calls share one lookup. Dropping the future
    /// is safe: a waiting call takes over.
    pub async fn look_up(&self, domain: &str) -> Arc<MxResolution> {
        let flight = self.flights.join(domain);
        let _alone = flight.acquire().await;
        if let Some(known) = self.known(domain) {
            return known;
        }
        let (resolution, keep) = match Box::pin(self.find(domain)).await {
            Ok((hosts, keep)) => {
                (MxResolution::Hosts(Arc::new(hosts)), keep.clamp(MIN_TTL, MAX_TTL))
            }
            Err(failure) => {
                let keep = match failure {
                    LookupFailure::Permanent { .. } => PERMANENT_FAILURE_TTL,
                    LookupFailure::Temporary { .. } => TEMPORARY_FAILURE_TTL,
                };
                (MxResolution::Failed(failure), keep)
            }
        };
        let resolution = Arc::new(resolution);
        let from = self.clock.now();
        let known =
            CachedResolution { resolution: Arc::clone(&resolution), from, until: from.after(keep) };
        self.known.insert(domain.to_owned(), known);
        resolution
    }

    /// The hosts of a domain, and how long they may be kept.
    async fn find(&self, domain: &str) -> Result<(MxHosts, Duration), LookupFailure> {
        if domain.starts_with('[') {
            return Ok((self.literal(domain)?, MAX_TTL));
        }
        let Ok(domain) = domain.parse::<DomainName>() else {
            return Err(LookupFailure::permanent(
                FailureReason::BadDestination,
                format!("{domain} is no domain of mail"),
            ));
        };
        let domain = domain.as_str();
        let seen = self.resolver.look_up(domain, RecordType::Mx).await;
        let candidates = Candidates::of(domain, &seen.outcome, &self.settings.own_names)?;
        let standing = match &self.policies {
            Some(policies) => policies.standing(domain).await?,
            None => AppliedPolicy::without_policies(self.clock.now().after(MAX_TTL)),
        };
        let allowed = allowed(&candidates, standing.policy.as_ref(), domain)?;
        let (hosts, ttl) = self.with_addresses(allowed, domain).await?;
        let policy = standing.policy;
        let host = |(Candidate { preference, name }, addresses): (&Candidate, _)| MxHost {
            name: name.clone(),
            preference: *preference,
            addresses,
            allowed_by_policy: policy.as_ref().is_none_or(|it| it.allows(name)),
        };
        let hosts = hosts.into_iter().map(host).collect();
        let keep = ttl.min(candidates.ttl).min(self.clock.now().until(standing.until));
        Ok((MxHosts::new(candidates.group, hosts, policy), keep))
    }

    /// Looks up the addresses of the hosts; answers those that have any, and their TTL.
    async fn with_addresses<'a>(
        &self,
        candidates: Vec<&'a Candidate>,
        domain: &str,
    ) -> Result<(Vec<(&'a Candidate, Vec<IpAddr>)>, Duration), LookupFailure> {
        let MxSettings { addresses: families, reach, .. } = self.settings;
        let names = || candidates.iter().map(|it| it.name.as_str());
        let mut found = Vec::with_capacity(candidates.len());
        for some in candidates.chunks(MAX_PARALLEL_LOOKUPS) {
            let some = some.iter().map(|it| addresses(&self.resolver, &it.name, families, reach));
            found.extend(join_all(some).await);
        }
        // Without an MX record the domain itself is the host, and its address is at fault.
        let no_address = if names().eq([domain]) {
            FailureReason::BadDestination
        } else {
            FailureReason::NoRoute
        };
        let mut hosts = Vec::with_capacity(candidates.len());
        let mut keep = MAX_TTL;
        let (mut unknown, mut unreachable) = (None, None);
        for (candidate, found) in candidates.into_iter().zip(found) {
            let name = &candidate.name;
            match found {
                AddressLookup::Addresses(addresses, ttl) => {
                    hosts.push((candidate, addresses));
                    keep = keep.min(ttl);
                }
                AddressLookup::Nothing => {}
                AddressLookup::OutOfReach => unreachable = unreachable.or(Some(name)),
                AddressLookup::Unknown(failure) => unknown = unknown.or(Some((name, failure))),
            }
        }
        match (unknown, unreachable) {
            // One host is unresolved: the result is cached only briefly.
            (Some(_), _) if !hosts.is_empty() => Ok((hosts, TEMPORARY_FAILURE_TTL)),
            (None, _) if !hosts.is_empty() => Ok((hosts, keep)),
            (Some((name, failure)), _) => Err(LookupFailure::temporary(format!(
                "the addresses of {name} cannot be found: {failure}"
            ))),
            (None, Some(name)) => {
                let reason = format!("{name}, a mail host of {domain}, has no public address");
                Err(LookupFailure::permanent(no_address, reason))
            }
            (None, None) => {
                let reason = format!("no mail host of {domain} has an address");
                Err(LookupFailure::permanent(no_address, reason))
            }
        }
    }

    /// The host that an address literal is (RFC 5321 section 4.1.3).
    fn literal(&self, text: &str) -> Result<MxHosts, LookupFailure> {
        let address = address_of(text).ok_or_else(|| {
            LookupFailure::permanent(FailureReason::BadDestination, format!("{text} is no address"))
        })?;
        if !self.settings.reach.allows(address) {
            return Err(LookupFailure::permanent(
                FailureReason::NoRoute,
                format!("{text} is no public address"),
            ));
        }
        if !self.settings.addresses.has(address) {
            let reason = format!("{text} cannot be reached from here: no address of its kind");
            return Err(LookupFailure::permanent(FailureReason::NoRoute, reason));
        }
        let name = match address {
            IpAddr::V4(address) => format!("[{address}]"),
            IpAddr::V6(address) => format!("[IPv6:{address}]"),
        };
        let addresses = vec![address];
        let host = MxHost { name: name.clone(), preference: 0, addresses, allowed_by_policy: true };
        Ok(MxHosts::new(name, vec![host], None))
    }
}

/// The hosts that may be tried, at most [`MAX_HOSTS`].
fn allowed<'a>(
    candidates: &'a Candidates,
    policy: Option<&StsPolicy>,
    domain: &str,
) -> Result<Vec<&'a Candidate>, LookupFailure> {
    let enforced = policy.filter(|it| it.is_enforced());
    let may = |it: &&Candidate| enforced.is_none_or(|policy| policy.allows(&it.name));
    let allowed: Vec<&Candidate> = candidates.hosts.iter().filter(may).take(MAX_HOSTS).collect();
    if allowed.is_empty() {
        let first = candidates.hosts.first().map_or("", |it| it.name.as_str());
        return Err(LookupFailure::temporary(format!(
            "the MTA-STS policy of {domain} allows none of its mail hosts, such as {first}"
        )));
    }
    Ok(allowed)
}

fn address_of(literal: &str) -> Option<IpAddr> {
    let inner = literal.strip_prefix('[')?.strip_suffix(']')?;
    match inner.split_once(':') {
        Some((tag, address)) if tag.eq_ignore_ascii_case("IPv6") => {
            address.parse::<Ipv6Addr>().ok().map(IpAddr::V6)
        }
        Some(_) => None,
        None => inner.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}
