//! What a domain policy says, an account holder sees; what it must not be able to do, the server does
//! not let it: neither a careless policy nor one that crashes.

use serde_json::Value;
use sha2::{Digest, Sha256};
use waxwing_dns::DnsServer;
use waxwing_tests::{Domain, Server};

use super::{assert_not_verified, holder, lab, send};
use crate::fixture::Database;

const DOMAIN: &str = "domain-policy";

/// The guests are built before anything is started, for that may take its time.
async fn lab_with_guests() -> (DnsServer, Server) {
    drop(waxwing_guests::build());
    lab().await
}

/// A component and its digest.
fn guest(name: &str) -> (Vec<u8>, String) {
    let bytes = waxwing_guests::component(name);
    let digest = Sha256::digest(&bytes).iter().fold("sha256:".to_owned(), |text, byte| {
        let (high, low) = (byte >> 4, byte & 0xf);
        text + &format!("{high:x}{low:x}")
    });
    (bytes, digest)
}

/// Puts a guest in the place of the built-in policy, and waits until it is live.
async fn install(server: &Server, name: &str) {
    let (bytes, digest) = guest(name);
    server.swap(DOMAIN, &bytes, &digest).await;
}

/// The same with one that would fail calls that were recorded: it waits for the operator, who does not
/// care.
async fn insist(server: &Server, name: &str) {
    let (bytes, digest) = guest(name);
    server.place("domain-policy.wasm", bytes);
    drop(server.at_stage(DOMAIN, "waiting").await);
    assert_eq!(server.order(DOMAIN, "activate").await.status, 200);
    drop(server.live(DOMAIN, &digest).await);
}

async fn added_and_checked(server: &Server, name: &str) -> Domain {
    drop(server.add_domain(server.key(), name).await);
    server.check_domain(server.key(), name).await
}

#[tokio::test]
async fn a_policy_that_accepts_everything_verifies_nothing_without_the_proof() {
    let (dns, server) = lab_with_guests().await;
    install(&server, "lenient-domain").await;
    let domain = added_and_checked(&server, "lenient.example").await;
    let ownership = domain.record("ownership");
    assert_eq!((ownership.status(), domain.record("other").status()), ("missing", "satisfied"));
    assert_eq!((domain.state(), domain.progress()), ("pending", 50));
    assert_not_verified(&server, server.key(), &domain).await;
    // Somebody else's token.
    dns.txt(ownership.name(), "token=00000000000000000000000000000000");
    let domain = server.check_domain(server.key(), "lenient.example").await;
    assert_eq!((domain.state(), domain.record("ownership").status()), ("pending", "wrong"));
    let hint = domain.record("ownership");
    assert!(hint.text("hint").contains("does not see this domain's token"), "{hint:?}");
    // It decides what else is needed, and here it is nothing.
    dns.txt(ownership.name(), ownership.value());
    let domain = server.check_domain(server.key(), "lenient.example").await;
    assert_eq!((domain.state(), domain.progress()), ("verified", 100));
    assert_eq!(domain.0["decision"]["name"], "lenient-domain", "{}", domain.0["decision"]);
}

#[tokio::test]
async fn a_policy_that_asks_for_no_proof_or_for_one_elsewhere_verifies_nothing() {
    let (dns, server) = lab_with_guests().await;
    install(&server, "lenient-domain").await;
    let free = added_and_checked(&server, "free.example").await;
    assert_eq!((free.state(), free.progress(), free.records().len()), ("pending", 0, 0));
    assert_eq!(free.missing(), ["ownership: the domain policy does not ask for it"]);
    assert_not_verified(&server, server.key(), &free).await;

    let outside = added_and_checked(&server, "outside.example").await;
    let ownership = outside.record("ownership");
    assert_eq!(ownership.name(), "_waxwing.everybody.example");
    dns.txt(ownership.name(), ownership.value());
    let outside = server.check_domain(server.key(), "outside.example").await;
    assert_eq!((outside.state(), outside.record("ownership").status()), ("pending", "wrong"));
    assert_not_verified(&server, server.key(), &outside).await;

    let silent = added_and_checked(&server, "silent.example").await;
    assert_eq!((silent.state(), silent.progress()), ("pending", 0));
    assert_eq!(silent.record("other").status(), "unknown", "it was not judged");
}

#[tokio::test]
async fn a_policy_that_gives_no_answer_is_told_as_the_servers_fault() {
    let (_dns, server) = lab_with_guests().await;
    install(&server, "lenient-domain").await;
    for name in ["trap-require.example", "many.example"] {
        let answer = server.try_add_domain(server.key(), name).await;
        answer.assert_refused(503, "UNAVAILABLE");
        assert!(
            !answer.body.to_string().contains("panics"),
            "the operator's words: {}",
            answer.body
        );
    }
    let list = server.cli(&["domain", "list", "--account", server.dev_output("accountId")]);
    assert_eq!(list.as_array().map(Vec::len), Some(1), "nothing was added: {list}");
    let greedy = added_and_checked(&server, "greedy.example").await;
    let failure = greedy.text("failure");
    assert!(failure.contains("goes on asking for lookups"), "{failure}");
    assert_eq!((greedy.state(), greedy.progress()), ("pending", 0));
    assert!(greedy.0["checkedAt"].is_string());
    let asked = greedy.0["lookups"].as_array().expect("lookups").len();
    assert!((3..=22).contains(&asked), "bounded: {asked}");
}

#[tokio::test]
async fn a_policy_that_crashes_takes_nothing_from_a_verified_domain() {
    let (dns, server) = lab_with_guests().await;
    let (key, name) = (server.key(), "trap-judge.example");
    let before = server.verified_domain(&dns, key, name).await;
    insist(&server, "lenient-domain").await;
    // Not even when its other records are gone: nobody has judged that.
    before.required()[1..].iter().for_each(|it| it.withdraw(&dns));
    for n in 0..10 {
        let domain = server.check_domain(key, name).await;
        if domain.0["failure"] == Value::Null {
            break;
        }
        assert_eq!((domain.state(), domain.progress()), ("verified", 100));
        assert!(domain.0["unclearSince"].is_string() && domain.0["nextCheckAt"].is_string());
        assert_eq!(domain.0["records"], before.0["records"], "the last verdict stands");
        assert!(!domain.text("failure").contains("panics"), "{}", domain.text("failure"));
        assert_eq!(domain.events(), ["domain.verified"]);
        send(&server, key, name, &format!("n{n}@example.com")).await;
    }
    // The calls above need not have met a crash: a check that was due by itself may have met all that lead to the roll-back.
    assert!(server.log().contains("lenient-domain panics in judge"), "the operator is told");
    // With the built-in policy back in its place, whatever has put it there, the domain is judged.
    if server.slot(DOMAIN).await["active"]["builtin"] == false {
        assert_eq!(server.order(DOMAIN, "disable").await.status, 200);
    }
    server.built_in(DOMAIN).await;
    before.publish(&dns);
    let domain = server.check_domain(key, name).await;
    assert_eq!((domain.state(), &domain.0["failure"]), ("verified", &Value::Null));
    assert_eq!(domain.0["unclearSince"], Value::Null);
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn a_policy_that_crashes_keeps_no_domain_for_who_has_lost_it() {
    let (dns, server) = lab_with_guests().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let name = "trap-judge.example";
    let anns = server.verified_domain(&dns, &ann.key, name).await;
    drop(server.verified_domain(&dns, &bob.key, name).await);
    insist(&server, "lenient-domain").await;
    let ownership = anns.record("ownership");
    ownership.withdraw(&dns);
    server.domain(&bob.key, name).await.record("ownership").publish(&dns);
    let lost = server.check_domain(&ann.key, name).await;
    assert_eq!(lost.state(), "degraded", "{lost:#?}");
    assert_not_verified(&server, &ann.key, &lost).await;
    assert_eq!(server.check_domain(&bob.key, name).await.state(), "verified");
    send(&server, &bob.key, name, "ada@example.com").await;
}

#[tokio::test]
async fn all_domains_are_judged_anew_when_another_policy_is_live() {
    let (dns, server) = lab_with_guests().await;
    let key = server.key();
    for n in 0..3 {
        drop(server.verified_domain(&dns, key, &format!("anew{n}.example")).await);
    }
    install(&server, "strict-domain").await;
    for n in 0..3 {
        let name = format!("anew{n}.example");
        let judged = |it: &Domain| it.0["decision"]["name"] == "strict-domain";
        let domain = server.until_domain(key, &name, "it is judged by the new one", judged).await;
        assert_eq!(domain.state(), "warned", "what it wants is not there, and there is a grace");
        assert!(domain.records().iter().any(|it| it.text("id") == "mx"));
        send(&server, key, &name, "ada@example.com").await;
    }
    assert_eq!(server.order(DOMAIN, "disable").await.status, 200);
    for n in 0..3 {
        let name = format!("anew{n}.example");
        let is_back = |it: &Domain| it.state() == "verified";
        drop(server.until_domain(key, &name, "it is verified again", is_back).await);
    }
}
