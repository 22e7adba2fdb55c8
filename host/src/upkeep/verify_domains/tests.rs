//! Domains over days and months: the built-in policy as a component, real DNS on loopback, and a clock
//! that is moved by hand.

mod rotation;
mod rules;
mod schedule;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use waxwing_dns::DnsServer;

use super::{AccountPermits, DomainCheckSettings, DomainError, Verifier};
use crate::account::Account;
use crate::account::plan::Plan;
use crate::clock::{Clock, Timestamp};
use crate::dns::{Resolver, Settings};
use crate::domain::look_alike::LookAlikes;
use crate::domain::state::{DomainKind, Phase};
use crate::domain::verification::Schedule;
use crate::id::DomainId;
use crate::plugin::Plugins;
use crate::plugin::tests::fixture::TestDirs;
use crate::store::seal::{Purpose, Seal};
use crate::store::{DomainDetails, Store};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// A verifier with a name server and a clock of its own.
struct Fixture {
    verifier: Arc<Verifier>,
    dns: DnsServer,
    clock: Clock,
    account: Account,
    _dirs: TestDirs,
    _data: TempDir,
}

impl Fixture {
    async fn new() -> Self {
        // Longer than a busy machine stands still.
        Self::waiting_for_answers(Duration::from_secs(10)).await
    }

    /// With a name server that has so long to answer.
    async fn waiting_for_answers(timeout: Duration) -> Self {
        let (dirs, data, dns) =
            (TestDirs::new(), tempfile::tempdir().expect("a directory"), DnsServer::start().await);
        let clock = Clock::manual(NOW);
        let store = crate::store::test_data::open(&data).await;
        let started = Plugins::start(dirs.options(), clock.clone()).await;
        let settings = Settings {
            nameservers: vec![dns.address()],
            timeout,
            tries: 1,
            concurrent: 16,
            per_second: NonZeroU32::new(10_000).expect("not zero"),
        };
        let verifier = Verifier {
            store: store.clone(),
            plugins: started.expect("the built-ins start").0,
            resolver: Resolver::new(&settings, clock.clone()).expect("a server is named"),
            keys: Seal::new(&[7; 32], Purpose::DkimKeys),
            samples: Arc::new(Seal::new(&[7; 32], Purpose::Samples)),
            clock: clock.clone(),
            permits: AccountPermits::default(),
            rules: DomainCheckSettings {
                spf_include: "spf.mail.example.net".to_owned(),
                return_path_host: "bounce.mail.example.net".to_owned(),
                schedule: Schedule::default(),
                concurrent: 4,
                per_account: 30,
                samples_kept: 10,
            },
        };
        let account = open_account(&store).await;
        let verifier = Arc::new(verifier);
        Self { verifier, dns, clock, account, _dirs: dirs, _data: data }
    }

    async fn add(&self, name: &str) -> DomainDetails {
        self.add_to(&self.account, name).await.expect("added")
    }

    async fn add_to(&self, account: &Account, name: &str) -> Result<DomainDetails, DomainError> {
        let (kind, look_alikes) = (DomainKind::Dns, LookAlikes::Refused);
        let name = name.parse().expect("a name");
        let id = self.verifier.add(account, name, kind, look_alikes).await?;
        Ok(self.verifier.store.domain_details(id).await?.expect("it is there"))
    }

    /// A domain whose records are all there.
    async fn verified(&self, name: &str) -> DomainDetails {
        let details = self.add(name).await;
        self.publish(&details, |_| true);
        let details = self.check(details.row.domain.id).await;
        assert_eq!(phase(&details), Phase::Verified, "{:?}", details.row.domain.standing);
        details
    }

    async fn check(&self, id: DomainId) -> DomainDetails {
        self.verifier.check(id).await.expect("checked").expect("it is there")
    }

    /// Publishes the records whose purpose is wanted.
    fn publish(&self, details: &DomainDetails, wanted: impl Fn(&str) -> bool) {
        for record in details.row.requirements.as_array().expect("records") {
            let [name, value, purpose, kind] =
                ["name", "value", "purpose", "type"].map(|it| record[it].as_str().expect("text"));
            if wanted(purpose) && kind == "CNAME" {
                self.dns.cname(name, value);
            } else if wanted(purpose) {
                self.dns.txt(name, value);
            }
        }
    }

    async fn events(&self, id: DomainId) -> Vec<String> {
        let events = self.verifier.store.domain_events(id, 100).await.expect("readable");
        events.into_iter().rev().map(|it| it.r#type.as_str().to_owned()).collect()
    }
}

async fn open_account(store: &Store) -> Account {
    let account = Account::new("test", Plan::named("pro"), NOW);
    store.create_account(&account).await.expect("created");
    account
}

fn phase(details: &DomainDetails) -> Phase {
    details.row.domain.standing.phase
}

fn progress(details: &DomainDetails) -> u8 {
    details.row.domain.standing.progress
}

/// How long until the next check.
fn pause(fixture: &Fixture, details: &DomainDetails) -> Option<Duration> {
    let next = details.check.as_ref().expect("it is checked").next_at;
    next.map(|next| fixture.clock.now().until(next))
}
