//! The keys that sign: RSA with 2048 bits (RFC 8301) and Ed25519 (RFC 8463).

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use aws_lc_rs::digest::Digest;
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der, PublicKeyX509Der};
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Octets of the modulus of the longest RSA key that every verifier must take (RFC 8301).
const MAX_MODULUS_BYTES: usize = 512;

/// A signature algorithm; both hash with SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// RSA with PKCS #1 v1.5 padding: the one that every verifier knows.
    Rsa,
    /// Ed25519, over the hash.
    Ed25519,
}

pub struct SigningKey {
    pair: Pair,
    public: String,
}

#[derive(Debug)]
pub struct Generated {
    /// What to store, encrypted.
    pub pkcs8: SecretDocument,
    pub key: SigningKey,
}

/// A PKCS #8 document (RFC 5208), which is overwritten when it is dropped.
pub struct SecretDocument(Pkcs8V1Der<'static>);

/// Why there is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The cryptographic library failed.
    #[error("the cryptographic library fails to make or use a key")]
    Library,
    /// The document does not hold a usable key.
    #[error(
        "this is no PKCS #8 document of a key for {algorithm}, or the key has not between 2048 and \
         4096 bits"
    )]
    Refused {
        /// What it was to be a key for.
        algorithm: Algorithm,
    },
}

/// No signature algorithm that we know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no signature algorithm; there are rsa-sha256 and ed25519-sha256")]
pub struct UnknownAlgorithm(String);

enum Pair {
    Rsa(RsaKeyPair),
    Ed25519(Ed25519KeyPair),
}

impl Algorithm {
    /// Its word in the tag `a=`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rsa => "rsa-sha256",
            Self::Ed25519 => "ed25519-sha256",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = [Self::Rsa, Self::Ed25519].into_iter().find(|it| it.as_str() == word);
        found.ok_or_else(|| UnknownAlgorithm(word.to_owned()))
    }
}

impl SigningKey {
    /// Makes a key; RSA, with 2048 bits and the exponent 65537, takes long enough to be done away
    /// from threads that others wait for.
    ///
    /// # Errors
    /// The cryptographic library failed.
    pub fn generate(algorithm: Algorithm) -> Result<Generated, KeyError> {
        let pair = match algorithm {
            Algorithm::Rsa => RsaKeyPair::generate(KeySize::Rsa2048).map(Pair::Rsa),
            Algorithm::Ed25519 => Ed25519KeyPair::generate().map(Pair::Ed25519),
        };
        let pair = pair.map_err(|_| KeyError::Library)?;
        let pkcs8: Result<Pkcs8V1Der<'static>, _> = match &pair {
            Pair::Rsa(pair) => pair.as_der(),
            Pair::Ed25519(pair) => pair.as_der(),
        };
        let pkcs8 = SecretDocument(pkcs8.map_err(|_| KeyError::Library)?);
        Ok(Generated { pkcs8, key: Self::new(pair)? })
    }

    /// Reads a key. An RSA key is checked, which costs more than a signature: keep what was read.
    ///
    /// # Errors
    /// The document holds no such key, or an RSA key of a size that verifiers need not take.
    pub fn from_pkcs8(algorithm: Algorithm, pkcs8: &[u8]) -> Result<Self, KeyError> {
        let pair = match algorithm {
            Algorithm::Rsa => RsaKeyPair::from_pkcs8(pkcs8)
                .ok()
                .filter(|pair| pair.public_modulus_len() <= MAX_MODULUS_BYTES)
                .map(Pair::Rsa),
            Algorithm::Ed25519 => Ed25519KeyPair::from_pkcs8(pkcs8).ok().map(Pair::Ed25519),
        };
        Self::new(pair.ok_or(KeyError::Refused { algorithm })?)
    }

    /// The value of the tag `p=` of its record: of RSA, base64 of the `SubjectPublicKeyInfo` (RFC
    /// 6376 section 3.6.1); of Ed25519, of the 32 octets (RFC 8463 section 4).
    #[must_use]
    pub fn public_base64(&self) -> String {
        self.public.clone()
    }

    /// What it signs with.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        match self.pair {
            Pair::Rsa(_) => Algorithm::Rsa,
            Pair::Ed25519(_) => Algorithm::Ed25519,
        }
    }

    /// Signs what a SHA-256 hash is of; with Ed25519, the hash is the message (RFC 8463 section 3).
    pub(super) fn sign(&self, digest: &Digest) -> Result<Vec<u8>, KeyError> {
        match &self.pair {
            Pair::Rsa(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign_digest(&RSA_PKCS1_SHA256, digest, &mut signature)
                    .map_err(|_| KeyError::Library)?;
                Ok(signature)
            }
            Pair::Ed25519(pair) => {
                let signature = pair.try_sign(digest.as_ref()).map_err(|_| KeyError::Library)?;
                Ok(signature.as_ref().to_vec())
            }
        }
    }

    fn new(pair: Pair) -> Result<Self, KeyError> {
        let public = match &pair {
            Pair::Rsa(pair) => {
                let document: Result<PublicKeyX509Der<'_>, _> = pair.public_key().as_der();
                STANDARD.encode(document.map_err(|_| KeyError::Library)?.as_ref())
            }
            Pair::Ed25519(pair) => STANDARD.encode(pair.public_key().as_ref()),
        };
        Ok(Self { pair, public })
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("algorithm", &self.algorithm())
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

impl Deref for SecretDocument {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.0.as_ref()
    }
}

impl AsRef<[u8]> for SecretDocument {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for SecretDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretDocument(…)")
    }
}
