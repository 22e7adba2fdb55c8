//! `[bounces]`: the listener for bounces (DSN) and complaints (ARF, from feedback loops), and for how long an address
//! stays suppressed after a hard bounce, also one of our own delivery, or a complaint.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::listen::Listen;
use super::violations::Violations;
use crate::account::ip_network::IpNetwork;
use crate::message::address::EmailAddress;
use crate::relay::bounces::Reporter;

const DAY: u64 = 24 * 60 * 60;
const MAX_DAYS: u32 = 3_650;

/// `[bounces]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bounces {
    /// The listener for reports of other mail servers, as in `0.0.0.0:25`, or `off`. Mail for `postmaster` is taken
    /// there and dropped, mail for `abuse` is refused: `relay/REPORTS.md` says how to get both.
    pub listen: Listen,
    /// Our addresses for the feedback loops (FBL) of mailbox providers, as in `fbl@mail.example.com`.
    pub feedback: Vec<EmailAddress>,
    /// Mailbox providers whose complaints count also without a proof: the address in From of their reports,
    /// as in `staff@hotmail.com`, or a domain that signs reports and no users' mail, as in
    /// `arf.mail.yahoo.com`. A verified DKIM signature proves that a report is theirs.
    #[serde(skip_serializing)]
    pub reporters: Vec<Reporter>,
    /// Networks from which such mailbox providers connect, as in `192.0.2.0/24`.
    pub reporter_networks: Vec<IpNetwork>,
    /// Days for which a dead address is suppressed; 0 for ever.
    pub suppress_days: u32,
    /// Days for which the address of somebody who complained is suppressed; 0 for ever.
    pub complaint_days: u32,
    /// Largest report, in bytes.
    pub message_bytes: usize,
    /// Most connections at one time.
    pub connections: usize,
    /// Most connections at one time from one address; IPv6 addresses count by /64.
    pub connections_per_ip: usize,
}

impl Bounces {
    /// Where the listener listens, if it does.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.listen.address()
    }

    /// How long a dead address is suppressed; none for ever.
    #[must_use]
    pub fn bounce_suppression(&self) -> Option<Duration> {
        days(self.suppress_days)
    }

    /// How long whoever complained is suppressed; none for ever.
    #[must_use]
    pub fn complaint_suppression(&self) -> Option<Duration> {
        days(self.complaint_days)
    }

    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations.must(
            (64 << 10..=16 << 20).contains(&self.message_bytes),
            "bounces.message_bytes: 65536 to 16777216",
        );
        violations
            .must((1..=10_000).contains(&self.connections), "bounces.connections: 1 to 10000");
        violations.must(self.connections_per_ip >= 1, "bounces.connections_per_ip: at least 1");
        violations.must(self.suppress_days <= MAX_DAYS, "bounces.suppress_days: 0 to 3650");
        violations.must(self.complaint_days <= MAX_DAYS, "bounces.complaint_days: 0 to 3650");
    }
}

impl Default for Bounces {
    fn default() -> Self {
        Self {
            listen: Listen::Off,
            feedback: Vec::new(),
            reporters: Vec::new(),
            reporter_networks: Vec::new(),
            suppress_days: 90,
            complaint_days: 0,
            message_bytes: 1 << 20,
            connections: 200,
            connections_per_ip: 20,
        }
    }
}

fn days(count: u32) -> Option<Duration> {
    (count > 0).then(|| Duration::from_secs(u64::from(count) * DAY))
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn load(pairs: &[(&str, &str)]) -> Result<Config, String> {
        let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Config::load(None, pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn nobody_listens_for_reports_unless_told_to() {
        let config = load(&[]).expect("valid");
        assert_eq!(config.bounces.address(), None);
        assert_eq!(config.bounces.bounce_suppression().map(|it| it.as_secs()), Some(90 * 86_400));
        assert_eq!(config.bounces.complaint_suppression(), None, "for ever");
        let pairs = [
            ("WAXWING_BOUNCES__LISTEN", "[::]:25"),
            ("WAXWING_BOUNCES__FEEDBACK", r#"["fbl@mail.example.com"]"#),
            ("WAXWING_BOUNCES__SUPPRESS_DAYS", "0"),
        ];
        let config = load(&pairs).expect("valid");
        assert_eq!(config.bounces.address().map(|it| it.port()), Some(25));
        assert_eq!(config.bounces.feedback.len(), 1);
        assert_eq!(config.bounces.bounce_suppression(), None);
    }

    #[test]
    fn what_is_wrong_is_said_at_once() {
        let pairs = [
            ("WAXWING_BOUNCES__MESSAGE_BYTES", "1000"),
            ("WAXWING_BOUNCES__CONNECTIONS", "0"),
            ("WAXWING_BOUNCES__CONNECTIONS_PER_IP", "0"),
            ("WAXWING_BOUNCES__SUPPRESS_DAYS", "3651"),
            ("WAXWING_BOUNCES__COMPLAINT_DAYS", "3651"),
        ];
        let error = load(&pairs).expect_err("broken");
        for (name, _) in pairs {
            let key = name.trim_start_matches("WAXWING_BOUNCES__").to_ascii_lowercase();
            assert!(error.contains(&format!("bounces.{key}")), "{key} in {error}");
        }
        assert!(load(&[("WAXWING_BOUNCES__FEEDBACK", r#"["nobody"]"#)]).is_err());
        for nobody in ["com", "staff@", "co.uk", ""] {
            let named = format!("[\"{nobody}\"]");
            assert!(load(&[("WAXWING_BOUNCES__REPORTERS", &named)]).is_err(), "{nobody}");
        }
        assert!(load(&[("WAXWING_BOUNCES__REPORTER_NETWORKS", r#"["192.0.2.0/33"]"#)]).is_err());
    }
}
