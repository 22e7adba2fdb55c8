//! Failures of name servers: reported as failures, and the next server is tried.

use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn a_failed_query_is_not_an_answer() {
    let (server, resolver) = started().await;
    server.txt("example.com", "x");
    for (fault, expected) in [
        (Fault::ServFail, Outcome::ServFail),
        (Fault::NotImplemented, Outcome::ServFail),
        (Fault::Malformed, Outcome::ServFail),
        (Fault::Refused, Outcome::Refused),
    ] {
        server.fault("example.com", fault);
        let seen = resolver.look_up("example.com", RecordType::Txt).await;
        assert_eq!(seen.outcome, expected, "{fault:?}");
        assert_eq!(seen.resolver, server.address().to_string());
        assert!(!seen.dnssec_secure && seen.outcome.is_failure());
    }
}

#[tokio::test]
async fn silence_and_slowness_time_out() {
    let server = DnsServer::start().await;
    let resolver = resolver(&Settings { timeout: SHORT_TIMEOUT, ..settings(&[server.address()]) });
    server.txt("example.com", "x");
    for fault in [Fault::Silent, Fault::Slow(PATIENCE), Fault::NoTcp] {
        server.fault("example.com", fault);
        let seen = resolver.look_up("example.com", RecordType::Txt).await;
        assert_eq!(seen.outcome, Outcome::TimedOut, "{fault:?}");
    }
}

#[tokio::test]
async fn an_answer_before_the_time_out_counts() {
    let (server, resolver) = started().await;
    server.txt("example.com", "x");
    server.fault("example.com", Fault::Slow(SHORT_DELAY));
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!(data(&seen), [r#""x""#]);
    assert_eq!(server.query_count(), 1, "nothing is sent twice within a try");
}

#[tokio::test]
async fn a_dead_server_costs_its_time_out_once() {
    let (dead, server) = (dead(), DnsServer::start().await);
    server.txt("example.com", "x");
    let resolver = resolver(&Settings {
        timeout: Duration::from_secs(2),
        ..settings(&[at(&dead), server.address()])
    });
    for _ in 0..3 {
        let seen = resolver.look_up("example.com", RecordType::Txt).await;
        assert_eq!(data(&seen), [r#""x""#]);
        assert_eq!(seen.resolver, server.address().to_string());
    }
    assert_eq!(received(&dead), 1);
}

#[tokio::test]
async fn a_failure_for_one_name_does_not_demote_the_server() {
    let (first, second) = (DnsServer::start().await, DnsServer::start().await);
    let resolver = resolver(&settings(&[first.address(), second.address()]));
    second.txt("example.com", "x");
    for fault in [Fault::ServFail, Fault::Refused, Fault::Malformed] {
        first.fault("example.com", fault);
        let seen = resolver.look_up("example.com", RecordType::Txt).await;
        assert_eq!(seen.resolver, second.address().to_string(), "{fault:?}");
    }
    assert_eq!(first.query_count(), 3);
    first.clear("example.com");
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!((seen.outcome, seen.resolver), (Outcome::NxDomain, first.address().to_string()));
}

#[tokio::test]
async fn the_most_specific_failure_is_reported_with_all_servers() {
    let (dead, refuses) = (dead(), DnsServer::start().await);
    refuses.fault_everything(Some(Fault::Refused));
    let servers = [at(&dead), refuses.address()];
    let resolver = resolver(&Settings { timeout: SHORT_TIMEOUT, ..settings(&servers) });
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!(seen.outcome, Outcome::Refused);
    assert_eq!(seen.resolver, format!("{},{}", at(&dead), refuses.address()));
}

#[tokio::test]
async fn a_lost_query_is_repeated_and_every_try_is_one_query() {
    let server = DnsServer::start().await;
    let timeout = Duration::from_secs(2);
    let resolver = resolver(&Settings { timeout, tries: 3, ..settings(&[server.address()]) });
    server.txt("example.com", "x");
    server.fault("example.com", Fault::Lost(1));
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!((data(&seen), server.query_count()), (vec![r#""x""#], 2));
    server.fault("example.com", Fault::ServFail);
    server.forget_queries();
    resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!(server.query_count(), 3);
}
