//! Retention: content, messages, events and suppressions past their time are deleted, and nothing else.

use super::*;
use crate::id::WebhookId;
use crate::store::{Backlog, NewWebhook, WebhookOwner};

const FAR: Timestamp = Timestamp::from_millis(1_900_000_000_000);

impl Fixture {
    /// Accepts one message, which waits.
    async fn accepted(&self) -> MessageId {
        let job = self.job(1, 1).await;
        let JobItem::Message(message) = &job.items[0] else { panic!("a message") };
        let id = message.id;
        self.commit(&[job]).await;
        id
    }

    /// Delivers all that is due.
    async fn deliver(&self) {
        let leases = lease(&self.store, "one", NOW).await;
        let settlements: Vec<Settlement> =
            leases.iter().map(|it| settled(it, AfterAttempt::Delivered)).collect();
        self.store.settle("one", &settlements, NOW).await.expect("settles");
    }

    async fn has_body(&self, id: MessageId) -> bool {
        self.store.body(id).await.expect("readable").is_some()
    }

    async fn drop_content(&self, before: Timestamp) -> u64 {
        self.store.drop_content(before, FAR, 100).await.expect("drops")
    }

    async fn drop_messages(&self) -> u64 {
        self.store.drop_messages(FAR, None, 100).await.expect("drops").dropped
    }

    async fn count(&self, table: &str) -> i64 {
        let mut count = sql("SELECT count(*) AS number FROM ");
        count.push(table);
        let row = count.one(&self.store.db.readers).await.expect("counted");
        column(&row, "number").expect("a number")
    }
}

#[tokio::test]
async fn content_is_dropped_after_the_final_state_and_the_record_is_kept() {
    let fixture = Fixture::with_credits(5).await;
    let id = fixture.accepted().await;
    fixture.deliver().await;
    assert_eq!(fixture.drop_content(NOW).await, 0, "it has only just reached its final state");
    assert!(fixture.has_body(id).await);
    assert_eq!(fixture.drop_content(NOW.after(Duration::from_millis(1))).await, 1);
    assert!(!fixture.has_body(id).await);
    let file = fixture.store.message(id).await.expect("there");
    assert_eq!((file.size, file.events.len()), (None, 3));
    assert_eq!(
        (file.attempts[0].conversation.as_str(), file.attempts[0].reply.as_str()),
        ("", "250 OK")
    );
    assert_eq!(fixture.drop_content(FAR).await, 0, "once");
}

#[tokio::test]
async fn a_message_that_waits_keeps_everything_however_old_it_is() {
    let fixture = Fixture::with_credits(5).await;
    let deferred = fixture.accepted().await;
    let leases = lease(&fixture.store, "one", NOW).await;
    let later = settled(&leases[0], deferred_until(NOW.after(Duration::from_hours(1))));
    fixture.store.settle("one", &[later], NOW).await.expect("settles");
    let queued = fixture.accepted().await;
    assert_eq!((fixture.drop_content(FAR).await, fixture.drop_messages().await), (0, 0));
    assert!(fixture.has_body(deferred).await && fixture.has_body(queued).await);
    let attempts = fixture.store.message_attempts(deferred).await.expect("readable");
    assert_eq!(attempts[0].conversation, "S: 250 OK");
}

#[tokio::test]
async fn a_shared_body_stays_for_the_last_message_that_has_it() {
    let fixture = Fixture::with_credits(5).await;
    let mut job = fixture.job(2, 1).await;
    let ids: Vec<MessageId> = job
        .items
        .iter_mut()
        .map(|item| {
            let JobItem::Message(message) = item else { panic!("a message") };
            message.id
        })
        .collect();
    let JobItem::Message(second) = &mut job.items[1] else { panic!("a message") };
    second.body = BodyOf::Message(ids[0]);
    fixture.commit(&[job]).await;
    let until = NOW.after(Duration::from_mins(1));
    let leases = fixture.store.lease("one", &ids[..1], NOW, until).await.expect("leases");
    let first = settled(&leases[0], AfterAttempt::Delivered);
    fixture.store.settle("one", &[first], NOW).await.expect("settles");

    assert_eq!(fixture.drop_content(FAR).await, 1, "the first one's time is over");
    assert_eq!(fixture.drop_messages().await, 0, "its body is needed");
    assert!(fixture.has_body(ids[1]).await, "the second one still waits");
    fixture.deliver().await;
    assert_eq!(fixture.drop_content(FAR).await, 1);
    assert!(!fixture.has_body(ids[1]).await);
    assert_eq!(fixture.count("bodies").await, 0);
    assert_eq!(fixture.drop_messages().await, 2, "neither holds the other");
}

#[tokio::test]
async fn a_message_goes_with_all_that_is_known_of_it_and_the_ledger_stays() {
    let fixture = Fixture::with_credits(5).await;
    let gone = fixture.accepted().await;
    fixture.deliver().await;
    assert_eq!(fixture.drop_messages().await, 0, "its content goes first");
    fixture.drop_content(FAR).await;
    let waits = fixture.accepted().await;
    assert_eq!(fixture.drop_messages().await, 1);
    assert!(fixture.store.message(gone).await.is_err_and(|error| error.is_not_found()));
    assert!(fixture.store.message(waits).await.is_ok());
    let counts = [fixture.count("attempts").await, fixture.count("events").await];
    assert_eq!(counts, [0, 1], "only the waiting one's");
    assert_eq!((fixture.balance().await, fixture.count("ledger").await), (3, 3));
}

#[tokio::test]
async fn events_are_kept_until_they_are_published() {
    let fixture = Fixture::with_credits(5).await;
    let webhook = NewWebhook {
        id: WebhookId::new(NOW),
        owner: WebhookOwner::Account(fixture.account),
        url: "https://example.com".to_owned(),
        description: String::new(),
        types: Vec::new(),
        secret: vec![1],
    };
    let added = fixture.store.add_webhook(&webhook, NOW, test_data::whatever_stands).await;
    added.expect("stored").expect("added");
    fixture.accepted().await;
    fixture.deliver().await;
    let other = "INSERT INTO events (subject, account_id, type, detail, created_at)
                 VALUES ($2, $1, 20, '', 0)";
    let other = sql(other).bind(fixture.account).bind([0; 16]);
    other.run(&fixture.store.db.writer).await.expect("written");
    fixture.drop_content(FAR).await;
    let drop_events = async || fixture.store.drop_events(FAR, 0, 100).await.expect("drops").dropped;
    assert_eq!((fixture.drop_messages().await, drop_events().await), (0, 0), "not told yet");

    let backlog: Backlog =
        fixture.store.webhook_backlog(100).await.expect("readable").expect("some");
    assert!(
        fixture
            .store
            .publish_events((backlog.from, backlog.to), &[], NOW)
            .await
            .expect("handed out")
    );
    assert_eq!((fixture.drop_messages().await, drop_events().await), (1, 1));
    assert_eq!(fixture.count("events").await, 0);
}

#[tokio::test]
async fn events_of_a_kept_message_stay_and_the_scan_stops_at_recent_ones() {
    let fixture = Fixture::with_credits(5).await;
    fixture.accepted().await;
    let walked = fixture.store.drop_events(FAR, 0, 100).await.expect("drops");
    assert_eq!((walked.dropped, walked.next.is_some()), (0, true), "old, and its message waits");
    let further = fixture.store.drop_events(FAR, walked.next.expect("a place"), 100).await;
    assert_eq!(further.expect("drops").next, None);
    let young = fixture.store.drop_events(NOW, 0, 100).await.expect("drops");
    assert_eq!((young.dropped, young.next), (0, None));
}

#[tokio::test]
async fn a_batch_is_bounded_in_bytes() {
    let fixture = Fixture::with_credits(5).await;
    let mut job = fixture.job(3, 1).await;
    for item in &mut job.items {
        let JobItem::Message(message) = item else { panic!("a message") };
        message.body = BodyOf::Own(Body::from_stored(vec![7; 5 << 20]));
    }
    fixture.commit(&[job]).await;
    fixture.deliver().await;
    let mut batches = Vec::new();
    while let dropped @ 1.. = fixture.drop_content(FAR).await {
        batches.push(dropped);
    }
    assert_eq!(batches, [1, 1, 1]);
}

#[tokio::test]
async fn only_suppressions_whose_time_is_over_go() {
    let fixture = Fixture::with_credits(0).await;
    let store = &fixture.store;
    for (address, expires_at) in
        [("a@example.com", Some(NOW)), ("b@example.com", Some(FAR)), ("c@example.com", None)]
    {
        let new = NewSuppression {
            account_id: fixture.account,
            address: address.to_owned(),
            kind: SuppressionKind::Manual,
            reason: String::new(),
            message_id: None,
            expires_at,
        };
        store.suppress(&new, NOW.before(Duration::from_hours(1))).await.expect("suppressed");
    }
    assert_eq!(store.drop_suppressions(NOW, 100).await.expect("drops"), 1);
    assert_eq!(fixture.count("suppressions").await, 2);
}
