//! The addresses of a host, alternating between both families.

use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::join;

use super::candidates::{at_random, failure};
use crate::dns::{Outcome, Reach, RecordType, Resolver};

/// The most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;

/// The kinds of addresses that this machine can connect to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AddressFamilies {
    /// Both; the first is of IPv6 where a host has one.
    #[default]
    Both,
    /// Only IPv4.
    Ipv4,
    /// Only IPv6.
    Ipv6,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum AddressLookup {
    /// The addresses in the order of trying, and their TTL.
    Addresses(Vec<IpAddr>, Duration),
    Nothing,
    /// The host has addresses, but none that may be connected to.
    OutOfReach,
    /// The lookup failed, for this reason.
    Unknown(&'static str),
}

impl AddressFamilies {
    pub(super) const fn has(self, address: IpAddr) -> bool {
        match (self, address) {
            (Self::Both, _) | (Self::Ipv4, IpAddr::V4(_)) | (Self::Ipv6, IpAddr::V6(_)) => true,
            (Self::Ipv4, IpAddr::V6(_)) | (Self::Ipv6, IpAddr::V4(_)) => false,
        }
    }

    const fn v4(self) -> Option<RecordType> {
        match self {
            Self::Both | Self::Ipv4 => Some(RecordType::A),
            Self::Ipv6 => None,
        }
    }

    const fn v6(self) -> Option<RecordType> {
        match self {
            Self::Both | Self::Ipv6 => Some(RecordType::Aaaa),
            Self::Ipv4 => None,
        }
    }
}

pub(super) async fn addresses(
    resolver: &Resolver,
    host: &str,
    families: AddressFamilies,
    reach: Reach,
) -> AddressLookup {
    let ask = async |record_type| match record_type {
        Some(record_type) => resolver.look_up(host, record_type).await.outcome,
        None => Outcome::NoData,
    };
    let (v6, v4) = join(ask(families.v6()), ask(families.v4())).await;
    let all = in_turn(shuffled(&v6), shuffled(&v4));
    if all.is_empty() {
        let failed = [&v6, &v4].into_iter().find(|it| it.is_failure());
        return failed.map_or(AddressLookup::Nothing, |it| AddressLookup::Unknown(failure(it)));
    }
    let within: Vec<IpAddr> =
        all.into_iter().filter(|it| reach.allows(*it)).take(MAX_ADDRESSES).collect();
    if within.is_empty() {
        return AddressLookup::OutOfReach;
    }
    let ttl = v6.answers().iter().chain(v4.answers()).map(|it| it.ttl).min();
    AddressLookup::Addresses(within, Duration::from_secs(ttl.unwrap_or_default().into()))
}

/// The resolver has sorted the addresses: a random order spreads the load.
fn shuffled(seen: &Outcome) -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> =
        seen.answers().iter().filter_map(|it| it.data.parse().ok()).collect();
    addresses.sort_by_cached_key(|_| at_random());
    addresses
}

fn in_turn(first: Vec<IpAddr>, second: Vec<IpAddr>) -> Vec<IpAddr> {
    let mut all = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    loop {
        let before = all.len();
        all.extend(first.next());
        all.extend(second.next());
        if all.len() == before {
            return all;
        }
    }
}
