//! What is read whatever the data is, by a piece of a template.

use std::collections::BTreeMap;

/// How a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Its absence is fine.
    Optional,
    Required,
    Looped,
    Printed,
}

/// Paths, by their position in the list of all uses, and how each is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads(BTreeMap<usize, How>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct How {
    /// A loop goes over it.
    pub looped: bool,
    /// It is printed as it is.
    pub printed: bool,
}

impl Reads {
    pub fn note(&mut self, at: usize, reading: Reading) {
        if reading == Reading::Optional {
            return;
        }
        let how = self.0.entry(at).or_default();
        how.looped |= reading == Reading::Looped;
        how.printed |= reading == Reading::Printed;
    }

    pub fn add(&mut self, other: &Self) {
        for (at, it) in &other.0 {
            let how = self.0.entry(*at).or_default();
            how.looped |= it.looped;
            how.printed |= it.printed;
        }
    }

    /// Leaves what another branch reads too.
    pub fn keep_common(&mut self, other: &Self) {
        self.0.retain(|at, how| {
            let theirs = other.0.get(at);
            how.looped &= theirs.is_some_and(|it| it.looped);
            how.printed &= theirs.is_some_and(|it| it.printed);
            theirs.is_some()
        });
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, How)> {
        self.0.iter().map(|(at, how)| (*at, *how))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}
