//! `[delivery]`: how messages leave.

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::violations::Violations;
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
    /// Outbound servers that take mail for every recipient: `[[delivery.smarthosts]]`.
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
    /// Source addresses of outgoing connections.
    pub local_addresses: Vec<IpAddr>,
    /// Which addresses of mail exchangers are used: `both`, `ipv4` or `ipv6`.
    pub addresses: Addresses,
    /// Whether mail exchangers may stand at private and loopback addresses, as in a laboratory.
    pub allow_private: bool,
    /// PEM file of further CA certificates, besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Whether MTA-STS policies of recipients' domains are enforced (RFC 8461).
    pub mta_sts: bool,
    /// The HTTPS port of MTA-STS policies.
    pub mta_sts_port: u16,
    /// Pauses between attempts, in seconds; the last one repeats. Empty: 1, 5, 15, 30 min, 1, 2, 4 h. A message that
    /// has had as many attempts as there are pauses is given up after 48 hours; one that has had fewer, because
    /// delivery backs off from its destination, after five days.
    pub retry_pauses_s: Vec<u64>,
}

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
    /// certificate); or `none`. Default: `starttls`.
    #[serde(default)]
    pub security: Security,
    /// The user name.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// A file that holds the password.
    pub password_file: Option<PathBuf>,
    /// Its share of the mail among several smarthosts. Default: 1.
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
    #[serde(default, deserialize_with = "at_least_one")]
    pub accounts: Vec<AccountId>,
    /// To these domains, as in `example.com` or `*.example.com`; to all where it is left out.
    #[serde(default, deserialize_with = "at_least_one")]
    pub recipients: Vec<String>,
    /// The route: `sandbox`, `smarthost` or `direct`.
    pub route: Route,
    /// The smarthosts by name; all where it is left out.
    #[serde(default, deserialize_with = "at_least_one")]
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
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
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
        violations.must(is_connections(self.connections), "delivery.connections: 1 to 1000");
        violations.must(
            self.messages_per_connection >= 1,
            "delivery.messages_per_connection: at least 1",
        );
        self.check_local_addresses(violations);
        violations.must_with(
            &["delivery.smarthosts"],
            self.has_smarthosts_for(self.route),
            "delivery.route: `smarthost` needs [[delivery.smarthosts]]",
        );
        for (index, smarthost) in self.smarthosts.iter().enumerate() {
            let place = format!("delivery.smarthosts[{index}]");
            smarthost.check(&place, violations);
            let mut before = self.smarthosts.iter().take(index);
            violations.must(
                before.all(|it| it.name != smarthost.name),
                &format!("{place}.name: another one is called `{}`, too", smarthost.name),
            );
        }
        for (index, rule) in self.rules.iter().enumerate() {
            self.check_rule(&format!("delivery.rules[{index}]"), rule, violations);
        }
        for (index, destination) in self.destinations.iter().enumerate() {
            destination.check(&format!("delivery.destinations[{index}]"), violations);
        }
    }

    fn has_smarthosts_for(&self, route: Route) -> bool {
        route != Route::Smarthost || !self.smarthosts.is_empty()
    }

    fn check_rule(&self, place: &str, rule: &Rule, violations: &mut Violations<'_>) {
        violations.must_with(
            &["delivery.smarthosts"],
            self.has_smarthosts_for(rule.route),
            &format!("{place}.route: `smarthost` needs [[delivery.smarthosts]]"),
        );
        let route = format!("{place}.route");
        violations.must_with(
            &[&route],
            rule.smarthosts.is_empty() || rule.route == Route::Smarthost,
            &format!("{place}.smarthosts: only with route = \"smarthost\""),
        );
        let is_called = |name: &str| self.smarthosts.iter().any(|it| it.name == name);
        // A name that is unreadable may be the one.
        let is_unreadable =
            |index| violations.unreadable.contains(&format!("delivery.smarthosts[{index}].name"));
        let knows_names = !violations.unreadable.contains("delivery.smarthosts")
            && !(0..self.smarthosts.len()).any(is_unreadable);
        for name in rule.smarthosts.iter().filter(|name| knows_names && !is_called(name)) {
            violations.must(
                false,
                &format!(
                    "{place}.smarthosts: no smarthost is called `{name}`; [[delivery.smarthosts]] \
                     says what they are called"
                ),
            );
        }
        for pattern in &rule.recipients {
            if let Err(error) = pattern.parse::<crate::delivery::routing::route::DomainPattern>() {
                violations.must(false, &format!("{place}.recipients: {error}"));
            }
        }
    }

    fn check_local_addresses(&self, violations: &mut Violations<'_>) {
        let v4 = self.local_addresses.iter().filter(|it| it.is_ipv4()).count();
        let v6 = self.local_addresses.len() - v4;
        violations.must(v4 <= 1 && v6 <= 1, "delivery.local_addresses: at most one of each family");
    }
}

impl Smarthost {
    fn check(&self, place: &str, violations: &mut Violations<'_>) {
        let name = &self.name;
        let called = violations.called(&format!("{place}.name"), name);
        let mut must = |holds: bool, key: &str, others: &[&str], rule: &str| {
            let others: Vec<String> = others.iter().map(|key| format!("{place}.{key}")).collect();
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            violations.must_with(&others, holds, &format!("{place}.{key}{called}: {rule}"));
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        let is_free = !["", "sandbox", "direct"].contains(&name.as_str());
        must(
            is_free && name.chars().all(is_word),
            "name",
            &[],
            "letters, digits and -._, and neither `sandbox` nor `direct`",
        );
        let is_part = |c: char| !c.is_whitespace() && !":/@".contains(c);
        let is_host = |it: &str| !it.is_empty() && it.chars().all(is_part);
        must(
            self.host.parse::<IpAddr>().is_ok() || is_host(&self.host),
            "host",
            &[],
            "a name or an address, without a port; the port stands in `port`",
        );
        must(self.port.is_none_or(|it| it >= 1), "port", &[], "at least 1");
        must((1..=1_000).contains(&self.weight), "weight", &[], "1 to 1000");
        must(self.connections.is_none_or(is_connections), "connections", &[], "1 to 1000");
        must(
            self.messages_per_connection.is_none_or(|it| it >= 1),
            "messages_per_connection",
            &[],
            "at least 1",
        );
        let (has_password, has_file) = (self.password.is_some(), self.password_file.is_some());
        must(!(has_password && has_file), "password_file", &["password"], "not beside `password`");
        let others = &["password", "password_file"];
        must(
            self.user.is_none() || has_password || has_file,
            "user",
            others,
            "needs a `password` or a `password_file`",
        );
        let key = if has_password { "password" } else { "password_file" };
        must(self.user.is_some() || !(has_password || has_file), key, &["user"], "needs a `user`");
        let is_proven = matches!(self.security, Security::Starttls | Security::Tls);
        must(
            self.user.is_none() || is_proven || is_loopback(&self.host),
            "security",
            &["user", "host"],
            "\"starttls\" or \"tls\", because a password goes only to a proven server",
        );
    }
}

impl Destination {
    fn check(&self, place: &str, violations: &mut Violations<'_>) {
        let name = &self.exchangers;
        violations.must(
            name.split('+').all(|it| it.parse::<DomainName>().is_ok()),
            &format!(
                "{place}.exchangers: `{name}` is no registered domain of mail exchangers, as in \
                 `google.com`"
            ),
        );
        let called = violations.called(&format!("{place}.exchangers"), name);
        violations.must(
            self.connections.is_none_or(is_connections),
            &format!("{place}.connections{called}: 1 to 1000"),
        );
        violations.must(
            self.messages_per_connection.is_none_or(|it| it >= 1),
            &format!("{place}.messages_per_connection{called}: at least 1"),
        );
    }
}

fn is_connections(count: u32) -> bool {
    (1..=1_000).contains(&count)
}

/// An empty list reads as "nobody", and the key left out means "everybody": whoever writes it means something else.
fn at_least_one<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::deserialize(from)?;
    if list.is_empty() {
        let message =
            "an empty list matches nothing: name at least one, or leave the key out for all";
        return Err(D::Error::custom(message));
    }
    Ok(list)
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
