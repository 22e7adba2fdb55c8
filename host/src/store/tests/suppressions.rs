//! Suppression lists: what is stronger stays, what has expired is not there.

use super::*;
use crate::store::SuppressionPage;

fn wish(
    fixture: &Fixture,
    address: &str,
    kind: SuppressionKind,
    hours: Option<u64>,
) -> NewSuppression {
    NewSuppression {
        account_id: fixture.account,
        address: address.to_owned(),
        kind,
        reason: format!("{kind:?}"),
        message_id: None,
        expires_at: hours.map(|it| NOW.after(Duration::from_hours(it))),
    }
}

async fn page(
    fixture: &Fixture,
    kind: Option<SuppressionKind>,
    after: Option<&str>,
    limit: u32,
    now: Timestamp,
) -> SuppressionPage {
    let page = fixture.store.suppressions(fixture.account, kind, after, limit, now).await;
    page.expect("readable")
}

fn addresses(page: &SuppressionPage) -> Vec<&str> {
    page.suppressions.iter().map(|it| it.address.as_str()).collect()
}

#[tokio::test]
async fn what_stands_there_and_is_stronger_stays() {
    let fixture = Fixture::with_credits(0).await;
    for (first, second, stays) in [
        ((SuppressionKind::Manual, Some(1)), (SuppressionKind::Bounce, None), "bounce"),
        ((SuppressionKind::Manual, None), (SuppressionKind::Bounce, Some(1)), "manual"),
        ((SuppressionKind::Complaint, None), (SuppressionKind::Manual, None), "complaint"),
        ((SuppressionKind::Bounce, Some(1)), (SuppressionKind::Complaint, None), "complaint"),
    ] {
        let new = [first, second].map(|(kind, hours)| wish(&fixture, "a@b.example", kind, hours));
        let added = fixture.store.suppress_all(&new, NOW).await.expect("written");
        assert_eq!((added[0].before, added[1].before), (false, true));
        assert_eq!(added[1].row.kind.as_str(), stays);
        let off = fixture.store.unsuppress(fixture.account, "a@b.example", NOW).await;
        assert!(off.expect("written"));
    }
    let off = fixture.store.unsuppress(fixture.account, "a@b.example", NOW).await;
    assert!(!off.expect("written"), "it is off already");
}

#[tokio::test]
async fn lists_come_in_pages_by_address_and_without_what_has_expired() {
    let fixture = Fixture::with_credits(0).await;
    let kinds = [SuppressionKind::Manual, SuppressionKind::Bounce];
    let new: Vec<NewSuppression> = (0..6)
        .map(|n| {
            let hours = (n == 3).then_some(1);
            wish(&fixture, &format!("n{n}@b.example"), kinds[n % 2], hours)
        })
        .collect();
    fixture.store.suppress_all(&new, NOW).await.expect("written");
    let first = page(&fixture, None, None, 4, NOW).await;
    assert_eq!(addresses(&first), ["n0@b.example", "n1@b.example", "n2@b.example", "n3@b.example"]);
    let rest = page(&fixture, None, first.next.as_deref(), 4, NOW).await;
    assert_eq!((addresses(&rest), &rest.next), (vec!["n4@b.example", "n5@b.example"], &None));
    let bounces = page(&fixture, Some(SuppressionKind::Bounce), None, 50, NOW).await;
    assert_eq!(addresses(&bounces), ["n1@b.example", "n3@b.example", "n5@b.example"]);
    let later = NOW.after(Duration::from_hours(1));
    assert_eq!(addresses(&page(&fixture, None, None, 50, later).await).len(), 5);
    let gone = fixture.store.suppression(fixture.account, "n3@b.example", later).await;
    assert_eq!(gone.expect("readable"), None);
    let off = fixture.store.unsuppress(fixture.account, "n3@b.example", later).await;
    assert!(!off.expect("written"), "it was there no more");
    let again = wish(&fixture, "n0@b.example", SuppressionKind::Manual, Some(9));
    let again = fixture.store.suppress_all(&[again], later).await.expect("written");
    assert!(again[0].before && again[0].row.expires_at.is_none(), "for ever stays");
}
