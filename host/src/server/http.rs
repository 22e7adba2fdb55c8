//! The ports for HTTP: the API, and, where it is configured, one for monitoring.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connection_limits::{Bounds, ConnectionSlots, Protocol};
use super::limits::LiveLimits;
use super::listeners::{self, Port};
use super::start_error::StartError;
use super::tasks::Tasks;
use super::tcp_listener::bind;
use crate::api::{self, Api};
use crate::config::{Http, MetricsListen};
use crate::dashboard;
use crate::dashboard::state::Dashboard;
use crate::inbox;
use crate::inbox::store::InboxStore;

/// A scraper and some probes need few connections.
const METRICS_CONNECTIONS: usize = 64;

/// The ports, bound and not served yet.
#[derive(Debug)]
pub struct Ports {
    api: (TcpListener, SocketAddr),
    metrics: Metrics,
}

/// Where metrics are served.
#[derive(Debug)]
enum Metrics {
    Nowhere,
    BesideTheApi,
    At(TcpListener, SocketAddr),
}

impl Ports {
    /// Binds what the configuration names.
    pub async fn open(http: &Http) -> Result<Self, StartError> {
        let api = bind(http.listen, "[http] listen").await?;
        let metrics = match http.metrics_listen {
            MetricsListen::Off => Metrics::Nowhere,
            MetricsListen::Public => Metrics::BesideTheApi,
            MetricsListen::At(address) => {
                let (listener, address) = bind(address, "[http] metrics_listen").await?;
                Metrics::At(listener, address)
            }
        };
        Ok(Self { api, metrics })
    }

    /// Where the API listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.api.1
    }

    /// Where metrics are served.
    #[must_use]
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        match self.metrics {
            Metrics::Nowhere => None,
            Metrics::BesideTheApi => Some(self.api.1),
            Metrics::At(_, address) => Some(address),
        }
    }

    /// Serves the ports until `stop`; the dashboard beside the API, and the sandbox inbox where it is given.
    pub fn serve(
        self,
        api: &Api,
        (dashboard, inbox): (Dashboard, Option<InboxStore>),
        limits: &LiveLimits,
        (listeners, stop): (&Tasks, &CancellationToken),
    ) {
        let port = |listener, router, slots: &Arc<ConnectionSlots>| Port {
            listener,
            router: api::surround(router, Arc::clone(&api.proxies)),
            overflow: api::overflow(api.clone()),
            slots: Arc::clone(slots),
            timeouts: Arc::clone(&limits.timeouts),
        };
        let mut public = match self.metrics {
            Metrics::Nowhere | Metrics::At(..) => api::public(api.clone()),
            Metrics::BesideTheApi => api::public_with_metrics(api.clone()),
        };
        public = public.merge(dashboard::router(dashboard));
        if let Some(inbox_store) = inbox {
            public = public.merge(inbox::web::router(inbox_store));
        }
        if let Metrics::At(listener, _) = self.metrics {
            // Connections of its own, so it answers however full the API is.
            let bounds = Bounds {
                connections: METRICS_CONNECTIONS,
                connections_per_ip: METRICS_CONNECTIONS,
            };
            let slots = ConnectionSlots::new(Protocol::Http, bounds);
            let port = port(listener, api::operations(api.clone()), &slots);
            listeners.start("metrics", listeners::http(port, stop.clone()));
        }
        let port = port(self.api.0, public, &limits.slots);
        listeners.start("http", listeners::http(port, stop.clone()));
    }
}
