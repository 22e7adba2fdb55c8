//! `[http]`: where HTTP listens, with and without TLS, and who gets to see the metrics.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::listen::Listen;
use super::violations::Violations;
use crate::account::ip_network::IpNetwork;

/// `[http]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// The address of the API.
    pub listen: SocketAddr,
    /// The same over TLS, as in `0.0.0.0:443`, with the certificate of the relay, or `off`: a reverse proxy then brings
    /// TLS. Clients that ask for HTTP/2 there get it.
    pub tls_listen: Listen,
    /// Networks of reverse proxies, as in `["10.0.0.0/8"]`. The client's address is
    /// taken from their header.
    pub trusted_proxies: Vec<IpNetwork>,
    /// The header in which these proxies name the client: `x-forwarded-for` or `forwarded`. They must set it, or
    /// append to it, themselves; the other header is not read, because a client may have written it.
    pub forwarded_header: ForwardedHeader,
    /// Where `/metrics` and the details of `/readyz` are served: an address such as `127.0.0.1:9464`; `public`,
    /// which serves them at `http.listen` to everybody; or `off`.
    pub metrics_listen: MetricsListen,
    /// Seconds for which the server goes on after SIGTERM as before, with 503 at `/readyz`, so that a load balancer
    /// turns away before the listeners close. Then what is under way has its own 60 seconds.
    pub drain_seconds: u64,
}

impl Http {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations.must(self.drain_seconds <= 600, "http.drain_seconds: at most 600");
    }
}

/// The header in which a reverse proxy names the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForwardedHeader {
    /// `X-Forwarded-For: 192.0.2.1, 10.0.0.1`.
    #[default]
    XForwardedFor,
    /// `Forwarded: for=192.0.2.1` (RFC 7239).
    Forwarded,
}

/// Metrics name routes, destinations and plugins, and need no key: so they are off
/// by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub enum MetricsListen {
    /// `"off"`.
    Off,
    /// `"public"`: beside the API, for everybody.
    Public,
    /// As in `"127.0.0.1:9464"`.
    At(SocketAddr),
}

/// A text that is neither an address nor one of the words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is neither an address with a port, as in \"127.0.0.1:9464\", nor \"off\", nor \"public\""
)]
pub struct InvalidMetricsListen {
    text: String,
}

impl TryFrom<String> for MetricsListen {
    type Error = InvalidMetricsListen;

    fn try_from(text: String) -> Result<Self, InvalidMetricsListen> {
        match (text.as_str(), text.parse()) {
            ("off", _) => Ok(Self::Off),
            ("public", _) => Ok(Self::Public),
            (_, Ok(address)) => Ok(Self::At(address)),
            (_, Err(_)) => Err(InvalidMetricsListen { text }),
        }
    }
}

impl From<MetricsListen> for String {
    fn from(listen: MetricsListen) -> Self {
        match listen {
            MetricsListen::Off => "off".to_owned(),
            MetricsListen::Public => "public".to_owned(),
            MetricsListen::At(address) => address.to_string(),
        }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            tls_listen: Listen::Off,
            trusted_proxies: Vec::new(),
            forwarded_header: ForwardedHeader::default(),
            metrics_listen: MetricsListen::Off,
            drain_seconds: 0,
        }
    }
}
