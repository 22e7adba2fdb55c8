//! The ports for HTTP: the API, with and without TLS, and, where they are configured, one for monitoring and one for the
//! questions of a certificate authority.

mod to_https;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::map_response;
use axum::response::Response;
use http::HeaderValue;
use http::header::STRICT_TRANSPORT_SECURITY;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::acme::{self, Challenges};
use super::connection_limits::{Bounds, ConnectionSlots, Protocol};
use super::limits::LiveLimits;
use super::listeners::{self, Port};
use super::start_error::StartError;
use super::tasks::Tasks;
use super::tcp_listener::bind;
use crate::api::{self, Api};
use crate::config::{Config, MetricsListen};
use crate::dashboard;
use crate::dashboard::state::Dashboard;
use crate::inbox;
use crate::inbox::store::InboxStore;

/// A scraper and some probes need few connections.
const METRICS_CONNECTIONS: usize = 64;
/// Those of a certificate authority, and of browsers that are sent on.
const PLAIN_CONNECTIONS: usize = 256;
/// A year: browsers that were here once come with TLS from then on.
const STRICT: &str = "max-age=31536000";

/// The ports, bound and not served yet.
#[derive(Debug)]
pub struct Ports {
    api: (TcpListener, SocketAddr),
    tls: Option<(TcpListener, SocketAddr)>,
    /// For the certificate authority.
    plain: Option<(TcpListener, SocketAddr)>,
    metrics: Metrics,
}

/// Where metrics are served.
#[derive(Debug)]
enum Metrics {
    Nowhere,
    BesideTheApi,
    At(TcpListener, SocketAddr),
}

/// What the ports serve beside the API.
#[derive(Debug)]
pub struct Beside {
    pub dashboard: Dashboard,
    /// The sandbox inbox, where its pages are switched on.
    pub inbox: Option<InboxStore>,
    pub challenges: Challenges,
    /// The certificate, for the port with TLS.
    pub tls: Option<Arc<ServerConfig>>,
    /// The names in the certificate, to which a port without TLS sends browsers on.
    pub names: Vec<String>,
}

impl Ports {
    /// Binds what the configuration names.
    pub async fn open(config: &Config) -> Result<Self, StartError> {
        let http = &config.http;
        let api = bind(http.listen, "[http] listen").await?;
        let tls = match http.tls_listen.address() {
            Some(address) => Some(bind(address, "[http] tls_listen").await?),
            None => None,
        };
        let plain = match config.acme.http_address() {
            Some(address) => Some(bind(address, "[acme] http_listen").await?),
            None => None,
        };
        let metrics = match http.metrics_listen {
            MetricsListen::Off => Metrics::Nowhere,
            MetricsListen::Public => Metrics::BesideTheApi,
            MetricsListen::At(address) => {
                let (listener, address) = bind(address, "[http] metrics_listen").await?;
                Metrics::At(listener, address)
            }
        };
        Ok(Self { api, tls, plain, metrics })
    }

    /// Where the API listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.api.1
    }

    /// Where it listens with TLS.
    #[must_use]
    pub fn tls_address(&self) -> Option<SocketAddr> {
        self.tls.as_ref().map(|(_, address)| *address)
    }

    /// Where questions of the certificate authority are answered, beside the API.
    #[must_use]
    pub fn plain_address(&self) -> Option<SocketAddr> {
        self.plain.as_ref().map(|(_, address)| *address)
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

    /// Serves the ports until `stop`.
    pub fn serve(
        self,
        api: &Api,
        beside: Beside,
        limits: &LiveLimits,
        (listeners, stop): (&Tasks, &CancellationToken),
    ) {
        let tls_port = self.tls_address().map(|it| it.port());
        let port = |listener, router, slots: &Arc<ConnectionSlots>| Port {
            listener,
            router: api::surround(router, Arc::clone(&api.proxies)),
            overflow: api::overflow(api.clone()),
            slots: Arc::clone(slots),
            timeouts: Arc::clone(&limits.timeouts),
            tls: None,
        };
        let Beside { dashboard, inbox, challenges, tls, names } = beside;
        let mut public = match self.metrics {
            Metrics::Nowhere | Metrics::At(..) => api::public(api.clone()),
            Metrics::BesideTheApi => api::public_with_metrics(api.clone()),
        };
        public = public.merge(dashboard::router(dashboard)).merge(acme::router(challenges.clone()));
        if let Some(inbox_store) = inbox {
            public = public.merge(inbox::web::router(inbox_store));
        }
        if let Metrics::At(listener, _) = self.metrics {
            // Connections of its own, so it answers however full the API is.
            let slots = slots(METRICS_CONNECTIONS);
            let port = port(listener, api::operations(api.clone()), &slots);
            listeners.start("metrics", listeners::http(port, stop.clone()));
        }
        if let Some((listener, _)) = self.plain {
            let router = acme::router(challenges);
            let router = match tls_port {
                Some(tls_port) => router.merge(to_https::router(names, tls_port)),
                None => router,
            };
            let port = port(listener, router, &slots(PLAIN_CONNECTIONS));
            listeners.start("plain http", listeners::http(port, stop.clone()));
        }
        if let (Some((listener, _)), Some(tls)) = (self.tls, tls) {
            let router: Router = public.clone().layer(map_response(strict));
            let port = Port { tls: Some(tls), ..port(listener, router, &limits.slots) };
            listeners.start("https", listeners::http(port, stop.clone()));
        }
        let port = port(self.api.0, public, &limits.slots);
        listeners.start("http", listeners::http(port, stop.clone()));
    }
}

fn slots(connections: usize) -> Arc<ConnectionSlots> {
    ConnectionSlots::new(Protocol::Http, Bounds { connections, connections_per_ip: connections })
}

async fn strict(mut response: Response) -> Response {
    let strict = HeaderValue::from_static(STRICT);
    response.headers_mut().insert(STRICT_TRANSPORT_SECURITY, strict);
    response
}
