//! Which addresses of other people's names may be connected to: whoever owns a name can let it point
//! into this machine's own network. The one table of non-public addresses, for mail and webhooks alike.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Which addresses a name chosen by others may lead to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reach {
    /// Addresses of the Internet only.
    #[default]
    Public,
    /// All addresses: for laboratories and closed networks.
    Anywhere,
}

impl Reach {
    /// Whether an address is within reach.
    #[must_use]
    pub fn allows(self, address: IpAddr) -> bool {
        match self {
            Self::Public => not_public(address).is_none(),
            Self::Anywhere => true,
        }
    }
}

/// Why an address is not one of the public Internet; `None` if it is.
#[must_use]
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

/// The IANA IPv4 special-purpose address registry (RFC 6890 and its updates), multicast and reserved space.
const V4: [(Ipv4Addr, u32, &str); 16] = [
    (Ipv4Addr::UNSPECIFIED, 8, "this network"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "private"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "shared by a provider's customers"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "loopback"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "link-local"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "private"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "reserved for protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a 6to4 relay"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "private"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "for benchmarks"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "multicast"),
    (Ipv4Addr::BROADCAST, 32, "broadcast"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "reserved"),
];

/// Ranges of `2000::/3` that are not plainly reachable.
const V6: [(Ipv6Addr, u32, &str); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved for protocols, as Teredo"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
];

/// Ranges outside `2000::/3`; everything not named here is reserved.
const V6_ELSEWHERE: [(Ipv6Addr, u32, &str); 7] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::UNSPECIFIED, 96, "a deprecated form of an IPv4 address"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "unique local"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "link-local"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "site-local"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "multicast"),
];

fn v4(address: Ipv4Addr) -> Option<&'static str> {
    let bits = u32::from(address);
    let inside = |(net, prefix, _): &&(Ipv4Addr, u32, &str)| {
        (u32::from(*net) ^ bits).checked_shr(32 - prefix).unwrap_or(0) == 0
    };
    V4.iter().find(inside).map(|(_, _, why)| *why)
}

fn v6(address: Ipv6Addr) -> Option<&'static str> {
    if let Some(embedded) = address.to_ipv4_mapped() {
        return v4(embedded);
    }
    let bits = u128::from(address);
    let inside = |(net, prefix, _): &&(Ipv6Addr, u32, &str)| {
        (u128::from(*net) ^ bits).checked_shr(128 - prefix).unwrap_or(0) == 0
    };
    // RFC 6052: behind this prefix is the IPv4 internet, and only that.
    if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() {
        return v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    }
    if address.segments()[0] & 0xe000 == 0x2000 {
        return V6.iter().find(inside).map(|(_, _, why)| *why);
    }
    Some(V6_ELSEWHERE.iter().find(inside).map_or("reserved", |(_, _, why)| *why))
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
