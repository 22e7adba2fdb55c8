//! Requests of an account that it may repeat, and of which only the first counts.

use std::time::Duration;

/// How long the answer to a request with an idempotency key is kept for its retries: to a send as to a grant.
pub const ANSWERS_KEPT: Duration = Duration::from_hours(24);

/// A client's key for a request, and the content of the request.
#[derive(Debug, Clone)]
pub struct Idempotency {
    pub key: String,
    /// SHA-256 of the canonical body.
    pub body_hash: [u8; 32],
}
