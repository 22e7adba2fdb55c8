//! What operators and account holders do with accounts, keys and credits, and under which rules. The API and the
//! command line call the same functions: each only reads what was asked for, and shows what came of it.

pub mod accounts;
pub mod acts;
pub mod audit;
pub mod brand;
pub mod credits;
pub mod delivery_hold;
pub mod keys;
pub mod maintenance;
pub mod messages;
pub mod plans;
pub mod settings;
pub mod suppressions;

/// What becomes of a value that may be absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Change<T> {
    /// The value stays.
    #[default]
    Keep,
    /// It is taken away.
    Clear,
    Set(T),
}

impl<T> Change<T> {
    /// The value after the change.
    #[must_use]
    pub fn of(self, before: Option<T>) -> Option<T> {
        match self {
            Self::Keep => before,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }

    /// The same of a value that is made of this one.
    #[must_use]
    pub fn map<U>(self, make: impl FnOnce(T) -> U) -> Change<U> {
        match self {
            Self::Keep => Change::Keep,
            Self::Clear => Change::Clear,
            Self::Set(value) => Change::Set(make(value)),
        }
    }
}
