//! `[smtp]`: the relay's ports, its certificate, and what one session may use.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::hostname::Hostname;
use super::listen::ListenAddresses;
use super::violations::Violations;
use crate::account::ip_network::IpNetwork;
use crate::relay::UserName;

const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

/// `[smtp]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Smtp {
    /// Whether the relay runs; `false` switches off all its ports.
    pub enabled: bool,
    /// Listeners with STARTTLS: an address, a list of addresses, or `off`.
    pub listen_starttls: ListenAddresses,
    /// Listeners with TLS from the first byte: an address, a list of addresses, or `off`.
    pub listen_tls: ListenAddresses,
    /// Networks of load balancers, as in `["10.0.0.0/8"]`. A connection from there must begin with a header of
    /// the PROXY protocol (version 1 or 2), which names the client; a connection from elsewhere must not.
    pub trusted_proxies: Vec<IpNetwork>,
    /// User names that are accepted besides the API key, where the password is the key: `apikey` (the word),
    /// `address` (the account's default sender: `--sender` of `waxwing account create`).
    pub user_names: Vec<UserName>,
    /// The host name in the greeting, in Received and in EHLO; the machine's host name if it is left out.
    pub hostname: Option<Hostname>,
    /// PEM file of the certificate and its chain, the server's own first; with `private_key`.
    /// Without both, a self-signed certificate is made in the data directory.
    pub certificate: Option<PathBuf>,
    /// PEM file of the certificate's key, without a pass phrase.
    pub private_key: Option<PathBuf>,
    /// Largest message, in bytes.
    pub message_bytes: usize,
    /// Most recipients of a message.
    pub recipients: usize,
    /// Most connections at one time, over all of the relay's listeners.
    pub connections: usize,
    /// Most connections at one time from one address; IPv6 addresses count by /64.
    pub connections_per_ip: usize,
    /// Memory for messages that are arriving, over all sessions, in bytes; accounts share it fairly.
    pub memory_bytes: usize,
    /// Seconds from the connection to a successful login.
    pub login_seconds: u64,
    /// Seconds of silence after which a session ends.
    pub idle_seconds: u64,
    /// Seconds for a whole message to arrive.
    pub data_seconds: u64,
    /// What a client without credits hears: `temporary` (451, its queue keeps the message) or `permanent` (550).
    pub insufficient_balance: InsufficientBalance,
    /// What happens to a bare LF in a message: `normalise` makes it CRLF, `refuse` refuses the message. A bare LF
    /// never ends a message.
    pub bare_newline: BareNewline,
}

/// How lasting a lack of credits is to an SMTP client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InsufficientBalance {
    /// 451: the client's queue keeps the message.
    Temporary,
    /// 550: the client's user gets it back.
    Permanent,
}

/// What becomes of a line feed that stands alone in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BareNewline {
    /// CRLF.
    Normalise,
    /// The message is refused: 550 5.6.11.
    Refuse,
}

impl Smtp {
    /// Where it listens with STARTTLS.
    #[must_use]
    pub fn starttls_addresses(&self) -> &[SocketAddr] {
        if self.enabled { self.listen_starttls.all() } else { &[] }
    }

    /// Where it listens with TLS from the first byte.
    #[must_use]
    pub fn tls_addresses(&self) -> &[SocketAddr] {
        if self.enabled { self.listen_tls.all() } else { &[] }
    }

    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations.must_with(
            &["smtp.private_key"],
            self.certificate.is_some() == self.private_key.is_some(),
            "smtp.certificate and smtp.private_key: both, or neither",
        );
        violations.must(
            (64 << 10..=128 << 20).contains(&self.message_bytes),
            "smtp.message_bytes: 65536 to 134217728",
        );
        violations.must((1..=1_000).contains(&self.recipients), "smtp.recipients: 1 to 1000");
        violations
            .must((1..=1_000_000).contains(&self.connections), "smtp.connections: 1 to 1000000");
        violations.must(self.connections_per_ip >= 1, "smtp.connections_per_ip: at least 1");
        // A bound that is itself broken is named alone.
        let message_bytes = self.message_bytes.min(128 << 20);
        violations.must_with(
            &["smtp.message_bytes"],
            (message_bytes..=1 << 40).contains(&self.memory_bytes),
            "smtp.memory_bytes: at least smtp.message_bytes, at most 2^40",
        );
        let day = 1..=86_400;
        violations.must(day.contains(&self.login_seconds), "smtp.login_seconds: 1 to 86400");
        violations.must(day.contains(&self.idle_seconds), "smtp.idle_seconds: 1 to 86400");
        violations.must(day.contains(&self.data_seconds), "smtp.data_seconds: 1 to 86400");
    }
}

impl Default for Smtp {
    fn default() -> Self {
        Self {
            enabled: true,
            listen_starttls: ListenAddresses::one(SocketAddr::from((LOOPBACK, 2587))),
            listen_tls: ListenAddresses::one(SocketAddr::from((LOOPBACK, 2465))),
            trusted_proxies: Vec::new(),
            user_names: Vec::new(),
            hostname: None,
            certificate: None,
            private_key: None,
            message_bytes: 25 << 20,
            recipients: 100,
            connections: 10_000,
            connections_per_ip: 100,
            memory_bytes: 256 << 20,
            login_seconds: 60,
            idle_seconds: 300,
            data_seconds: 600,
            insufficient_balance: InsufficientBalance::Temporary,
            bare_newline: BareNewline::Normalise,
        }
    }
}
