//! Messages that wait because their destination is backed off from.

use super::*;
use crate::delivery::queue::retry_schedule::after_last_reply;
use crate::store::records::BackedOff;

fn until(due: &Due, until: Timestamp) -> BackedOff {
    let (waits_for, reason) = ("mx.example".parse().expect("reads"), format!("not before {until}"));
    BackedOff { message_id: due.message_id, until, waits_for, reason }
}

#[tokio::test]
async fn what_waits_for_a_destination_is_not_due_and_costs_no_attempt() {
    let fixture = Fixture::with_credits(9).await;
    let store = &fixture.store;
    fixture.commit(&[fixture.job(3, 1).await]).await;
    let due = store.all_due(NOW).await;
    let held = due[0].message_id;
    let leases = store.lease("one", &[held], NOW, NOW.after(Duration::from_mins(1))).await;
    assert_eq!(leases.expect("works").len(), 1);
    let later = NOW.after(Duration::from_mins(5));
    let waiting: Vec<BackedOff> = due.iter().map(|it| until(it, later)).collect();
    store.back_off(&waiting, after_last_reply, NOW).await.expect("works");
    let file = store.message(held).await.expect("there");
    assert_eq!(file.row.state.as_str(), "sending", "what is leased stays so");
    assert!(store.all_due(NOW).await.is_empty());
    assert_eq!(store.first_due().await.expect("readable"), Some(later), "so is its lane");

    let again = store.all_due(later).await;
    assert_eq!(again.len(), 2);
    assert!(again.iter().all(|it| it.attempts == 0 && it.first_at == Some(NOW)), "{again:?}");
    let latest = later.after(Duration::from_mins(30));
    let waiting: Vec<BackedOff> = again.iter().map(|it| until(it, latest)).collect();
    store.back_off(&waiting, after_last_reply, later).await.expect("works");
    for it in &again {
        let file = store.message(it.message_id).await.expect("there");
        let events: Vec<&str> = file.events.iter().map(|it| it.r#type.as_str()).collect();
        assert_eq!(events, ["message.queued", "message.deferred"], "told once");
        assert_eq!((file.row.state.as_str(), file.attempts.len()), ("deferred", 0));
        assert_eq!(file.row.reason, format!("not before {latest}"));
        let queued = store.queued(it.message_id).await.expect("readable").expect("it waits");
        assert_eq!(queued.since, NOW, "since when it is deferred, and not only longer");
    }
    let hosts = ["mx.example".parse().expect("reads")].into();
    assert_eq!(store.requeue(&hosts, 10, later).await.expect("works"), 2, "when it recovers");
    assert_eq!(store.all_due(later).await.len(), 2);
}

#[tokio::test]
async fn a_queue_row_without_its_message_does_not_keep_others_from_deferral() {
    let fixture = Fixture::with_credits(9).await;
    let store = &fixture.store;
    fixture.commit(&[fixture.job(2, 1).await]).await;
    let due = store.all_due(NOW).await;
    sql("DELETE FROM messages WHERE id = $1")
        .bind(due[0].message_id)
        .run(&store.db.writer)
        .await
        .expect("taken away by hand");
    let waiting: Vec<BackedOff> =
        due.iter().map(|it| until(it, NOW.after(Duration::from_mins(5)))).collect();
    store.back_off(&waiting, after_last_reply, NOW).await.expect("works");
    let file = store.message(due[1].message_id).await.expect("there");
    assert_eq!(file.row.state.as_str(), "deferred");
}
