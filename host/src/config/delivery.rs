//! `[delivery]`: how messages leave.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Violations;
use crate::domain::name::DomainName;
use crate::id::AccountId;

/// `[delivery]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Delivery {
    /// The route of mail that no rule matches: `sandbox`, `smarthost` or `direct` (the recipients' mail exchangers).
    pub route: Route,
    /// The port of mail exchangers.
    pub port: u16,
    /// Servers that relay mail to everybody: `[[delivery.smarthosts]]`.
    #[serde(skip_serializing)]
    pub smarthosts: Vec<Smarthost>,
    /// Other routes for some accounts or recipients, the first match counts: `[[delivery.rules]]`.
    #[serde(skip_serializing)]
    pub rules: Vec<Rule>,
    /// Other limits for some mail exchangers: `[[delivery.destinations]]`.
    #[serde(skip_serializing)]
    pub destinations: Vec<Destination>,
    /// Most delivery attempts at one time.
    pub concurrent: usize,
    /// Memory for messages that are being sent, in bytes.
    pub memory_bytes: usize,
    /// Most connections to one destination: a smarthost, or all mail exchangers of one operator.
    pub connections: u32,
    /// Most messages over one connection.
    pub messages_per_connection: u32,
    /// Most messages a minute to one destination.
    pub messages_per_minute: Option<NonZeroU32>,
    /// Source addresses of outgoing connections, at most one of each family.
    pub local_addresses: Vec<IpAddr>,
    /// Which addresses of mail exchangers are used: `both`, `ipv4` or `ipv6`.
    pub addresses: Addresses,
    /// Whether mail exchangers may stand at private and loopback addresses, as in a laboratory.
    pub allow_private: bool,
    /// PEM file of further authorities, besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether MTA-STS policies of recipients' domains are enforced (RFC 8461).
    pub mta_sts: bool,
    /// The HTTPS port of MTA-STS policies.
    pub mta_sts_port: u16,
    /// Seconds between attempts; the last one holds for all that follow. Empty: 1 min to 4 h. A message that has
    /// had as many attempts as there are pauses is given up after 48 hours; one whose destination could not be
    /// reached so often, after five days.
    pub retry_pauses_s: Vec<u64>,
}

/// A route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Into the sandbox inbox: nothing leaves this machine.
    #[default]
    Sandbox,
    /// Through a smarthost.
    Smarthost,
    /// To the recipients' mail exchangers.
    Direct,
}

/// Families of addresses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Addresses {
    /// Both.
    #[default]
    Both,
    /// IPv4 only.
    Ipv4,
    /// IPv6 only.
    Ipv6,
}

/// `[[delivery.smarthosts]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Smarthost {
    /// Its name in rules, logs and attempts.
    pub name: String,
    /// Its host name or address.
    pub host: String,
    /// Its port; 465 with `tls`, else 587.
    pub port: Option<u16>,
    /// `starttls` or `tls`, both with a valid certificate; `opportunistic` (STARTTLS where it is offered, any
    /// certificate); or `none`.
    #[serde(default)]
    pub security: Security,
    /// The user name.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// A file that holds the password.
    pub password_file: Option<PathBuf>,
    /// Its share of the mail among several smarthosts.
    #[serde(default = "one")]
    pub weight: u32,
    /// Connections at one time; as `delivery.connections`.
    pub connections: Option<u32>,
    /// Messages over one connection; as `delivery.messages_per_connection`.
    pub messages_per_connection: Option<u32>,
    /// Messages a minute; as `delivery.messages_per_minute`.
    pub messages_per_minute: Option<NonZeroU32>,
}

/// How the connection to a smarthost is encrypted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Security {
    /// By STARTTLS, with a valid certificate.
    #[default]
    Starttls,
    /// From the first octet, with a valid certificate.
    Tls,
    /// By STARTTLS where it is offered, with any certificate.
    Opportunistic,
    /// Not at all.
    None,
}

/// A secret of the configuration; its debug form does not show it.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

/// `[[delivery.rules]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Of these accounts; of all where it is left out.
    #[serde(default)]
    pub accounts: Vec<AccountId>,
    /// To these domains, as in `example.com` or `*.example.com`; to all where it is left out.
    #[serde(default)]
    pub recipients: Vec<String>,
    /// The route: `sandbox`, `smarthost` or `direct`.
    pub route: Route,
    /// The smarthosts by name; all where it is left out.
    #[serde(default)]
    pub smarthosts: Vec<String>,
}

/// `[[delivery.destinations]]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Destination {
    /// The registered domain of its mail exchangers, as in `google.com`.
    pub exchangers: String,
    /// Connections at one time; as `delivery.connections`.
    pub connections: Option<u32>,
    /// Messages over one connection; as `delivery.messages_per_connection`.
    pub messages_per_connection: Option<u32>,
    /// Messages a minute; as `delivery.messages_per_minute`.
    pub messages_per_minute: Option<NonZeroU32>,
}

impl Delivery {
    pub(super) fn check(&self, violations: &mut Violations) {
        let pauses = &self.retry_pauses_s;
        violations.must(
            pauses.iter().all(|pause| *pause >= 1),
            "delivery.retry_pauses_s: each at least 1",
        );
        violations.must((1..=10_000).contains(&self.concurrent), "delivery.concurrent: 1 to 10000");
        violations.must(
            (1 << 20..=1 << 36).contains(&self.memory_bytes),
            "delivery.memory_bytes: 1048576 to 68719476736",
        );
        violations.must(self.port >= 1, "delivery.port: at least 1");
        self.check_bounds(violations);
        self.check_local_addresses(violations);
        let mut names = BTreeSet::new();
        for smarthost in &self.smarthosts {
            smarthost.check(violations);
            violations.must(
                names.insert(smarthost.name.as_str()),
                &format!("delivery.smarthosts: two are called `{}`", smarthost.name),
            );
        }
        let needs = |route: Route| route == Route::Smarthost && self.smarthosts.is_empty();
        violations.must(
            !needs(self.route) && !self.rules.iter().any(|rule| needs(rule.route)),
            "delivery.route: `smarthost` needs [[delivery.smarthosts]]",
        );
        for destination in &self.destinations {
            let name = &destination.exchangers;
            violations.must(
                name.split('+').all(|it| it.parse::<DomainName>().is_ok()),
                &format!(
                    "delivery.destinations: `{name}` is no registered domain of mail exchangers"
                ),
            );
        }
        for rule in &self.rules {
            rule.check(&names, violations);
        }
    }

    fn check_bounds(&self, violations: &mut Violations) {
        let connections = self.smarthosts.iter().filter_map(|it| it.connections);
        let connections =
            connections.chain(self.destinations.iter().filter_map(|it| it.connections));
        violations.must(
            connections.chain([self.connections]).all(|it| (1..=1_000).contains(&it)),
            "delivery.connections: 1 to 1000",
        );
        let messages = self.smarthosts.iter().filter_map(|it| it.messages_per_connection);
        let others = self.destinations.iter().filter_map(|it| it.messages_per_connection);
        violations.must(
            messages.chain(others).chain([self.messages_per_connection]).all(|it| it >= 1),
            "delivery.messages_per_connection: at least 1",
        );
    }

    fn check_local_addresses(&self, violations: &mut Violations) {
        let v4 = self.local_addresses.iter().filter(|it| it.is_ipv4()).count();
        let v6 = self.local_addresses.len() - v4;
        violations.must(v4 <= 1 && v6 <= 1, "delivery.local_addresses: at most one of each family");
    }
}

impl Smarthost {
    fn check(&self, violations: &mut Violations) {
        let name = &self.name;
        let mut must = |holds: bool, rule: &str| {
            violations.must(holds, &format!("delivery.smarthosts `{name}`: {rule}"));
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_free = !["", "sandbox", "direct"].contains(&name.as_str());
        must(is_free && name.chars().all(is_word), "a name of letters, digits and -._");
        let is_part = |c: char| !c.is_whitespace() && !":/@".contains(c);
        let is_host = |it: &str| !it.is_empty() && it.chars().all(is_part);
        must(
            self.host.parse::<IpAddr>().is_ok() || is_host(&self.host),
            "host: a name or an address, without a port; the port stands in `port`",
        );
        must(self.port.is_none_or(|it| it >= 1), "port: at least 1");
        must((1..=1_000).contains(&self.weight), "weight: 1 to 1000");
        let passwords =
            usize::from(self.password.is_some()) + usize::from(self.password_file.is_some());
        must(passwords <= 1, "password or password_file, not both");
        must(
            (passwords == 1) == self.user.is_some(),
            "a user needs a password or a password_file, and the other way round",
        );
        let is_proven = matches!(self.security, Security::Starttls | Security::Tls);
        must(
            self.user.is_none() || is_proven || is_loopback(&self.host),
            "a password goes only to a proven server: security = \"starttls\" or \"tls\"",
        );
    }
}

impl Rule {
    fn check(&self, names: &BTreeSet<&str>, violations: &mut Violations) {
        for name in &self.smarthosts {
            violations.must(
                names.contains(name.as_str()),
                &format!("delivery.rules: no smarthost is called `{name}`"),
            );
        }
        violations.must(
            self.smarthosts.is_empty() || self.route == Route::Smarthost,
            "delivery.rules: `smarthosts` is for route = \"smarthost\"",
        );
        for pattern in &self.recipients {
            let parsed = pattern.parse::<crate::delivery::routing::route::DomainPattern>();
            if let Err(error) = parsed {
                violations.must(false, &format!("delivery.rules recipients: {error}"));
            }
        }
    }
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.is_loopback())
}

fn one() -> u32 {
    1
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            route: Route::Sandbox,
            port: 25,
            smarthosts: Vec::new(),
            rules: Vec::new(),
            destinations: Vec::new(),
            concurrent: 2_048,
            memory_bytes: 512 << 20,
            connections: 20,
            messages_per_connection: 100,
            messages_per_minute: None,
            local_addresses: Vec::new(),
            addresses: Addresses::Both,
            allow_private: false,
            ca_file: None,
            mta_sts: true,
            mta_sts_port: 443,
            retry_pauses_s: Vec::new(),
        }
    }
}
