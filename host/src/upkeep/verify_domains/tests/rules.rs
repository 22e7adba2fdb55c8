//! Who may hold which name.

use super::*;
use crate::upkeep::verify_domains::{NameRefused, NotAdded};

#[tokio::test]
async fn whoever_proves_a_domain_ends_the_grace_of_one_who_cannot_any_more() {
    let fixture = Fixture::new().await;
    let old = fixture.verified("example.com").await;
    let id = old.row.domain.id;
    // The name was sold: of the old records none is left.
    for record in old.row.requirements.as_array().expect("records") {
        fixture.dns.remove_all(record["name"].as_str().expect("text"));
    }
    let owner = open_account(&fixture.verifier.store).await;
    let new = fixture.add_to(&owner, "example.com").await.expect("added");
    assert_eq!(phase(&fixture.check(new.row.domain.id).await), Phase::Pending);
    assert_eq!(phase(&fixture.check(id).await), Phase::Warned, "nobody else has proven it yet");
    fixture.publish(&new, |_| true);
    assert_eq!(phase(&fixture.check(new.row.domain.id).await), Phase::Verified);
    let due = fixture.verifier.store.next_domain_check().await.expect("readable");
    assert_eq!(due, Some(fixture.clock.now()), "the other is looked at now");
    assert_eq!(phase(&fixture.check(id).await), Phase::Degraded);
}

#[tokio::test]
async fn an_accident_that_takes_the_proofs_of_two_accounts_is_no_takeover() {
    let fixture = Fixture::new().await;
    let one = fixture.verified("example.com").await;
    let other = open_account(&fixture.verifier.store).await;
    let two = fixture.add_to(&other, "example.com").await.expect("added");
    fixture.publish(&two, |it| it != "return path" && it != "DMARC");
    assert_eq!(phase(&fixture.check(two.row.domain.id).await), Phase::Verified);
    fixture.dns.remove_all("_waxwing.example.com");
    assert_eq!(phase(&fixture.check(one.row.domain.id).await), Phase::Warned);
    assert_eq!(phase(&fixture.check(two.row.domain.id).await), Phase::Warned);
}

#[tokio::test]
async fn an_old_token_beside_the_new_one_gives_the_old_account_no_grace() {
    let fixture = Fixture::new().await;
    let old = fixture.verified("example.com").await;
    let id = old.row.domain.id;
    fixture.clock.advance(100 * DAY);
    let owner = open_account(&fixture.verifier.store).await;
    let new = fixture.add_to(&owner, "example.com").await.expect("added");
    fixture.publish(&new, |it| it != "return path" && it != "DMARC");
    assert_eq!(phase(&fixture.check(new.row.domain.id).await), Phase::Verified);
    fixture.clock.advance(HOUR);
    assert_eq!(phase(&fixture.check(id).await), Phase::Verified, "both tokens are there");
    fixture.clock.advance(10 * DAY);
    fixture.dns.remove_all("_waxwing.example.com");
    fixture.publish(&new, |it| it == "ownership");
    assert_eq!(phase(&fixture.check(id).await), Phase::Degraded);
}

#[tokio::test]
async fn of_two_long_holders_of_a_domain_one_that_loses_its_token_has_grace() {
    let fixture = Fixture::new().await;
    let one = fixture.verified("example.com").await;
    let other = open_account(&fixture.verifier.store).await;
    let two = fixture.add_to(&other, "example.com").await.expect("added");
    fixture.publish(&two, |it| it != "return path" && it != "DMARC");
    assert_eq!(phase(&fixture.check(two.row.domain.id).await), Phase::Verified);
    fixture.clock.advance(300 * DAY);
    assert_eq!(phase(&fixture.check(one.row.domain.id).await), Phase::Verified);
    fixture.dns.remove_all("_waxwing.example.com");
    fixture.publish(&two, |it| it == "ownership");
    assert_eq!(phase(&fixture.check(one.row.domain.id).await), Phase::Warned);
}

#[tokio::test]
async fn two_accounts_hold_a_domain_as_long_as_it_has_the_records_of_both() {
    let fixture = Fixture::new().await;
    let first = fixture.verified("example.com").await;
    let other = open_account(&fixture.verifier.store).await;
    let second = fixture.add_to(&other, "example.com").await.expect("added");
    assert_eq!(progress(&fixture.check(second.row.domain.id).await), 25, "the same return path");
    fixture.publish(&second, |it| it != "return path" && it != "DMARC");
    assert_eq!(phase(&fixture.check(second.row.domain.id).await), Phase::Verified);
    assert_eq!(phase(&fixture.check(first.row.domain.id).await), Phase::Verified);
}

#[tokio::test]
async fn a_name_that_looks_like_a_verified_one_of_another_account_is_not_added() {
    let fixture = Fixture::new().await;
    let late = open_account(&fixture.verifier.store).await;
    let early = fixture.add_to(&late, "paypa1.example").await.expect("added before the original");
    fixture.verified("paypal.example").await;
    let refused = fixture.add_to(&late, "раураӏ.example").await;
    assert!(
        matches!(refused, Err(DomainError::NotAdded(NotAdded::LooksLikeAnother))),
        "{refused:?}"
    );
    fixture.publish(&early, |_| true);
    let details = fixture.check(early.row.domain.id).await;
    assert_eq!(
        (phase(&details), progress(&details)),
        (Phase::Pending, 99),
        "nor is it verified later"
    );
    let own = fixture.add("paypaI.example").await;
    assert_eq!(phase(&own), Phase::Pending, "the same account may have both");
}

#[tokio::test]
async fn names_that_nobody_can_own_alone_and_names_beyond_the_bound_are_refused() {
    let fixture = Fixture::new().await;
    let refused = |name| fixture.add_to(&fixture.account, name);
    let suffix = refused("co.uk").await;
    assert!(matches!(suffix, Err(DomainError::Name(NameRefused::PublicSuffix))), "{suffix:?}");
    let mixed = refused("аpple.example").await;
    assert!(matches!(mixed, Err(DomainError::Name(NameRefused::MixedScripts))), "{mixed:?}");
    for number in 0..30 {
        fixture.add(&format!("a{}.example", "b".repeat(number))).await;
    }
    let label = "a".repeat(60);
    let long = format!("{label}.{label}.{label}.{label}.ex");
    let long = refused(&long).await;
    assert!(matches!(long, Err(DomainError::Name(NameRefused::TooLong))), "{long:?}");
    let twice = refused("ab.example").await;
    assert!(matches!(twice, Err(DomainError::NotAdded(NotAdded::Exists))), "{twice:?}");
    let many = refused("c.example").await;
    assert!(matches!(many, Err(DomainError::NotAdded(NotAdded::TooMany(30)))), "{many:?}");
}

#[tokio::test]
async fn a_domain_that_comes_back_has_a_new_proof_and_new_keys() {
    let fixture = Fixture::new().await;
    let before = fixture.verified("example.com").await;
    fixture.verifier.store.remove_domain(before.row.domain.id).await.expect("removed");
    let after = fixture.add("example.com").await;
    let details = fixture.check(after.row.domain.id).await;
    assert_eq!(
        (phase(&details), progress(&details)),
        (Phase::Pending, 25),
        "the old records do not count"
    );
    assert_ne!(after.row.domain.verification_token, before.row.domain.verification_token);
    assert!(after.keys.iter().all(|key| before.keys.iter().all(|it| it.selector != key.selector)));
}
