//! Which addresses of other people's names may be connected to: whoever owns a name can let it point
//! into this machine's own network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What may be reached by a name that others chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Addresses of the Internet only.
    #[default]
    Public,
    /// All addresses: for laboratories and networks without strangers.
    Anywhere,
}

impl Reach {
    /// Whether an address is within reach.
    #[must_use]
    pub fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Public => is_public(address),
            Self::Anywhere => true,
        }
    }
}

fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// By the registry of special-purpose addresses (RFC 6890 and its updates).
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = match (a, b, c) {
        (0 | 10 | 127 | 224.., _, _)
        | (192, 168, _)
        | (169, 254, _)
        | (192, 0, 0 | 2)
        | (192, 88, 99)
        | (198, 18 | 19, _)
        | (198, 51, 100)
        | (203, 0, 113) => true,
        (100, b, _) => (64..128).contains(&b),
        (172, b, _) => (16..32).contains(&b),
        (_, _, _) => false,
    };
    !is_special
}

/// Global unicast, without what leads to other addresses by another way.
fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return is_public_v4(mapped);
    }
    let [first, second, third, fourth, fifth, sixth, high, low] = address.segments();
    // NAT64 (RFC 6052): the last 32 bits are the address that is reached.
    if [first, second, third, fourth, fifth, sixth] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        return is_public_v4(Ipv4Addr::new(a, b, c, d));
    }
    match (first, second) {
        // Teredo and other protocols, documentation, 6to4, documentation again.
        (0x2001, 0..0x200 | 0xdb8) | (0x2002, _) | (0x3fff, 0..0x1000) => false,
        (0x2000..0x4000, _) => true,
        (_, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn addresses_of_the_internet_are_within_reach() {
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.0.1",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2001:200::1",
            "2a00:1450::1",
            "3ffe:ffff::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ] {
            assert!(Reach::Public.allows(address(text)), "{text}");
        }
    }

    #[test]
    fn all_others_are_not() {
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "3fff::1",
            "4000::1",
            "5f00::1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!Reach::Public.allows(address(text)), "{text}");
            assert!(Reach::Anywhere.allows(address(text)), "{text}");
        }
    }
}
