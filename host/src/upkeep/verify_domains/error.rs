//! Why a domain was not added or checked, or its keys not rotated.

use crate::mail::dkim::KeyError;
use crate::plugin::CallFailure;
use crate::store::StoreError;

/// Of 253 octets of a name (RFC 1035 section 2.3.4), what a DKIM key's record needs before it.
pub const MAX_NAME_OCTETS: usize = 253 - "wx00000000r._domainkey.".len();

/// Why a domain was not added, or its keys not rotated.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// The name cannot be anybody's sender domain.
    #[error(transparent)]
    Name(#[from] NameRefused),
    /// The account may not add it.
    #[error(transparent)]
    NotAdded(#[from] NotAdded),
    /// The policy gave no answer.
    #[error(transparent)]
    Policy(#[from] CallFailure),
    /// A key could not be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A sandbox domain has no keys.
    #[error("a sandbox domain has no DKIM keys")]
    Sandbox,
    /// Its holder would have to keep ever more records.
    #[error(
        "the keys were rotated five times within a week, and the records of all of them are still \
         needed; rotate again when the oldest is not"
    )]
    RotatedTooOften,
    /// It changes all the time, or has just been removed.
    #[error("the domain is being changed by somebody else; try again")]
    Busy,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<CheckError> for DomainError {
    fn from(error: CheckError) -> Self {
        match error {
            CheckError::Store(error) => Self::Store(error),
            CheckError::Key(error) => Self::Key(error),
        }
    }
}

/// Why a check came to nothing; the domain stands where it stood.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A domain of an earlier version has no keys, and none could be made.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Why a name cannot be a sender domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameRefused {
    /// Others register their names below it.
    #[error(
        "the name is a public suffix, below which others have their own domains; add a domain that \
         is yours alone"
    )]
    PublicSuffix,
    /// There would be no room for its records.
    #[error(
        "the name has more than {MAX_NAME_OCTETS} octets, so that its DKIM keys could not be published"
    )]
    TooLong,
    /// One word in two scripts is made to deceive.
    #[error(
        "the name mixes scripts in one word, as names do that imitate others; if it is meant so, ask \
         the operator of this server to add it"
    )]
    MixedScripts,
}

/// Why a domain is not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAdded {
    /// The account has it.
    #[error("the account has this domain already")]
    Exists,
    /// The account has as many as it may have.
    #[error("the account has {0} domains, the most that it may have; delete one first")]
    TooMany(u32),
    /// It could be taken for a verified domain of somebody else.
    #[error(
        "the name looks like a domain that another account of this server has verified; if it is \
         yours nevertheless, ask the operator of this server to add it"
    )]
    LooksLikeAnother,
}
