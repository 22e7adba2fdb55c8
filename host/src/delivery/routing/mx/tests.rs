//! Lookups against a real DNS server and a real policy host on loopback.

mod failures;
mod fetches;
mod hosts;
mod known;
mod policies;
mod policy_host;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use tempfile::TempDir;
use waxwing_dns::DnsServer;

use super::*;
use crate::dns;
use crate::store::Store;
use policy_host::PolicyHost;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
/// Longer than an answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long silence is listened to.
const SILENCE: Duration = Duration::from_millis(300);

/// A network, the time in it, and a database.
struct World {
    dns: DnsServer,
    clock: Clock,
    store: Store,
    directory: TempDir,
}

impl World {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        Self { dns: DnsServer::start().await, clock: Clock::manual(NOW), store, directory }
    }

    /// A world with `example.com`, whose mail goes to `mx.example.com`, and that at 127.0.0.9.
    async fn with_example() -> Self {
        let world = Self::new().await;
        world.dns.mx("example.com", 10, "mx.example.com");
        world.address("mx.example.com", "127.0.0.9");
        world
    }

    fn address(&self, name: &str, address: &str) {
        self.dns.ip(name, address.parse().expect("an address"));
    }

    fn resolver(&self, timeout: Duration) -> Resolver {
        let settings = dns::Settings {
            nameservers: vec![self.dns.address()],
            timeout,
            tries: 1,
            concurrent: 64,
            per_second: NonZeroU32::new(100_000).expect("not zero"),
        };
        Resolver::new(&settings, self.clock.clone()).expect("servers are named")
    }

    /// Knows nothing, follows no policies, and connects to everything.
    fn exchanges(&self) -> MxResolver {
        self.exchanges_with(MxSettings { reach: Reach::Anywhere, ..MxSettings::default() })
    }

    fn exchanges_with(&self, settings: MxSettings) -> MxResolver {
        MxResolver::new(self.resolver(PATIENCE), None, self.clock.clone(), settings)
    }

    /// Follows policies; all policy hosts are at the port of this one.
    fn policed(&self, host: &PolicyHost) -> MxResolver {
        let resolver = self.resolver(PATIENCE);
        let fetcher = self.fetcher(host, PATIENCE);
        let (store, clock) = (self.store.clone(), self.clock.clone());
        let policies = StsPolicies::new(resolver.clone(), store, fetcher, clock.clone());
        let settings = MxSettings { reach: Reach::Anywhere, ..MxSettings::default() };
        MxResolver::new(resolver, Some(policies), clock, settings)
    }

    /// Asks at the port of `host`, and at every address.
    fn fetcher(&self, host: &PolicyHost, timeout: Duration) -> StsPolicyFetcher {
        let settings =
            StsFetchSettings { reach: Reach::Anywhere, port: host.address().port(), timeout };
        StsPolicyFetcher::new(self.resolver(PATIENCE), host.trusting(), &settings)
            .expect("a client")
    }
}

fn hosts(resolution: &Arc<MxResolution>) -> &MxHosts {
    match &**resolution {
        MxResolution::Hosts(hosts) => hosts,
        MxResolution::Failed(failure) => panic!("{}", failure.reason()),
    }
}

/// The names and addresses of the hosts, in their order.
fn shown(resolution: &Arc<MxResolution>) -> Vec<String> {
    let hosts = hosts(resolution).hosts.iter();
    hosts
        .map(|host| {
            let addresses: Vec<String> = host.addresses.iter().map(IpAddr::to_string).collect();
            format!("{} {}", host.name, addresses.join(" "))
        })
        .collect()
}

/// The code of "never", or a word.
fn verdict(resolution: &Arc<MxResolution>) -> String {
    match &**resolution {
        MxResolution::Hosts(_) => "hosts".to_owned(),
        MxResolution::Failed(LookupFailure::Permanent { failure, reason }) => {
            assert!(!reason.is_empty());
            failure.enhanced().expect("each has a code").to_string()
        }
        MxResolution::Failed(LookupFailure::Temporary { reason }) => {
            assert!(!reason.is_empty());
            "not now".to_owned()
        }
    }
}
