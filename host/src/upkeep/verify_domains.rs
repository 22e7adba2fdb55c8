//! Sender domains: added with their keys, looked up in DNS, judged by the domain policy under minimum
//! rules that no policy can lift, and moved from one standing to the next. `TAKEOVER.md` beside this says
//! who may hold which name.

mod add;
mod evaluate;
mod check;
mod error;
mod account_permits;
mod judge;
mod keys;
mod lookups;
mod rotate;
mod sweep;
mod wire_types;

use std::sync::Arc;

use crate::clock::Clock;
use crate::dns::Resolver;
use crate::domain::verification::Schedule;
use crate::plugin::Plugins;
use crate::store::Store;
use crate::store::seal::Seal;

pub use account_permits::{AccountPermit, AccountPermits};
pub use error::{CheckError, DomainError, NameRefused, NotAdded};
pub use evaluate::{MAX_NAMES, MAX_RECORDS, MAX_ROUNDS, Unjudged};
pub use keys::record_name;
pub use lookups::Lookups;
pub use rotate::RETIRED_KEY_TIME;

/// What verifies the sender domains of a server.
#[derive(Debug)]
pub struct Verifier {
    /// Where domains are kept.
    pub store: Store,
    pub plugins: Arc<Plugins>,
    pub resolver: Resolver,
    /// Seals the private halves of DKIM keys.
    pub keys: Seal,
    /// Seals recorded calls of the policy.
    pub samples: Arc<Seal>,
    pub clock: Clock,
    /// What each account has under way.
    pub permits: AccountPermits,
    /// The server's own part.
    pub rules: DomainCheckSettings,
}

/// What the operator decides about sender domains.
#[derive(Debug, Clone)]
pub struct DomainCheckSettings {
    /// The host whose SPF record names this server's addresses.
    pub spf_include: String,
    /// The host that a domain's return path points to.
    pub return_path_host: String,
    /// When domains are checked.
    pub schedule: Schedule,
    /// Checks under way at one time.
    pub concurrent: usize,
    /// Domains that an account may have.
    pub per_account: u32,
    /// Recorded calls that are kept of each slot.
    pub samples_kept: u32,
}

#[cfg(test)]
mod tests;
