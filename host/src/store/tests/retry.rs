//! Messages that go on before their time.

use super::*;
use crate::id::Identifier as _;
use crate::message::waits_for::WaitsFor;
use crate::store::{RetryFilter, RetryOutcome};

/// Messages that are deferred for an hour, and wait for that host.
async fn deferred(fixture: &Fixture, messages: u64, waits_for: Option<&str>) -> Vec<MessageId> {
    let mut ids = Vec::new();
    for _ in 0..messages {
        fixture.commit(&[fixture.job(1, 1).await]).await;
        for it in lease(&fixture.store, "one", NOW).await {
            let next_attempt = NOW.after(Duration::from_hours(1));
            let waits_for = waits_for.map(waiting);
            let deferred = settled(&it, AfterAttempt::Deferred { next_attempt, waits_for });
            fixture.store.settle("one", &[deferred], NOW).await.expect("settles");
            ids.push(it.message_id);
        }
    }
    ids
}

fn waiting(text: &str) -> WaitsFor {
    text.parse().expect("every text is read")
}

async fn due(store: &Store, now: Timestamp) -> Vec<Due> {
    store.all_due(now).await
}

#[tokio::test]
async fn a_deferred_message_is_due_when_somebody_wants_it_and_only_once() {
    let fixture = Fixture::with_credits(9).await;
    let store = &fixture.store;
    let ids = deferred(&fixture, 2, Some("mx.example")).await;
    assert!(due(store, NOW).await.is_empty());
    assert_eq!(store.retry(ids[0], NOW).await.expect("works"), RetryOutcome::Now);
    let wanted = due(store, NOW).await;
    assert_eq!((wanted.len(), wanted[0].message_id, wanted[0].is_wanted), (1, ids[0], true));
    let leases = lease(store, "one", NOW).await;
    assert_eq!(store.retry(ids[0], NOW).await.expect("works"), RetryOutcome::Now, "it is sent now");
    let later = NOW.after(Duration::from_mins(5));
    let settlement = settled(&leases[0], deferred_until(later));
    store.settle("one", &[settlement], NOW).await.expect("settles");
    assert!(due(store, later).await.iter().all(|it| !it.is_wanted));
    let leases = lease(store, "one", later).await;
    let settlement = settled(&leases[0], AfterAttempt::Delivered);
    store.settle("one", &[settlement], later).await.expect("settles");
    let gone = store.retry(ids[0], later).await.expect("works");
    assert_eq!(gone, RetryOutcome::Not(MessageState::Delivered));
    assert!(store.retry(MessageId::new(NOW), NOW).await.is_err(), "there is no such message");
}

#[tokio::test]
async fn all_of_a_kind_are_wanted_and_what_is_scheduled_is_not() {
    let fixture = Fixture::with_credits(9).await;
    let store = &fixture.store;
    deferred(&fixture, 3, None).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let scheduled = "UPDATE queue SET due_at = due_at + 60000 WHERE attempts = 0";
    sql(scheduled).run(&store.db.writer).await.expect("works");
    let of = async |wanted: RetryFilter| store.retry_all(&wanted, NOW).await.expect("works");
    let elsewhere = Some("elsewhere.example".to_owned());
    assert_eq!(of(RetryFilter { domain: elsewhere, ..RetryFilter::default() }).await, 0);
    let stranger = Some(AccountId::new(NOW));
    assert_eq!(of(RetryFilter { account: stranger, ..RetryFilter::default() }).await, 0);
    assert_eq!(
        of(RetryFilter { account: Some(fixture.account), ..RetryFilter::default() }).await,
        3
    );
    assert_eq!(of(RetryFilter::default()).await, 0, "they are due already");
    assert_eq!(due(store, NOW).await.len(), 3);
}

#[tokio::test]
async fn what_waits_for_hosts_is_requeued_for_them_and_for_nobody_else() {
    let fixture = Fixture::with_credits(20).await;
    let store = &fixture.store;
    deferred(&fixture, 3, Some("a.example")).await;
    deferred(&fixture, 2, Some("b.example")).await;
    deferred(&fixture, 1, None).await;
    let requeue = async |hosts: &[&str], most| {
        let hosts = hosts.iter().map(|it| waiting(it)).collect();
        store.requeue(&hosts, most, NOW).await.expect("works")
    };
    assert_eq!(requeue(&["c.example"], 10).await, 0);
    let hosts = ["b.example", "c.example"].map(waiting).into();
    let waited_for = store.waited_for(&hosts).await.expect("readable");
    assert_eq!(waited_for, [waiting("b.example")].into());
    assert_eq!(requeue(&["a.example"], 2).await, 2);
    assert_eq!(due(store, NOW).await.len(), 2);
    assert_eq!(requeue(&["a.example", "b.example"], 10).await, 3);
    assert_eq!(requeue(&["a.example", "b.example"], 10).await, 0);
    assert!(due(store, NOW).await.iter().all(|it| !it.is_wanted));
}

#[tokio::test]
async fn after_a_start_one_message_tries_each_destination() {
    let fixture = Fixture::with_credits(20).await;
    let first = deferred(&fixture, 3, Some("a.example")).await;
    deferred(&fixture, 2, Some("b.example")).await;
    deferred(&fixture, 1, None).await;
    assert_eq!(fixture.store.requeue_one_of_each("b", NOW).await.expect("works"), (1, None));
    assert_eq!(fixture.store.requeue_one_of_each("", NOW).await.expect("works"), (2, None));
    let due = due(&fixture.store, NOW).await;
    assert_eq!(due.len(), 3);
    assert!(due.iter().any(|it| first.contains(&it.message_id)));
}

#[tokio::test]
async fn after_a_back_off_one_of_many_probes_and_few_wait_for_their_own_time() {
    let fixture = Fixture::with_credits(20).await;
    let store = &fixture.store;
    deferred(&fixture, 3, Some("a.example")).await;
    let requeue = async |many| {
        store.requeue_one_of_many(&waiting("a.example"), many, NOW).await.expect("works")
    };
    assert_eq!(requeue(4).await, 0);
    assert_eq!(requeue(3).await, 1);
    assert_eq!(due(store, NOW).await.len(), 1);
}

#[tokio::test]
async fn on_another_way_all_go_on_that_wait_for_a_destination_and_no_others() {
    let fixture = Fixture::with_credits(20).await;
    let store = &fixture.store;
    let mut on_hosts = deferred(&fixture, 2, Some("a.example")).await;
    on_hosts.extend(deferred(&fixture, 2, Some("where to: b.example")).await);
    deferred(&fixture, 2, None).await;
    deferred(&fixture, 2, Some(&fixture.account.to_string())).await;
    on_hosts.sort();
    assert_eq!(store.requeue_all(on_hosts[0], NOW).await.expect("works"), (3, None));
    assert_eq!(store.requeue_all(MessageId::MIN, NOW).await.expect("works"), (1, None));
    let mut due: Vec<MessageId> = due(store, NOW).await.iter().map(|it| it.message_id).collect();
    due.sort();
    assert_eq!(due, on_hosts);
}

#[tokio::test]
async fn a_leased_message_is_requeued_for_no_probe() {
    let fixture = Fixture::with_credits(20).await;
    let store = &fixture.store;
    let waiting_ones = deferred(&fixture, 2, Some("a.example")).await;
    // A lease clears `waits_for`. Under several writers it may come between the search and the update.
    sql("UPDATE queue SET lease_owner = 'other', lease_until = due_at, due_at = due_at - 1 WHERE message_id = $1")
        .bind(waiting_ones[0])
        .run(&store.db.writer)
        .await
        .expect("works");
    let requeued = store.requeue_one_of_many(&waiting("a.example"), 2, NOW).await;
    assert_eq!(requeued.expect("works"), 1);
    let due: Vec<MessageId> = due(store, NOW).await.iter().map(|it| it.message_id).collect();
    assert_eq!(due, [waiting_ones[1]]);
}
