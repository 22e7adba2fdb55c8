//! What found no place in a round: messages behind it that need the same place are not looked at.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use super::route::SANDBOX;

/// What has no place in this round.
#[derive(Debug, Default)]
pub struct Passed {
    /// Lanes, where the way does not depend on the account.
    pub lanes: BTreeSet<String>,
    /// Lanes whose hosts are looked up again, and used meanwhile as they were known.
    pub renewed: BTreeSet<String>,
    /// Ways and lanes of which is known that they have none.
    pub(super) full: HashSet<(usize, String)>,
    /// Whether there were messages without a place of which others of their lane may have one.
    pub(super) is_crowded: bool,
    /// When the first of them may have a place again; none where only a place given back helps.
    pub until: Option<Duration>,
}

impl Passed {
    /// Whether anything was passed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        // The sandbox's lane is always passed here: it is looked at before.
        let is_other = |lane: &String| lane != SANDBOX;
        !self.lanes.iter().any(is_other) && self.full.is_empty() && !self.is_crowded
    }

    pub(super) fn pass(&mut self, until: Duration) {
        if until < Duration::MAX {
            self.until = Some(self.until.map_or(until, |it| it.min(until)));
        }
    }
}
