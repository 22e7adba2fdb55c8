//! From an event to an endpoint, over attempts and over the end of the process.

mod handed_over;
mod paused;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::endpoint::{Endpoint, Heard, Say, status};
use super::*;
use crate::account::Account;
use crate::account::plan::Plan;
use crate::id::WebhookId;
use crate::store::{DeliveryState, EventKind, WebhookOwner, WebhookState};
use crate::webhooks::owner_operations::{WebhookError, WebhookFields};
use crate::webhooks::signature::Secret;

/// A process that runs until it is dropped.
struct Run {
    stop: CancellationToken,
    tasks: [JoinHandle<()>; 2],
}

impl Run {
    fn of(webhooks: &Arc<Webhooks>) -> Self {
        let stop = CancellationToken::new();
        let publish = Arc::clone(webhooks).publish(stop.clone());
        let send = Arc::clone(webhooks).send(Arc::default(), stop.clone());
        Self { stop, tasks: [tokio::spawn(publish), tokio::spawn(send)] }
    }

    /// Ends it in the middle of everything.
    async fn abort(self) {
        for task in self.tasks {
            task.abort();
            assert!(task.await.is_err_and(|it| it.is_cancelled()));
        }
    }

    async fn stop(self) {
        self.stop.cancel();
        for task in self.tasks {
            task.await.expect("no panic");
        }
    }
}

async fn create(webhooks: &Webhooks, url: &str) -> (WebhookId, Secret) {
    create_for(webhooks, WebhookOwner::Server, url).await
}

async fn create_for(webhooks: &Webhooks, owner: WebhookOwner, url: &str) -> (WebhookId, Secret) {
    let (made, secret) = webhooks.create(owner, url, WebhookFields::default()).await.expect("made");
    (made.id, secret)
}

/// An account that has just been made.
async fn account(webhooks: &Webhooks) -> WebhookOwner {
    let now = webhooks.clock.now();
    let account = Account::new("Test", Plan::named("pro"), now);
    webhooks.store.create_account(&account).await.expect("created");
    WebhookOwner::Account(account.id)
}

async fn happens(webhooks: &Webhooks, n: usize) {
    let facts = json!({"n": n});
    let now = webhooks.clock.now();
    let kind = EventKind::PluginActivated;
    let told = webhooks.store.record_server_event(kind, "slot", &facts, now).await;
    told.expect("written");
}

/// Waits for a state of all deliveries of a webhook.
async fn until_all(webhooks: &Webhooks, id: WebhookId, count: usize, state: DeliveryState) {
    let ask = async || {
        let page = webhooks.store.webhook_deliveries(id, Some(state), None, 500).await;
        (page.expect("read").deliveries.len() == count).then_some(())
    };
    until(&format!("{count} are {state:?}"), ask).await;
}

/// Waits until so many attempts of the newest delivery are written down: the clock moves then, and not
/// before, or the next attempt is due later than it comes to.
async fn until_written(webhooks: &Webhooks, id: WebhookId, attempts: usize) {
    let ask = async || {
        let page = webhooks.store.webhook_deliveries(id, None, None, 1).await.expect("read");
        (page.deliveries[0].attempts.len() == attempts).then_some(())
    };
    until(&format!("{attempts} attempts"), ask).await;
}

fn number(heard: &Heard) -> u64 {
    let body: Value = serde_json::from_str(&heard.body).expect("JSON");
    body["data"]["n"].as_u64().expect("a number")
}

fn is_signed(heard: &Heard, secret: &Secret) -> bool {
    let header = |name: &str| heard.headers.get(name).expect("a header").as_str();
    let timestamp = header("webhook-timestamp").parse().expect("a number");
    let signed = secret.sign(header("webhook-id"), timestamp, &heard.body);
    header("webhook-signature").split(' ').any(|it| it == signed)
}

#[tokio::test]
async fn an_event_is_posted_signed_and_retried_with_the_same_id_and_body() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), TIME).await;
    let endpoint = Endpoint::start([status(500, ""), Say::Cut, status(200, "")]).await;
    let (id, secret) = create(&webhooks, &endpoint.url()).await;
    happens(&webhooks, 7).await;
    let run = Run::of(&webhooks);
    for (heard, pause) in [(1, 6), (2, 340)] {
        endpoint.hears(heard).await;
        until_written(&webhooks, id, heard).await;
        clock.advance(Duration::from_secs(pause));
    }
    let heard = endpoint.hears(3).await;
    until_all(&webhooks, id, 1, DeliveryState::Delivered).await;
    run.stop().await;
    assert_eq!(heard.len(), 3);
    for it in &heard {
        assert!(is_signed(it, &secret), "{it:?}");
        assert_eq!(
            (&it.body, &it.headers["webhook-id"]),
            (&heard[0].body, &heard[0].headers["webhook-id"])
        );
    }
    let body: Value = serde_json::from_str(&heard[0].body).expect("JSON");
    assert_eq!(
        body,
        json!({"type": "plugin.activated", "timestamp": START.rfc3339(), "data": {"n": 7}})
    );
    assert_ne!(heard[0].headers["webhook-timestamp"], heard[2].headers["webhook-timestamp"]);
    let page = webhooks.store.webhook_deliveries(id, None, None, 1).await.expect("read");
    let statuses: Vec<_> = page.deliveries[0].attempts.iter().map(|it| it.status).collect();
    assert_eq!(statuses, [Some(500), None, Some(200)]);
}

#[tokio::test]
async fn a_process_that_ends_anywhere_loses_nothing() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), TIME).await;
    let endpoint = Endpoint::start([status(200, "")]).await;
    let (id, _) = create(&webhooks, &endpoint.url()).await;
    for n in 0..120 {
        happens(&webhooks, n).await;
    }
    assert!(webhooks.publish_some(50).await.expect("handed out"), "a batch, and the process ends");
    let mut heard = 0;
    for share in [10, 40, 70] {
        let run = Run::of(&webhooks);
        endpoint.hears(share.max(heard)).await;
        run.abort().await;
        heard = endpoint.heard().len();
    }
    let run = Run::of(&webhooks);
    until_all(&webhooks, id, 120, DeliveryState::Delivered).await;
    run.stop().await;
    let numbers: BTreeSet<u64> = endpoint.heard().iter().map(number).collect();
    assert_eq!(numbers, (0..120).collect());
}

#[tokio::test]
async fn endpoints_that_say_nothing_do_not_hold_up_others() {
    let clock = Clock::manual(START);
    let schedule = Schedule::with_pauses(vec![Duration::from_secs(1); 50]);
    let (_directory, webhooks) = webhooks_with_places(&clock, schedule, SHORT, 16).await;
    let mut silent = Vec::new();
    for _ in 0..10 {
        let endpoint = Endpoint::start([Say::Nothing]).await;
        create(&webhooks, &endpoint.url()).await;
        silent.push(endpoint);
    }
    let run = Run::of(&webhooks);
    for n in 0..30 {
        happens(&webhooks, n).await;
    }
    silent[9].hears(1).await;
    let good = Endpoint::start([status(200, "")]).await;
    let (id, _) = create(&webhooks, &good.url()).await;
    for n in 30..130 {
        happens(&webhooks, n).await;
    }
    until_all(&webhooks, id, 100, DeliveryState::Delivered).await;
    let attempts: usize = silent.iter().map(|it| it.heard().len()).sum();
    assert!(attempts < 300, "a tenth of what waits for them: {attempts}");
    run.abort().await;
}

#[tokio::test]
async fn an_endpoint_that_is_gone_gets_nothing_more() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), TIME).await;
    let endpoint = Endpoint::start([status(410, "")]).await;
    let (id, _) = create(&webhooks, &endpoint.url()).await;
    happens(&webhooks, 1).await;
    let run = Run::of(&webhooks);
    until_all(&webhooks, id, 1, DeliveryState::Failed).await;
    let webhook = webhooks.find(id).await.expect("there");
    assert!(webhook.state == WebhookState::Disabled && webhook.reason.contains("410"));
    happens(&webhooks, 2).await;
    let event = webhooks.store.webhook_deliveries(id, None, None, 9).await.expect("read");
    let event = event.deliveries[0].id;
    assert!(matches!(webhooks.replay(id, event).await, Err(WebhookError::Disabled)));
    let wanted = WebhookFields { state: Some(WebhookState::Active), ..WebhookFields::default() };
    webhooks.change(id, wanted).await.expect("activated");
    webhooks.replay(id, event).await.expect("due");
    let heard = endpoint.hears(2).await;
    assert_eq!(heard[0].body, heard[1].body);
    run.stop().await;
    assert_eq!(endpoint.heard().len(), 2, "what happened while it was off is not told");
}

#[tokio::test]
async fn two_secrets_sign_while_one_is_rotated() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), TIME).await;
    let endpoint = Endpoint::start([status(200, "")]).await;
    let (id, first) = create(&webhooks, &endpoint.url()).await;
    let (rotated, second) = webhooks.rotate(id).await.expect("rotated");
    assert!(rotated.earlier.is_some());
    let again = webhooks.rotate(id).await.expect_err("the first one still signs");
    assert!(
        again.to_string().contains(&START.after(Duration::from_hours(24)).rfc3339()),
        "{again}"
    );
    let tested = webhooks.test(id).await.expect("tested");
    assert_eq!((tested.delivered, tested.attempt.status), (true, Some(200)));
    clock.advance(Duration::from_hours(24));
    webhooks.test(id).await.expect("tested");
    let heard = endpoint.heard();
    assert!(is_signed(&heard[0], &first) && is_signed(&heard[0], &second));
    assert!(!is_signed(&heard[1], &first) && is_signed(&heard[1], &second));
    assert!(!is_signed(&heard[1], &Secret::random()));
    let log = webhooks.store.webhook_deliveries(id, None, None, 9).await.expect("read");
    assert_eq!(log.deliveries.len(), 2, "tests are in the log");
    let stored = webhooks.store.webhook(id).await.expect("read").expect("there");
    let plain = second.text();
    assert!(
        !stored.secret.windows(16).any(|it| plain.as_bytes().windows(16).any(|part| part == it))
    );
}

#[tokio::test]
async fn a_test_of_a_webhook_is_one_at_a_time() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), SHORT).await;
    let endpoint = Endpoint::start([Say::Nothing]).await;
    let (id, _) = create(&webhooks, &endpoint.url()).await;
    let (first, second) = tokio::join!(webhooks.test(id), async {
        endpoint.hears(1).await;
        webhooks.test(id).await
    });
    assert!(matches!(second, Err(WebhookError::Busy)), "{second:?}");
    let first = first.expect("tested");
    assert!(!first.delivered);
    assert!(
        first.attempt.error.as_ref().is_some_and(|it| it.starts_with("no answer")),
        "{first:?}"
    );
    webhooks.test(id).await.expect("free again");
}

#[tokio::test]
async fn tests_of_one_owner_leave_places_for_others() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), SHORT).await;
    let endpoint = Endpoint::start([Say::Nothing]).await;
    let mut all = Vec::new();
    for _ in 0..5 {
        all.push(create(&webhooks, &endpoint.url()).await.0);
    }
    let account = account(&webhooks).await;
    let (other, _) = create_for(&webhooks, account, &endpoint.url()).await;
    let four = futures_util::future::join_all(all.iter().take(4).map(|id| webhooks.test(*id)));
    let (four, (fifth, other)) = tokio::join!(four, async {
        endpoint.hears(4).await;
        tokio::join!(webhooks.test(all[4]), webhooks.test(other))
    });
    assert!(four.iter().all(Result::is_ok) && other.is_ok(), "{four:?} {other:?}");
    assert!(matches!(fifth, Err(WebhookError::Busy)), "{fifth:?}");
}

#[tokio::test]
async fn failing_webhooks_of_one_owner_do_not_hold_up_those_of_another() {
    let clock = Clock::manual(START);
    let schedule = Schedule::with_pauses(vec![Duration::from_secs(1); 50]);
    let (_directory, webhooks) = webhooks_with_places(&clock, schedule, SHORT, 16).await;
    let silent = Endpoint::start([Say::Nothing]).await;
    for _ in 0..20 {
        create(&webhooks, &silent.url()).await;
    }
    for n in 0..20 {
        happens(&webhooks, n).await;
    }
    let run = Run::of(&webhooks);
    // Some are known to fail now, and all have more that is due than they will get.
    silent.hears(16).await;
    let answers = [status(500, ""), status(200, "")];
    let (endpoint, account) = (Endpoint::start(answers).await, account(&webhooks).await);
    let (id, _) = create_for(&webhooks, account, &endpoint.url()).await;
    let (off, _) = create_for(&webhooks, account, &endpoint.url()).await;
    let wanted = WebhookFields { state: Some(WebhookState::Disabled), ..WebhookFields::default() };
    webhooks.change(off, wanted).await.expect("disabled, which the other one is told");
    let before = silent.heard().len();
    endpoint.hears(1).await;
    until_written(&webhooks, id, 1).await;
    clock.advance(Duration::from_secs(2));
    until_all(&webhooks, id, 1, DeliveryState::Delivered).await;
    let between = silent.heard().len() - before;
    assert!(between < 40, "it did not wait for all of theirs: {between}");
    run.abort().await;
}

#[tokio::test]
async fn a_clock_that_was_set_back_leaves_no_delivery_lying() {
    let clock = Clock::manual(START.after(Duration::from_hours(365 * 24)));
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), TIME).await;
    let endpoint = Endpoint::start([status(500, ""), status(200, "")]).await;
    let (id, _) = create(&webhooks, &endpoint.url()).await;
    happens(&webhooks, 1).await;
    let run = Run::of(&webhooks);
    endpoint.hears(1).await;
    until_written(&webhooks, id, 1).await;
    clock.set(START);
    let longest = Schedule::default().longest();
    let ask = async || {
        let page = webhooks.store.webhook_deliveries(id, None, None, 1).await.expect("read");
        let due = page.deliveries[0].next_attempt_at.expect("another attempt");
        (due == START.after(longest)).then_some(())
    };
    until("the other attempt is due by the new time", ask).await;
    clock.advance(longest);
    endpoint.hears(2).await;
    until_all(&webhooks, id, 1, DeliveryState::Delivered).await;
    run.stop().await;
}
