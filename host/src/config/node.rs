//! `[node]`: this server among those that share a database.

use serde::{Deserialize, Serialize};

use super::violations::Violations;
use crate::message::line::is_one_line;

/// `[node]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Node {
    /// What `waxwing nodes` calls this server; the name of the machine if it is left out.
    pub name: Option<String>,
    /// Seconds between two renewals: with each, a server on PostgreSQL writes into the database that it is alive.
    pub renew_s: u64,
    /// Seconds without a renewal after which the other nodes take over the work of this one. Set the same on all nodes.
    pub hold_s: u64,
}

impl Node {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        let is_name = |it: &String| (1..=100).contains(&it.chars().count()) && is_one_line(it);
        violations.must(
            self.name.as_ref().is_none_or(is_name),
            "node.name: 1 to 100 characters on one line, without characters that turn the direction of text",
        );
        violations.must((1..=60).contains(&self.renew_s), "node.renew_s: 1 to 60");
        // A bound that is itself broken is named alone.
        let renew_s = self.renew_s.clamp(1, 60);
        violations.must_with(
            &["node.renew_s"],
            (3 * renew_s..=600).contains(&self.hold_s),
            "node.hold_s: at least three times node.renew_s, at most 600",
        );
    }
}

impl Default for Node {
    fn default() -> Self {
        Self { name: None, renew_s: 3, hold_s: 15 }
    }
}
