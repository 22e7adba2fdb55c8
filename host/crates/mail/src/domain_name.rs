//! A domain name that can be queried in DNS: lower case, A-labels.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A domain name in its one canonical form (RFC 5890 A-labels, lower case, no trailing dot).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DomainName(String);

/// Why a text is not a domain name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDomain {
    /// Nothing there.
    #[error("the domain is empty")]
    Empty,
    /// Over 253 characters, or a label over 63 (RFC 1035 section 2.3.4).
    #[error("the domain or one of its labels is too long")]
    TooLong,
    /// A character or a label that no host name has (RFC 1123 section 2.1, RFC 5891).
    #[error("the domain has a character or a label that a host name cannot have")]
    Malformed,
    /// A single label: mail to it cannot be routed on the Internet.
    #[error("the domain needs a dot, as in example.com")]
    NoDot,
}

impl DomainName {
    /// The canonical text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is on the public suffix list: others register names below it.
    #[must_use]
    pub fn is_public_suffix(&self) -> bool {
        psl::domain_str(&self.0).is_none()
    }

    /// The organizational domain by the public suffix list; the name itself where it has none.
    #[must_use]
    pub fn organizational(&self) -> &str {
        psl::domain_str(&self.0).unwrap_or(&self.0)
    }
}

impl FromStr for DomainName {
    type Err = InvalidDomain;

    fn from_str(text: &str) -> Result<Self, InvalidDomain> {
        if text.is_empty() {
            return Err(InvalidDomain::Empty);
        }
        let ascii = idna::domain_to_ascii_strict(text).map_err(|_| InvalidDomain::Malformed)?;
        if ascii.len() > 253 || ascii.split('.').any(|label| label.len() > 63) {
            return Err(InvalidDomain::TooLong);
        }
        let valid_label = |label: &str| {
            !label.is_empty()
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if !ascii.split('.').all(valid_label) {
            return Err(InvalidDomain::Malformed);
        }
        let all_numeric = ascii
            .rsplit('.')
            .next()
            .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()));
        if all_numeric {
            return Err(InvalidDomain::Malformed);
        }
        if ascii.contains('.') { Ok(Self(ascii)) } else { Err(InvalidDomain::NoDot) }
    }
}

impl TryFrom<String> for DomainName {
    type Error = InvalidDomain;

    fn try_from(text: String) -> Result<Self, InvalidDomain> {
        text.parse()
    }
}

impl From<DomainName> for String {
    fn from(name: DomainName) -> String {
        name.0
    }
}

impl fmt::Display for DomainName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_one_form() {
        let same = |text: &str| text.parse::<DomainName>().expect("valid").to_string();
        assert_eq!(same("Example.COM"), "example.com");
        assert_eq!(same("bücher.example"), "xn--bcher-kva.example");
        assert_eq!(same("BÜCHER.example"), "xn--bcher-kva.example");
    }

    #[test]
    fn what_is_no_host_name_is_refused() {
        for text in ["", "localhost", "-a.example", "a..example", "a_b.example", "1.2.3.4", "a b.c"]
        {
            assert!(text.parse::<DomainName>().is_err(), "{text}");
        }
        let long = format!("{}.example", "a".repeat(64));
        assert!(long.parse::<DomainName>().is_err());
    }

    #[test]
    fn the_organizational_domain_follows_the_public_suffix_list() {
        let name: DomainName = "mail.shop.example.co.uk".parse().expect("valid");
        assert_eq!(name.organizational(), "example.co.uk");
        assert!(!name.is_public_suffix());
        for suffix in ["co.uk", "github.io"] {
            assert!(suffix.parse::<DomainName>().expect("valid").is_public_suffix(), "{suffix}");
        }
    }
}
