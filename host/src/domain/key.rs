//! The DKIM keys of a sender domain, and where each stands in a rotation.
//!
//! A rotation has two pairs: the `next` pair signs nothing until it was seen in DNS; the one that it
//! replaces stays published for a while, because mail that it signed is still under way.

use crate::clock::Timestamp;
use crate::id::fill_random;

/// A DKIM key as it is stored.
#[derive(Debug, Clone)]
pub struct DkimKey {
    /// The first label of its record's name (RFC 6376 section 3.1).
    pub selector: String,
    /// `rsa-sha256` or `ed25519-sha256` (RFC 6376 section 3.3, RFC 8463).
    pub algorithm: String,
    /// The value of the tag `p=`.
    pub public_base64: String,
    /// The private key (PKCS #8), encrypted; [`identity`] is the associated data.
    pub sealed: Vec<u8>,
    pub phase: KeyPhase,
    pub since: Timestamp,
}

/// The place of a key in a rotation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPhase {
    /// It waits to be seen in DNS.
    Next,
    Signing,
    /// It signed; its record is still needed.
    Retired,
}

impl KeyPhase {
    /// The word in the database.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Signing => "signing",
            Self::Retired => "retired",
        }
    }

    /// From the word in the database.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::Next, Self::Signing, Self::Retired].into_iter().find(|it| it.as_str() == word)
    }
}

/// Associated data of a sealed private key: the ciphertext of one row does not open in another.
#[must_use]
pub fn identity(domain: crate::id::DomainId, selector: &str) -> String {
    format!("{domain} {selector}")
}

/// The selector of a new pair of keys, without the letter of the algorithm. Random, so that a record which an earlier
/// holder left in DNS is never taken for ours.
#[must_use]
pub fn selector_stem() -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    let mut bytes = [0; 8];
    fill_random(&mut bytes);
    let letter = |byte: &u8| char::from(LETTERS[usize::from(byte % 32)]);
    format!("wx{}", bytes.iter().map(letter).collect::<String>())
}
