//! What the bench is made of: an account, its domain, the worker with all that it needs.

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::{Value, json};
use tokio::sync::Notify;
use waxwing_dns::DnsServer;

use super::{NOW, SEED, SENDER, Setup};
use crate::clock::Clock;
use crate::delivery::attempt::Attempts;
use crate::delivery::attempt::dkim::DkimSigner;
use crate::delivery::attempt::failover::Failover;
use crate::delivery::attempt::return_path::ReturnPaths;
use crate::delivery::attempt::sandbox::Sandbox;
use crate::delivery::queue::Spawner;
use crate::delivery::queue::retry_schedule::RetrySchedule;
use crate::delivery::queue::worker::Worker;
use crate::delivery::routing::mx::{
    AddressFamilies, MxResolver, MxSettings, PolicyFetcher, StsFetchSettings, StsPolicies,
};
use crate::delivery::routing::route::Routes;
use crate::delivery::shaping::admission::{AdmissionControl, RoutingTable};
use crate::delivery::shaping::destination::Destinations;
use crate::delivery::shaping::memory_budget::MemoryBudget;
use crate::delivery::shaping::probation::Probation;
use crate::delivery::shaping::unresponsive::UnresponsiveAddresses;
use crate::delivery::smtp::TlsClient;
use crate::dns::{Reach, Resolver};
use crate::domain::key::{DkimKey, KeyPhase, identity};
use crate::domain::look_alike::LookAlikes;
use crate::domain::state::{DomainKind, Phase, SenderDomain, Standing};
use crate::id::{AccountId, DomainId};
use crate::mail::dkim::{Algorithm, SigningKey};
use crate::mail::verp::Verp;
use crate::store::facts::Facts;
use crate::store::seal::{Purpose, Seal};
use crate::store::{DomainRow, NewDomain, Store};

/// A verified domain with a key that signs.
pub async fn add_domain(store: &Store, account_id: AccountId) -> DomainId {
    let id = DomainId::new(NOW);
    let made = SigningKey::generate(Algorithm::Ed25519).expect("a key");
    let seal = Seal::new(&SEED, Purpose::DkimKeys);
    let key = DkimKey {
        selector: "wx1e".to_owned(),
        algorithm: Algorithm::Ed25519.as_str().to_owned(),
        public_base64: made.key.public_base64(),
        sealed: seal.seal(&identity(id, "wx1e"), &made.pkcs8),
        phase: KeyPhase::Signing,
        since: NOW,
    };
    let standing =
        Standing { phase: Phase::Verified, since: NOW, progress: 100, missing: Vec::new() };
    let domain = SenderDomain {
        id,
        account_id,
        name: SENDER.parse().expect("a name"),
        kind: DomainKind::Dns,
        verification_token: "token".to_owned(),
        standing,
        created_at: NOW,
    };
    let row = DomainRow { domain, requirements: json!([]), decision: Value::Null };
    let look_alikes = LookAlikes::Allowed;
    let new = NewDomain { row, look_alikes, keys: vec![key], first_check: None };
    let anything = |_| Ok::<(), ()>(());
    store.add_domain(&new, NOW, anything).await.expect("the store works").expect("added");
    id
}

pub async fn worker(
    setup: Setup<'_>,
    store: &Store,
    clock: &Clock,
    dns: &DnsServer,
    wake: &Arc<Notify>,
    data: &Path,
) -> Worker {
    let ca = setup.ca.map(|pem| {
        let file = data.join("ca.pem");
        std::fs::write(&file, pem).expect("written");
        file
    });
    let book = RoutingTable {
        routes: Routes { rules: setup.rules, default: setup.default },
        direct: setup.direct,
        exceptions: Vec::new(),
        port: setup.port,
    };
    let admission = Arc::new(AdmissionControl {
        has_no_free_attempt: AtomicBool::new(false),
        routes: ArcSwap::from_pointee(book),
        mx: mx(store, clock, dns),
        destinations: Arc::new(Destinations::default()),
        probation: Arc::new(Probation::of(setup.concurrent)),
        memory: MemoryBudget::new(64 << 20),
        clock: clock.clone(),
    });
    let facts = Arc::new(Facts::open(store.clone(), clock.clone()).await.expect("readable"));
    let seal = Seal::new(&SEED, Purpose::DkimKeys);
    let attempts = Attempts {
        store: store.clone(),
        signer: DkimSigner::new(Arc::clone(&facts), seal, clock.clone()),
        return_paths: ReturnPaths::new(
            Verp::new(&SEED),
            "bounce.mail.example".parse().expect("a name"),
            facts,
        ),
        sandbox: Sandbox::new(setup.inbox),
        failover: Failover {
            unresponsive: UnresponsiveAddresses::default(),
            hello: "mail.example".to_owned(),
            local: Vec::new(),
            tls: TlsClient::new(ca.as_deref()).expect("authorities"),
            timeouts: setup.timeouts,
            clock: clock.clone(),
        },
        admission: Arc::clone(&admission),
    };
    Worker {
        store: store.clone(),
        clock: clock.clone(),
        owner: "test".to_owned(),
        attempts: Arc::new(attempts),
        admission,
        schedule: Arc::new(RetrySchedule::default()),
        concurrent: setup.concurrent,
        wake: Arc::clone(wake),
        spawner: Spawner::new(|task| drop(tokio::spawn(task))),
    }
}

fn mx(store: &Store, clock: &Clock, dns: &DnsServer) -> Arc<MxResolver> {
    let settings = crate::dns::Settings {
        nameservers: vec![dns.address()],
        timeout: Duration::from_secs(5),
        tries: 2,
        concurrent: 16,
        per_second: NonZeroU32::new(10_000).expect("not zero"),
    };
    let resolver = Resolver::new(&settings, clock.clone()).expect("a server is named");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let fetch = StsFetchSettings { reach: Reach::Anywhere, ..StsFetchSettings::default() };
    let fetcher = PolicyFetcher::new(resolver.clone(), tls, &fetch).expect("HTTPS");
    let policies = StsPolicies::new(resolver.clone(), store.clone(), fetcher, clock.clone());
    let settings = MxSettings {
        addresses: AddressFamilies::Both,
        reach: Reach::Anywhere,
        own_names: vec!["mail.example".to_owned()],
    };
    Arc::new(MxResolver::new(resolver, Some(policies), clock.clone(), settings))
}
