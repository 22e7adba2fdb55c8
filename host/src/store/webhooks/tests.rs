//! Webhooks in the database: what is posted to whom, once, and what attempts change.

mod bodies;

use std::time::Duration;

use tempfile::TempDir;

use super::*;
use crate::account::Account;
use crate::account::plan::Plan;
use crate::id::EventId;
use crate::store::test_data::whatever_stands;
use crate::store::{
    Backlog, DeliveryAttempt, DeliveryState, NewDelivery, NextAttempt, Store, TestDelivery,
    WebhookState,
};
use crate::webhooks::health::reason_to_disable;

const DAY: Duration = Duration::from_hours(24);

fn answered(status: u16) -> WebhookAttempt {
    WebhookAttempt {
        at: "2027-01-15T08:00:00Z".to_owned(),
        status: Some(status),
        error: None,
        millis: 1,
        response: String::new(),
    }
}

struct Bench {
    _directory: TempDir,
    store: Store,
    account: AccountId,
    now: Timestamp,
}

impl Bench {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let now = Timestamp::from_millis(1_800_000_000_000);
        let account = AccountId::new(now);
        let made = account_of(account, now);
        store.create_account(&made).await.expect("created");
        Self { _directory: directory, store, account, now }
    }

    async fn webhook(&self) -> WebhookId {
        let id = WebhookId::new(self.now);
        let new = NewWebhook {
            id,
            owner: WebhookOwner::Account(self.account),
            url: "https://example.com/".to_owned(),
            description: String::new(),
            types: Vec::new(),
            secret: vec![1],
        };
        self.store
            .add_webhook(&new, self.now, whatever_stands)
            .await
            .expect("stored")
            .expect("added");
        id
    }

    async fn happens(&self, what: &'static str) {
        self.tell(what, &json!({"n": 1}).to_string()).await;
    }

    async fn happens_at_length(&self, bytes: usize) {
        self.tell("credits.low", &json!({"long": "a".repeat(bytes)}).to_string()).await;
    }

    async fn tell(&self, what: &str, detail: &str) {
        let mut tx = self.store.db.begin("test").await.expect("begins");
        let kind = EventKind::from_name(what).expect("a type of events");
        let (about, account) = (About::of(self.account), Some(self.account));
        record_event(&mut tx, kind, about, account, detail, self.now).await.expect("told");
        tx.commit().await.expect("committed");
    }

    /// Hands out what is behind the cursor to all webhooks; answers how many events.
    async fn publish_events(&self, limit: u32) -> usize {
        let Some(backlog) = self.store.webhook_backlog(limit).await.expect("read") else {
            return 0;
        };
        let deliveries = all(&backlog);
        let places = (backlog.from, backlog.to);
        assert!(self.store.publish_events(places, &deliveries, self.now).await.expect("written"));
        backlog.events.len()
    }

    async fn log(&self, id: WebhookId) -> Vec<(String, DeliveryState)> {
        let page = self.store.webhook_deliveries(id, None, None, 500).await.expect("read");
        page.deliveries.into_iter().map(|it| (it.r#type, it.state)).collect()
    }

    async fn due(&self, id: WebhookId) -> Vec<EventId> {
        let due = self.store.due_deliveries(id, 500, self.now).await.expect("read");
        due.into_iter().map(|it| it.event).collect()
    }

    async fn settle(&self, webhook: WebhookId, event: EventId, next: NextAttempt, at: Timestamp) {
        let attempt = DeliveryAttempt { webhook, event, at, log: answered(500), next };
        let disables = |health| reason_to_disable(health, at.before(5 * DAY));
        let settled = self.store.settle_deliveries(&[attempt], disables, at).await;
        settled.expect("settled");
    }

    async fn state(&self, id: WebhookId) -> (WebhookState, String) {
        let row = self.store.webhook(id).await.expect("read").expect("there");
        (row.state, row.reason)
    }
}

fn account_of(id: AccountId, now: Timestamp) -> Account {
    Account { id, ..Account::new("Test", Plan::named("pro"), now) }
}

fn all(backlog: &Backlog) -> Vec<NewDelivery> {
    let each = |event: &PublishedEvent| NewDelivery {
        webhooks: backlog.webhooks.iter().map(|it| it.id).collect(),
        sequence: event.sequence,
        event: event.id,
        r#type: event.r#type,
        body: "{}".to_owned(),
    };
    backlog.events.iter().map(each).collect()
}

#[tokio::test]
async fn without_a_webhook_nothing_is_read_or_written() {
    let bench = Bench::new().await;
    bench.happens("credits.low").await;
    assert!(bench.store.webhook_backlog(500).await.expect("read").is_none());
}

#[tokio::test]
async fn a_webhook_is_told_what_happens_after_it_was_made_once_and_in_order() {
    let bench = Bench::new().await;
    for _ in 0..5 {
        bench.happens("credits.low").await;
    }
    let id = bench.webhook().await;
    assert_eq!(bench.publish_events(500).await, 0, "that was before");
    for what in ["credits.low", "credits.exhausted", "template.published"] {
        bench.happens(what).await;
    }
    assert_eq!(bench.publish_events(2).await, 2, "a batch");
    let second = bench.webhook().await;
    assert_eq!(bench.publish_events(2).await, 1, "and the rest");
    assert_eq!(bench.publish_events(2).await, 0);
    assert_eq!(bench.log(id).await.len(), 3);
    assert!(bench.log(second).await.is_empty(), "made after the third");
    assert_eq!(bench.due(id).await.len(), 3);
}

#[tokio::test]
async fn large_events_are_read_a_few_at_a_time_and_none_is_left_out() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    for bytes in [1 << 20, 1, 3 << 20, 5 << 20, 1, 1] {
        bench.happens_at_length(bytes).await;
    }
    for events in [3, 1, 2, 0] {
        assert_eq!(bench.publish_events(500).await, events);
    }
    assert_eq!(bench.log(id).await.len(), 6);
}

#[tokio::test]
async fn a_secret_is_changed_again_only_when_the_one_before_it_signs_no_more() {
    let bench = Bench::new().await;
    let (id, later) = (bench.webhook().await, bench.now.after(DAY));
    let rotate = |now: Timestamp| bench.store.rotate_webhook(id, &[2], now.after(DAY), now);
    for (now, expected) in
        [(bench.now, true), (bench.now, false), (later.before(DAY / 2), false), (later, true)]
    {
        assert_eq!(rotate(now).await.expect("answered"), expected, "{now:?}");
    }
}

#[tokio::test]
async fn what_was_interrupted_is_handed_out_once_and_not_twice() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    bench.happens("credits.low").await;
    let backlog = bench.store.webhook_backlog(500).await.expect("read").expect("some");
    let (places, deliveries) = ((backlog.from, backlog.to), all(&backlog));
    assert!(bench.store.publish_events(places, &deliveries, bench.now).await.expect("written"));
    let again = bench.store.publish_events(places, &deliveries, bench.now).await.expect("read");
    assert!(!again, "the cursor stands elsewhere");
    assert_eq!(bench.log(id).await.len(), 1);
}

#[tokio::test]
async fn a_webhook_that_is_disabled_or_gone_in_the_meantime_gets_nothing() {
    let bench = Bench::new().await;
    let (off, gone, on) = (bench.webhook().await, bench.webhook().await, bench.webhook().await);
    bench.happens("credits.low").await;
    let backlog = bench.store.webhook_backlog(500).await.expect("read").expect("some");
    let change = WebhookChange {
        state: Some((WebhookState::Disabled, "by a test".to_owned())),
        ..WebhookChange::default()
    };
    assert!(bench.store.change_webhook(off, &change, bench.now).await.expect("changed"));
    bench.store.remove_webhook(gone, "test", 1, bench.now).await.expect("removed");
    let places = (backlog.from, backlog.to);
    assert!(bench.store.publish_events(places, &all(&backlog), bench.now).await.expect("written"));
    assert!(bench.log(off).await.is_empty() && bench.log(gone).await.is_empty());
    assert_eq!(bench.log(on).await.len(), 1);
    bench.publish_events(500).await;
    let log = bench.log(on).await;
    assert!(log.iter().any(|it| it.0 == "webhook.disabled"), "the others hear of it");
    let change = WebhookChange {
        state: Some((WebhookState::Active, "by a test".to_owned())),
        ..WebhookChange::default()
    };
    assert!(bench.store.change_webhook(off, &change, bench.now).await.expect("changed"));
    assert_eq!(bench.publish_events(500).await, 0, "what happened while it was off is not told");
}

#[tokio::test]
async fn a_delivery_is_tried_until_it_is_taken_or_its_tries_are_used_up() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    bench.happens("credits.low").await;
    bench.publish_events(500).await;
    let event = bench.due(id).await[0];
    let later = bench.now.after(Duration::from_secs(5));
    bench.settle(id, event, NextAttempt::At(later), bench.now).await;
    assert!(bench.due(id).await.is_empty(), "not yet");
    let waiting = bench.store.waiting_webhooks().await.expect("read");
    assert!(waiting.len() == 1 && waiting[0].due == later && waiting[0].fails);
    bench.settle(id, event, NextAttempt::None, later).await;
    assert!(bench.store.waiting_webhooks().await.expect("read").is_empty());
    let row = bench.store.webhook_delivery(id, event).await.expect("read").expect("there");
    assert_eq!((row.state, row.attempts.len()), (DeliveryState::Delivered, 2));
    let webhook = bench.store.webhook(id).await.expect("read").expect("there");
    assert_eq!((webhook.succeeded_at, webhook.failing_since), (Some(later), None));
    bench.settle(id, event, NextAttempt::Spent, later).await;
    let row = bench.store.webhook_delivery(id, event).await.expect("read").expect("there");
    assert_eq!(row.state, DeliveryState::Delivered, "a late word changes nothing");
    assert!(bench.store.replay_delivery(id, event, later).await.expect("replayed"));
    for _ in 0..30 {
        bench.settle(id, event, NextAttempt::At(bench.now), bench.now).await;
    }
    let row = bench.store.webhook_delivery(id, event).await.expect("read").expect("there");
    assert_eq!(row.attempts.len(), 20, "the log is bounded");
}

#[tokio::test]
async fn a_webhook_that_fails_for_five_days_is_disabled_by_a_spent_delivery() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    for _ in 0..3 {
        bench.happens("credits.low").await;
    }
    bench.publish_events(500).await;
    let due = bench.due(id).await;
    let at = |days: u32| bench.now.after(DAY * days);
    bench.settle(id, due[0], NextAttempt::Spent, at(0)).await;
    bench.settle(id, due[1], NextAttempt::Spent, at(4)).await;
    assert_eq!(bench.state(id).await.0, WebhookState::Active, "four days are not enough");
    bench.settle(id, due[2], NextAttempt::At(at(6)), at(5)).await;
    assert_eq!(bench.state(id).await.0, WebhookState::Active, "another attempt follows");
    bench.settle(id, due[2], NextAttempt::Spent, at(6)).await;
    let (state, reason) = bench.state(id).await;
    assert_eq!(state, WebhookState::Disabled);
    assert!(reason.contains(&at(0).rfc3339()), "{reason}");
}

#[tokio::test]
async fn a_delivery_that_waits_too_long_disables_a_webhook() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    bench.happens("credits.low").await;
    bench.publish_events(500).await;
    let (event, late) = (bench.due(id).await[0], NextAttempt::Late(bench.now.after(DAY)));
    bench.settle(id, event, late, bench.now).await;
    bench.settle(id, event, late, bench.now.after(4 * DAY)).await;
    assert_eq!(bench.state(id).await.0, WebhookState::Active, "four days are not enough");
    assert_eq!(bench.log(id).await[0].1, DeliveryState::Pending, "and another attempt follows");
    bench.settle(id, event, late, bench.now.after(5 * DAY)).await;
    assert_eq!(bench.state(id).await.0, WebhookState::Disabled);
}

#[tokio::test]
async fn an_endpoint_that_is_gone_is_disabled_and_what_waits_for_it_fails() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    for _ in 0..3 {
        bench.happens("credits.low").await;
    }
    bench.publish_events(500).await;
    assert_eq!(bench.store.end_deliveries(id, 500).await.expect("ended"), 0, "it is active");
    let due = bench.due(id).await;
    bench.settle(id, due[0], NextAttempt::Gone, bench.now).await;
    let (state, reason) = bench.state(id).await;
    assert!(state == WebhookState::Disabled && reason.contains("410"), "{reason}");
    assert_eq!(bench.store.end_deliveries(id, 1).await.expect("ended"), 1, "in batches");
    assert_eq!(bench.store.end_deliveries(id, 500).await.expect("ended"), 1);
    let log = bench.log(id).await;
    assert!(log.iter().all(|(_, state)| *state == DeliveryState::Failed), "{log:?}");
    let range = (bench.now, bench.now);
    let (some, last) =
        bench.store.replay_failed(id, range, EventId::MIN, 2, bench.now).await.expect("replayed");
    assert_eq!(some, 2);
    let after = last.expect("a last one");
    let (rest, _) =
        bench.store.replay_failed(id, range, after, 2, bench.now).await.expect("replayed");
    assert_eq!((rest, bench.due(id).await.len()), (1, 3));
}

#[tokio::test]
async fn an_owner_has_at_most_so_many_and_the_server_has_its_own() {
    let bench = Bench::new().await;
    let new = |owner| NewWebhook {
        id: WebhookId::new(bench.now),
        owner,
        url: "https://example.com/".to_owned(),
        description: String::new(),
        types: vec!["plugin.*".to_owned()],
        secret: vec![1],
    };
    for owner in [WebhookOwner::Account(bench.account), WebhookOwner::Server] {
        for expected in [Ok(()), Ok(()), Err(2)] {
            let decide = |have| if have < 2 { Ok(()) } else { Err(have) };
            let added = bench.store.add_webhook(&new(owner), bench.now, decide).await;
            assert_eq!(added.expect("answered"), expected, "{owner:?}");
        }
        let rows = bench.store.webhooks(owner, None, 10).await.expect("read");
        assert!(rows.len() == 2 && rows.iter().all(|it| it.owner == owner));
        let rest = bench.store.webhooks(owner, Some(rows[0].id), 10).await.expect("read");
        assert_eq!(rest.len(), 1);
    }
}

#[tokio::test]
async fn the_log_goes_when_its_time_is_over_and_with_its_webhook() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    bench.happens("credits.low").await;
    bench.publish_events(500).await;
    let log = answered(200);
    for at in [bench.now, bench.now, bench.now, bench.now.after(DAY)] {
        let (event, state) = (EventId::new(at), DeliveryState::Delivered);
        let test = TestDelivery { webhook: id, event, body: "{}", log: &log, state };
        bench.store.note_test(&test, at).await.expect("noted");
    }
    for gone in [2, 1, 0] {
        let dropped = bench.store.drop_deliveries(bench.now.after(DAY), 2).await;
        assert_eq!(dropped.expect("dropped"), gone, "in batches");
    }
    let left = [
        ("webhook.test".to_owned(), DeliveryState::Delivered),
        ("credits.low".to_owned(), DeliveryState::Pending),
    ];
    assert_eq!(bench.log(id).await, left, "what is still to be posted stays, however old");
    bench.store.remove_webhook(id, "test", 1, bench.now).await.expect("removed");
    assert!(bench.store.webhook(id).await.expect("read").is_none());
    assert!(bench.log(id).await.is_empty());
}

#[tokio::test]
async fn what_was_written_under_a_clock_that_was_ahead_is_due_earlier() {
    let mut bench = Bench::new().await;
    let id = bench.webhook().await;
    let (now, latest) = (bench.now, bench.now.after(DAY));
    bench.happens("credits.low").await;
    bench.publish_events(500).await;
    let timely = bench.due(id).await[0];
    bench.settle(id, timely, NextAttempt::At(now.after(DAY / 2)), now).await;
    bench.now = now.after(DAY / 4);
    bench.happens("credits.low").await;
    bench.publish_events(500).await;
    let untried = bench.due(id).await[0];
    bench.now = now.after(DAY * 365);
    bench.happens("credits.low").await;
    bench.publish_events(500).await;
    let tried = bench.due(id).await.into_iter().find(|it| ![timely, untried].contains(it));
    let tried = tried.expect("a third one");
    bench.settle(id, tried, NextAttempt::At(bench.now.after(DAY)), bench.now).await;

    assert_eq!(bench.store.mend_due_deliveries(now, latest).await.expect("mended"), 2);
    assert_eq!(bench.store.mend_due_deliveries(now, latest).await.expect("mended"), 0);
    bench.now = now;
    assert_eq!(bench.due(id).await, [untried], "it was due when it was handed out");
    bench.now = now.after(DAY / 2);
    assert_eq!(bench.due(id).await, [untried, timely], "this one waits as it did");
    bench.now = latest;
    assert_eq!(bench.due(id).await, [untried, timely, tried]);
}

#[tokio::test]
async fn a_delivery_is_one_nodes_until_it_is_settled_or_its_lease_is_over() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    for _ in 0..3 {
        bench.happens("credits.low").await;
    }
    bench.publish_events(500).await;
    let lease = async |limit: usize, time: Duration| {
        let leased = bench.store.lease_deliveries(id, limit, bench.now, time).await;
        leased.expect("leased").into_iter().map(|it| it.event).collect::<Vec<_>>()
    };
    let first = lease(2, DAY).await;
    assert_eq!(first.len(), 2);
    let third = lease(9, Duration::ZERO).await;
    assert!(third.len() == 1 && !first.contains(&third[0]), "{third:?}");
    assert_eq!(lease(9, DAY).await, third, "a lease that is over holds nobody off");
    assert!(lease(9, DAY).await.is_empty());
    bench.settle(id, first[0], NextAttempt::At(bench.now), bench.now).await;
    assert_eq!(lease(9, DAY).await, [first[0]], "the outcome ends the lease");
}

#[tokio::test]
async fn no_webhook_fails_since_a_day_that_is_to_come() {
    let bench = Bench::new().await;
    let id = bench.webhook().await;
    for _ in 0..2 {
        bench.happens("credits.low").await;
    }
    bench.publish_events(500).await;
    let due = bench.due(id).await;
    bench.settle(id, due[0], NextAttempt::At(bench.now), bench.now.after(DAY * 365)).await;
    bench.settle(id, due[1], NextAttempt::At(bench.now), bench.now).await;
    let webhook = bench.store.webhook(id).await.expect("read").expect("there");
    assert_eq!(webhook.failing_since, Some(bench.now));
}

#[tokio::test]
async fn webhooks_that_take_nothing_and_the_operators_that_are_off_are_found() {
    let bench = Bench::new().await;
    let _well = bench.webhook().await;
    let failing = bench.webhook().await;
    let hour = Duration::from_hours(1);
    let found = async || {
        let before = bench.now.before(hour);
        let rows = bench.store.webhooks_in_trouble(before, 20).await.expect("readable");
        rows.iter().map(|it| it.id).collect::<Vec<_>>()
    };
    for (ago, is_troubled) in [(hour / 2, false), (hour * 2, true)] {
        sql("UPDATE webhooks SET failing_since = $1 WHERE id = $2")
            .bind(bench.now.before(ago).millis())
            .bind(failing)
            .run(&bench.store.db.writer)
            .await
            .expect("written");
        assert_eq!(found().await.contains(&failing), is_troubled, "{ago:?}");
    }
    let own = WebhookId::new(bench.now);
    let new = NewWebhook {
        id: own,
        owner: WebhookOwner::Server,
        url: "https://example.com/".to_owned(),
        description: String::new(),
        types: Vec::new(),
        secret: vec![1],
    };
    let added = bench.store.add_webhook(&new, bench.now, whatever_stands).await;
    added.expect("stored").expect("added");
    assert_eq!(found().await, [failing], "it is on");
    let off = Some((WebhookState::Disabled, "switched off".to_owned()));
    for id in [own, failing] {
        let change = WebhookChange { state: off.clone(), ..WebhookChange::default() };
        bench.store.change_webhook(id, &change, bench.now).await.expect("changed");
    }
    assert_eq!(found().await, [own], "an account may switch its own off");
}
