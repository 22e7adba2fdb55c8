//! The accept loops of the relay's ports. They give each connection a place, and know nothing of
//! SMTP but the words for a connection that has none.

mod hostname;
mod proxy;

use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::connection_limits::ConnectionSlots;
use super::tasks::Tasks;
use super::tcp_listener::Acceptor;
use crate::account::ip_network::IpNetwork;
use crate::clock::log_throttle::LogThrottle;
use proxy::ProxyHeaderError;

pub use hostname::hostname;

/// How long sessions may take after the stop of the server begins.
pub(super) const DRAIN: Duration = Duration::from_secs(30);

/// Connections of one port whose PROXY header is still to come, at most.
const MAX_PENDING_HEADERS: usize = 1_024;

#[derive(Debug)]
pub struct SmtpListener {
    /// What the log calls it.
    pub name: &'static str,
    pub listener: TcpListener,
    /// The reply to a connection beyond the bounds; nothing where TLS comes first.
    pub no_slot_reply: Vec<u8>,
    /// Networks whose connections begin with a PROXY header.
    pub trusted_proxies: Vec<IpNetwork>,
}

/// Gives connections to `session` until `stop`; then sessions have 30 s to end, which hear of the
/// stop themselves.
pub async fn serve<S, F>(
    smtp_listener: SmtpListener,
    slots: Arc<ConnectionSlots>,
    session: S,
    stop: CancellationToken,
) where
    S: Fn(TcpStream, SocketAddr) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (sessions, cut) = (Tasks::default(), CancellationToken::new());
    let SmtpListener { name, listener, no_slot_reply, trusted_proxies } = smtp_listener;
    let mut acceptor = Acceptor::new(listener, name);
    let (mut headers, mut bad_headers) = (FuturesUnordered::new(), LogThrottle::default());
    loop {
        let (stream, client) = tokio::select! {
            (stream, peer) = acceptor.next() => {
                if !trusted_proxies.iter().any(|network| network.contains(peer.ip())) {
                    (stream, peer)
                } else if headers.len() < MAX_PENDING_HEADERS {
                    headers.push(behind_proxy(stream, peer));
                    continue;
                } else {
                    log_refused((name, peer), &ProxyHeaderError::TooMany(MAX_PENDING_HEADERS), &mut bad_headers);
                    continue;
                }
            }
            Some((stream, peer, client)) = headers.next() => match client {
                Ok(client) => (stream, client),
                Err(error) => {
                    log_refused((name, peer), &error, &mut bad_headers);
                    continue;
                }
            },
            () = stop.cancelled() => break,
        };
        // Of a client behind a proxy it is the client's own address that counts.
        let Ok(slot) = slots.take(client.ip()) else {
            turn_away(stream, &no_slot_reply);
            continue;
        };
        let _best_effort = stream.set_nodelay(true);
        // On the heap: a task holds what it is given twice, and there may be many idle ones.
        let session = Box::pin(session(stream, client));
        let cut = cut.clone();
        sessions.start("smtp session", async move {
            let _cut_off = cut.run_until_cancelled(session).await;
            drop(slot);
        });
    }
    drop((acceptor, headers));
    end(&sessions, &cut, DRAIN).await;
}

/// Answers the connection, the proxy, and the client that its header names.
async fn behind_proxy(
    mut stream: TcpStream,
    proxy: SocketAddr,
) -> (TcpStream, SocketAddr, Result<SocketAddr, ProxyHeaderError>) {
    let client = proxy::client(&mut stream, proxy, proxy::MAX_WAIT).await;
    (stream, proxy, client)
}

fn log_refused(
    (listener, proxy): (&'static str, SocketAddr),
    error: &ProxyHeaderError,
    lines: &mut LogThrottle<()>,
) {
    let proxy = proxy.ip().to_canonical();
    if matches!(error, ProxyHeaderError::Nothing) {
        // Health checks come every few seconds.
        tracing::debug!(%proxy, listener, %error, "a connection from a trusted proxy closed without a PROXY header");
        return;
    }
    metrics::counter!("waxwing_smtp_connections_refused_total", "reason" => "proxy_header")
        .increment(1);
    // Each of thousands of clients could be slow on purpose; the metric counts them all.
    if lines.admit((), Instant::now()) {
        tracing::warn!(%proxy, listener, %error, "closed a connection from a trusted proxy that sent no valid PROXY header; logged at most once a minute");
    }
}

fn turn_away(stream: TcpStream, reply: &[u8]) {
    // A new connection's buffer has room, so this neither waits nor is cut short.
    if let Ok(mut stream) = stream.into_std() {
        let _best_effort = stream.write(reply);
    }
}

async fn end(sessions: &Tasks, cut: &CancellationToken, within: Duration) {
    if tokio::time::timeout(within, sessions.finish()).await.is_err() {
        tracing::warn!(
            seconds = within.as_secs(),
            "cutting off SMTP sessions that did not end in time during the stop of the server"
        );
        cut.cancel();
        sessions.finish().await;
    }
}

#[cfg(test)]
mod tests;
