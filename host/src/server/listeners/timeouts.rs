//! How long clients of HTTP may take, and how long a stop waits for them.

use std::time::Duration;

/// How long requests may take after the stop of the server begins.
pub const REQUEST_DRAIN: Duration = Duration::from_secs(30);
/// The same for a client that has not sent its request, or does not take its answer.
pub const IDLE_DRAIN: Duration = Duration::from_secs(3);

/// How long a client may take.
#[derive(Debug, Clone, Copy)]
pub struct HttpTimeouts {
    /// For a request's headers to arrive, and for an idle connection.
    pub headers: Duration,
    /// For the next part of an answer to be taken.
    pub write: Duration,
}
