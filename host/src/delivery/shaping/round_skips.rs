//! What had no place in a round: messages behind it that need the same place are not looked at.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bottleneck {
    /// A route by its number, and where mail goes directly, the destination's name: it is full.
    Full(usize, String),
    Lookup(String),
    /// Something that only this lane needs.
    ThisLane,
}

/// What has no place in this round.
#[derive(Debug, Default)]
pub struct RoundSkips {
    /// Domains whose hosts are looked up again, and used meanwhile as they were known.
    pub renewed: BTreeSet<String>,
    /// Routes and destinations that are full.
    pub full: HashSet<Bottleneck>,
    /// When the first of them may have a place again; none where only a place given back helps.
    pub until: Option<Duration>,
}

impl RoundSkips {
    pub(super) fn note_wait(&mut self, until: Duration) {
        if until < Duration::MAX {
            self.until = Some(self.until.map_or(until, |it| it.min(until)));
        }
    }
}
