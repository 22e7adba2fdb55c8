//! `[delivery]`: how messages leave.

use serde::Deserialize;

use super::Rules;

/// `[delivery]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delivery {
    /// Where mail goes.
    pub route: Route,
    /// Seconds between attempts; the last one holds for all that follow. Empty: 1 min to 4 h.
    pub retry_pauses_s: Vec<u64>,
}

/// A route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Into the sandbox inbox: nothing leaves this machine.
    #[default]
    Sandbox,
}

impl Delivery {
    pub(super) fn check(&self, rules: &mut Rules) {
        let pauses = &self.retry_pauses_s;
        let holds = pauses.iter().all(|pause| *pause >= 1);
        rules.must(holds, "delivery.retry_pauses_s: each at least 1");
    }
}
