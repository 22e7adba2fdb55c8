//! Who signs a message, and why one gets no signature.

use super::canonical::BareLineEnd;
use super::key::SigningKey;
use crate::mail::field::InvalidHeader;

/// Who signs, and where the record with the public key stands.
#[derive(Debug, Clone, Copy)]
pub struct Signer<'a> {
    /// The domain, as A-labels: for DMARC, that of the address in From.
    pub domain: &'a str,
    /// The name of the record below `_domainkey` of the domain.
    pub selector: &'a str,
    pub key: &'a SigningKey,
}

/// Why a message gets no signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsignable {
    /// The header is malformed.
    #[error("the header is malformed: {0}")]
    Header(#[from] InvalidHeader),
    /// A CR or LF that is not part of a CRLF: the servers on its way would each make something
    /// else of it.
    #[error("the message has a CR or LF that is not part of a CRLF")]
    BareLineEnd,
    /// No From, or several: a signature says who wrote the message.
    #[error("the message has {count} From fields; there must be one")]
    From { count: usize },
    /// A domain or selector that a signature cannot hold unchanged.
    #[error("{name:?} is no domain or selector in ASCII")]
    Name { name: String },
    /// The key does not sign.
    #[error("the cryptographic library does not sign with the key of {selector:?}")]
    Key {
        /// The selector of the key.
        selector: String,
    },
}

impl From<BareLineEnd> for Unsignable {
    fn from(_: BareLineEnd) -> Self {
        Self::BareLineEnd
    }
}
