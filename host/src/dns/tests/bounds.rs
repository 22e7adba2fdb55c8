//! Lookups, queries and answers have limits, and what is given up is given back.

use std::time::Instant;

use futures_util::future::join_all;
use tokio::time::timeout;
use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn lookups_beyond_the_limit_wait_their_turn() {
    let server = DnsServer::start().await;
    let resolver = resolver(&Settings { concurrent: 3, ..settings(&[server.address()]) });
    server.fault_everything(Some(Fault::Slow(Duration::from_millis(20))));
    let names: Vec<String> = (0..20).map(|it| format!("n{it}.example.com")).collect();
    let seen = join_all(names.iter().map(|it| resolver.look_up(it, RecordType::Txt))).await;
    assert!(seen.iter().all(|it| it.outcome == Outcome::NxDomain));
    assert_eq!(server.query_count(), 20);
    assert!(server.most_at_once() <= 3, "{} at once", server.most_at_once());
}

#[tokio::test]
async fn queries_keep_their_pace() {
    let server = DnsServer::start().await;
    let per_second = NonZeroU32::new(20).expect("not zero");
    let resolver = resolver(&Settings { per_second, ..settings(&[server.address()]) });
    let started = Instant::now();
    join_all((0..8).map(|_| resolver.look_up("example.com", RecordType::Txt))).await;
    // Two at once, then one every 50 ms.
    assert!(started.elapsed() >= Duration::from_millis(290), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_lookup_that_is_given_up_frees_its_place() {
    let server = DnsServer::start().await;
    let resolver = resolver(&Settings { concurrent: 1, ..settings(&[server.address()]) });
    for fault in [Fault::Silent, Fault::NoTcp] {
        server.fault_everything(Some(fault));
        let given_up =
            timeout(SHORT_TIMEOUT, resolver.look_up("example.com", RecordType::Txt)).await;
        assert!(given_up.is_err(), "{fault:?}");
    }
    server.fault_everything(None);
    let seen = timeout(PATIENCE, resolver.look_up("example.com", RecordType::Txt)).await;
    assert_eq!(seen.map(|it| it.outcome).ok(), Some(Outcome::NxDomain));
}

#[tokio::test]
async fn limits_of_zero_still_let_one_pass() {
    let server = DnsServer::start().await;
    let none = Settings { concurrent: 0, tries: 0, ..settings(&[server.address()]) };
    let seen = resolver(&none).look_up("example.com", RecordType::Txt).await;
    assert_eq!(seen.outcome, Outcome::NxDomain);
}

#[tokio::test]
async fn of_many_answers_the_first_sixty_four_are_kept() {
    let (server, resolver) = started().await;
    for number in (0..80).rev() {
        server.txt("example.com", &format!("n={number:02}"));
    }
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!(data(&seen).len(), 64);
    assert_eq!(data(&seen).last(), Some(&r#""n=63""#));
}

#[tokio::test]
async fn of_long_answers_the_first_is_whole_and_few_follow() {
    let (server, resolver) = started().await;
    for number in 0..5 {
        let string = [b'0' + number, 0xff].repeat(120);
        server.txt_chunks("example.com", &[string.as_slice(); 40]);
    }
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!(data(&seen).len(), 2, "9,600 bytes are 24,119 in presentation form");
    assert_eq!(data(&seen).first().map(|it| text(it).len()), Some(9_600));
}

#[tokio::test]
async fn clones_share_the_limits() {
    let server = DnsServer::start().await;
    let resolver = resolver(&Settings { concurrent: 2, ..settings(&[server.address()]) });
    server.fault_everything(Some(Fault::Slow(Duration::from_millis(20))));
    let clones: Vec<Resolver> = (0..8).map(|_| resolver.clone()).collect();
    join_all(clones.iter().map(|it| it.look_up("example.com", RecordType::A))).await;
    assert!(server.most_at_once() <= 2, "{} at once", server.most_at_once());
}
