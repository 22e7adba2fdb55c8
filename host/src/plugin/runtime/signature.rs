//! Signatures of components: Ed25519 (RFC 8032) over the component's digest, in a file beside it.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::artifact::Artifact;

const CONTEXT: &str = "waxwing plugin signature v1\0";
const PUBLIC: &str = "wxpub_";
const SECRET: &str = "wxsec_";
const SIGNATURE: &str = "wxsig_";

/// What is asked of a component's signature.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SignatureRule {
    /// Nothing.
    #[default]
    Off,
    /// A missing or wrong one is logged.
    Warn,
    /// Without a right one, the component is refused.
    Require,
}

/// A key whose signatures are trusted: `wxpub_` and base64 of 32 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey([u8; 32]);

/// A key that signs: `wxsec_` and base64 of a PKCS #8 document (RFC 5958).
pub struct SecretKey(Ed25519KeyPair);

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error(
        "the component is not signed; sign it with `waxwing plugin sign` and put the .sig file beside it"
    )]
    Missing,
    /// It is not by a trusted key, or for another component.
    #[error(
        "the component's signature is not by a trusted key, or is for another component: sign \
         {digest} with a key of [plugins] trusted_keys"
    )]
    Wrong { digest: String },
    /// No text of a key or a signature.
    #[error(
        "`{0}…` is no key or signature: it begins with wxpub_, wxsec_ or wxsig_, and was made by `waxwing plugin keygen` or `sign`"
    )]
    Unreadable(String),
    /// The system gave no randomness.
    #[error("a key cannot be made: the system gives no randomness")]
    Random,
}

impl SecretKey {
    /// Makes a key; answers it with its text.
    ///
    /// # Errors
    /// The system gave no randomness.
    pub fn generate() -> Result<(Self, String), SignatureError> {
        let document = Ed25519KeyPair::generate().map_err(|_| SignatureError::Random)?;
        let pkcs8 = document.to_pkcs8().map_err(|_| SignatureError::Random)?;
        Ok((Self(document), format!("{SECRET}{}", STANDARD.encode(pkcs8.as_ref()))))
    }

    /// Reads a key.
    pub fn read(text: &str) -> Result<Self, SignatureError> {
        let bytes = decode(text, SECRET)?;
        Ed25519KeyPair::from_pkcs8(&bytes).map(Self).map_err(|_| unreadable(text))
    }

    /// The key that verifies what this one signs, as text.
    #[must_use]
    pub fn public(&self) -> String {
        format!("{PUBLIC}{}", STANDARD.encode(self.0.public_key().as_ref()))
    }

    #[must_use]
    pub fn sign(&self, artifact: &Artifact) -> String {
        format!("{SIGNATURE}{}", STANDARD.encode(self.0.sign(&message(artifact))))
    }
}

impl PublicKey {
    /// Reads a key.
    pub fn read(text: &str) -> Result<Self, SignatureError> {
        let bytes = decode(text, PUBLIC)?;
        <[u8; 32]>::try_from(bytes.as_slice()).map(Self).map_err(|_| unreadable(text))
    }
}

/// Checks the signature of a component against the keys that are trusted.
pub fn verify(
    artifact: &Artifact,
    signature: Option<&str>,
    trusted: &[PublicKey],
) -> Result<(), SignatureError> {
    let signature = decode(signature.ok_or(SignatureError::Missing)?, SIGNATURE)?;
    let message = message(artifact);
    let is_by = |key: &PublicKey| {
        UnparsedPublicKey::new(&ED25519, &key.0).verify(&message, &signature).is_ok()
    };
    if trusted.iter().any(is_by) {
        return Ok(());
    }
    Err(SignatureError::Wrong { digest: artifact.digest().to_owned() })
}

fn message(artifact: &Artifact) -> Vec<u8> {
    format!("{CONTEXT}{}", artifact.digest()).into_bytes()
}

fn decode(text: &str, prefix: &str) -> Result<Vec<u8>, SignatureError> {
    let text = text.trim();
    let encoded = text.strip_prefix(prefix).ok_or_else(|| unreadable(text))?;
    STANDARD.decode(encoded).map_err(|_| unreadable(text))
}

/// Names it by its beginning only: it may be a secret in the wrong place.
fn unreadable(text: &str) -> SignatureError {
    SignatureError::Unreadable(text.chars().take(6).collect())
}

impl<'de> Deserialize<'de> for PublicKey {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::read(&String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_holds_for_one_component_and_one_key() {
        let (key, text) = SecretKey::generate().expect("random");
        let (other, _) = SecretKey::generate().expect("random");
        let trusted = [PublicKey::read(&key.public()).expect("its own text")];
        let (one, two) = (Artifact::new("one"), Artifact::new("two"));
        let signature = SecretKey::read(&text).expect("its own text").sign(&one);
        assert_eq!(verify(&one, Some(&signature), &trusted), Ok(()));
        assert!(matches!(
            verify(&two, Some(&signature), &trusted),
            Err(SignatureError::Wrong { .. })
        ));
        assert!(verify(&one, Some(&other.sign(&one)), &trusted).is_err());
        assert_eq!(verify(&one, None, &trusted), Err(SignatureError::Missing));
        let secret_in_the_wrong_place = PublicKey::read(&text).expect_err("not a public key");
        assert!(
            !secret_in_the_wrong_place.to_string().contains(text.get(10..40).expect("a long text"))
        );
    }
}
