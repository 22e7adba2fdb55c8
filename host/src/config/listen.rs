//! Where listeners listen: one address, several, or none; and that no two want the same.

use std::fmt;
use std::net::SocketAddr;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use super::{Config, MetricsListen, Violations};

/// An address to listen on, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum Listen {
    /// `"off"`.
    Off,
    /// As in `"127.0.0.1:2587"`.
    At(SocketAddr),
}

/// Addresses to listen on: one, a list of them, or `"off"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenAddresses(Vec<SocketAddr>);

/// A text that is neither an address nor `off`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is neither an address with a port, as in \"127.0.0.1:2587\", nor \"off\"")]
pub struct InvalidListen {
    text: String,
}

impl Listen {
    /// The address to listen on; none for `off`.
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Off => None,
            Self::At(address) => Some(address),
        }
    }
}

impl TryFrom<String> for Listen {
    type Error = InvalidListen;

    fn try_from(text: String) -> Result<Self, InvalidListen> {
        match text.parse() {
            Ok(address) => Ok(Self::At(address)),
            Err(_) if text == "off" => Ok(Self::Off),
            Err(_) => Err(InvalidListen { text }),
        }
    }
}

impl From<Listen> for String {
    fn from(listen: Listen) -> Self {
        listen.address().map_or_else(|| "off".to_owned(), |address| address.to_string())
    }
}

impl ListenAddresses {
    /// One address.
    #[must_use]
    pub fn one(address: SocketAddr) -> Self {
        Self(vec![address])
    }

    /// All of them; none for `"off"`.
    #[must_use]
    pub fn all(&self) -> &[SocketAddr] {
        &self.0
    }
}

impl Serialize for ListenAddresses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.all() {
            [] => serializer.serialize_str("off"),
            [address] => address.serialize(serializer),
            addresses => addresses.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ListenAddresses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AddressesVisitor)
    }
}

struct AddressesVisitor;

impl<'de> Visitor<'de> for AddressesVisitor {
    type Value = ListenAddresses;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an address with a port, as in \"127.0.0.1:2587\", a list of them, or \"off\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ListenAddresses, E> {
        let listen = Listen::try_from(text.to_owned()).map_err(E::custom)?;
        Ok(ListenAddresses(listen.address().into_iter().collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ListenAddresses, A::Error> {
        let mut addresses = Vec::new();
        while let Some(listen) = list.next_element::<Listen>()? {
            let stands_alone = || de::Error::custom("\"off\" stands alone, not in a list");
            addresses.push(listen.address().ok_or_else(stands_alone)?);
        }
        Ok(ListenAddresses(addresses))
    }
}

/// A listener, and the key that says where it listens.
#[derive(Debug)]
pub struct Listener {
    pub key: &'static str,
    /// The key; of several addresses, with the place of this one.
    name: String,
    pub address: SocketAddr,
}

/// Finds listeners of which only one could start.
pub(super) fn check(config: &Config, violations: &mut Violations<'_>) {
    let mut groups: Vec<Vec<Listener>> = Vec::new();
    let unreadable = violations.unreadable;
    // The places in a list that has lost an element are not those of the file.
    for listener in listeners(config).into_iter().filter(|it| !unreadable.touches(it.key)) {
        let conflicts =
            |group: &[Listener]| group.iter().any(|other| overlap(listener.address, other.address));
        let (mut joined, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| conflicts(group));
        joined.push(vec![listener]);
        groups = others;
        groups.push(joined.into_iter().flatten().collect());
    }
    for group in groups {
        let named: Vec<String> =
            group.iter().map(|it| format!("{} = {}", it.name, it.address)).collect();
        match named.split_last() {
            None | Some((_, [])) => {}
            Some((last, [first])) => violations.broken.push(format!(
                "{first} and {last} cannot both listen: give one of them another port"
            )),
            Some((last, others)) => violations.broken.push(format!(
                "{} and {last} cannot all listen: give each a port of its own",
                others.join(", ")
            )),
        }
    }
}

/// All that a configuration asks for.
#[must_use]
pub fn listeners(config: &Config) -> Vec<Listener> {
    let metrics = match config.http.metrics_listen {
        MetricsListen::At(address) => Some(address),
        MetricsListen::Off | MetricsListen::Public => None,
    };
    let inbox = config.inbox.enabled.then_some(config.inbox.smtp_listen);
    let one = |key: &'static str, address| Listener { key, name: key.to_owned(), address };
    let mut listeners = vec![one("http.listen", config.http.listen)];
    listeners.extend(metrics.map(|it| one("http.metrics_listen", it)));
    listeners.extend(several("smtp.listen_starttls", config.smtp.starttls_addresses()));
    listeners.extend(several("smtp.listen_tls", config.smtp.tls_addresses()));
    listeners.extend(config.bounces.address().map(|it| one("bounces.listen", it)));
    listeners.extend(inbox.map(|it| one("inbox.smtp_listen", it)));
    listeners
}

fn several<'a>(
    key: &'static str,
    addresses: &'a [SocketAddr],
) -> impl Iterator<Item = Listener> + use<'a> {
    let is_list = addresses.len() > 1;
    addresses.iter().enumerate().map(move |(index, address)| {
        let name = if is_list { format!("{key}[{index}]") } else { key.to_owned() };
        Listener { key, name, address: *address }
    })
}

/// Port 0 is a free one each time. `0.0.0.0` is every address of IPv4; `::` is every address of both families,
/// as Linux binds it by default.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let same_family = one.is_ipv4() == other.is_ipv4();
    let covers = |one: SocketAddr| one.ip().is_unspecified() && (same_family || one.is_ipv6());
    one.port() != 0
        && one.port() == other.port()
        && (one.ip() == other.ip() || covers(one) || covers(other))
}
