//! What one reader of lists may cost the others.

use super::*;
use crate::message::state::MessageState;
use crate::store::database::{
    Connections, PAGE_READERS, Pool, Purpose, READERS, either, page_readers, sql,
};
use crate::store::{DecisionFilter, DeliveryState, MessageFilter};

/// More than one request looks at, and twice as many.
const SOME: u32 = 30_000;
const MANY: u32 = 60_000;

impl Fixture {
    /// Decisions that were made by no plugin of the wanted name.
    async fn with_decisions(decisions: u32) -> Self {
        let fixture = Self::with_credits(1).await;
        sql(either(
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1)
             INSERT INTO decisions (id, account_id, outcome, plugins, created_at)
             SELECT unhex(printf('019a6a8000000000%016x', i)), $2, 'FORBIDDEN', '[[1,\"deny\",null,20]]', 0
             FROM n",
            "INSERT INTO decisions (id, account_id, outcome, plugins, created_at)
             SELECT decode('019a6a8000000000' || lpad(to_hex(i), 16, '0'), 'hex'), $2, 'FORBIDDEN',
                    '[[1,\"deny\",null,20]]', 0
             FROM generate_series(0, $1 - 1) AS n (i)",
        ))
        .bind(decisions)
        .bind(fixture.account)
        .run(&fixture.store.db.writer)
        .await
        .expect("added");
        fixture
    }
}

fn of_no_plugin() -> DecisionFilter {
    DecisionFilter { plugin: Some("nosuch".to_owned()), ..DecisionFilter::default() }
}

/// In how many pages the whole list is looked at.
async fn pages(decisions: u32) -> u32 {
    let fixture = Fixture::with_decisions(decisions).await;
    let mut pages = 1;
    let mut page = fixture.store.decisions(&of_no_plugin(), None, 50).await.expect("readable");
    while let Some(next) = page.next {
        assert!(page.decisions.is_empty());
        page = fixture.store.decisions(&of_no_plugin(), Some(next), 50).await.expect("readable");
        pages += 1;
    }
    pages
}

#[tokio::test]
async fn a_page_of_decisions_that_matches_nothing_looks_at_a_bounded_number() {
    assert_eq!([pages(SOME).await, pages(MANY).await], [2, 3], "it goes on, and comes to an end");
}

#[tokio::test]
async fn a_page_of_webhook_deliveries_in_a_rare_state_reads_a_bounded_number() {
    let fixture = Fixture::with_credits(1).await;
    let webhook = crate::id::WebhookId::new(NOW);
    for statement in [
        either(
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < 30000)
             INSERT INTO webhook_deliveries
                 (webhook_id, event_id, type, state, attempts, due_at, log, created_at)
             SELECT $1, unhex(printf('019a6a8000000000%016x', i)), 'message.queued', 'delivered', 1, NULL, '[]', 0
             FROM n",
            "INSERT INTO webhook_deliveries
                 (webhook_id, event_id, type, state, attempts, due_at, log, created_at)
             SELECT $1, decode('019a6a8000000000' || lpad(to_hex(i), 16, '0'), 'hex'), 'message.queued', 'delivered',
                    1, NULL, '[]', 0
             FROM generate_series(0, 29999) AS n (i)",
        ),
        "INSERT INTO webhook_bodies (event_id, body) SELECT event_id, '{}' FROM webhook_deliveries
         WHERE webhook_id = $1"
            .into(),
    ] {
        let done = sql(statement).bind(webhook);
        done.run(&fixture.store.db.writer).await.expect("added");
    }
    let failed = Some(DeliveryState::Failed);
    let page = fixture.store.webhook_deliveries(webhook, failed, None, 50).await.expect("readable");
    assert!(page.deliveries.is_empty() && page.next.is_some(), "{page:?}");
    let page = fixture.store.webhook_deliveries(webhook, failed, page.next, 50).await;
    assert_eq!(page.expect("readable").next, None, "the end");
}

#[tokio::test]
async fn readers_of_lists_never_take_the_connections_that_sends_need() {
    let fixture = Fixture::with_credits(1).await;
    let store = &fixture.store;
    let mut held = Vec::new();
    for _ in 0..PAGE_READERS {
        held.push(store.db.pages.pool().acquire().await.expect("free"));
    }
    let filter = of_no_plugin();
    let (list, send) = tokio::join!(store.decisions(&filter, None, 50), store.revision());
    assert!(list.is_err_and(|error| error.is_busy()), "it says so after a short wait");
    assert!(send.is_ok());
    let mut free = Vec::new();
    for _ in 0..READERS {
        free.push(
            store.db.readers.pool().try_acquire().or(store.db.readers.pool().acquire().await.ok()),
        );
    }
    assert!(free.iter().all(Option::is_some), "none of them is held by a list");
}

#[tokio::test]
async fn a_list_that_takes_too_long_is_interrupted_and_the_next_one_is_not() {
    let mut fixture = Fixture::with_decisions(MANY).await;
    let file = fixture.directory.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let late = page_readers(Duration::ZERO).connect_lazy_with(options);
    let late = Connections::new(Pool::Sqlite(late), Purpose::Lists);
    let in_time = std::mem::replace(&mut fixture.store.db.pages, late);
    let late = fixture.store.decisions(&of_no_plugin(), None, 50).await;
    assert!(late.is_err_and(|error| error.is_busy()));
    fixture.store.db.pages = in_time;
    fixture.store.decisions(&of_no_plugin(), None, 50).await.expect("it has its own time");
}

#[tokio::test]
async fn a_list_of_queued_messages_says_nothing_of_other_accounts() {
    let fixture = Fixture::with_credits(1).await;
    sql(either(
        "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < $1)
         INSERT INTO queue (message_id, account_id, lane, due_at)
         SELECT unhex(printf('019a6a8000000000%016x', i)), $2, 'sandbox', 0 FROM n",
        "INSERT INTO queue (message_id, account_id, lane, due_at)
         SELECT decode('019a6a8000000000' || lpad(to_hex(i), 16, '0'), 'hex'), $2, 'sandbox', 0
         FROM generate_series(0, $1 - 1) AS n (i)",
    ))
    .bind(SOME)
    .bind([0; 16])
    .run(&fixture.store.db.writer)
    .await
    .expect("added");
    let queued = MessageFilter { states: vec![MessageState::Queued], ..MessageFilter::default() };
    let page = fixture.store.messages(fixture.account, &queued, None, 50).await.expect("readable");
    assert!(page.messages.is_empty());
    assert_eq!(page.next, None, "an identifier of another account would tell how much it sends");
}

#[tokio::test]
async fn a_message_is_listed_also_where_its_hour_was_dropped_before() {
    let fixture = Fixture::with_credits(1).await;
    let hour = MessageId::first_of(NOW).period();
    for _ in 0..2 {
        sql("DELETE FROM periods").run(&fixture.store.db.writer).await.expect("dropped");
        sql("INSERT INTO sent (period, state, account_id, changes) VALUES ($1, 'accepted', $2, 1)
             ON CONFLICT (period, state, account_id) DO UPDATE SET changes = sent.changes + 1")
        .bind(hour)
        .bind(fixture.account)
        .run(&fixture.store.db.writer)
        .await
        .expect("counted");
        let periods = sql("SELECT period FROM periods").all(&fixture.store.db.readers).await;
        assert_eq!(periods.expect("read").len(), 1);
    }
}
