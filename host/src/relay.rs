//! The SMTP relay: a submission server (RFC 6409) whose messages take the same journey as over HTTP.
//!
//! `crates/smtp` speaks the protocol, does no I/O and is the only place with codes; [`reply`] says which of them
//! answers a refusal, `message` makes of what came what the journey takes, [`session`] drives all of it.

pub mod bounces;
pub mod reply;
pub mod session;

mod message;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::{Deserialize, Serialize};
use waxwing_smtp::server::dialog::SessionSettings;

use crate::fair_share::FairShare;
use crate::journey::Journey;
use reply::Unpaid;

/// Memory for messages is counted in blocks of this size.
const BLOCK: usize = 64 << 10;

/// What every session of the relay has in common.
#[derive(Debug)]
pub struct Relay {
    /// Accepts messages for delivery.
    pub journey: Arc<Journey>,
    /// What sessions are held under that begin now.
    pub limits: ArcSwap<Limits>,
    /// Memory for messages under way, shared by accounts; see [`Relay::blocks`].
    pub memory: Arc<FairShare>,
}

/// What a session is held under, from its beginning to its end.
#[derive(Debug)]
pub struct Limits {
    /// The reply to its client.
    pub settings: Arc<SessionSettings>,
    /// How long it may take.
    pub bounds: Bounds,
    /// How a message is refused that the balance does not cover.
    pub unpaid: Unpaid,
    /// What its client may log in with as user name, besides the key.
    pub user_names: Vec<UserName>,
}

/// What the user name may be besides the key, where the password is the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UserName {
    /// The word `apikey`.
    ApiKey,
    /// The address of the key's account.
    Address,
}

/// How long a session may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// From the connection to a successful login.
    pub login: Duration,
    /// From a reply to the client's next command, and from one part of a message to the next.
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
