//! `[health]`: how often the server looks whether it is well, whom it asks, and who hears of it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::hostname::Hostname;
use super::violations::Violations;
use crate::message::address::EmailAddress;

const DAY: u64 = 24 * 60 * 60;
/// The port of NTP.
const NTP_PORT: u16 = 123;

/// `[health]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Health {
    /// Minutes between two runs of the checks. Those that ask servers of others are made once an hour at most.
    pub every_minutes: u32,
    /// Who gets an e-mail when a check fails, and when that is over, as in `["ops@example.org"]`; it needs
    /// `people.mail_key`. Webhooks of the server get `server.health` besides.
    pub notify: Vec<EmailAddress>,
    /// Block lists (DNSBL) that are asked for the public addresses of this server, where mail leaves from them for
    /// mail exchangers.
    pub block_lists: Vec<Hostname>,
    /// A domain whose mail exchanger is connected to, as in `gmail.com`, to see whether port 25 is open; without the
    /// key no connection is made.
    pub port_25_domain: Option<Hostname>,
    /// A time server (NTP) that the clock is compared with, as in `pool.ntp.org`; nobody is asked if it is left out.
    pub time_server: Option<TimeServer>,
    /// Days after which a DKIM key should be replaced; 0 for never.
    pub dkim_key_days: u32,
}

/// A host, and a port where it is not that of NTP.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct TimeServer {
    pub host: String,
    pub port: u16,
}

/// A text that is no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no host, as in \"pool.ntp.org\", \"192.0.2.1\" or \"192.0.2.1:1123\"")]
pub struct InvalidTimeServer(String);

impl Health {
    #[must_use]
    pub fn every(&self) -> Duration {
        Duration::from_mins(u64::from(self.every_minutes))
    }

    /// From which age on a DKIM key is old; none for never.
    #[must_use]
    pub fn dkim_key_age(&self) -> Option<Duration> {
        let days = u64::from(self.dkim_key_days);
        (days > 0).then(|| Duration::from_secs(days * DAY))
    }

    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations
            .must((1..=1_440).contains(&self.every_minutes), "health.every_minutes: 1 to 1440");
        violations.must(self.block_lists.len() <= 20, "health.block_lists: at most 20");
        violations.must(self.notify.len() <= 20, "health.notify: at most 20");
        violations.must(self.dkim_key_days <= 3_650, "health.dkim_key_days: 0 to 3650");
    }
}

impl Default for Health {
    fn default() -> Self {
        let list = |name: &str| name.parse().expect("a host name");
        Self {
            every_minutes: 10,
            notify: Vec::new(),
            block_lists: vec![list("zen.spamhaus.org"), list("bl.spamcop.net")],
            port_25_domain: None,
            time_server: None,
            dkim_key_days: 365,
        }
    }
}

impl TryFrom<String> for TimeServer {
    type Error = InvalidTimeServer;

    fn try_from(text: String) -> Result<Self, InvalidTimeServer> {
        let is_host =
            |host: &str| host.parse::<Hostname>().is_ok() || host.parse::<IpAddr>().is_ok();
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(Self { host: address.ip().to_string(), port: address.port() });
        }
        if is_host(&text) {
            return Ok(Self { host: text, port: NTP_PORT });
        }
        match text.rsplit_once(':').map(|(host, port)| (host, port.parse())) {
            Some((host, Ok(port))) if is_host(host) => Ok(Self { host: host.to_owned(), port }),
            Some(_) | None => Err(InvalidTimeServer(text)),
        }
    }
}

impl From<TimeServer> for String {
    fn from(server: TimeServer) -> Self {
        server.to_string()
    }
}

impl fmt::Display for TimeServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        match (*port == NTP_PORT, host.contains(':')) {
            (true, _) => f.write_str(host),
            (false, true) => write!(f, "[{host}]:{port}"),
            (false, false) => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;

    fn load(pairs: &[(&str, &str)]) -> Result<Config, String> {
        let pairs = pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Config::load(None, pairs).map_err(|error| error.to_string())
    }

    #[test]
    fn nobody_else_is_asked_or_written_to_unless_configured_but_block_lists() {
        let health = load(&[]).expect("valid").health;
        assert!(health.notify.is_empty() && health.port_25_domain.is_none());
        assert_eq!((health.time_server, health.block_lists.len()), (None, 2));
    }

    #[test]
    fn a_time_server_is_a_host_with_or_without_a_port() {
        for (text, host, port) in [
            ("pool.ntp.org", "pool.ntp.org", 123),
            ("192.0.2.1", "192.0.2.1", 123),
            ("time.example:1123", "time.example", 1123),
            ("[2001:db8::1]:1123", "2001:db8::1", 1123),
            ("2001:db8::1", "2001:db8::1", 123),
        ] {
            let config = load(&[("WAXWING_HEALTH__TIME_SERVER", text)]).expect("valid");
            let server = config.health.time_server.expect("named");
            assert_eq!((server.host.as_str(), server.port), (host, port), "{text}");
            assert_eq!(server.to_string(), text);
        }
        for text in ["", "a b", "time.example:port", "time.example:70000"] {
            assert!(load(&[("WAXWING_HEALTH__TIME_SERVER", text)]).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_at_once() {
        let pairs = [
            ("WAXWING_HEALTH__EVERY_MINUTES", "0"),
            ("WAXWING_HEALTH__DKIM_KEY_DAYS", "3651"),
            ("WAXWING_HEALTH__NOTIFY", r#"["ops@example.org"]"#),
            ("WAXWING_HEALTH__BLOCK_LISTS", r#"["no list"]"#),
        ];
        let error = load(&pairs).expect_err("broken");
        for part in ["every_minutes", "dkim_key_days", "health.notify: needs", "BLOCK_LISTS"] {
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}
