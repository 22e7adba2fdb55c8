//! CNAMEs, within a reply and over several.

use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn a_chain_across_zones_is_followed_and_told() {
    let (server, resolver) = started().await;
    server.cname("s1._domainkey.example.com", "S1.example-com.Sender.net");
    server.cname("s1.example-com.sender.net", "key.sender.org");
    server.txt("key.sender.org", "v=DKIM1; p=");
    for fault in [None, Some(Fault::OneLink)] {
        server.fault_everything(fault);
        let seen = resolver.look_up("S1._domainkey.example.com", RecordType::Txt).await;
        assert_eq!(data(&seen), [r#""v=DKIM1; p=""#]);
        assert_eq!(seen.cname_chain, ["s1.example-com.sender.net", "key.sender.org"]);
    }
}

#[tokio::test]
async fn asked_for_itself_a_cname_is_the_answer() {
    let (server, resolver) = started().await;
    server.cname("rp.example.com", "Bounces.sender.net");
    let seen = resolver.look_up("rp.example.com", RecordType::Cname).await;
    assert_eq!(data(&seen), ["bounces.sender.net"]);
    assert_eq!(seen.cname_chain, [] as [&str; 0]);
}

#[tokio::test]
async fn the_end_of_a_chain_may_not_exist_or_be_empty() {
    let (server, resolver) = started().await;
    server.cname("dangling.example.com", "gone.sender.net");
    server.cname("empty.example.com", "host.sender.net");
    server.ip("host.sender.net", [192, 0, 2, 1].into());
    for fault in [None, Some(Fault::OneLink)] {
        server.fault_everything(fault);
        for (name, target, expected) in [
            ("dangling.example.com", "gone.sender.net", Outcome::NxDomain),
            ("empty.example.com", "host.sender.net", Outcome::NoData),
        ] {
            let seen = resolver.look_up(name, RecordType::Txt).await;
            assert_eq!((seen.outcome, seen.cname_chain), (expected, vec![target.to_owned()]));
        }
    }
}

#[tokio::test]
async fn a_loop_fails_for_everybody_and_is_shown() {
    let (server, resolver) = started().await;
    server.cname("a.example.com", "b.example.com");
    server.cname("b.example.com", "a.example.com");
    server.cname("self.example.com", "self.example.com");
    for fault in [None, Some(Fault::OneLink)] {
        server.fault_everything(fault);
        let seen = resolver.look_up("a.example.com", RecordType::Txt).await;
        assert_eq!(seen.outcome, Outcome::ServFail);
        assert_eq!(seen.cname_chain, ["b.example.com", "a.example.com"]);
        let seen = resolver.look_up("self.example.com", RecordType::Txt).await;
        assert_eq!((seen.outcome, seen.cname_chain.len()), (Outcome::ServFail, 1));
    }
}

#[tokio::test]
async fn eight_links_are_followed_and_not_nine() {
    let (server, resolver) = started().await;
    for link in 0..9 {
        server.cname(&format!("n{link}.example.com"), &format!("n{}.example.com", link + 1));
    }
    server.txt("n9.example.com", "end");
    for fault in [None, Some(Fault::OneLink)] {
        server.fault_everything(fault);
        let eight = resolver.look_up("n1.example.com", RecordType::Txt).await;
        assert_eq!((data(&eight), eight.cname_chain.len()), (vec![r#""end""#], 8));
        let nine = resolver.look_up("n0.example.com", RecordType::Txt).await;
        assert_eq!((nine.outcome, nine.cname_chain.len()), (Outcome::ServFail, 9));
    }
}

#[tokio::test]
async fn a_failure_behind_a_cname_is_a_failure_with_its_chain() {
    let (server, resolver) = started().await;
    server.cname("a.example.com", "b.broken.example");
    server.fault("a.example.com", Fault::OneLink);
    server.fault("broken.example", Fault::ServFail);
    let seen = resolver.look_up("a.example.com", RecordType::Txt).await;
    assert_eq!(seen.outcome, Outcome::ServFail);
    assert_eq!(seen.cname_chain, ["b.broken.example"]);
}

#[tokio::test]
async fn a_delegated_zone_is_answered_as_any_other() {
    let (server, resolver) = started().await;
    server.ns("_domainkey.example.com", "ns.sender.net");
    server.txt("s1._domainkey.example.com", "v=DKIM1");
    let seen = resolver.look_up("s1._domainkey.example.com", RecordType::Txt).await;
    assert_eq!(data(&seen), [r#""v=DKIM1""#]);
    let seen = resolver.look_up("_domainkey.example.com", RecordType::Ns).await;
    assert_eq!(data(&seen), ["ns.sender.net"]);
}
