//! Seals what is stored of the senders' own data and secrets: compressed, encrypted, and bound to its row.
//!
//! AES-256-GCM under a key that HKDF-SHA-256 derives from the server's master key for this one
//! purpose. A sealed value opens only with the identity of the row that it was made for.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

/// The key for sealed values.
pub struct Seal(RandomizedNonceKey);

/// What is sealed. Of another purpose or another form of the sealed bytes: another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Recorded calls of plugins.
    Samples,
    /// The private halves of DKIM keys.
    DkimKeys,
    /// The secrets of webhooks.
    Webhooks,
    /// The codes in return paths; nothing is sealed with it.
    ReturnPaths,
    /// The secrets of second factors.
    Factors,
}

impl Purpose {
    fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::Samples => b"waxwing samples 1",
            Self::DkimKeys => b"waxwing dkim keys 1",
            Self::Webhooks => b"waxwing webhooks 1",
            Self::ReturnPaths => b"waxwing return paths 1",
            Self::Factors => b"waxwing factors 1",
        }
    }
}

/// The key that belongs to a server's master key, for one purpose.
///
/// # Panics
/// HKDF does not give as many bytes as its hash has; it always does.
#[must_use]
pub fn derived_key(master_key: &[u8], purpose: Purpose) -> [u8; 32] {
    let derived = Salt::new(HKDF_SHA256, &[]).extract(master_key);
    let mut key = [0; 32];
    derived
        .expand(&[purpose.as_bytes()], HKDF_SHA256)
        .and_then(|output| output.fill(&mut key))
        .expect("HKDF-SHA-256 gives 32 bytes");
    key
}

/// Why a sealed value does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The cipher refuses it.
    #[error(
        "the sealed value does not open: it was altered, moved from another row, or sealed with \
         another master key"
    )]
    Refused,
    /// It was sealed here, and yet it does not decompress.
    #[error("the sealed value opens, but its content is damaged")]
    Damaged,
}

impl Seal {
    /// The key that belongs to a server's master key, for one purpose.
    ///
    /// # Panics
    /// The cipher takes no key of its own length; it always does.
    #[must_use]
    pub fn new(master_key: &[u8], purpose: Purpose) -> Self {
        let key = derived_key(master_key, purpose);
        Self(RandomizedNonceKey::new(&AES_256_GCM, &key).expect("the key has 32 bytes"))
    }

    /// Compresses and encrypts `plain` for the row `identity`.
    ///
    /// # Panics
    /// The operating system has no source of randomness, or `plain` has more than 64 GiB.
    #[must_use]
    pub fn seal(&self, identity: &str, plain: &[u8]) -> Vec<u8> {
        let mut sealed = lz4_flex::compress_prepend_size(plain);
        let identity = Aad::from(identity.as_bytes());
        let nonce = self.0.seal_in_place_append_tag(identity, &mut sealed);
        sealed.extend_from_slice(nonce.expect("a fresh nonce, and a short text").as_ref());
        sealed
    }

    /// What was sealed for the row `identity`.
    pub fn open(&self, identity: &str, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let (sealed, nonce) = sealed.split_last_chunk::<NONCE_LEN>().ok_or(SealError::Refused)?;
        let mut bytes = sealed.to_vec();
        let identity = Aad::from(identity.as_bytes());
        let packed = self
            .0
            .open_in_place(Nonce::from(nonce), identity, &mut bytes)
            .map_err(|_| SealError::Refused)?;
        lz4_flex::decompress_size_prepended(packed).map_err(|_| SealError::Damaged)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &[u8] = br#"{"uses":[{"recipientDomain":"example.com"}],"data":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#;

    fn seal() -> Seal {
        Seal::new(&[7; 32], Purpose::Samples)
    }

    #[test]
    fn a_sealed_value_opens_for_its_row_and_shows_nothing() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        assert_eq!(seal().open("dec_1 plan", &sealed).as_deref(), Ok(PLAIN));
        assert!(!sealed.windows(7).any(|it| it == b"example"), "it can be read");
        assert_eq!(seal().open("e", &seal().seal("e", b"")).as_deref(), Ok(&b""[..]));
    }

    #[test]
    fn the_same_text_is_never_sealed_to_the_same_bytes() {
        assert_ne!(seal().seal("dec_1 plan", PLAIN), seal().seal("dec_1 plan", PLAIN));
    }

    #[test]
    fn a_value_opens_for_no_other_row() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for other in ["dec_2 plan", "dec_1 domain", ""] {
            assert_eq!(seal().open(other, &sealed), Err(SealError::Refused), "{other}");
        }
    }

    #[test]
    fn a_value_opens_with_no_other_master_key_and_for_no_other_purpose() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for other in [Seal::new(&[8; 32], Purpose::Samples), Seal::new(&[7; 32], Purpose::DkimKeys)]
        {
            assert_eq!(other.open("dec_1 plan", &sealed), Err(SealError::Refused));
        }
    }

    #[test]
    fn one_altered_bit_anywhere_is_noticed() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            assert_eq!(seal().open("dec_1 plan", &altered), Err(SealError::Refused), "byte {at}");
        }
    }

    #[test]
    fn a_cut_value_is_noticed_at_every_length() {
        let sealed = seal().seal("dec_1 plan", PLAIN);
        for length in 0..sealed.len() {
            let cut = seal().open("dec_1 plan", &sealed[..length]);
            assert_eq!(cut, Err(SealError::Refused), "{length} bytes");
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        assert_eq!(format!("{:?}", seal()), "Seal");
    }
}
