//! Runs: what is asked again and what is not, what a check without a server says, and what turns.

use std::net::Ipv4Addr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use arc_swap::ArcSwap;
use waxwing_dns::DnsServer;

use super::*;
use crate::clock::{Clock, Timestamp};
use crate::delivery::routing::mx::{StsFetchSettings, StsPolicyFetcher};
use crate::delivery::smtp::TlsClient;
use crate::dns::{Resolver, Settings};

pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
pub const HOST: &str = "mail.waxwing.example";
/// A public address, which only the test's own name server knows.
pub const ADDRESS: Ipv4Addr = Ipv4Addr::new(5, 9, 1, 7);
const LISTED: &str = "7.1.9.5.bl.example";

/// A resolver that asks that name server alone.
pub fn resolver(dns: &DnsServer) -> Resolver {
    let settings = Settings {
        nameservers: vec![dns.address()],
        timeout: Duration::from_secs(5),
        tries: 1,
        concurrent: 32,
        per_second: NonZeroU32::new(100_000).expect("not zero"),
    };
    Resolver::new(&settings, Clock::system()).expect("a server is named")
}

/// A machine that delivers directly, on which no server runs.
pub fn world(dns: &DnsServer) -> World {
    let resolver = resolver(dns);
    let tls = TlsClient::new(None).expect("TLS").verifying();
    let policies = StsPolicyFetcher::new(resolver.clone(), tls, &StsFetchSettings::default());
    World {
        clock: Clock::manual(NOW),
        resolver,
        policies: policies.expect("a client"),
        settings: HealthSettings {
            hostname: HOST.to_owned(),
            spf_include: format!("spf.{HOST}"),
            return_path_host: format!("bounce.{HOST}"),
            takes_reports: false,
            source_addresses: Vec::new(),
            data_dir: PathBuf::from("/"),
            secrets: Vec::new(),
            private_key: None,
            backup_every: None,
        },
        reloadable: ArcSwap::from_pointee(ReloadableSettings {
            block_lists: vec!["bl.example".to_owned()],
            port_25_domain: None,
            time_server: None,
            dkim_key_age: None,
            every: Duration::from_mins(10),
            notify: Vec::new(),
        }),
        egress: Tell::new(|| Egress::Direct { port: 25 }),
        certificate: Tell::new(|| CertificateView::NotNeeded),
        server: ServerView::Stopped("No server runs here.".to_owned()),
    }
}

/// Replaces settings as a reload does.
pub fn reload(world: &World, change: impl FnOnce(&mut ReloadableSettings)) {
    let mut settings = (*world.reloadable.load_full()).clone();
    change(&mut settings);
    world.reloadable.store(Arc::new(settings));
}

fn state(report: &Report, check: CheckName) -> State {
    report.of(check).expect("each check has a finding").verdict.state
}

#[tokio::test]
async fn without_a_server_the_checks_that_need_one_say_so() {
    let dns = DnsServer::start().await;
    let report = Health::new(world(&dns)).check_now().await;
    assert_eq!(report.findings.len(), CheckName::ALL.len());
    for check in [CheckName::Store, CheckName::Queue, CheckName::Plugins] {
        let finding = report.of(check).expect("a finding");
        assert_eq!(finding.verdict.state, State::NotChecked, "{finding:?}");
        assert!(finding.verdict.what.contains("No server runs here."), "{finding:?}");
    }
    assert_eq!(state(&report, CheckName::ReverseDns), State::Failing, "that needs no server");
    assert_ne!(state(&report, CheckName::Disk), State::NotChecked, "that neither");
    let down = report.of(CheckName::Listeners).expect("a finding").verdict.clone();
    assert_eq!((down.state, down.what.as_str()), (State::Failing, "No server runs here."));
    assert!(down.todo.is_some_and(|it| it.contains("systemctl start waxwing")), "what to do");
    let mut silent = world(&dns);
    silent.server = ServerView::Silent("The server does not answer.".to_owned());
    let report = Health::new(silent).check_now().await;
    assert_eq!(state(&report, CheckName::Listeners), State::Failing);
}

#[tokio::test]
async fn what_turns_is_told_after_two_runs_and_its_end_as_well() {
    let dns = DnsServer::start().await;
    dns.ip(HOST, ADDRESS.into());
    dns.ip(LISTED, Ipv4Addr::new(127, 0, 0, 2).into());
    let health = Health::new(world(&dns));
    let of_lists = || {
        let turned = health.turned().into_iter();
        turned.filter(|(_, it)| it.check == CheckName::BlockLists).collect::<Vec<_>>()
    };
    health.check_now().await;
    assert!(of_lists().is_empty(), "seen once");
    assert_eq!(health.pause(), CONFIRMING_RUN);
    health.check_now().await;
    let turned = of_lists();
    let [(Turn::Failing, finding)] = turned.as_slice() else { panic!("{turned:?}") };
    assert!(finding.verdict.what.contains("bl.example"));
    let noted = health.told(CheckName::BlockLists, Turn::Failing);
    assert_eq!(noted, "block_lists");
    dns.remove_all(LISTED);
    health.check_now().await;
    health.check_now().await;
    assert!(matches!(of_lists().as_slice(), [(Turn::Over, _)]));
    let restarted = Health::new(world(&dns));
    restarted.remember(Scope::Node, &noted);
    restarted.check_now().await;
    restarted.check_now().await;
    let turned = restarted.turned();
    let is_over = |(turn, it): &(Turn, Finding)| *turn == Turn::Over && it.check.as_str() == noted;
    assert!(turned.iter().any(is_over), "the start before has told of it: {turned:?}");
}

#[tokio::test]
async fn servers_of_others_are_asked_once_an_hour_unless_somebody_asks() {
    let dns = DnsServer::start().await;
    dns.ip(HOST, ADDRESS.into());
    let world = world(&dns);
    let clock = world.clock.clone();
    let health = Health::new(world);
    let asked = || dns.queries().iter().filter(|(name, _)| name == LISTED).count();
    for _ in 0..4 {
        health.check_regularly().await;
    }
    assert_eq!(asked(), 1, "a finding that holds is kept for an hour");
    clock.advance(ASKING_PACE);
    health.check_regularly().await;
    assert_eq!(asked(), 2);
    health.check_now().await;
    assert_eq!(asked(), 3);
}

#[tokio::test]
async fn a_finding_of_a_clock_that_was_ahead_is_not_kept() {
    let dns = DnsServer::start().await;
    dns.ip(HOST, ADDRESS.into());
    let mut ahead = world(&dns);
    ahead.clock = Clock::manual(NOW.after(Duration::from_hours(24 * 400)));
    let clock = ahead.clock.clone();
    let health = Health::new(ahead);
    let asked = || dns.queries().iter().filter(|(name, _)| name == LISTED).count();
    health.check_regularly().await;
    clock.set(NOW);
    health.check_regularly().await;
    assert_eq!(asked(), 2, "nobody knows how old the first one is");
}

#[tokio::test]
async fn whoever_asks_during_a_run_shares_the_next_one() {
    let dns = DnsServer::start().await;
    let runs = Arc::new(AtomicU32::new(0));
    let (counted, mut world) = (Arc::clone(&runs), world(&dns));
    world.certificate = Tell::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        CertificateView::NotNeeded
    });
    let health = Health::new(world);
    let reports = join_all((0..50).map(|_| health.check_now())).await;
    assert_eq!(reports.len(), 50);
    assert!(runs.load(Ordering::Relaxed) <= 2, "{runs:?}");
}
