//! The reporters that the operator trusts: mailbox providers whose complaints count although they prove
//! nothing themselves, because the provider takes the proof out (a redacted header) or never had one.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;

use crate::account::ip_network::IpNetwork;
use crate::clock::Clock;
use crate::dns::{Outcome, RecordType, Resolver, text};
use crate::domain::name::DomainName;
use crate::mail::dkim::{PublicKey, Signature, signatures};
use crate::mail::field::{Message, unfold};
use crate::mail::mailbox::mailboxes;
use crate::message::address::EmailAddress;

#[cfg(test)]
pub(in crate::relay::bounces) mod tests;

/// A reporter by the name in its own verified signature.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Reporter {
    /// Only this author, for a domain that signs its users' mail too.
    Author(EmailAddress),
    /// Any author at this domain.
    Domain(DomainName),
}

/// Neither an address nor a domain.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no reporter: name the address in From of its reports, or a domain that signs them"
)]
pub struct InvalidReporter(String);

/// Who may complain without a proof of its own.
#[derive(Debug)]
pub struct Reporters {
    /// By signature.
    pub named: Vec<Reporter>,
    /// By the address from which they connect.
    pub networks: Vec<IpNetwork>,
    /// Where reports are to be addressed: a report to somebody else is not to be shown to us again.
    pub feedback: Vec<EmailAddress>,
    /// Finds their keys.
    pub resolver: Resolver,
    /// Signatures expire.
    pub clock: Clock,
}

/// A key record cannot be seen now; the report must come again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the DKIM key of {domain} cannot be looked up now")]
pub struct KeyUnseen {
    domain: String,
}

impl Reporters {
    /// Whether the operator trusts whoever brings this report. Only the records of named reporters are ever
    /// looked up.
    ///
    /// # Errors
    /// A key record cannot be seen now.
    pub async fn vouch(&self, report: &[u8], peer: IpAddr) -> Result<bool, KeyUnseen> {
        if self.networks.iter().any(|it| it.contains(peer)) {
            return Ok(true);
        }
        let Ok(message) = Message::split(report) else { return Ok(false) };
        let authors = addresses(&message, "From").unwrap_or_default();
        let [author] = authors.as_slice() else { return Ok(false) };
        // Whoever gets a provider's genuine report about mail of his own could bring it here too.
        let to = addresses(&message, "To").unwrap_or_default();
        if !to.iter().any(|it| self.feedback.iter().any(|own| own.folded() == it.folded())) {
            return Ok(false);
        }
        let now = self.clock.now();
        let is_of_reporter = |signature: &Signature<'_>| {
            self.named.iter().any(|it| it.is(author, &signature.domain))
                && ["from", "to"].iter().all(|it| signature.covers(it))
                && signature.verifies_body(message.body, now)
        };
        let candidates: Vec<Signature<'_>> = signatures(&message).filter(is_of_reporter).collect();
        for signature in &candidates {
            if self.verifies(signature, &message).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn verifies(
        &self,
        signature: &Signature<'_>,
        message: &Message<'_>,
    ) -> Result<bool, KeyUnseen> {
        let name = format!("{}._domainkey.{}", signature.selector, signature.domain);
        let answers = match self.resolver.look_up(&name, RecordType::Txt).await.outcome {
            Outcome::Answers(answers) => answers,
            Outcome::NoData | Outcome::NxDomain => return Ok(false),
            Outcome::ServFail | Outcome::Refused | Outcome::TimedOut => {
                return Err(KeyUnseen { domain: signature.domain.clone() });
            }
        };
        Ok(answers.iter().any(|answer| {
            let record = text(&answer.data);
            let key = str::from_utf8(&record)
                .ok()
                .and_then(|it| PublicKey::from_record(signature.algorithm, it));
            key.is_some_and(|key| signature.verifies_header(&message.fields, &key))
        }))
    }
}

/// The addresses of a field that stands there once.
fn addresses(message: &Message<'_>, name: &str) -> Option<Vec<EmailAddress>> {
    let mut fields = message.named(name);
    let (Some(field), None) = (fields.next(), fields.next()) else { return None };
    let found = mailboxes(str::from_utf8(&unfold(field.value)).ok()?).ok()?;
    Some(found.into_iter().map(|it| it.address).collect())
}

impl Reporter {
    /// Whether reports of that author, under a signature of that domain, are this reporter's.
    fn is(&self, author: &EmailAddress, signed_by: &str) -> bool {
        let is_below = |name: &str, domain: &str| {
            name.strip_suffix(domain).is_some_and(|it| it.is_empty() || it.ends_with('.'))
        };
        let host = author.host().to_ascii_lowercase();
        match self {
            Self::Author(named) => named.folded() == author.folded() && is_below(&host, signed_by),
            Self::Domain(named) => named.as_str() == signed_by && is_below(&host, signed_by),
        }
    }
}

impl FromStr for Reporter {
    type Err = InvalidReporter;

    fn from_str(text: &str) -> Result<Self, InvalidReporter> {
        let invalid = || InvalidReporter(text.to_owned());
        if text.contains('@') {
            return text.parse().map(Self::Author).map_err(|_| invalid());
        }
        let domain: DomainName = text.parse().map_err(|_| invalid())?;
        // Everybody below a public suffix would be a reporter.
        if domain.is_public_suffix() { Err(invalid()) } else { Ok(Self::Domain(domain)) }
    }
}

impl TryFrom<String> for Reporter {
    type Error = InvalidReporter;

    fn try_from(text: String) -> Result<Self, InvalidReporter> {
        text.parse()
    }
}

impl fmt::Display for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Author(address) => address.fmt(f),
            Self::Domain(domain) => domain.fmt(f),
        }
    }
}
