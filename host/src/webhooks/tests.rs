//! Webhooks against endpoints that are real sockets, with a clock that moves only when it is told to.

mod endpoint;
mod posted;
mod sent;

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use tempfile::TempDir;
use waxwing_dns::DnsServer;

use super::guard::{Guard, Schemes};
use super::post::Poster;
use super::schedule::Schedule;
use super::{WebhookSettings, Webhooks};
use crate::clock::{Clock, Timestamp};
use crate::dns::{Resolver, Settings};
use crate::store::seal::{Purpose, Seal};

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
/// How long an attempt may take: longer than a busy machine stands still, and where an endpoint says nothing,
/// as long as there is to wait for that.
const TIME: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_secs(2);
/// Longer than a busy machine needs.
const PATIENCE: Duration = Duration::from_mins(2);
const POLL: Duration = Duration::from_millis(2);

fn guard(schemes: Schemes, allowed: &[&str]) -> Arc<Guard> {
    let allowed = allowed.iter().map(|it| it.parse().expect("a network")).collect();
    Arc::new(Guard { schemes, allowed })
}

fn tls(trusted: Option<&CertificateDer<'static>>) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(trusted.cloned());
    ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth()
}

fn resolver(server: SocketAddr, clock: &Clock) -> Resolver {
    let settings = Settings {
        nameservers: vec![server],
        timeout: Duration::from_secs(5),
        tries: 1,
        concurrent: 16,
        per_second: NonZeroU32::new(10_000).expect("not zero"),
    };
    Resolver::new(&settings, clock.clone()).expect("a server is named")
}

/// The discard port: who asks there gets no answer.
fn nobody() -> SocketAddr {
    SocketAddr::new(IpAddr::from([127, 0, 0, 1]), 9)
}

fn poster(guard: &Arc<Guard>, dns: Option<&DnsServer>, time: Duration) -> Poster {
    let clock = Clock::manual(START);
    let resolver = resolver(dns.map_or_else(nobody, DnsServer::address), &clock);
    Poster::new(Arc::clone(guard), resolver, tls(None), time, clock).expect("a client")
}

/// Waits for a condition.
async fn until<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(POLL).await;
    }
}

/// Webhooks over a new store.
async fn webhooks(clock: &Clock, schedule: Schedule, time: Duration) -> (TempDir, Arc<Webhooks>) {
    webhooks_with_places(clock, schedule, time, 64).await
}

/// The same with so many attempts at one time.
async fn webhooks_with_places(
    clock: &Clock,
    schedule: Schedule,
    time: Duration,
    concurrent: usize,
) -> (TempDir, Arc<Webhooks>) {
    let directory = tempfile::tempdir().expect("a directory");
    let store = crate::store::test_data::open(&directory).await;
    let guard = guard(Schemes::HttpAndHttps, &["127.0.0.0/8"]);
    let secrets = Seal::new(&[7; 32], Purpose::Webhooks);
    let rules = WebhookSettings {
        schedule,
        concurrent,
        concurrent_per_webhook: 8,
        per_owner: 20,
        give_up: Duration::from_hours(5 * 24),
    };
    let client =
        Poster::new(Arc::clone(&guard), resolver(nobody(), clock), tls(None), time, clock.clone());
    let client = client.expect("a client");
    let webhooks = Webhooks::new(store, secrets, clock.clone(), guard, client, rules);
    (directory, Arc::new(webhooks))
}
