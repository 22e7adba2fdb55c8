//! Which hosts a domain has.

use super::*;

#[tokio::test]
async fn hosts_come_by_preference_each_with_its_addresses() {
    let world = World::new().await;
    world.dns.mx("example.com", 20, "b.mail.example");
    world.dns.mx("example.com", 10, "a.mail.example");
    world.dns.mx("example.com", 30, "gone.mail.example");
    for address in ["127.0.0.1", "::1"] {
        world.address("a.mail.example", address);
    }
    world.address("b.mail.example", "127.0.0.2");
    let found = world.exchanges().look_up("example.com").await;
    assert_eq!(shown(&found), ["a.mail.example ::1 127.0.0.1", "b.mail.example 127.0.0.2"]);
    let hosts = hosts(&found);
    assert_eq!((hosts.group.as_str(), &hosts.policy), ("mail.example", &None));
    assert!(hosts.hosts.iter().all(|it| it.allowed_by_policy));
}

#[tokio::test]
async fn both_families_take_turns_and_the_first_is_ipv6() {
    let world = World::new().await;
    for address in ["127.0.0.1", "127.0.0.2", "127.0.0.3", "::1"] {
        world.address("example.com", address);
    }
    let found = world.exchanges().look_up("example.com").await;
    let families: String = hosts(&found).hosts[0]
        .addresses
        .iter()
        .map(|it| if it.is_ipv6() { '6' } else { '4' })
        .collect();
    assert_eq!(families, "6444");
}

#[tokio::test]
async fn only_the_kinds_of_addresses_that_are_set_are_asked_for() {
    let world = World::with_example().await;
    world.address("mx.example.com", "::1");
    world.address("four.example", "127.0.0.4");
    for (addresses, expected, four, asked) in [
        (AddressFamilies::Ipv4, "mx.example.com 127.0.0.9", "hosts", "A"),
        (AddressFamilies::Ipv6, "mx.example.com ::1", "5.1.2", "AAAA"),
    ] {
        world.dns.forget_queries();
        let settings = MxSettings { addresses, reach: Reach::Anywhere, own_names: Vec::new() };
        let exchanges = world.exchanges_with(settings);
        assert_eq!(shown(&exchanges.look_up("example.com").await), [expected]);
        assert_eq!(verdict(&exchanges.look_up("four.example").await), four);
        let types: Vec<_> = world.dns.queries().into_iter().map(|(_, asked)| asked).collect();
        assert_eq!(types, ["MX", asked, "MX", asked]);
        let six = exchanges.look_up("[IPv6:::1]").await;
        assert_eq!(verdict(&six), if asked == "AAAA" { "hosts" } else { "5.4.4" });
    }
}

#[tokio::test]
async fn a_domain_without_mx_is_its_own_host() {
    let world = World::new().await;
    world.address("four.example", "127.0.0.4");
    world.address("six.example", "::1");
    world.dns.txt("none.example", "neither MX nor address");
    let exchanges = world.exchanges();
    assert_eq!(shown(&exchanges.look_up("four.example").await), ["four.example 127.0.0.4"]);
    assert_eq!(shown(&exchanges.look_up("six.example").await), ["six.example ::1"]);
    assert_eq!(verdict(&exchanges.look_up("none.example").await), "5.1.2");
}

#[tokio::test]
async fn aliases_are_followed_of_domains_and_of_hosts() {
    let world = World::with_example().await;
    world.dns.cname("alias.example", "example.com");
    world.dns.mx("other.example", 10, "mx.other.example");
    world.dns.cname("mx.other.example", "mx.example.com");
    let exchanges = world.exchanges();
    let alias = exchanges.look_up("alias.example").await;
    assert_eq!(shown(&alias), ["mx.example.com 127.0.0.9"]);
    let other = exchanges.look_up("other.example").await;
    assert_eq!(shown(&other), ["mx.other.example 127.0.0.9"]);
    assert_eq!(hosts(&other).group, "other.example");
}

#[tokio::test]
async fn what_takes_no_mail_for_good_has_a_code() {
    let world = World::new().await;
    world.dns.mx("null.example", 0, "");
    world.dns.mx("loop.example", 10, "us.example");
    world.dns.mx("loop.example", 20, "backup.example");
    world.address("us.example", "127.0.0.1");
    world.address("backup.example", "127.0.0.2");
    world.dns.mx("bare.example", 10, "bare.mail.example");
    world.dns.txt("bare.mail.example", "no address");
    world.dns.mx("number.example", 10, "192.0.2.1");
    let exchanges = world.exchanges_with(MxSettings {
        reach: Reach::Anywhere,
        own_names: vec!["us.example".to_owned()],
        ..MxSettings::default()
    });
    for (domain, expected) in [
        ("null.example", "5.1.10"),
        ("missing.example", "5.1.2"),
        ("loop.example", "5.4.6"),
        ("us.example", "5.4.6"),
        ("bare.example", "5.4.4"),
        ("number.example", "5.4.4"),
        ("localhost", "5.1.2"),
        ("a b.example", "5.1.2"),
        ("[192.0.2]", "5.1.2"),
        ("[2001:db8::1]", "5.1.2"),
        ("[IPv6:192.0.2.1]", "5.1.2"),
        ("[x-tag:y]", "5.1.2"),
        ("[", "5.1.2"),
    ] {
        assert_eq!(verdict(&exchanges.look_up(domain).await), expected, "{domain}");
    }
}

#[tokio::test]
async fn addresses_inside_this_network_are_refused_unless_allowed() {
    let world = World::with_example().await;
    world.address("metadata.example", "169.254.169.254");
    world.dns.mx("mixed.example", 10, "mx.example.com");
    world.dns.mx("mixed.example", 20, "public.example");
    world.address("public.example", "10.0.0.1");
    world.address("public.example", "1.1.1.1");
    let public = world.exchanges_with(MxSettings::default());
    for (domain, expected) in [
        ("example.com", "5.4.4"),
        ("metadata.example", "5.1.2"),
        ("[127.0.0.1]", "5.4.4"),
        ("[IPv6:::ffff:127.0.0.1]", "5.4.4"),
        ("[1.1.1.1]", "hosts"),
    ] {
        assert_eq!(verdict(&public.look_up(domain).await), expected, "{domain}");
    }
    assert_eq!(shown(&public.look_up("mixed.example").await), ["public.example 1.1.1.1"]);
    assert_eq!(verdict(&world.exchanges().look_up("example.com").await), "hosts");
}

#[tokio::test]
async fn an_address_literal_is_its_own_host_and_nobody_is_asked() {
    let world = World::new().await;
    let exchanges = world.exchanges();
    for (domain, name, address) in [
        ("[127.0.0.1]", "[127.0.0.1]", "127.0.0.1"),
        ("[IPv6:0:0::1]", "[IPv6:::1]", "::1"),
        ("[ipv6:::1]", "[IPv6:::1]", "::1"),
    ] {
        let found = exchanges.look_up(domain).await;
        assert_eq!(shown(&found), [format!("{name} {address}")]);
        assert_eq!(hosts(&found).group, name);
    }
    assert_eq!(world.dns.query_count(), 0);
}

#[tokio::test]
async fn hosts_and_addresses_are_bounded() {
    let world = World::new().await;
    for index in 0..20_u16 {
        world.dns.mx("many.example", index, &format!("mx{index}.example"));
        world.address(&format!("mx{index}.example"), "127.0.0.1");
    }
    for index in 1..12 {
        world.address("mx3.example", &format!("127.0.1.{index}"));
    }
    let found = world.exchanges().look_up("many.example").await;
    let hosts = &hosts(&found).hosts;
    assert_eq!((hosts.len(), hosts[15].name.as_str()), (16, "mx15.example"));
    assert_eq!(hosts[3].addresses.len(), 8);
    let asked = world.dns.queries();
    assert!(
        asked.len() == 33 && !asked.iter().any(|(name, _)| name == "mx16.example"),
        "{asked:?}"
    );
}
