//! 256 random bits that let somebody in: of a session, or of a link. The server keeps their SHA-256.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::id::fill_random;

/// Never logged: `Debug` hides it.
#[derive(Clone)]
pub struct Secret([u8; 32]);

/// Not the text of a secret. It is not repeated: it may be one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a secret of this server")]
pub struct MalformedSecret;

impl Secret {
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        fill_random(&mut bytes);
        Self(bytes)
    }

    /// What the server keeps.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }

    /// The text for its holder.
    #[must_use]
    pub fn reveal(&self) -> String {
        URL_SAFE_NO_PAD.encode(self.0)
    }

    /// What every form of a session carries, so that no other site can send one: only pages of the session know it,
    /// and it does not tell the secret.
    #[must_use]
    pub fn form_token(&self) -> String {
        let mut digest = Sha256::new();
        digest.update(b"waxwing form token 1");
        digest.update(self.0);
        URL_SAFE_NO_PAD.encode(digest.finalize())
    }

    #[must_use]
    pub fn is_form_token(&self, presented: &str) -> bool {
        self.form_token().as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

impl FromStr for Secret {
    type Err = MalformedSecret;

    fn from_str(text: &str) -> Result<Self, MalformedSecret> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| MalformedSecret)?;
        bytes.try_into().map(Self).map_err(|_| MalformedSecret)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_as_it_was_told_and_no_form_token_is_it() {
        let secret = Secret::random();
        let read: Secret = secret.reveal().parse().expect("a secret");
        assert_eq!(read.hash(), secret.hash());
        assert!(secret.is_form_token(&read.form_token()));
        assert!(!secret.is_form_token(&Secret::random().form_token()));
        assert!(!secret.is_form_token(&secret.reveal()));
        assert!(!format!("{secret:?}").contains(&secret.reveal()));
        assert!("short".parse::<Secret>().is_err());
    }
}
