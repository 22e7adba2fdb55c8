//! What a person may do in an account.

use std::fmt;
use std::str::FromStr;

/// What a person is to an account. Each one may do what those before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Sees all of it and changes nothing.
    ReadOnly,
    /// Works with mail: messages, templates, suppressions.
    Member,
    /// Says who else may: keys, domains, webhooks, people.
    Owner,
}

/// A word that is no role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be owner, member or read-only")]
pub struct UnknownRole;

/// A person's role does not reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("your role in this account is {has}, and this takes {needed}; ask an owner of the account")]
pub struct RoleTooLow {
    pub has: Role,
    pub needed: Role,
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Owner, Self::Member, Self::ReadOnly];

    /// The word in the database, in forms and on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
            Self::ReadOnly => "read-only",
        }
    }

    pub fn at_least(self, needed: Self) -> Result<(), RoleTooLow> {
        if self >= needed { Ok(()) } else { Err(RoleTooLow { has: self, needed }) }
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        Self::ALL.into_iter().find(|it| it.as_str() == text).ok_or(UnknownRole)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_includes_those_below_it() {
        assert_eq!(Role::Owner.at_least(Role::Member), Ok(()));
        assert!(Role::ReadOnly.at_least(Role::Member).is_err());
        assert!(Role::Member.at_least(Role::Owner).is_err());
        for role in Role::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
    }
}
