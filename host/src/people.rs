//! People: how they log in, how long that lasts, and what each may do. The dashboard and the command line call the
//! same functions; whatever changes something writes it into the audit log.

mod acting;
pub mod audit;
mod consent;
mod factor;
mod links;
mod log_in;
mod members;
mod owners;
mod passwords;
mod sessions;
mod team;

use std::sync::Arc;

use crate::account::AccountState;
use crate::account::role::{Role, RoleTooLow};
pub use crate::account::secret::Secret;
use crate::clock::Clock;
use crate::id::AccountId;
use crate::journey::accept::rate_limit::RateLimits;
use crate::store::seal::Seal;
use crate::store::{MembershipRow, PersonRow, SessionRow, Store};
pub use acting::ActingError;
pub use factor::{Enrolment, FactorError, identity as factor_identity, qr_code};
pub use links::{Choice, LinkError, OneTimeLink, SetUp, link_path};
pub use log_in::{LogInError, LoggedIn};
pub use members::{MAX_MEMBERS, MAX_USERS_PER_PAGE, MemberError, NewMember};
pub use passwords::{PasswordError, Passwords};
pub use sessions::{Origin, SESSION_LIFE, STEP_UP, SeenBy};
pub use team::{Invited, TeamError, TeamMember};

/// All that the functions of this room need.
#[derive(Debug)]
pub struct People {
    pub store: Store,
    pub clock: Clock,
    pub passwords: Passwords,
    /// For the secrets of second factors.
    pub seal: Seal,
    /// Guesses of passwords and of keys fill one bucket.
    pub rate_limits: Arc<RateLimits>,
}

/// Somebody who is logged in, and the account that the session shows.
#[derive(Debug, Clone)]
pub struct Person {
    pub user: PersonRow,
    pub session: SessionRow,
    /// None for somebody who is in no account, or has accepted no invitation yet.
    pub membership: Option<Membership>,
}

/// The account that a session shows, and the person's role in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    pub account: AccountId,
    pub account_name: String,
    pub role: Role,
    /// Whether the person is an operator who acts as the account.
    pub is_acting: bool,
    pub is_suspended: bool,
}

impl Membership {
    fn of(row: &MembershipRow) -> Self {
        Self {
            account: row.account,
            account_name: row.account_name.clone(),
            role: row.role,
            is_acting: false,
            is_suspended: row.account_state == AccountState::Suspended,
        }
    }

    pub fn at_least(&self, needed: Role) -> Result<(), RoleTooLow> {
        self.role.at_least(needed)
    }
}

#[cfg(test)]
mod tests;
