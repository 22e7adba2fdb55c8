//! What servers state: records, no data, no such name.

use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn a_record_is_seen_with_its_server_time_and_ttl() {
    let (server, resolver) = started().await;
    server.txt("_waxwing.example.com", "token=1");
    let seen = resolver.look_up("_waxwing.example.com", RecordType::Txt).await;
    assert_eq!(data(&seen), [r#""token=1""#]);
    assert_eq!(seen.outcome.answers().first().map(|it| it.ttl), Some(300));
    assert_eq!(seen.resolver, server.address().to_string());
    assert_eq!(seen.at, Timestamp::from_millis(7));
    assert_eq!((seen.cname_chain, seen.dnssec_secure), (vec![], false));
}

#[tokio::test]
async fn case_and_the_last_dot_make_no_difference() {
    let (server, resolver) = started().await;
    server.txt("example.com", "x");
    server.txt("xn--bcher-kva.example", "y");
    assert_eq!(data(&resolver.look_up("EXAMPLE.Com.", RecordType::Txt).await), [r#""x""#]);
    let seen = resolver.look_up("XN--Bcher-kva.example", RecordType::Txt).await;
    assert_eq!(data(&seen), [r#""y""#]);
}

#[tokio::test]
async fn no_data_and_no_such_name_are_told_apart() {
    let (server, resolver) = started().await;
    server.txt("a.example.com", "x");
    for (name, expected) in [
        ("a.example.com", Outcome::NoData),
        ("example.com", Outcome::NoData),
        ("b.example.com", Outcome::NxDomain),
    ] {
        let seen = resolver.look_up(name, RecordType::Mx).await;
        assert_eq!(seen.outcome, expected, "{name}");
        assert_eq!(seen.resolver, server.address().to_string());
    }
}

#[tokio::test]
async fn names_are_absolute() {
    let (server, resolver) = started().await;
    assert_eq!(resolver.look_up("localhost", RecordType::A).await.outcome, Outcome::NxDomain);
    assert_eq!(server.queries(), [("localhost".to_owned(), "A".to_owned())]);
}

#[tokio::test]
async fn what_cannot_be_a_name_does_not_exist_and_nobody_is_asked() {
    let (server, resolver) = started().await;
    for name in ["", "a..b", "bücher.example", &"a".repeat(64)] {
        let seen = resolver.look_up(name, RecordType::Txt).await;
        assert_eq!((seen.outcome, seen.resolver.as_str()), (Outcome::NxDomain, ""), "{name}");
    }
    assert_eq!(server.query_count(), 0);
}

#[tokio::test]
async fn every_type_has_its_presentation() {
    let (server, resolver) = started().await;
    let name = "all.example.com";
    for (of, presentation, expected) in [
        (RecordType::A, "192.0.2.1", "192.0.2.1"),
        (RecordType::Aaaa, "2001:DB8::1", "2001:db8::1"),
        (RecordType::Caa, "0 issue \"ca.example\"", "0 issue \"ca.example\""),
        (RecordType::Mx, "10 Mail.Example.com.", "10 mail.example.com"),
        (RecordType::Ns, "NS.example.net.", "ns.example.net"),
        (RecordType::Ptr, "Host.example.", "host.example"),
        (RecordType::Srv, "1 2 443 Host.example.", "1 2 443 host.example"),
        (RecordType::Tlsa, "3 1 1 00FF", "3 1 1 00ff"),
        (RecordType::Txt, "v=spf1 -all", "\"v=spf1 -all\""),
    ] {
        server.record(name, of.as_str(), presentation);
        let seen = resolver.look_up(name, of).await;
        assert_eq!(data(&seen), [expected], "{}", of.as_str());
        assert_eq!(RecordType::parse(&of.as_str().to_lowercase()), Some(of));
    }
    server.record("null.example.com", "MX", "0 .");
    assert_eq!(data(&resolver.look_up("null.example.com", RecordType::Mx).await), ["0 ."]);
}

#[tokio::test]
async fn two_records_are_two_answers_in_a_steady_order() {
    let (server, resolver) = started().await;
    server.txt("example.com", "v=spf1 -all");
    server.txt("example.com", "v=spf1 +all");
    let seen = resolver.look_up("example.com", RecordType::Txt).await;
    assert_eq!(data(&seen), [r#""v=spf1 +all""#, r#""v=spf1 -all""#]);
}

#[tokio::test]
async fn strings_of_a_text_are_kept_apart_and_joined_to_the_byte() {
    let (server, resolver) = started().await;
    let strings: [&[u8]; 3] = [b"v=DKIM1; p=MII", b"", b"\"\\\xff\x00"];
    server.txt_chunks("k._domainkey.example.com", &strings);
    server.txt_chunks("u.example.com", &[b"sch\xc3", b"\xb6n"]);
    let seen = resolver.look_up("k._domainkey.example.com", RecordType::Txt).await;
    assert_eq!(data(&seen), [r#""v=DKIM1; p=MII" "" "\"\\\255\000""#]);
    assert_eq!(text(data(&seen).concat().as_str()), strings.concat());
    assert_eq!(data(&resolver.look_up("u.example.com", RecordType::Txt).await), [r#""schö" "n""#]);
}

#[tokio::test]
async fn what_is_too_long_for_a_datagram_comes_over_tcp() {
    let (server, resolver) = started().await;
    let long: String = ('a'..='z').cycle().take(18_000).collect();
    server.txt("long.example.com", &long);
    let seen = resolver.look_up("long.example.com", RecordType::Txt).await;
    assert_eq!(text(data(&seen).concat().as_str()), long.as_bytes());
    assert_eq!(server.query_count(), 2, "a datagram, a connection");

    server.txt("short.example.com", "short");
    server.fault("short.example.com", Fault::Truncated);
    let seen = resolver.look_up("short.example.com", RecordType::Txt).await;
    assert_eq!(data(&seen), [r#""short""#]);
}

#[tokio::test]
async fn wildcards_answer_for_what_is_not_there() {
    let (server, resolver) = started().await;
    server.txt("*.example.com", "wild");
    server.ip("there.example.com", [192, 0, 2, 1].into());
    let wild = resolver.look_up("any.example.com", RecordType::Txt).await;
    assert_eq!(data(&wild), [r#""wild""#]);
    let there = resolver.look_up("there.example.com", RecordType::Txt).await;
    assert_eq!(there.outcome, Outcome::NoData);
}

#[tokio::test]
async fn only_records_of_the_asked_name_count() {
    let (server, resolver) = started().await;
    server.fault_everything(Some(Fault::Unrelated));
    server.txt("example.com", "own");
    server.cname("alias.example.com", "example.com");
    server.ip("empty.example.com", [192, 0, 2, 1].into());
    for name in ["example.com", "alias.example.com"] {
        let seen = resolver.look_up(name, RecordType::Txt).await;
        assert_eq!(data(&seen), [r#""own""#], "{name}");
    }
    for (name, expected) in
        [("empty.example.com", Outcome::ServFail), ("no.example.com", Outcome::NxDomain)]
    {
        assert_eq!(resolver.look_up(name, RecordType::Txt).await.outcome, expected);
    }
}

#[tokio::test]
async fn a_server_vouches_for_a_whole_chain_or_not_at_all() {
    let (server, resolver) = started().await;
    server.secure("signed.example");
    server.txt("a.signed.example", "x");
    server.txt("plain.example", "x");
    server.cname("b.signed.example", "plain.example");
    server.cname("c.signed.example", "plain.example");
    server.fault("c.signed.example", Fault::OneLink);
    for (name, secure) in [
        ("a.signed.example", true),
        ("no.signed.example", true),
        ("plain.example", false),
        ("b.signed.example", false),
        ("c.signed.example", false),
    ] {
        let seen = resolver.look_up(name, RecordType::Txt).await;
        assert_eq!(seen.dnssec_secure, secure, "{name}");
    }
}
