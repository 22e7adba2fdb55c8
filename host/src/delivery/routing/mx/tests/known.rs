//! What is kept, and for how long.

use std::iter::repeat_with;

use futures_util::FutureExt;
use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn what_was_found_is_known_for_as_long_as_its_records_allow() {
    let world = World::with_example().await;
    let exchanges = world.exchanges();
    assert_eq!(exchanges.known("example.com"), None);
    let found = exchanges.look_up("example.com").await;
    // The records of this DNS server may be kept for 300 s.
    world.clock.advance(Duration::from_secs(299));
    assert_eq!(exchanges.known("example.com"), Some(Arc::clone(&found)));
    assert_eq!(exchanges.look_up("example.com").await, found);
    assert_eq!(world.dns.query_count(), 3, "MX, AAAA, A");
    world.clock.advance(Duration::from_secs(1));
    assert_eq!(exchanges.known("example.com"), None);
    exchanges.look_up("example.com").await;
    assert_eq!(world.dns.query_count(), 6);
}

#[tokio::test]
async fn hosts_are_used_for_five_minutes_more_while_they_are_looked_up_again() {
    let world = World::with_example().await;
    let exchanges = world.exchanges();
    let found = exchanges.look_up("example.com").await;
    world.clock.advance(Duration::from_mins(5));
    assert_eq!(exchanges.known("example.com"), None);
    assert_eq!(exchanges.usable("example.com"), Some(found));
    world.dns.fault("example.com", Fault::ServFail);
    exchanges.look_up("example.com").await;
    world.clock.advance(Duration::from_secs(30));
    assert_eq!(exchanges.usable("example.com"), None, "only hosts are");
    world.dns.clear("example.com");
    exchanges.look_up("example.com").await;
    world.clock.advance(Duration::from_mins(10));
    assert_eq!(exchanges.usable("example.com"), None);
}

#[tokio::test]
async fn permanent_lasts_five_minutes_and_not_now_half_a_one() {
    let world = World::with_example().await;
    world.dns.fault("example.com", Fault::ServFail);
    let exchanges = world.exchanges();
    for (domain, expected, seconds) in
        [("example.com", "not now", 30), ("missing.example", "5.1.2", 300)]
    {
        assert_eq!(verdict(&exchanges.look_up(domain).await), expected);
        world.clock.advance(Duration::from_secs(seconds - 1));
        assert!(exchanges.known(domain).is_some(), "{domain}");
        world.clock.advance(Duration::from_secs(1));
        assert!(exchanges.known(domain).is_none(), "{domain}");
    }
    world.dns.clear("example.com");
    assert_eq!(verdict(&exchanges.look_up("example.com").await), "hosts");
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_nothing_last_longer() {
    let world = World::with_example().await;
    let exchanges = world.exchanges();
    world.clock.advance(Duration::from_hours(24));
    exchanges.look_up("example.com").await;
    let earlier = MxResolver { clock: Clock::manual(NOW), ..exchanges };
    assert_eq!(earlier.known("example.com"), None);
}

#[tokio::test]
async fn a_domain_is_looked_up_once_however_many_ask() {
    let world = World::with_example().await;
    world.dns.fault("example.com", Fault::Slow(SILENCE));
    let exchanges = world.exchanges();
    let asking = repeat_with(|| exchanges.look_up("example.com")).take(50);
    let found = join_all(asking).await;
    assert!(found.iter().all(|it| verdict(it) == "hosts"));
    assert_eq!(world.dns.query_count(), 3, "MX, AAAA, A");
}

#[tokio::test]
async fn a_lookup_that_is_given_up_holds_nobody_back() {
    let world = World::with_example().await;
    world.dns.fault("example.com", Fault::Slow(SILENCE));
    let exchanges = world.exchanges();
    let mut first = Box::pin(exchanges.look_up("example.com"));
    assert!(first.as_mut().now_or_never().is_none());
    let second = exchanges.look_up("example.com");
    drop(first);
    assert_eq!(verdict(&second.await), "hosts");
}
