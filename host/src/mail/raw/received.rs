//! Writes the Received field (RFC 5321 section 4.4, RFC 3848). It has no public IP address of the client: that is
//! personal data, and no recipient needs it. Of the EHLO name it keeps a domain or a private address literal.

use std::net::{IpAddr, Ipv6Addr};

use crate::clock::Timestamp;

/// How a message came here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// What the client called itself in EHLO.
    pub hello: String,
    /// The name of this server.
    pub hostname: String,
    pub protocol: Protocol,
}

/// The protocols of submission, both over TLS and after a login (RFC 3848, RFC 6531).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// `ESMTPSA`.
    Esmtp,
    /// `UTF8SMTPSA`: the client used SMTPUTF8.
    Utf8Smtp,
}

/// Octets of a domain (RFC 5321 section 4.5.3.1.2), at most.
const MAX_DOMAIN: usize = 255;

pub(super) fn field(arrival: &Arrival, id: &str, date: Timestamp) -> String {
    let from = disclosable_name(&arrival.hello).unwrap_or("unknown");
    let protocol = match arrival.protocol {
        Protocol::Esmtp => "ESMTPSA",
        Protocol::Utf8Smtp => "UTF8SMTPSA",
    };
    let (by, date) = (&arrival.hostname, date.rfc5322());
    format!("Received: from {from}\r\n by {by} with {protocol} id {id};\r\n {date}\r\n")
}

/// What the client called itself, if it is a domain, or the address literal of a private network.
fn disclosable_name(hello: &str) -> Option<&str> {
    let literal = hello.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let shown = match literal {
        Some(literal) => is_private(literal),
        None => is_domain(hello),
    };
    shown.then_some(hello)
}

/// RFC 5321 section 4.1.2 `Domain`: a single label too, as in `printer`.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_number = |label: &str| label.bytes().all(|byte| byte.is_ascii_digit());
    text.len() <= MAX_DOMAIN
        && text.split('.').all(is_label)
        && !text.rsplit('.').next().is_some_and(is_number)
}

fn is_private(literal: &str) -> bool {
    let address = match literal.split_once(':') {
        Some((tag, v6)) if tag.eq_ignore_ascii_case("IPv6") => {
            v6.parse::<Ipv6Addr>().map(IpAddr::V6)
        }
        _ => literal.parse().map(IpAddr::V4),
    };
    address.is_ok_and(|address| match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
    })
}
