//! What a round skips: messages behind a bottleneck that was met earlier in the round are not
//! looked at.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use super::reason::Reason;
use crate::delivery::routing::route::RouteKey;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bottleneck {
    /// The sandbox inbox, or the smarthosts of a route: all lanes share the slots.
    Route(RouteKey),
    /// An operator of mail exchangers, by its name.
    Destination(String),
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
    pub(super) fn note(&mut self, reason: &Reason, behind: &Bottleneck) {
        if let Some(wait) = reason.wait() {
            self.until = Some(self.until.map_or(wait, |it| it.min(wait)));
        }
        match behind {
            Bottleneck::Route(_) | Bottleneck::Destination(_) => {
                self.full.insert(behind.clone());
            }
            Bottleneck::Lookup(_) | Bottleneck::ThisLane => {}
        }
    }
}
