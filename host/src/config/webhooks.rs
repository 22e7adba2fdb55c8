//! `[webhooks]`: where events may be posted to, and how often it is tried.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::violations::Violations;
use crate::account::ip_network::IpNetwork;

const DAY: u64 = 24 * 60 * 60;

/// `[webhooks]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Webhooks {
    /// Whether a webhook may be `http://`: for labs.
    pub allow_http: bool,
    /// Addresses and networks that may be posted to although they are not public, as in
    /// `"10.1.0.0/16"`.
    pub allow_private: Vec<IpNetwork>,
    /// PEM file of further CA certificates, besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Pauses between attempts, in seconds; the last one is followed by the last attempt. Empty: 5 s to 24 h, ten attempts.
    pub retry_pauses_s: Vec<u64>,
    /// Seconds that an endpoint has to answer.
    pub timeout_s: u64,
    /// Most requests at one time.
    pub concurrent: usize,
    /// Most requests at one time to one webhook.
    pub concurrent_per_webhook: usize,
    /// Most webhooks of one account.
    pub per_account: u32,
    /// Seconds after which a webhook that takes nothing is disabled.
    pub disable_after_s: u64,
    /// Days that deliveries are kept in the log.
    pub kept_days: u32,
}

impl Webhooks {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        let pauses = self.retry_pauses_s.iter().all(|it| (1..=7 * DAY).contains(it));
        violations.must(pauses, "webhooks.retry_pauses_s: each 1 to 604800");
        violations.must(self.retry_pauses_s.len() <= 100, "webhooks.retry_pauses_s: at most 100");
        violations.must((1..=60).contains(&self.timeout_s), "webhooks.timeout_s: 1 to 60");
        violations.must((1..=1_000).contains(&self.concurrent), "webhooks.concurrent: 1 to 1000");
        // A bound that is itself broken is named alone.
        let concurrent = if self.concurrent == 0 { 1_000 } else { self.concurrent };
        violations.must_with(
            &["webhooks.concurrent"],
            (1..=concurrent).contains(&self.concurrent_per_webhook),
            "webhooks.concurrent_per_webhook: 1 to concurrent",
        );
        violations.must(self.per_account >= 1, "webhooks.per_account: at least 1");
        let year = 365 * DAY;
        violations.must(
            (1..=year).contains(&self.disable_after_s),
            "webhooks.disable_after_s: 1 to 31536000",
        );
        violations.must((1..=3_650).contains(&self.kept_days), "webhooks.kept_days: 1 to 3650");
    }
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            allow_http: false,
            allow_private: Vec::new(),
            ca_file: None,
            retry_pauses_s: Vec::new(),
            timeout_s: 15,
            concurrent: 64,
            concurrent_per_webhook: 8,
            per_account: 20,
            disable_after_s: 5 * DAY,
            kept_days: 30,
        }
    }
}
