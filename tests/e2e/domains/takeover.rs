//! A domain is whoever's DNS says it is: nobody else gets it, and whoever has lost it loses it.

use std::time::Duration;

use waxwing_tests::until_async;

use super::{assert_not_verified, assert_unknown, holder, lab, send, send_later};
use crate::fixture::Database;

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn two_accounts_may_have_a_domain_and_each_needs_its_own_proof() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let name = "shared.example";
    let anns = server.verified_domain(&dns, &ann.key, name).await;
    let bobs = server.add_domain(&bob.key, name).await;
    assert_eq!((bobs.state(), bobs.progress()), ("pending", 0));
    for (ours, theirs) in anns.required().iter().zip(bobs.required()).take(3) {
        assert_ne!(ours.value(), theirs.value());
    }
    // All that Ann has published helps Bob to nothing but the return path, which is everybody's.
    let bobs = server.check_domain(&bob.key, name).await;
    assert_eq!((bobs.state(), bobs.progress()), ("pending", 25));
    let hint = bobs.record("ownership");
    assert!(hint.text("hint").contains("another domain or account"), "{hint:?}");
    assert_not_verified(&server, &bob.key, &bobs).await;

    bobs.publish(&dns);
    assert_eq!(server.check_domain(&bob.key, name).await.state(), "verified");
    let anns = server.check_domain(&ann.key, name).await;
    assert_eq!((anns.state(), anns.progress()), ("verified", 100), "both tokens are there");
    for key in [&ann.key, &bob.key] {
        send(&server, key, name, "ada@example.com").await;
    }
}

#[tokio::test]
async fn who_has_lost_a_domain_to_another_account_is_stopped_at_once() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let name = "sold.example";
    let anns = server.verified_domain(&dns, &ann.key, name).await;
    // The new owner takes what was there away, and proves the domain.
    anns.required()[0].withdraw(&dns);
    let bobs = server.verified_domain(&dns, &bob.key, name).await;
    // Nobody asks for a check of Ann's, and her grace would last for days.
    let lost = server.until_domain(&ann.key, name, "it is lost", |it| it.state() == "degraded");
    let lost = lost.await;
    assert_eq!(lost.events(), ["domain.verified", "domain.degraded"], "there was no warning");
    let detail = lost.0["events"][0]["detail"].as_str().expect("a detail");
    assert!(detail.contains("another account has proven the domain"), "{detail}");
    assert_not_verified(&server, &ann.key, &lost).await;
    send(&server, &bob.key, name, "ada@example.com").await;
    assert_eq!(server.domain(&bob.key, name).await, bobs, "nothing happened to the other one");

    // The same when the other account was there first, and the proof goes later.
    let name = "left.example";
    let anns = server.verified_domain(&dns, &ann.key, name).await;
    let bobs = server.verified_domain(&dns, &bob.key, name).await;
    anns.required()[0].withdraw(&dns);
    bobs.required()[0].publish(&dns);
    assert_eq!(server.check_domain(&ann.key, name).await.state(), "degraded");
    assert_eq!(server.check_domain(&bob.key, name).await.state(), "verified");
}

#[tokio::test]
async fn a_domain_and_one_below_it_prove_nothing_for_each_other() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let (above, below) = ("firm.example", "news.firm.example");
    let anns = server.verified_domain(&dns, &ann.key, above).await;
    assert_unknown(&server, &ann.key, below).await;

    let bobs = server.add_domain(&bob.key, below).await;
    assert_eq!(bobs.required()[0].name(), "_waxwing.news.firm.example");
    // Bob's token at Ann's name, and Ann's at Bob's.
    dns.txt("_waxwing.firm.example", bobs.required()[0].value());
    dns.txt("_waxwing.news.firm.example", anns.required()[0].value());
    let checked = server.check_domain(&bob.key, below).await;
    assert_eq!((checked.progress(), checked.record("ownership").status()), (0, "wrong"));
    assert_not_verified(&server, &bob.key, &checked).await;

    bobs.publish(&dns);
    assert_eq!(server.check_domain(&bob.key, below).await.state(), "verified");
    send(&server, &bob.key, below, "ada@example.com").await;
    assert_unknown(&server, &bob.key, above).await;
    assert_unknown(&server, &ann.key, below).await;
    send(&server, &ann.key, above, "ada@example.com").await;
}

#[tokio::test]
async fn a_proof_behind_an_alias_that_leaves_the_domain_does_not_count() {
    let (dns, server) = lab().await;
    let key = server.key();
    let domain = server.add_domain(key, "alias.example").await;
    domain.publish(&dns);
    let ownership = &domain.required()[0];
    ownership.withdraw(&dns);
    dns.cname(ownership.name(), "customer.cdn.example.net");
    dns.txt("customer.cdn.example.net", ownership.value());
    let checked = server.check_domain(key, "alias.example").await;
    assert_eq!((checked.state(), checked.progress()), ("pending", 75));
    let record = checked.record("ownership");
    assert_eq!(record.status(), "wrong", "{record:?}");
    assert!(record.text("hint").contains("leads out of the domain"), "{record:?}");
    assert_not_verified(&server, key, &checked).await;
    // A name that only ends in the same letters is not inside.
    dns.cname(ownership.name(), "proof.notalias.example");
    dns.txt("proof.notalias.example", ownership.value());
    assert_eq!(server.check_domain(key, "alias.example").await.progress(), 75);
    // Over another name of the domain, it is the domain's own.
    dns.cname(ownership.name(), "proof.alias.example");
    dns.txt("proof.alias.example", ownership.value());
    assert_eq!(server.check_domain(key, "alias.example").await.state(), "verified");
}

#[tokio::test]
async fn a_wildcard_of_the_domain_above_proves_nothing() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let anns = server.add_domain(&ann.key, "wild.example").await;
    anns.publish(&dns);
    dns.txt("*.wild.example", anns.required()[0].value());
    dns.txt("*.wild.example", "anything else");
    assert_eq!(server.check_domain(&ann.key, "wild.example").await.state(), "verified");
    let bobs = server.add_domain(&bob.key, "bob.wild.example").await;
    let checked = server.check_domain(&bob.key, "bob.wild.example").await;
    assert_eq!((checked.progress(), checked.record("ownership").status()), (0, "wrong"));
    assert_eq!(checked.required()[1].status(), "wrong", "it answers for keys too");
    // A wildcard alias to a host where everybody may publish: Bob does.
    dns.remove_all("*.wild.example");
    dns.cname("*.wild.example", "pages.example.net");
    dns.txt("pages.example.net", bobs.required()[0].value());
    let checked = server.check_domain(&bob.key, "bob.wild.example").await;
    assert_eq!((checked.progress(), checked.record("ownership").status()), (0, "wrong"));
    assert_not_verified(&server, &bob.key, &checked).await;
}

#[tokio::test]
async fn a_domain_that_comes_back_starts_anew() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let name = "back.example";
    let first = server.verified_domain(&dns, &ann.key, name).await;
    server.delete_domain(&ann.key, name).await;
    assert_unknown(&server, &ann.key, name).await;
    for account in [&ann, &bob] {
        let second = server.add_domain(&account.key, name).await;
        assert_ne!(second.text("id"), first.text("id"));
        assert!(second.events().is_empty());
        for (old, new) in first.required().iter().zip(second.required()).take(3) {
            assert_ne!(old.value(), new.value());
        }
        assert_ne!(first.selectors("signing"), second.selectors("signing"));
        let checked = server.check_domain(&account.key, name).await;
        assert_eq!((checked.state(), checked.progress()), ("pending", 25), "{checked:#?}");
        assert_not_verified(&server, &account.key, &checked).await;
    }
}

#[tokio::test]
async fn mail_that_waits_when_its_domain_is_removed_fails_and_is_refunded() {
    let (dns, server) = lab().await;
    let ann = holder(&server);
    let database = Database::of(&server).await;
    for (name, added_again) in [("removed.example", false), ("returned.example", true)] {
        drop(server.verified_domain(&dns, &ann.key, name).await);
        let before = server.balance(&ann.id);
        let id = send_later(&server, &ann.key, name, &format!("ada@{name}")).await;
        assert_eq!(server.balance(&ann.id), before - 1);
        server.delete_domain(&ann.key, name).await;
        if added_again {
            drop(server.add_domain(&ann.key, name).await);
        }
        let failed = || async {
            let message = server.message(&id);
            assert_ne!(message["state"], "delivered", "what is there now has not proven it");
            (message["state"] == "failed").then_some(message)
        };
        let message = until_async("it fails", SOON, failed).await;
        let reason = message["reason"].as_str().expect("a reason");
        assert!(reason.contains(name), "{reason}");
        assert_eq!(server.balance(&ann.id), before, "refunded");
    }
    assert!(server.inbox().await.is_empty());
    database.assert_sound().await;
}
