//! Bodies: one for all webhooks of an event, for as long as any of them may be posted it or lists it.

use sqlx::{Connection, SqliteConnection};

use super::*;

const BEFORE: &str = include_str!("../../../../../migrations/sqlite/earlier/0006_webhooks.sql");
const MIGRATION: &str =
    include_str!("../../../../../migrations/sqlite/earlier/0010_webhook_bodies.sql");

impl Bench {
    async fn bodies(&self) -> i64 {
        let count = sql("SELECT count(*) AS number FROM webhook_bodies");
        let row = count.one(&self.store.db.readers).await.expect("counted");
        column(&row, "number").expect("a number")
    }

    async fn disable(&self, id: WebhookId) {
        let change = WebhookChange {
            state: Some((WebhookState::Disabled, "by a test".to_owned())),
            ..WebhookChange::default()
        };
        assert!(self.store.change_webhook(id, &change, self.now).await.expect("changed"));
    }
}

#[tokio::test]
async fn a_body_is_kept_once_for_all_webhooks_and_goes_with_the_last_delivery() {
    let bench = Bench::new().await;
    let (first, second, third) =
        (bench.webhook().await, bench.webhook().await, bench.webhook().await);
    bench.happens("credits.low").await;
    bench.publish_events(500).await;
    assert_eq!(bench.bodies().await, 1);
    for id in [first, second, third] {
        let due = bench.store.due_deliveries(id, 9, bench.now).await.expect("read");
        assert_eq!((due.len(), due[0].body.as_str(), due[0].handed_out), (1, "{}", bench.now));
    }
    let later = bench.now.after(DAY);
    let event = bench.due(second).await[0];
    bench.settle(second, event, NextAttempt::None, bench.now).await;
    assert_eq!(bench.store.drop_deliveries(later, 9).await.expect("dropped"), 1);
    bench.store.remove_webhook(first, "test", 9, bench.now).await.expect("removed");
    let due = bench.store.due_deliveries(third, 9, bench.now).await.expect("read");
    assert_eq!((bench.bodies().await, due.len()), (1, 1), "another one still needs it");
    bench.settle(third, event, NextAttempt::Spent, bench.now).await;
    assert_eq!(bench.store.drop_deliveries(later, 9).await.expect("dropped"), 1);
    assert_eq!(bench.bodies().await, 0);
}

#[tokio::test]
async fn what_nobody_gets_has_no_body() {
    let bench = Bench::new().await;
    let off = bench.webhook().await;
    bench.happens("credits.low").await;
    let backlog = bench.store.webhook_backlog(500).await.expect("read").expect("some");
    bench.disable(off).await;
    let places = (backlog.from, backlog.to);
    assert!(bench.store.publish_events(places, &all(&backlog), bench.now).await.expect("written"));
    let (event, log) = (EventId::new(bench.now), answered(200));
    let test = |webhook| TestDelivery {
        webhook,
        event,
        body: "{}",
        log: &log,
        state: DeliveryState::Delivered,
    };
    let gone = WebhookId::new(bench.now);
    bench.store.note_test(&test(gone), bench.now).await.expect("not noted");
    assert_eq!(bench.bodies().await, 0);
    bench.store.note_test(&test(off), bench.now).await.expect("noted");
    assert_eq!((bench.bodies().await, bench.log(off).await.len()), (1, 1));
}

#[tokio::test]
async fn bodies_that_stood_in_each_delivery_are_kept_once() {
    let mut store = SqliteConnection::connect(":memory:").await.expect("opens");
    for script in [
        "CREATE TABLE accounts (id TEXT PRIMARY KEY); CREATE TABLE events (sequence INTEGER)",
        BEFORE,
        "INSERT INTO webhook_deliveries
             (webhook_id, event_id, type, body, state, attempts, due_at, log, created_at)
         VALUES ('whk_1', 'evt_1', 't', 'one', 'pending', 0, 5, '[]', 5),
                ('whk_2', 'evt_1', 't', 'one', 'failed', 0, NULL, '[]', 5),
                ('whk_1', 'evt_2', 't', 'two', 'pending', 3, 7, '[1]', 5)",
        MIGRATION,
    ] {
        sqlx::raw_sql(script).execute(&mut store).await.expect("run");
    }
    let all: Vec<(String, String, String, Option<i64>, String)> = sqlx::query_as(
        "SELECT webhook_id, event_id, body, due_at, log
         FROM webhook_deliveries JOIN webhook_bodies USING (event_id) ORDER BY event_id, webhook_id",
    )
    .fetch_all(&mut store)
    .await
    .expect("read");
    let row = |webhook: &str, event: &str, body: &str, due, log: &str| {
        (webhook.to_owned(), event.to_owned(), body.to_owned(), due, log.to_owned())
    };
    let expected = [
        row("whk_1", "evt_1", "one", Some(5), "[]"),
        row("whk_2", "evt_1", "one", None, "[]"),
        row("whk_1", "evt_2", "two", Some(7), "[1]"),
    ];
    assert_eq!(all, expected);
    let bodies: i64 = sqlx::query_scalar("SELECT count(*) FROM webhook_bodies")
        .fetch_one(&mut store)
        .await
        .expect("counted");
    assert_eq!(bodies, 2);
}
