//! Where webhooks may point: to the public internet, and to what the operator allows beside it.
//!
//! A name is judged by the addresses that the connection is then made to (`resolver`), so a name that
//! answers otherwise the next time gains nothing; an address in a URL is judged here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use reqwest::Url;

use crate::account::ip_network::IpNetwork;

/// Characters of a URL.
const MAX_URL_CHARS: usize = 2_048;

#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// What is asked of the scheme.
    pub schemes: Schemes,
    /// Networks that are allowed although they are not public.
    pub allowed: Vec<IpNetwork>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Schemes {
    #[default]
    Https,
    /// `http` too, for labs.
    HttpToo,
}

/// An address that a webhook may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{address} is not a public address: {why}")]
pub struct Forbidden {
    pub address: IpAddr,
    pub why: &'static str,
}

/// Why a URL cannot be a webhook's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    #[error("is not a URL such as https://example.com/hooks: {0}")]
    Malformed(String),
    #[error("may have at most {MAX_URL_CHARS} characters")]
    TooLong,
    #[error("must begin with https://")]
    Scheme,
    /// It has a user name or a password.
    #[error("must not hold a user name or a password; check the signature instead")]
    Userinfo,
    /// It has a fragment, which is never sent.
    #[error("must not have a fragment (#…)")]
    Fragment,
    #[error("{0}")]
    Address(#[from] Forbidden),
}

impl Guard {
    /// Judges the URL of a webhook; the names in it are judged when they are looked up.
    pub fn url(&self, text: &str) -> Result<Url, UrlRefused> {
        if text.chars().count() > MAX_URL_CHARS {
            return Err(UrlRefused::TooLong);
        }
        let url = Url::parse(text).map_err(|error| UrlRefused::Malformed(error.to_string()))?;
        // What is kept is this form, in which one letter may be nine characters; it is ASCII.
        if url.as_str().len() > MAX_URL_CHARS {
            return Err(UrlRefused::TooLong);
        }
        match (url.scheme(), self.schemes) {
            ("https", _) | ("http", Schemes::HttpToo) => {}
            _ => return Err(UrlRefused::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlRefused::Userinfo);
        }
        if url.fragment().is_some() {
            return Err(UrlRefused::Fragment);
        }
        // All spellings of an address (octal, hexadecimal, one number) are one here: the parser has
        // made them so.
        let host = url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            Ok(address) => self.address(address)?,
            Err(_) if host.is_empty() => return Err(UrlRefused::Malformed("no host".to_owned())),
            Err(_) => {}
        }
        Ok(url)
    }

    /// Judges an address before it is connected to.
    ///
    /// # Errors
    /// It is not public, and the operator has not allowed it.
    pub fn address(&self, address: IpAddr) -> Result<(), Forbidden> {
        match not_public(address) {
            Some(why) if !self.allowed.iter().any(|it| it.contains(address)) => {
                Err(Forbidden { address, why })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Why an address is not one of the public internet; none where it is.
#[must_use]
pub fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => v4(address),
        IpAddr::V6(address) => v6(address),
    }
}

/// The IANA IPv4 special-purpose address registry, multicast and reserved space.
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

/// What lies in `2000::/3` and is yet no host's address.
const V6: [(Ipv6Addr, u32, &str); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "reserved for protocols, as Teredo"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "6to4"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "for documentation"),
];

/// What lies outside of it, by name; the rest is reserved.
const V6_ELSEWHERE: [(Ipv6Addr, u32, &str); 7] = [
    (Ipv6Addr::UNSPECIFIED, 128, "unspecified"),
    (Ipv6Addr::LOCALHOST, 128, "loopback"),
    (Ipv6Addr::UNSPECIFIED, 96, "an IPv4 address in a form that is not used any more"),
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
mod tests;
