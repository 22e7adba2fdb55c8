//! Networks in CIDR form, as keys, proxies and listeners name them.

use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An address or a network in CIDR form, e.g. `192.0.2.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IpNetwork {
    address: IpAddr,
    prefix: u8,
}

/// Not an address and not a network.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an IP address or a network such as 192.0.2.0/24")]
pub struct InvalidNetwork(String);

impl IpNetwork {
    /// Whether the address lies in the network. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, ip: IpAddr) -> bool {
        let shift = |width: u32| width - u32::from(self.prefix);
        match (self.address, ip.to_canonical()) {
            (IpAddr::V4(net), IpAddr::V4(ip)) => {
                let differing = u32::from(net) ^ u32::from(ip);
                differing.checked_shr(shift(32)).unwrap_or(0) == 0
            }
            (IpAddr::V6(net), IpAddr::V6(ip)) => {
                let differing = u128::from(net) ^ u128::from(ip);
                differing.checked_shr(shift(128)).unwrap_or(0) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl IpNetwork {
    /// Whether every address of the other network lies in this one.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let is_one_family = self.address.is_ipv4() == other.address.is_ipv4();
        is_one_family && self.prefix <= other.prefix && self.contains(other.address)
    }
}

impl FromStr for IpNetwork {
    type Err = InvalidNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidNetwork> {
        let invalid = || InvalidNetwork(text.to_owned());
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        // An IPv4-mapped address alone means the IPv4 address, as it does where it is compared.
        let address = if prefix.is_none() { address.to_canonical() } else { address };
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(width), str::parse).map_err(|_| invalid())?;
        if prefix > width { Err(invalid()) } else { Ok(Self { address, prefix }) }
    }
}

impl TryFrom<String> for IpNetwork {
    type Error = InvalidNetwork;

    fn try_from(text: String) -> Result<Self, InvalidNetwork> {
        text.parse()
    }
}

impl From<IpNetwork> for String {
    fn from(network: IpNetwork) -> String {
        format!("{}/{}", network.address, network.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_its_addresses_only() {
        let network: IpNetwork = "192.0.2.0/24".parse().expect("valid");
        assert!(network.contains("192.0.2.7".parse().expect("ip")));
        assert!(network.contains("::ffff:192.0.2.7".parse().expect("ip")));
        assert!(!network.contains("192.0.3.7".parse().expect("ip")));
        assert!("0.0.0.0/0".parse::<IpNetwork>().expect("valid").contains([9, 9, 9, 9].into()));
        assert!("10.0.0.0/33".parse::<IpNetwork>().is_err());
        for (wide, narrow) in [
            ("192.0.2.0/24", "192.0.2.7"),
            ("0.0.0.0/0", "192.0.2.0/24"),
            ("::/0", "2001:db8::/32"),
        ] {
            let [wide, narrow]: [IpNetwork; 2] =
                [wide, narrow].map(|it| it.parse().expect("valid"));
            assert!(wide.covers(&wide) && wide.covers(&narrow) && !narrow.covers(&wide));
        }
        assert!(!"::/0".parse::<IpNetwork>().expect("valid").covers(&network), "another family");
        let mapped: IpNetwork = "::ffff:127.0.0.1".parse().expect("valid");
        assert!(mapped.contains([127, 0, 0, 1].into()));
    }
}
