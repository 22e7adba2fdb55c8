//! What all handlers share.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use metrics_exporter_prometheus::PrometheusHandle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::client_address::TrustedProxies;
use super::control_token::ControlToken;
use super::lists::ListLimits;
use super::readiness::Readiness;
use crate::authoring::Authoring;
use crate::clock::Clock;
use crate::delivery::shaping::admission::AdmissionControl;
use crate::fair_share::FairShare;
use crate::health::Health;
use crate::journey::Journey;
use crate::management::settings::Settings;
use crate::people::People;
use crate::plugin::Plugins;
use crate::plugin::evidence::Evidence;
use crate::store::Store;
use crate::store::seal::Seal;
use crate::upkeep::verify_domains::Verifier;
use crate::webhooks::Webhooks;

/// All that the handlers need. Every request clones it, so its parts are shared as one.
#[derive(Debug, Clone)]
pub struct Api(Arc<ApiParts>);

/// What the handlers find in [`Api`].
#[derive(Debug)]
pub struct ApiParts {
    /// Where sends go.
    pub journey: Arc<Journey>,
    /// Whose word about the origin of a request counts.
    pub proxies: Arc<TrustedProxies>,
    pub store: Store,
    /// Who uses the dashboard.
    pub people: Arc<People>,
    /// The beginning of links to the dashboard, from `[people] url`; none where links lead to the host of the request.
    pub people_url: Option<String>,
    /// With what the server sends e-mails of its own; none where it does not.
    pub mailer: Option<Mailer>,
    /// What the server runs with.
    pub settings: Settings,
    pub plugins: Arc<Plugins>,
    /// Why mail waits.
    pub admission: Arc<AdmissionControl>,
    /// For sender domains.
    pub verifier: Arc<Verifier>,
    pub webhooks: Arc<Webhooks>,
    /// For whoever writes templates.
    pub authoring: Authoring,
    /// For recorded calls.
    pub seal: Arc<Seal>,
    /// What a new plugin is compared on.
    pub evidence: Arc<dyn Evidence>,
    /// The secret of this run, for the command line.
    pub control: ControlToken,
    /// Tells the worker of messages that are due.
    pub due: Arc<Notify>,
    pub clock: Clock,
    /// What a request may be.
    pub limits: Arc<ArcSwap<RequestLimits>>,
    /// The port of the relay with STARTTLS, where it listens.
    pub relay_port: Option<u16>,
    /// What bodies may hold.
    pub bodies: BodyLimits,
    /// How often and how many lists are read.
    pub lists: Arc<ListLimits>,
    /// Whether sends can be accepted.
    pub readiness: Arc<Readiness>,
    /// Whether the server is well, for its operator.
    pub health: Arc<Health>,
    /// Renders `/metrics`.
    pub metrics: PrometheusHandle,
}

impl From<ApiParts> for Api {
    fn from(parts: ApiParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Api {
    type Target = ApiParts;

    fn deref(&self) -> &ApiParts {
        &self.0
    }
}

/// With what the server sends e-mails of its own.
#[derive(Clone)]
pub struct Mailer {
    /// An API key; never shown.
    pub key: String,
    /// With what links begin.
    pub url: String,
}

impl fmt::Debug for Mailer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailer").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What a request may be.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub body_bytes: usize,
    /// Time for a body to arrive.
    pub body_time: Duration,
    /// Recorded calls that a component is compared on.
    pub impact_calls: u32,
}

/// What bodies may hold, all of them together.
#[derive(Debug, Clone)]
pub struct BodyLimits {
    /// KiB in memory.
    pub memory: Arc<FairShare>,
    /// Bodies that are arriving: each holds a connection.
    pub arriving: Arc<FairShare>,
    /// The server is stopping.
    pub stopping: CancellationToken,
}
