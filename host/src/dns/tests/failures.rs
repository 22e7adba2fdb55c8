//! What is unknown stays unknown, and another server is asked.

use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn a_failure_is_never_taken_for_a_statement() {
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
    let resolver = resolver(&Settings { timeout: SILENCE, ..settings(&[server.address()]) });
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
    server.fault("example.com", Fault::Slow(SILENCE));
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
async fn a_server_that_fails_for_a_name_is_asked_first_again() {
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
async fn of_several_failures_the_most_telling_is_told_and_all_servers_are_named() {
    let (dead, refuses) = (dead(), DnsServer::start().await);
    refuses.fault_everything(Some(Fault::Refused));
    let servers = [at(&dead), refuses.address()];
    let resolver = resolver(&Settings { timeout: SILENCE, ..settings(&servers) });
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!(seen.outcome, Outcome::Refused);
    assert_eq!(seen.resolver, format!("{},{}", at(&dead), refuses.address()));
}

#[tokio::test]
async fn every_round_asks_every_server_once() {
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
