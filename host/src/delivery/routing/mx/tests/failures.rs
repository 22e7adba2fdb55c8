//! DNS that fails: never taken for a fact.

use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn a_failure_of_the_domain_is_for_now() {
    let world = World::with_example().await;
    for fault in [Fault::ServFail, Fault::Refused, Fault::NotImplemented, Fault::Malformed] {
        world.dns.fault("example.com", fault);
        assert_eq!(
            verdict(&world.exchanges().look_up("example.com").await),
            "not now",
            "{fault:?}"
        );
    }
}

#[tokio::test]
async fn silence_is_for_now() {
    let world = World::with_example().await;
    for (fault, expected) in
        [(Fault::Silent, "not now"), (Fault::NoTcp, "not now"), (Fault::Truncated, "hosts")]
    {
        world.dns.fault("example.com", fault);
        let patience = if expected == "hosts" { PATIENCE } else { SILENCE };
        let settings = MxSettings { reach: Reach::Anywhere, ..MxSettings::default() };
        let resolver = world.resolver(patience);
        let exchanges = MxResolver::new(resolver, None, world.clock.clone(), settings);
        let found = exchanges.look_up("example.com").await;
        assert_eq!(verdict(&found), expected, "{fault:?}");
    }
}

#[tokio::test]
async fn a_failure_of_the_mx_does_not_lead_to_the_domains_own_address() {
    let world = World::new().await;
    world.address("example.com", "127.0.0.1");
    world.dns.fault("example.com", Fault::ServFail);
    let exchanges = world.exchanges();
    assert_eq!(verdict(&exchanges.look_up("example.com").await), "not now");
    let asked: Vec<_> = world.dns.queries().into_iter().map(|(_, asked)| asked).collect();
    assert_eq!(asked, ["MX"]);
}

#[tokio::test]
async fn a_host_of_which_nothing_is_known_is_left_out_for_a_moment() {
    let world = World::with_example().await;
    world.dns.mx("example.com", 5, "best.mail.example");
    world.address("best.mail.example", "127.0.0.5");
    world.dns.fault("best.mail.example", Fault::ServFail);
    let exchanges = world.exchanges();
    let found = exchanges.look_up("example.com").await;
    assert_eq!(shown(&found), ["mx.example.com 127.0.0.9"]);
    assert_eq!(hosts(&found).group, "example.com+mail.example", "whatever its host's state");

    world.dns.clear("best.mail.example");
    world.clock.advance(Duration::from_secs(29));
    assert_eq!(exchanges.look_up("example.com").await, found);
    world.clock.advance(Duration::from_secs(1));
    let found = exchanges.look_up("example.com").await;
    assert_eq!(shown(&found), ["best.mail.example 127.0.0.5", "mx.example.com 127.0.0.9"]);
}

#[tokio::test]
async fn without_any_host_it_is_for_now_if_one_of_them_may_have_an_address() {
    let world = World::new().await;
    world.dns.mx("example.com", 10, "gone.mail.example");
    world.dns.mx("example.com", 20, "mx.example.net");
    world.address("mx.example.net", "127.0.0.1");
    world.dns.fault("mx.example.net", Fault::ServFail);
    assert_eq!(verdict(&world.exchanges().look_up("example.com").await), "not now");
    world.dns.clear("mx.example.net");
    world.dns.remove_all("mx.example.net");
    assert_eq!(verdict(&world.exchanges().look_up("example.com").await), "5.4.4");
}
