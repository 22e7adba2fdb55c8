//! The SMTP relay: a submission server (RFC 6409) whose messages take the same journey as over HTTP.
//!
//! [`dialog`] speaks the protocol and does no I/O, [`reply`] is the only place with codes,
//! `message` makes of what came what the journey takes, [`session`] drives all of it.

pub mod bounces;
pub mod dialog;
pub mod reply;
pub mod session;

mod command;
mod data;
mod envelope;
mod line;
mod message;
mod sasl;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::clock::Clock;
use crate::journey::Journey;
use crate::journey::accept::rate_limit::RateLimits;
use crate::store::facts::Facts;
use dialog::Terms;

/// Memory for messages is counted in blocks of this size.
const BLOCK: usize = 64 << 10;

/// What every session of the relay has in common.
#[derive(Debug)]
pub struct Relay {
    /// The way of a message.
    pub journey: Arc<Journey>,
    /// What is known of keys.
    pub facts: Arc<Facts>,
    /// The time.
    pub clock: Clock,
    /// The buckets, shared with HTTP.
    pub rate_limits: Arc<RateLimits>,
    /// What a session is held under.
    pub terms: Arc<Terms>,
    /// How long a session may take.
    pub bounds: Bounds,
    /// Memory for messages under way, in blocks of 64 KiB; see [`Relay::memory`].
    pub memory: Arc<Semaphore>,
}

/// How long a session may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// From the connection to a successful login.
    pub login: Duration,
    /// Silence.
    pub idle: Duration,
    /// A whole message.
    pub data: Duration,
}

impl Relay {
    /// The memory for messages under way, all sessions together, of so many bytes.
    #[must_use]
    pub fn memory(bytes: usize) -> Arc<Semaphore> {
        Arc::new(Semaphore::new(bytes.div_ceil(BLOCK)))
    }
}
