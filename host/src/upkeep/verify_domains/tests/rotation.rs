//! New keys beside old ones.

use super::*;
use crate::domain::key::KeyPhase;

/// How many keys wait, sign and have signed.
fn keys(details: &DomainDetails) -> [usize; 3] {
    [KeyPhase::Next, KeyPhase::Signing, KeyPhase::Retired]
        .map(|phase| details.keys.iter().filter(|key| key.phase == phase).count())
}

fn signing(details: &DomainDetails) -> Vec<String> {
    let signing = details.keys.iter().filter(|key| key.phase == KeyPhase::Signing);
    signing.map(|key| key.selector.clone()).collect()
}

#[tokio::test]
async fn new_keys_sign_only_after_both_were_seen_and_old_ones_stay_for_a_week() {
    let fixture = Fixture::new().await;
    let before = fixture.verified("example.com").await;
    let id = before.row.domain.id;
    let begun = fixture.verifier.rotate(before.clone()).await.expect("begun");
    assert_eq!((keys(&begun), phase(&begun), progress(&begun)), ([2, 2, 0], Phase::Verified, 100));
    assert_eq!(signing(&begun), signing(&before));
    let again = fixture.verifier.rotate(begun.clone()).await.expect("goes on");
    assert_eq!(again.keys.len(), 4, "a second order begins no second rotation");

    let new: Vec<_> = begun.keys.iter().filter(|key| key.phase == KeyPhase::Next).collect();
    let publish = |index: usize, value: String| {
        let key = new[index];
        let kind = if key.algorithm.starts_with("rsa") { "rsa" } else { "ed25519" };
        let name = format!("{}._domainkey.example.com", key.selector);
        fixture.dns.txt(&name, &format!("v=DKIM1; k={kind}; p={value}"));
        name
    };
    publish(0, new[0].public_base64.clone());
    assert_eq!(keys(&fixture.check(id).await), [2, 2, 0], "one of two");
    let wrong = publish(1, new[0].public_base64.clone());
    assert_eq!(keys(&fixture.check(id).await), [2, 2, 0], "the second has another key");
    fixture.dns.remove_all(&wrong);
    publish(1, new[1].public_base64.clone());
    let rotated = fixture.check(id).await;
    assert_eq!((keys(&rotated), phase(&rotated)), ([0, 2, 2], Phase::Verified));
    assert_ne!(signing(&rotated), signing(&before));

    for selector in signing(&before) {
        fixture.dns.remove_all(&format!("{selector}._domainkey.example.com"));
    }
    let details = fixture.check(id).await;
    assert_eq!(
        (phase(&details), progress(&details)),
        (Phase::Verified, 100),
        "the old ones do not count"
    );
    fixture.clock.advance(8 * DAY);
    assert_eq!(keys(&fixture.check(id).await), [0, 2, 0]);
}

#[tokio::test]
async fn a_domain_that_does_not_send_gets_its_new_keys_at_once() {
    let fixture = Fixture::new().await;
    let details = fixture.add("example.com").await;
    let rotated = fixture.verifier.rotate(details.clone()).await.expect("rotated");
    assert_eq!(keys(&rotated), [0, 2, 0]);
    assert_ne!(signing(&rotated), signing(&details));
}

#[tokio::test]
async fn a_holder_never_has_to_keep_more_than_five_old_pairs() {
    let fixture = Fixture::new().await;
    let mut details = fixture.verified("example.com").await;
    for _ in 0..5 {
        details = fixture.verifier.rotate(details).await.expect("begun");
        fixture.publish(&details, |it| it == "DKIM");
        for key in &details.keys {
            // What was there already would stand twice.
            let name = format!("{}._domainkey.example.com", key.selector);
            fixture.dns.remove_all(&name);
        }
        fixture.publish(&details, |it| it == "DKIM");
        details = fixture.check(details.row.domain.id).await;
        assert_eq!(keys(&details)[0], 0, "the new pair signs");
    }
    let refused = fixture.verifier.rotate(details.clone()).await;
    assert!(matches!(refused, Err(DomainError::RotatedTooOften)), "{refused:?}");
    fixture.clock.advance(8 * DAY);
    let details = fixture.check(details.row.domain.id).await;
    assert_eq!(keys(&fixture.verifier.rotate(details).await.expect("begun again")), [2, 2, 0]);
}

#[tokio::test]
async fn mail_signed_by_a_degraded_domain_can_be_verified_after_a_rotation() {
    let fixture = Fixture::new().await;
    let before = fixture.verified("example.com").await;
    let id = before.row.domain.id;
    fixture.dns.remove_all("bounce.example.com");
    fixture.check(id).await;
    fixture.clock.advance(4 * DAY);
    let degraded = fixture.check(id).await;
    assert_eq!(phase(&degraded), Phase::Degraded);
    let rotated = fixture.verifier.rotate(degraded).await.expect("rotated");
    assert_eq!(keys(&rotated), [0, 2, 2], "the records of the old pair are still needed");
    assert_ne!(signing(&rotated), signing(&before));
}

#[tokio::test]
async fn a_rotation_is_looked_at_as_often_as_a_new_domain() {
    let fixture = Fixture::new().await;
    let details = fixture.verified("example.com").await;
    assert!(pause(&fixture, &details).expect("looked at") > HOUR);
    let begun = fixture.verifier.rotate(details).await.expect("begun");
    assert!(pause(&fixture, &begun).expect("looked at") < 2 * Duration::from_mins(1));
}

#[tokio::test]
async fn a_key_is_old_by_the_time_that_it_has_signed() {
    let fixture = Fixture::new().await;
    fixture.verified("example.com").await;
    let old = async |days: u32| {
        let before = fixture.clock.now().before(days * DAY);
        let found = fixture.verifier.store.old_signing_keys(before, 20).await.expect("readable");
        found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(old(365).await, Vec::<String>::new());
    fixture.clock.advance(400 * DAY);
    assert_eq!(old(365).await, ["example.com"], "one line for both of its keys");
}
