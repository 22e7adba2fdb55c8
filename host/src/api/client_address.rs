//! Which address a request comes from, where reverse proxies stand before the server.
//!
//! A proxy's word counts only if the connection comes from a network that the operator has named. The
//! addresses are read from the right, where the nearest proxy wrote: the first one that is no trusted
//! proxy is the client's. What stands to the left of it was written by the client itself.

use std::net::{IpAddr, SocketAddr};

use axum::extract::Request;
use http::HeaderMap;

use crate::account::ip_network::IpNetwork;

/// The other end of the connection; the listener puts it there.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// The address that a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

/// The proxies whose word counts, and where they put it.
#[derive(Debug, Clone)]
pub struct TrustedProxies {
    networks: Vec<IpNetwork>,
    forwarding: Forwarding,
}

/// The header that the trusted proxies write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forwarding {
    /// `X-Forwarded-For`: addresses with commas between them.
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl TrustedProxies {
    /// Proxies in these networks; none means that nobody's word counts.
    #[must_use]
    pub fn new(networks: Vec<IpNetwork>, forwarding: Forwarding) -> Self {
        Self { networks, forwarding }
    }

    /// Notes with a request where it came from.
    pub fn note(&self, request: &mut Request) {
        if let Some(Peer(peer)) = request.extensions().get::<Peer>().copied() {
            let client = self.client(peer.ip(), request.headers());
            request.extensions_mut().insert(ClientAddress(client));
        }
    }

    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.trusts(client) {
            return client;
        }
        let (name, read): (_, fn(&str) -> Option<IpAddr>) = match self.forwarding {
            Forwarding::XForwardedFor => ("x-forwarded-for", address),
            Forwarding::Forwarded => ("forwarded", forwarded_for),
        };
        // Several lines of a header are one list (RFC 9110, section 5.3).
        for line in headers.get_all(name).iter().rev() {
            let Ok(line) = line.to_str() else { return client };
            for element in elements(line).into_iter().rev() {
                // A hop that hides its client, or wrote something else, is as far as one can see.
                let Some(address) = read(element) else { return client };
                client = address;
                if !self.trusts(client) {
                    return client;
                }
            }
        }
        client
    }

    fn trusts(&self, ip: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(ip))
    }
}

/// The parts of a list between its commas, but for those in quotes.
fn elements(line: &str) -> Vec<&str> {
    split(line, ',')
}

fn split(line: &str, separator: char) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    line.split(|c: char| {
        let is_separator = c == separator && !quoted;
        if c == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = quoted && c == '\\' && !escaped;
        is_separator
    })
    .map(str::trim)
    .filter(|part| !part.is_empty())
    .collect()
}

/// The address in `for=…` of one element of `Forwarded`.
fn forwarded_for(element: &str) -> Option<IpAddr> {
    let pairs = split(element, ';');
    let node = pairs.iter().find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then(|| value.trim())
    })?;
    address(node.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(node))
}

/// An address with or without a port; one of IPv6 with a port stands in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(text);
    let address: Option<IpAddr> = bare.parse().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|it| it.ip());
    address.or_else(with_port).map(|it| it.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn client(forwarding: Forwarding, peer: &str, headers: &[(&'static str, &str)]) -> String {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|it| it.parse().expect("a network"));
        let proxies = TrustedProxies::new(networks.to_vec(), forwarding);
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        proxies.client(peer.parse().expect("an address"), &map).to_string()
    }

    fn x(peer: &str, lines: &[&str]) -> String {
        let headers: Vec<_> = lines.iter().map(|line| ("x-forwarded-for", *line)).collect();
        client(Forwarding::XForwardedFor, peer, &headers)
    }

    fn f(peer: &str, line: &str) -> String {
        client(Forwarding::Forwarded, peer, &[("forwarded", line)])
    }

    #[test]
    fn nobody_but_a_trusted_proxy_says_whom_it_speaks_for() {
        assert_eq!(x("192.0.2.9", &["198.51.100.1"]), "192.0.2.9");
        assert_eq!(f("192.0.2.9", "for=198.51.100.1"), "192.0.2.9");
        assert_eq!(x("10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(x("::ffff:10.0.0.1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(x("10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn what_a_client_wrote_to_the_left_of_its_own_address_does_not_count() {
        assert_eq!(x("10.0.0.1", &["203.0.113.5, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(x("10.0.0.1", &["10.9.9.9, 198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(x("10.0.0.1", &["203.0.113.5", "198.51.100.1, 10.0.0.2"]), "198.51.100.1");
        assert_eq!(f("10.0.0.1", "for=203.0.113.5, for=198.51.100.1"), "198.51.100.1");
    }

    #[test]
    fn a_hop_that_cannot_be_read_is_as_far_as_one_can_see() {
        for unreadable in ["unknown", "_hidden", "198.51.100.1 rubbish", "\"10.0.0.3\""] {
            assert_eq!(x("10.0.0.1", &[&format!("{unreadable}, 10.0.0.2")]), "10.0.0.2");
        }
        assert_eq!(f("10.0.0.1", "for=_hidden;proto=https, for=10.0.0.2"), "10.0.0.2");
        assert_eq!(f("10.0.0.1", "proto=https"), "10.0.0.1");
        assert_eq!(x("10.0.0.1", &["10.0.0.3, 10.0.0.2"]), "10.0.0.3", "all are proxies");
    }

    #[test]
    fn the_header_that_the_proxies_do_not_write_is_not_read() {
        let both = [("forwarded", "for=203.0.113.5"), ("x-forwarded-for", "198.51.100.1")];
        assert_eq!(client(Forwarding::XForwardedFor, "10.0.0.1", &both), "198.51.100.1");
        assert_eq!(client(Forwarding::Forwarded, "10.0.0.1", &both), "203.0.113.5");
    }

    #[test]
    fn addresses_are_read_as_proxies_write_them() {
        for text in ["2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711"] {
            assert_eq!(x("fd00::1", &[text]), "2001:db8::1", "{text}");
            assert_eq!(f("fd00::1", &format!("proto=https;For=\"{text}\"")), "2001:db8::1");
        }
        assert_eq!(x("10.0.0.1", &["198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(f("10.0.0.1", "for=\"198.51.100.1:4711\";by=\"a,b;for=x\""), "198.51.100.1");
    }
}
