//! How one attempt for one recipient ended: data, not an error.

/// The end of an attempt, with the words of whoever decided it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The recipient's server, or the sandbox inbox, took it.
    Delivered(String),
    /// Not now: a 4xx reply, or no connection.
    Deferred(String),
    /// Never: a 5xx reply.
    Bounced(String),
    /// It cannot be sent at all.
    Failed(String),
}
