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

use arc_swap::ArcSwap;

use crate::journey::Journey;
use crate::journey::accept::fair_share::FairShare;
use dialog::Terms;

pub use sasl::UserName;

/// Memory for messages is counted in blocks of this size.
const BLOCK: usize = 64 << 10;

/// What every session of the relay has in common.
#[derive(Debug)]
pub struct Relay {
    /// The way of a message.
    pub journey: Arc<Journey>,
    /// What sessions are held under that begin now.
    pub limits: ArcSwap<Limits>,
    /// Memory for messages under way, shared by accounts; see [`Relay::blocks`].
    pub memory: Arc<FairShare>,
}

/// What a session is held under, from its beginning to its end.
#[derive(Debug)]
pub struct Limits {
    /// What its client is told.
    pub terms: Arc<Terms>,
    /// How long it may take.
    pub bounds: Bounds,
    /// What its client may log in with as user name, besides the key.
    pub user_names: Vec<UserName>,
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
    /// The blocks of so many bytes for messages under way, all sessions together.
    #[must_use]
    pub fn blocks(bytes: usize) -> usize {
        bytes.div_ceil(BLOCK)
    }
}
