//! The SMTP host name of this server (banner, EHLO, certificate): unlike a sender's domain, it may be a single label.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::name::{DomainName, InvalidDomain};

/// A host name in lower case, A-labels.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hostname(String);

impl Hostname {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that every machine has.
    #[must_use]
    pub fn localhost() -> Self {
        Self("localhost".to_owned())
    }
}

impl From<Hostname> for String {
    fn from(name: Hostname) -> Self {
        name.0
    }
}

impl FromStr for Hostname {
    type Err = InvalidDomain;

    fn from_str(text: &str) -> Result<Self, InvalidDomain> {
        match text.parse::<DomainName>() {
            Ok(name) => Ok(Self(name.as_str().to_owned())),
            // Everything else about the label was checked before the missing dot.
            Err(InvalidDomain::NoDot) if text.is_ascii() => Ok(Self(text.to_ascii_lowercase())),
            Err(InvalidDomain::NoDot) => Err(InvalidDomain::Malformed),
            Err(error) => Err(error),
        }
    }
}

impl TryFrom<String> for Hostname {
    type Error = InvalidDomain;

    fn try_from(text: String) -> Result<Self, InvalidDomain> {
        text.parse()
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_name_may_be_a_single_label() {
        let name = |text: &str| text.parse::<Hostname>().map(|name| name.to_string());
        assert_eq!(name("Build-7").as_deref(), Ok("build-7"));
        assert_eq!(name("Mail.Bücher.example").as_deref(), Ok("mail.xn--bcher-kva.example"));
    }

    #[test]
    fn what_would_break_a_greeting_is_no_host_name() {
        for text in ["", "a b", "a\r\nb", "under_score", "-a", "münchen", "192.0.2.1", "a..b"] {
            assert!(text.parse::<Hostname>().is_err(), "{text:?}");
        }
    }
}
