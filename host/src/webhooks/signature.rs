//! Signatures of Standard Webhooks: `v1,` and HMAC-SHA256 over `<id>.<timestamp>.<body>`, in base64.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::id::fill_random;

const PREFIX: &str = "whsec_";
const BYTES: usize = 32;

/// The secret that a webhook and its receiver share.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = vec![0; BYTES];
        fill_random(&mut bytes);
        Self(bytes)
    }

    /// From its text; none where it is not one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        STANDARD.decode(text.strip_prefix(PREFIX)?).ok().map(Self)
    }

    /// `whsec_…`, as its receiver sees it once.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    /// The signature of a message, as it stands in the header.
    ///
    /// # Panics
    /// HMAC takes no key of this length; it takes every one.
    #[must_use]
    pub fn sign(&self, id: &str, timestamp: i64, body: &str) -> String {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body.as_bytes());
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification and of its reference libraries.
    #[test]
    fn the_published_vector_is_signed_as_published() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a secret");
        let signed =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_is_told_once_and_never_shown() {
        let secret = Secret::random();
        assert_eq!(Secret::parse(&secret.text()), Some(secret.clone()));
        assert_eq!(secret.text().len(), PREFIX.len() + 44, "32 bytes");
        assert_ne!(secret, Secret::random());
        assert_eq!(format!("{secret:?}"), "Secret");
        for text in ["", "whsec_", "whsec_*", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"] {
            assert!(Secret::parse(text).is_none_or(|it| it.0.is_empty()), "{text}");
        }
    }
}
