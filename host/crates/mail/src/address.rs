//! E-mail addresses: RFC 5321 section 4.1.2 mailboxes, with UTF-8 local parts (RFC 6531).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain_name::{DomainName, InvalidDomain};

const MAX_LOCAL: usize = 64;
const MAX_ADDRESS: usize = 254;

/// A mailbox that is safe to write into an envelope and a header: it holds no CR, LF or NUL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EmailAddress {
    local: String,
    domain: Host,
}

/// What stands behind the `@`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    Name(DomainName),
    /// An address literal, kept as written, e.g. `[192.0.2.1]` (RFC 5321 section 4.1.3).
    Literal(String),
}

/// Why a text is not an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    /// Nothing there.
    #[error("the address is empty")]
    Empty,
    /// No `@` outside quotes.
    #[error("the address has no @")]
    NoAt,
    /// Over 254 octets, or a local part over 64 (RFC 5321 section 4.5.3.1).
    #[error("the address is too long (at most 64 octets before the @, 254 in all)")]
    TooLong,
    /// The part before the `@` is empty or has a character that needs quotes.
    #[error("the part before the @ is not valid")]
    LocalPart,
    /// A control character: CR and LF would start a new header.
    #[error("the address holds a control character")]
    Control,
    /// More than one address, or a display name with the address.
    #[error("exactly one bare address is wanted, without a name, a comma or angle brackets")]
    NotBare,
    /// The part behind the `@` is not a domain.
    #[error("the part behind the @ is not valid: {0}")]
    Domain(#[from] InvalidDomain),
    /// An address literal that is not an IP address.
    #[error("the address literal is not an IP address")]
    Literal,
}

impl EmailAddress {
    /// The part before the `@`, with its quotes where it has any.
    #[must_use]
    pub fn local(&self) -> &str {
        &self.local
    }

    /// The domain name; none for an address literal.
    #[must_use]
    pub fn domain(&self) -> Option<&DomainName> {
        match &self.domain {
            Host::Name(name) => Some(name),
            Host::Literal(_) => None,
        }
    }

    /// What stands behind the `@`.
    #[must_use]
    pub fn host(&self) -> &str {
        match &self.domain {
            Host::Name(name) => name.as_str(),
            Host::Literal(literal) => literal,
        }
    }

    /// Whether it can be sent only with SMTPUTF8.
    #[must_use]
    pub fn needs_smtputf8(&self) -> bool {
        !self.local.is_ascii()
    }

    /// The form that a suppression list compares: lower case throughout.
    #[must_use]
    pub fn folded(&self) -> String {
        let mut folded = String::with_capacity(self.local.len() + 1 + self.host().len());
        folded.push_str(&self.local);
        folded.push('@');
        folded.push_str(self.host());
        if folded.is_ascii() {
            folded.make_ascii_lowercase();
            return folded;
        }
        folded.to_lowercase()
    }
}

impl FromStr for EmailAddress {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        if text.is_empty() {
            return Err(InvalidAddress::Empty);
        }
        if text.chars().any(char::is_control) {
            return Err(InvalidAddress::Control);
        }
        let (local, host) = split(text)?;
        if local.len() > MAX_LOCAL || text.len() > MAX_ADDRESS {
            return Err(InvalidAddress::TooLong);
        }
        if !is_dot_string(local) && !is_quoted_string(local) {
            let bare = !local.contains(['<', '>', ',', ' ']);
            return Err(if bare { InvalidAddress::LocalPart } else { InvalidAddress::NotBare });
        }
        if host.contains(['<', '>', ',', ' ']) {
            return Err(InvalidAddress::NotBare);
        }
        let domain = match host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            Some(literal) => literal_host(literal)?,
            None => Host::Name(host.parse()?),
        };
        let address = Self { local: local.to_owned(), domain };
        if address.local.len() + 1 + address.host().len() > MAX_ADDRESS {
            return Err(InvalidAddress::TooLong);
        }
        Ok(address)
    }
}

impl TryFrom<String> for EmailAddress {
    type Error = InvalidAddress;

    fn try_from(text: String) -> Result<Self, InvalidAddress> {
        text.parse()
    }
}

impl From<EmailAddress> for String {
    fn from(address: EmailAddress) -> String {
        address.to_string()
    }
}

impl fmt::Display for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.local)?;
        f.write_str("@")?;
        f.write_str(self.host())
    }
}

/// Splits at the last `@`: only a quoted local part may hold another `@`, and a quoted local part ends in a quote.
fn split(text: &str) -> Result<(&str, &str), InvalidAddress> {
    let (local, host) = text.rsplit_once('@').ok_or(InvalidAddress::NoAt)?;
    if local.contains('@') && !is_quoted_string(local) {
        return Err(InvalidAddress::NotBare);
    }
    Ok((local, host))
}

fn is_dot_string(local: &str) -> bool {
    let is_atext = |c: char| match c {
        c if c.is_ascii() => c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c),
        c => !c.is_whitespace(),
    };
    local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atext))
}

/// RFC 5321 `Quoted-string`: printable characters, with `"` and `\` escaped.
fn is_quoted_string(local: &str) -> bool {
    let Some(inside) = local
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .filter(|_| local.len() >= 2)
    else {
        return false;
    };
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => return false,
            '\\' if chars.next().is_none_or(|c| !c.is_ascii()) => return false,
            _ => {}
        }
    }
    true
}

fn literal_host(literal: &str) -> Result<Host, InvalidAddress> {
    let valid = match literal.split_once(':') {
        Some((tag, v6)) if tag.eq_ignore_ascii_case("IPv6") => v6.parse::<Ipv6Addr>().is_ok(),
        _ => literal.parse::<Ipv4Addr>().is_ok(),
    };
    if valid { Ok(Host::Literal(format!("[{literal}]"))) } else { Err(InvalidAddress::Literal) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn addresses_of_every_kind_are_accepted() {
        for (text, canonical) in [
            ("ada@example.com", "ada@example.com"),
            ("Ada.L+tag@Example.COM", "Ada.L+tag@example.com"),
            ("用户@例え.example", "用户@xn--r8jz45g.example"),
            ("\"odd @ one\"@example.com", "\"odd @ one\"@example.com"),
            ("\"a\\\"b\"@example.com", "\"a\\\"b\"@example.com"),
            ("o'brien@example.com", "o'brien@example.com"),
            ("a@[192.0.2.1]", "a@[192.0.2.1]"),
            ("a@[IPv6:2001:db8::1]", "a@[IPv6:2001:db8::1]"),
        ] {
            let address = text.parse::<EmailAddress>().map(|it| it.to_string());
            assert_eq!(address.as_deref(), Ok(canonical));
        }
    }

    #[test]
    fn what_is_no_single_bare_address_is_refused() {
        for text in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "a b@example.com",
            ".a@example.com",
            "a.@example.com",
            "a..b@example.com",
            "Ada <ada@example.com>",
            "a@example.com,b@example.com",
            "a@example.com\r\nBcc: b@example.com",
            "a\0@example.com",
            "\"a\"b\"@example.com",
            "a@b@example.com",
            "a@[300.1.1.1]",
            "a@localhost",
            "\"@example.com",
            "a@exa mple.com",
            "a\u{a0}b@example.com",
        ] {
            assert!(text.parse::<EmailAddress>().is_err(), "{text:?}");
        }
        assert!(format!("{}@example.com", "a".repeat(65)).parse::<EmailAddress>().is_err());
    }

    proptest! {
        #[test]
        fn no_address_carries_a_line_break(text in "\\PC{0,20}@\\PC{0,20}|.{0,30}") {
            if let Ok(address) = text.parse::<EmailAddress>() {
                let text = address.to_string();
                prop_assert!(!text.chars().any(char::is_control));
                prop_assert_eq!(text.parse::<EmailAddress>(), Ok(address));
            }
        }
    }
}
