//! A message that is canceled: once, refunded once, and never beside an attempt.

use super::*;
use crate::management::delivery_hold::{OldMail, release};
use crate::store::Cancellation;

async fn waiting(fixture: &Fixture, send_at: Option<Timestamp>) -> MessageId {
    let mut job = fixture.job(1, 2).await;
    let JobItem::Message(message) = &mut job.items[0] else { panic!("a message") };
    message.send_at = send_at;
    let id = message.id;
    fixture.commit(&[job]).await;
    id
}

#[tokio::test]
async fn a_message_that_is_cancelled_twice_is_refunded_once() {
    let fixture = Fixture::with_credits(10).await;
    for (send_at, first) in
        [(None, "queued"), (Some(NOW.after(Duration::from_mins(1))), "scheduled")]
    {
        let id = waiting(&fixture, send_at).await;
        assert_eq!(fixture.balance().await, 8);
        for _ in 0..3 {
            assert_eq!(fixture.store.cancel(id, NOW).await.expect("works"), Cancellation::Canceled);
            assert_eq!(fixture.balance().await, 10);
        }
        let file = fixture.store.message(id).await.expect("there");
        assert_eq!(
            (file.row.state.as_str(), file.row.credits.0, file.row.refunded.0),
            ("canceled", 2, 2)
        );
        let events: Vec<&str> = file.events.iter().map(|it| it.r#type.as_str()).collect();
        assert_eq!(events, [&format!("message.{first}"), "message.canceled"]);
        assert_eq!(file.row.next_attempt_at, None);
    }
    assert_eq!(fixture.store.gauges(NOW).await.expect("readable").waiting, 0);
}

#[tokio::test]
async fn a_deferred_message_is_cancelled_and_one_that_is_under_way_is_not() {
    let fixture = Fixture::with_credits(10).await;
    let store = &fixture.store;
    let id = waiting(&fixture, None).await;
    let leases = lease(store, "one", NOW).await;
    let cancel = async |id| store.cancel(id, NOW).await.expect("works");
    assert_eq!(cancel(id).await, Cancellation::TooLate(MessageState::Sending));
    let deferred = settled(&leases[0], deferred_until(NOW.after(Duration::from_mins(1))));
    store.settle("one", &[deferred], NOW).await.expect("settles");
    assert_eq!(cancel(id).await, Cancellation::Canceled);
    assert_eq!(fixture.balance().await, 10);

    let id = waiting(&fixture, None).await;
    let leases = lease(store, "one", NOW).await;
    store.recover(NOW).await;
    let file = store.message(id).await.expect("there");
    assert_eq!((file.row.state.as_str(), file.attempts.len()), ("deferred", 1), "after a crash");
    let leases = [leases, lease(store, "two", NOW).await].concat();
    let delivered = settled(leases.last().expect("leased"), AfterAttempt::Delivered);
    store.settle("two", &[delivered], NOW).await.expect("settles");
    assert_eq!(cancel(id).await, Cancellation::TooLate(MessageState::Delivered));
    assert_eq!(fixture.balance().await, 8);
    let unknown = store.cancel(MessageId::new(NOW), NOW).await;
    assert!(unknown.is_err_and(|error| error.is_not_found()));
}

#[tokio::test]
async fn a_message_under_way_when_the_server_was_killed_is_not_refunded() {
    let fixture = Fixture::with_credits(10).await;
    let store = &fixture.store;
    let id = waiting(&fixture, None).await;
    let price = 10 - fixture.balance().await;
    lease(store, "one", NOW).await;
    assert_eq!(store.recover(NOW).await, 1);
    let file = store.message(id).await.expect("there");
    assert!(file.attempts[0].reply.contains("may have arrived"), "{}", file.attempts[0].reply);
    let events: Vec<&str> = file.events.iter().map(|it| it.r#type.as_str()).collect();
    assert_eq!(events, ["message.queued", "message.sending", "message.deferred"]);
    assert_eq!(store.cancel(id, NOW).await.expect("works"), Cancellation::Canceled);
    assert_eq!(fixture.balance().await, 10 - price);
    assert_eq!(store.recover(NOW).await, 0);
}

#[tokio::test]
async fn a_release_cancels_what_is_sending_and_held_by_nobody() {
    let fixture = Fixture::with_credits(10).await;
    let store = &fixture.store;
    let (unheld, held) = (waiting(&fixture, None).await, waiting(&fixture, None).await);
    let price = 10 - fixture.balance().await;
    lease(store, "one", NOW).await;
    // As an earlier version left it.
    sql("UPDATE queue SET lease_owner = NULL, lease_until = NULL WHERE message_id = $1")
        .bind(unheld)
        .run(&store.db.writer)
        .await
        .expect("written");
    let later = NOW.after(Duration::from_secs(1));
    store.hold_delivery(later).await.expect("noted");
    let released = release(store, OldMail::Cancel, later, interrupted).await.expect("works");
    assert_eq!(released.map(|it| it.canceled), Some(1));
    let states = async |id| store.message(id).await.expect("there").row.state;
    assert_eq!(states(unheld).await, MessageState::Canceled);
    assert_eq!(states(held).await, MessageState::Sending, "whoever has it settles it");
    let attempts = store.message(unheld).await.expect("there").attempts;
    assert!(attempts[0].reply.contains("may have arrived"), "{attempts:?}");
    assert_eq!(fixture.balance().await, 10 - price, "nobody knows whether it arrived");
}

#[tokio::test]
async fn a_release_cancels_what_a_clock_that_ran_ahead_has_accepted() {
    let fixture = Fixture::with_credits(10).await;
    let store = &fixture.store;
    // Of an earlier hold, which was in the backup.
    store.hold_delivery(NOW).await.expect("noted");
    let mut job = fixture.job(1, 2).await;
    let JobItem::Message(message) = &mut job.items[0] else { panic!("a message") };
    message.id = MessageId::new(NOW.after(Duration::from_hours(24)));
    let ahead = message.id;
    fixture.commit(&[job]).await;
    let backup = NOW.after(Duration::from_secs(1));
    // A backup of an earlier version has the time of the hold, and no number of an event.
    store.note("delivery is held", &backup.millis().to_string()).await.expect("noted");
    assert_eq!(store.begin_hold().await.expect("works"), Some(backup));
    let new = waiting(&fixture, None).await;
    assert_eq!(store.begin_hold().await.expect("works"), Some(backup), "a further start");
    let released = release(store, OldMail::Cancel, backup, interrupted).await.expect("works");
    assert_eq!(released.map(|it| it.canceled), Some(1));
    let states = async |id| store.message(id).await.expect("there").row.state;
    assert_eq!(states(ahead).await, MessageState::Canceled);
    assert_eq!(states(new).await, MessageState::Queued, "it came after the restore");
    assert_eq!(store.begin_hold().await.expect("works"), None);
}

#[tokio::test]
async fn what_was_called_back_is_not_leased_by_one_who_saw_it_before() {
    let fixture = Fixture::with_credits(10).await;
    let id = waiting(&fixture, None).await;
    assert_eq!(fixture.store.cancel(id, NOW).await.expect("works"), Cancellation::Canceled);
    let until = NOW.after(Duration::from_mins(1));
    assert!(fixture.store.lease("one", &[id], NOW, until).await.expect("works").is_empty());
    assert_eq!(fixture.store.message(id).await.expect("there").row.state.as_str(), "canceled");
}
