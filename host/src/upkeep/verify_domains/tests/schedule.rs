//! From 0 % to 100 % and back, by the clock.

use tokio_util::sync::CancellationToken;
use waxwing_dns::Fault;

use super::*;

#[tokio::test]
async fn a_domain_goes_from_0_to_100_percent_record_by_record() {
    let fixture = Fixture::new().await;
    let details = fixture.add("example.com").await;
    let id = details.row.domain.id;
    assert_eq!((phase(&details), progress(&details)), (Phase::Pending, 0));
    assert_eq!(pause(&fixture, &details), Some(Duration::from_mins(1)));
    for (purpose, percent) in [("ownership", 25), ("DKIM", 75), ("return path", 100)] {
        fixture.publish(&details, |it| it == purpose);
        assert_eq!(progress(&fixture.check(id).await), percent, "with {purpose}");
    }
    let details = fixture.check(id).await;
    assert_eq!(phase(&details), Phase::Verified);
    assert!(details.row.domain.standing.missing.is_empty());
    // The policy wants another look at what is only advised, within the host's bounds.
    let pause = pause(&fixture, &details).expect("checked from time to time");
    assert!((DAY / 5..=DAY * 11 / 10).contains(&pause), "{pause:?}");
    assert_eq!(fixture.events(id).await, ["domain.verified"]);
}

#[tokio::test]
async fn a_verified_domain_that_fails_is_warned_and_degraded_after_its_grace() {
    let fixture = Fixture::new().await;
    let id = fixture.verified("example.com").await.row.domain.id;
    let return_path = "bounce.example.com";
    fixture.dns.remove_all(return_path);
    let details = fixture.check(id).await;
    assert_eq!((phase(&details), progress(&details)), (Phase::Warned, 75));
    assert!(details.row.domain.standing.may_send());
    fixture.clock.advance(71 * HOUR);
    assert_eq!(phase(&fixture.check(id).await), Phase::Warned);
    fixture.clock.advance(2 * HOUR);
    let details = fixture.check(id).await;
    assert_eq!(phase(&details), Phase::Degraded);
    assert!(!details.row.domain.standing.may_send());
    fixture.dns.cname(return_path, "bounce.mail.example.net");
    assert_eq!(phase(&fixture.check(id).await), Phase::Verified);
    let events = ["domain.verified", "domain.warning", "domain.degraded", "domain.verified"];
    assert_eq!(fixture.events(id).await, events);
}

#[tokio::test]
async fn a_dead_resolver_never_degrades_a_domain() {
    let fixture = Fixture::waiting_for_answers(Duration::from_secs(1)).await;
    let id = fixture.verified("example.com").await.row.domain.id;
    for fault in [Fault::ServFail, Fault::Refused, Fault::Silent] {
        fixture.dns.fault_everything(Some(fault));
        let soon = fixture.check(id).await;
        assert!(pause(&fixture, &soon).expect("looked at again") < HOUR, "{fault:?}");
        fixture.clock.advance(100 * DAY);
        let details = fixture.check(id).await;
        assert_eq!((phase(&details), progress(&details)), (Phase::Verified, 100), "{fault:?}");
        assert!(details.check.expect("it is checked").unclear_since.is_some());
        fixture.dns.fault_everything(None);
        let seen = fixture.check(id).await;
        assert!(seen.check.expect("it is checked").unclear_since.is_none());
    }
    // Nor does it bring one that fails nearer to its end.
    fixture.dns.fault_everything(None);
    fixture.dns.remove_all("bounce.example.com");
    assert_eq!(phase(&fixture.check(id).await), Phase::Warned);
    fixture.dns.fault_everything(Some(Fault::ServFail));
    fixture.clock.advance(100 * DAY);
    assert_eq!(phase(&fixture.check(id).await), Phase::Warned);
}

#[tokio::test]
async fn a_domain_that_is_never_proven_is_given_up_and_still_answers_when_asked() {
    let fixture = Fixture::new().await;
    let details = fixture.add("example.com").await;
    let id = details.row.domain.id;
    fixture.clock.advance(29 * DAY);
    assert_eq!(phase(&fixture.check(id).await), Phase::Pending);
    fixture.clock.advance(2 * DAY);
    let given_up = fixture.check(id).await;
    assert_eq!((phase(&given_up), pause(&fixture, &given_up)), (Phase::Failed, None));
    fixture.publish(&details, |_| true);
    assert_eq!(phase(&fixture.check(id).await), Phase::Verified);
    assert_eq!(fixture.events(id).await, ["domain.failed", "domain.verified"]);
}

#[tokio::test]
async fn more_checks_than_there_are_places_are_made_without_being_asked_for() {
    let fixture = Fixture::new().await;
    let mut ids = Vec::new();
    for number in 0..24 {
        let details = fixture.add(&format!("d{}.example", "x".repeat(number))).await;
        fixture.publish(&details, |_| true);
        ids.push(details.row.domain.id);
    }
    fixture.clock.advance(Duration::from_mins(2));
    let stop = CancellationToken::new();
    let sweep = tokio::spawn(Arc::clone(&fixture.verifier).run(stop.clone()));
    let store = &fixture.verifier.store;
    let all_verified = async {
        for id in ids {
            while phase(&store.domain_details(id).await.expect("readable").expect("there"))
                != Phase::Verified
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), all_verified).await.expect("all are verified");
    stop.cancel();
    sweep.await.expect("it ends");
}

#[tokio::test]
async fn another_policy_judges_all_domains_soon() {
    let fixture = Fixture::new().await;
    let id = fixture.verified("example.com").await.row.domain.id;
    let store = &fixture.verifier.store;
    store.note("domain policy", "server=sha256:another#0").await.expect("noted");
    fixture.clock.advance(Duration::from_mins(1));
    let stop = CancellationToken::new();
    let sweep = tokio::spawn(Arc::clone(&fixture.verifier).run(stop.clone()));
    let judged_again = async {
        let number = || async {
            let details = store.domain_details(id).await.expect("readable").expect("there");
            details.check.expect("it is checked").number
        };
        let before = number().await;
        while number().await == before {
            fixture.clock.advance(Duration::from_secs(1));
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), judged_again).await.expect("it is judged again");
    stop.cancel();
    sweep.await.expect("it ends");
}

#[tokio::test]
async fn what_a_pending_domain_has_come_to_is_not_lost_while_dns_cannot_be_seen() {
    let fixture = Fixture::new().await;
    let details = fixture.add("example.com").await;
    let id = details.row.domain.id;
    fixture.publish(&details, |it| it == "ownership" || it == "DKIM");
    assert_eq!(progress(&fixture.check(id).await), 75);
    fixture.dns.fault_everything(Some(Fault::ServFail));
    for _ in 0..3 {
        let details = fixture.check(id).await;
        assert_eq!((phase(&details), progress(&details)), (Phase::Pending, 75));
    }
    fixture.dns.fault_everything(None);
    fixture.publish(&details, |it| it == "return path");
    assert_eq!(phase(&fixture.check(id).await), Phase::Verified);
}
