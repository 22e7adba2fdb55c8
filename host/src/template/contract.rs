//! What the data of a send must be: made once of the variables of a version, and held against every send.
//!
//! The data stays text. A value is read only as far as something is said of it: what no type, format or member is
//! known of is not looked at, so that a template without them costs a look-up for each name.

mod look;
mod member;

pub use look::{DataCheck, DataFault, MAX_UNREAD_NAMED, Wanted};
pub use member::Member;

use super::variable::Variable;
use look::Looked;

/// What the data of a version must be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contract {
    root: Member,
}

impl Contract {
    #[must_use]
    pub fn of(variables: &[Variable]) -> Self {
        let mut root = Member::default();
        for variable in variables {
            root.add(&variable.path, variable);
        }
        root.settle();
        Self { root }
    }

    /// The data as a whole: an object.
    #[must_use]
    pub fn root(&self) -> &Member {
        &self.root
    }

    /// Looks through the data of a send, which are names and values as JSON text.
    #[must_use]
    pub fn check<'d>(&self, data: impl Iterator<Item = (&'d str, &'d str)>) -> DataCheck {
        // Not every renderer says what its templates read.
        if self.root.is_leaf() {
            return DataCheck::default();
        }
        let mut looked = Looked::default();
        for (name, value) in data {
            looked.member(&self.root, name, value);
        }
        looked.end()
    }
}

#[cfg(test)]
mod tests;
