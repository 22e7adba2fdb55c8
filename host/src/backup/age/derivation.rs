//! Keys that are derived from keys.

use std::io;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};

/// Octets of the nonce in front of a payload.
pub const NONCE: usize = 16;

/// The key of one file.
pub type FileKey = [u8; 16];

/// HKDF-SHA-256.
pub fn derived(secret: &[u8], salt: &[u8], purpose: &[u8]) -> Result<[u8; 32], Unspecified> {
    let extracted = Salt::new(HKDF_SHA256, salt).extract(secret);
    let mut key = [0; 32];
    extracted.expand(&[purpose], HKDF_SHA256)?.fill(&mut key)?;
    Ok(key)
}

/// The cryptographic library failed on what this server itself has given to it.
pub fn broken(error: Unspecified) -> io::Error {
    io::Error::other(format!("the cryptographic library failed: {error}"))
}
