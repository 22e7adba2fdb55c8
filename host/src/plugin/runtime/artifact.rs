//! A component's bytes, named by what they are.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::hexadecimal::hexadecimal;

/// A component's bytes, named by their digest.
#[derive(Clone)]
pub struct Artifact {
    bytes: Bytes,
    digest: Arc<str>,
    origin: Origin,
}

/// Where a component comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    BuiltIn,
    Brought,
}

impl Artifact {
    /// One that is a part of this binary.
    #[must_use]
    pub fn builtin(bytes: &'static [u8]) -> Self {
        Self { origin: Origin::BuiltIn, ..Self::new(bytes) }
    }

    /// Whether it is a part of this binary.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        self.origin == Origin::BuiltIn
    }

    /// Names bytes by their digest.
    #[must_use]
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let digest = format!("sha256:{}", hexadecimal(&Sha256::digest(&bytes))).into();
        Self { bytes, digest, origin: Origin::Brought }
    }

    /// `sha256:<hex>`.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it is so large that it holds an interpreter. Compiled policies are below 1 MiB;
    /// JavaScript begins at 1.6 MB, Python at 18 MB.
    #[must_use]
    pub fn embeds_an_interpreter(&self) -> bool {
        self.bytes.len() > 1_200_000
    }
}

/// The same bytes are the same component, wherever they come from.
impl PartialEq for Artifact {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Artifact {}

impl std::fmt::Debug for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifact").field("digest", &self.digest).finish_non_exhaustive()
    }
}
