//! What a round skips: messages behind a bottleneck that was met earlier in the round are not
//! looked at.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bottleneck {
    /// A full route by its number and, for direct delivery, the destination's name.
    Full(usize, String),
    Lookup(String),
    /// Something that no other lane needs.
    ThisLane,
}

#[derive(Debug, Default)]
pub struct RoundSkips {
    /// Domains whose MX lookup is slow: the expired result serves meanwhile.
    pub renewed: BTreeSet<String>,
    pub full: HashSet<Bottleneck>,
    /// When the first of them may have a slot again; none where only a released slot helps.
    pub until: Option<Duration>,
}

impl RoundSkips {
    pub(super) fn note_wait(&mut self, until: Duration) {
        if until < Duration::MAX {
            self.until = Some(self.until.map_or(until, |it| it.min(until)));
        }
    }
}
