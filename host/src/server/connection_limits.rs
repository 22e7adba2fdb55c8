//! How many connections a listener has, all together and from each address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use crate::journey::accept::rate_limit::network;

/// The bounds of all ports together.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Connections at one time.
    pub connections: usize,
    /// The same from one IPv4 address or one /64 of IPv6.
    pub connections_per_ip: usize,
}

/// Under which names connections are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http,
    Smtp,
}

#[derive(Debug)]
pub struct Places {
    protocol: Protocol,
    bounds: ArcSwap<Bounds>,
    taken: Mutex<Taken>,
}

/// A connection's place; free again when it is dropped.
#[derive(Debug)]
pub struct Place {
    places: Arc<Places>,
    network: IpAddr,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crowded {
    /// All are taken.
    Everywhere,
    /// This address has as many as it may have.
    Address,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

impl Places {
    /// All free.
    #[must_use]
    pub fn new(protocol: Protocol, bounds: Bounds) -> Arc<Self> {
        let bounds = ArcSwap::from_pointee(bounds);
        Arc::new(Self { protocol, bounds, taken: Mutex::default() })
    }

    /// Puts other bounds in the place of those in use. Who has a place keeps it.
    pub fn bound(&self, bounds: Bounds) {
        self.bounds.store(Arc::new(bounds));
    }

    /// How many connections there may be, all together.
    #[must_use]
    pub fn bound_of_all(&self) -> usize {
        self.bounds.load().connections
    }

    /// A place for a connection from this address.
    ///
    /// # Errors
    /// There is none; counted as `waxwing_smtp_connections_refused_total`, or its like of HTTP.
    pub fn take(self: &Arc<Self>, ip: IpAddr) -> Result<Place, Crowded> {
        let network = network(ip);
        self.count(network).inspect_err(|crowded| {
            let reason = crowded.reason();
            metrics::counter!(self.protocol.refused(), "reason" => reason).increment(1);
        })?;
        metrics::gauge!(self.protocol.open()).increment(1);
        Ok(Place { places: Arc::clone(self), network })
    }

    fn count(&self, network: IpAddr) -> Result<(), Crowded> {
        let (bounds, mut taken) = (self.bounds.load(), self.taken());
        if taken.all >= bounds.connections {
            return Err(Crowded::Everywhere);
        }
        let own = taken.by_network.get(&network).copied().unwrap_or(0);
        if own >= bounds.connections_per_ip {
            return Err(Crowded::Address);
        }
        taken.all += 1;
        taken.by_network.insert(network, own + 1);
        Ok(())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all = taken.all.saturating_sub(1);
        if let Entry::Occupied(mut own) = taken.by_network.entry(self.network) {
            if *own.get() > 1 {
                *own.get_mut() -= 1;
            } else {
                // Or every address that ever came would be remembered.
                own.remove();
            }
        }
        drop(taken);
        metrics::gauge!(self.places.protocol.open()).decrement(1);
    }
}

impl Protocol {
    fn open(self) -> &'static str {
        match self {
            Self::Http => "waxwing_http_connections",
            Self::Smtp => "waxwing_smtp_connections",
        }
    }

    fn refused(self) -> &'static str {
        match self {
            Self::Http => "waxwing_http_connections_refused_total",
            Self::Smtp => "waxwing_smtp_connections_refused_total",
        }
    }
}

impl Crowded {
    fn reason(self) -> &'static str {
        match self {
            Self::Everywhere => "connections",
            Self::Address => "connections_per_ip",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(connections: usize, connections_per_ip: usize) -> Arc<Places> {
        Places::new(Protocol::Smtp, Bounds { connections, connections_per_ip })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_gets_its_places_and_gets_them_back() {
        let places = places(10, 2);
        let first = places.take(ip("192.0.2.1")).expect("a place");
        let _second = places.take(ip("192.0.2.1")).expect("a place");
        assert_eq!(places.take(ip("192.0.2.1")).err(), Some(Crowded::Address));
        assert!(places.take(ip("192.0.2.2")).is_ok(), "another address");
        assert_eq!(places.take(ip("::ffff:192.0.2.1")).err(), Some(Crowded::Address), "the same");
        drop(first);
        assert!(places.take(ip("192.0.2.1")).is_ok());
    }

    #[test]
    fn a_slash_64_is_one_address() {
        let places = places(10, 1);
        let _place = places.take(ip("2001:db8:0:1::1")).expect("a place");
        let crowded = places.take(ip("2001:db8:0:1:ffff:ffff:ffff:ffff")).err();
        assert_eq!(crowded, Some(Crowded::Address));
        assert!(places.take(ip("2001:db8:0:2::1")).is_ok());
    }

    #[test]
    fn all_together_have_a_bound_too() {
        let places = places(2, 2);
        let first = places.take(ip("192.0.2.1")).expect("a place");
        let _second = places.take(ip("192.0.2.2")).expect("a place");
        assert_eq!(places.take(ip("192.0.2.3")).err(), Some(Crowded::Everywhere));
        drop(first);
        assert!(places.take(ip("192.0.2.3")).is_ok());
    }

    #[test]
    fn who_has_a_place_keeps_it_under_closer_bounds() {
        let places = places(10, 10);
        let first = places.take(ip("192.0.2.1")).expect("a place");
        let _second = places.take(ip("192.0.2.1")).expect("a place");
        places.bound(Bounds { connections: 10, connections_per_ip: 1 });
        assert_eq!(places.taken().all, 2);
        drop(first);
        assert_eq!(places.take(ip("192.0.2.1")).err(), Some(Crowded::Address));
        places.bound(Bounds { connections: 10, connections_per_ip: 2 });
        assert!(places.take(ip("192.0.2.1")).is_ok());
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let places = places(10, 2);
        let (first, second) = (places.take(ip("192.0.2.1")), places.take(ip("192.0.2.1")));
        drop(first);
        assert_eq!(places.taken().by_network.len(), 1);
        drop(second);
        let taken = places.taken();
        assert_eq!((taken.all, taken.by_network.len()), (0, 0));
    }
}
