//! `[domains]`: what sender domains publish for this server, and when they are checked.

use serde::{Deserialize, Serialize};

use super::hostname::Hostname;
use super::violations::Violations;

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// `[domains]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Domains {
    /// The host whose SPF record names this server's addresses; `spf.<smtp.hostname>` if it is left out.
    pub spf_include: Option<Hostname>,
    /// The host that the return path of a domain points to; `bounce.<smtp.hostname>` if it is left out.
    pub return_path_host: Option<Hostname>,
    /// Seconds until a new domain is first checked, and the shortest pause between two checks.
    pub first_check_s: u64,
    /// Seconds between two checks of a verified domain, and the longest pause of any other.
    pub check_every_s: u64,
    /// Seconds that a verified domain goes on sending when it fails.
    pub grace_s: u64,
    /// Seconds after which a domain that does not send is not checked any more.
    pub give_up_s: u64,
    /// Most checks at one time.
    pub concurrent_checks: usize,
    /// Most domains of one account.
    pub per_account: u32,
}

impl Domains {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        let year = 365 * DAY;
        // A bound that is itself broken is named alone.
        let pauses = 1..=if self.check_every_s == 0 { year } else { self.check_every_s };
        violations
            .must((1..=year).contains(&self.check_every_s), "domains.check_every_s: 1 to 31536000");
        violations.must_with(
            &["domains.check_every_s"],
            pauses.contains(&self.first_check_s),
            "domains.first_check_s: 1 to check_every_s",
        );
        violations.must((0..=year).contains(&self.grace_s), "domains.grace_s: 0 to 31536000");
        violations
            .must((1..=10 * year).contains(&self.give_up_s), "domains.give_up_s: 1 to 315360000");
        let checks = 2..=1_000;
        violations
            .must(checks.contains(&self.concurrent_checks), "domains.concurrent_checks: 2 to 1000");
        violations.must(self.per_account >= 1, "domains.per_account: at least 1");
    }
}

impl Default for Domains {
    fn default() -> Self {
        Self {
            spf_include: None,
            return_path_host: None,
            first_check_s: MINUTE,
            check_every_s: DAY,
            grace_s: 3 * DAY,
            give_up_s: 30 * DAY,
            concurrent_checks: 32,
            per_account: 1_000,
        }
    }
}
