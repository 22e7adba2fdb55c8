//! How many connections a listener has, all together and from each address.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

use crate::api::request_context::ConnectionRefused;
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
pub struct ConnectionSlots {
    protocol: Protocol,
    bounds: ArcSwap<Bounds>,
    taken: Mutex<Taken>,
}

/// A connection's place; free again when it is dropped.
#[derive(Debug)]
pub struct ConnectionSlot {
    slots: Arc<ConnectionSlots>,
    network: IpAddr,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSlot {
    /// All are taken.
    Listener,
    /// This address has as many as it may have.
    ClientAddress,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_network: HashMap<IpAddr, usize>,
}

impl ConnectionSlots {
    #[must_use]
    pub fn new(protocol: Protocol, bounds: Bounds) -> Arc<Self> {
        let bounds = ArcSwap::from_pointee(bounds);
        Arc::new(Self { protocol, bounds, taken: Mutex::default() })
    }

    /// Puts other bounds in the place of those in use. Who has a place keeps it.
    pub fn set_bounds(&self, bounds: Bounds) {
        self.bounds.store(Arc::new(bounds));
    }

    /// How many connections there may be, all together.
    #[must_use]
    pub fn max_connections(&self) -> usize {
        self.bounds.load().connections
    }

    /// How many connections there may be from one address.
    #[must_use]
    pub fn max_connections_of_address(&self) -> usize {
        self.bounds.load().connections_per_ip
    }

    /// A place for a connection from this address.
    ///
    /// # Errors
    /// There is none; counted as `waxwing_smtp_connections_refused_total`, or its like of HTTP.
    pub fn take(self: &Arc<Self>, ip: IpAddr) -> Result<ConnectionSlot, NoSlot> {
        let network = network(ip);
        self.count(network).inspect_err(|no_slot| {
            let reason = no_slot.reason();
            metrics::counter!(self.protocol.refused(), "reason" => reason).increment(1);
        })?;
        metrics::gauge!(self.protocol.open()).increment(1);
        Ok(ConnectionSlot { slots: Arc::clone(self), network })
    }

    fn count(&self, network: IpAddr) -> Result<(), NoSlot> {
        let (bounds, mut taken) = (self.bounds.load(), self.taken());
        if taken.all >= bounds.connections {
            return Err(NoSlot::Listener);
        }
        let open_from_network = taken.by_network.get(&network).copied().unwrap_or(0);
        if open_from_network >= bounds.connections_per_ip {
            return Err(NoSlot::ClientAddress);
        }
        taken.all += 1;
        taken.by_network.insert(network, open_from_network + 1);
        Ok(())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        taken.all = taken.all.saturating_sub(1);
        if let Entry::Occupied(mut open_from_network) = taken.by_network.entry(self.network) {
            if *open_from_network.get() > 1 {
                *open_from_network.get_mut() -= 1;
            } else {
                // Or every address that ever came would be remembered.
                open_from_network.remove();
            }
        }
        drop(taken);
        metrics::gauge!(self.slots.protocol.open()).decrement(1);
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

impl NoSlot {
    fn reason(self) -> &'static str {
        match self {
            Self::Listener => "connections",
            Self::ClientAddress => "connections_per_ip",
        }
    }
}

impl From<NoSlot> for ConnectionRefused {
    fn from(no_slot: NoSlot) -> Self {
        match no_slot {
            NoSlot::Listener => Self::ServerIsFull,
            NoSlot::ClientAddress => Self::AddressIsFull,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(connections: usize, connections_per_ip: usize) -> Arc<ConnectionSlots> {
        ConnectionSlots::new(Protocol::Smtp, Bounds { connections, connections_per_ip })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn an_address_gets_its_places_and_gets_them_back() {
        let slots = slots(10, 2);
        let first = slots.take(ip("192.0.2.1")).expect("a place");
        let _second = slots.take(ip("192.0.2.1")).expect("a place");
        assert_eq!(slots.take(ip("192.0.2.1")).err(), Some(NoSlot::ClientAddress));
        assert!(slots.take(ip("192.0.2.2")).is_ok(), "another address");
        assert_eq!(
            slots.take(ip("::ffff:192.0.2.1")).err(),
            Some(NoSlot::ClientAddress),
            "the same"
        );
        drop(first);
        assert!(slots.take(ip("192.0.2.1")).is_ok());
    }

    #[test]
    fn a_slash_64_is_one_address() {
        let slots = slots(10, 1);
        let _place = slots.take(ip("2001:db8:0:1::1")).expect("a place");
        let no_slot = slots.take(ip("2001:db8:0:1:ffff:ffff:ffff:ffff")).err();
        assert_eq!(no_slot, Some(NoSlot::ClientAddress));
        assert!(slots.take(ip("2001:db8:0:2::1")).is_ok());
    }

    #[test]
    fn all_together_have_a_bound_too() {
        let slots = slots(2, 2);
        let first = slots.take(ip("192.0.2.1")).expect("a place");
        let _second = slots.take(ip("192.0.2.2")).expect("a place");
        assert_eq!(slots.take(ip("192.0.2.3")).err(), Some(NoSlot::Listener));
        drop(first);
        assert!(slots.take(ip("192.0.2.3")).is_ok());
    }

    #[test]
    fn who_has_a_place_keeps_it_under_closer_bounds() {
        let slots = slots(10, 10);
        let first = slots.take(ip("192.0.2.1")).expect("a place");
        let _second = slots.take(ip("192.0.2.1")).expect("a place");
        slots.set_bounds(Bounds { connections: 10, connections_per_ip: 1 });
        assert_eq!(slots.taken().all, 2);
        drop(first);
        assert_eq!(slots.take(ip("192.0.2.1")).err(), Some(NoSlot::ClientAddress));
        slots.set_bounds(Bounds { connections: 10, connections_per_ip: 2 });
        assert!(slots.take(ip("192.0.2.1")).is_ok());
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let slots = slots(10, 2);
        let (first, second) = (slots.take(ip("192.0.2.1")), slots.take(ip("192.0.2.1")));
        drop(first);
        assert_eq!(slots.taken().by_network.len(), 1);
        drop(second);
        let taken = slots.taken();
        assert_eq!((taken.all, taken.by_network.len()), (0, 0));
    }
}
