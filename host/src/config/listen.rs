//! Where a listener listens: at one address, at several, or nowhere.

use std::fmt;
use std::net::SocketAddr;

use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

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
