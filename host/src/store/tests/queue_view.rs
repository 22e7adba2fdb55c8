//! What is told to somebody who asks why mail waits.

use super::*;
use crate::store::WaitingGroup;

const SMALL: u32 = 256 << 10;

#[tokio::test]
async fn the_last_attempt_of_a_domain_is_that_of_any_of_its_messages() {
    let fixture = Fixture::with_credits(9).await;
    let store = &fixture.store;
    fixture.commit(&[fixture.job(3, 1).await]).await;
    let lane = store.all_due(NOW).await[0].lane.clone();
    let leases = lease(store, "one", NOW).await;
    for (lease, minutes) in leases.iter().zip([1, 3, 2]) {
        let mut settlement = settled(lease, deferred_until(NOW));
        settlement.attempt.ended_at = NOW.after(Duration::from_mins(minutes));
        settlement.attempt.reply = format!("after {minutes}");
        store.settle("one", &[settlement], NOW).await.expect("settles");
    }
    let last = store.last_attempts_in(&lane).await.expect("readable");
    let last: Vec<_> = last.iter().map(|it| (it.route.as_str(), it.reply.as_str())).collect();
    assert_eq!(last, [("direct", "after 3")]);
    lease(store, "one", NOW).await;
    let last = store.last_attempts_in(&lane).await.expect("readable");
    assert_eq!(last[0].reply, "after 3", "also while all are being sent");
}

#[tokio::test]
async fn due_messages_are_grouped_by_what_can_tell_them_apart() {
    let fixture = Fixture::with_credits(9).await;
    let store = &fixture.store;
    fixture.commit(&[fixture.job(4, 1).await]).await;
    let due = store.all_due(NOW).await;
    for (it, octets) in due.iter().zip([100_u32, 200, 300_000, 5_000_000]) {
        sql("UPDATE queue SET octets = $1 WHERE message_id = $2")
            .bind(octets)
            .bind(it.message_id)
            .run(&store.db.writer)
            .await
            .expect("works");
    }
    let groups = async |now| {
        let groups = store.waiting_in(&due[0].lane, SMALL, now).await.expect("readable");
        let of = |it: &WaitingGroup| (it.due.octets.unwrap_or(0), it.messages);
        let mut groups: Vec<_> = groups.iter().map(of).collect();
        groups.sort_unstable();
        groups
    };
    assert_eq!(groups(NOW).await, [(200, 2), (300_000, 1), (5_000_000, 1)]);
    let earlier = NOW.before(Duration::from_mins(1));
    assert_eq!(groups(earlier).await, [(5_000_000, 4)], "no size matters before they are due");
}
