//! No event is lost and none is invented: endpoints that fail in every way, a server that is killed in
//! the middle, and in the end exactly what has happened was taken.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;

use waxwing_tests::{Conduct, Launch, Posted, Receiver, Server, until_async};

use super::BOUND;
use crate::fixture::{Database, message};

const SEED: u64 = 20_261_122;
const MESSAGES: usize = 300;
const KILLS: [usize; 3] = [40, 350, 700];
/// After so many tries of one event the endpoint is good.
const WORST: u32 = 5;
/// The events of a message, with their numbers in the database.
const TYPES: [(usize, &str); 11] = [
    (1, "scheduled"),
    (2, "queued"),
    (3, "sending"),
    (4, "delivered"),
    (5, "relayed"),
    (6, "deferred"),
    (7, "bounced"),
    (8, "failed"),
    (9, "suppressed"),
    (10, "canceled"),
    (11, "complained"),
];

/// Bad, by chance, in a way that is the same in every run for the same event and try.
async fn flaky(seed: u64) -> Receiver {
    let counts: Mutex<BTreeMap<String, u32>> = Mutex::default();
    Receiver::behaving(move |posted| {
        let id = posted.header("webhook-id");
        let mut counts = counts.lock().expect("nobody panics");
        let tried = counts.entry(id.to_owned()).or_default();
        *tried += 1;
        // Identifiers differ from run to run; the place of a try in all of them does not.
        let mut chance = DefaultHasher::new();
        (
            seed,
            *tried,
            posted.event()["type"].to_string(),
            posted.event()["data"]["to"].to_string(),
        )
            .hash(&mut chance);
        match chance.finish() % 100 {
            _ if *tried >= WORST => Conduct::Answer(200, String::new()),
            0..15 => Conduct::Answer(500, String::new()),
            // Seldom: nothing at all is posted to it meanwhile.
            15..16 => Conduct::Answer(503, "retry-after: 1\r\n".to_owned()),
            16..20 => Conduct::Answer(503, String::new()),
            20..25 => Conduct::Answer(302, "location: http://127.0.0.1:1/\r\n".to_owned()),
            25..35 => Conduct::Cut,
            35..45 => Conduct::Lose,
            45..48 => Conduct::Hang,
            48..60 => Conduct::Answer(204, "connection: close\r\n".to_owned()),
            _ => Conduct::Answer(200, String::new()),
        }
    })
    .await
}

/// What was taken: identifier, type, message.
/// The type and the message of each event, in the order of its identifiers.
fn taken(posted: &[Posted]) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let each = posted.iter().filter(|it| it.was_taken()).map(|it| {
        let event = it.event();
        let id = it.header("webhook-id").to_owned();
        (id, (text(&event["type"]), text(&event["data"]["messageId"])))
    });
    let by_identifier: BTreeMap<String, (String, String)> = each.collect();
    let mut events: Vec<(String, String)> = by_identifier.into_values().collect();
    events.sort();
    events
}

/// The same, as the database has them.
async fn happened(database: &Database, types: &[(usize, &str)]) -> Vec<(String, String)> {
    let mut events = Vec::new();
    for (number, name) in types {
        let subjects = format!("SELECT subject FROM events WHERE type = {number}");
        let subjects = database.messages(subjects.as_str()).await;
        events.extend(subjects.into_iter().map(|id| (format!("message.{name}"), id)));
    }
    events.sort();
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_taken_is_what_has_happened_under_load_and_over_kills() {
    let (all, some) = (flaky(SEED).await, flaky(SEED + 1).await);
    let pauses = format!("[{}]", vec!["1"; 60].join(", "));
    let launch = Launch::posting_here().with("webhooks", "retry_pauses_s", &pauses).with(
        "webhooks",
        "timeout_s",
        "2",
    );
    let mut server = Server::start(launch);
    drop(server.make_webhook(server.key(), &all, &["message.*"]).await);
    drop(server.make_webhook(server.key(), &some, &["message.delivered"]).await);
    let mut sent = 0;
    for kill in KILLS {
        let to =
            (sent..sent + MESSAGES / KILLS.len()).map(|n| message(&format!("n{n}@example.com")));
        let batch: Vec<_> = to.collect();
        sent += batch.len();
        let answer = server.send_batch(server.key(), &batch.into()).await;
        assert_eq!(answer.body["success"], true);
        all.until("enough tries", |posted| posted.len() >= kill).await;
        server.kill9();
        Database::of(&server).await.assert_sound().await;
        server.restart();
    }
    let database = Database::of(&server).await;
    let open = "SELECT (SELECT count(*) FROM queue)
                     + (SELECT count(*) FROM webhook_deliveries WHERE state = 'pending')
                     + (SELECT max(sequence) FROM events) - (SELECT sequence FROM webhook_cursor)";
    let ask = || async { (database.number(open).await == 0).then_some(()) };
    until_async("everything is delivered and told", 5 * BOUND, ask).await;

    let wanted = happened(&database, &TYPES).await;
    assert!(wanted.len() >= 3 * MESSAGES, "queued, sending, delivered: {}", wanted.len());
    assert!(taken(&all.posted()) == wanted, "every event of every message, and no other");
    let wanted = happened(&database, &[(4, "delivered")]).await;
    assert!(taken(&some.posted()) == wanted, "and only what is wanted");

    let failed = "SELECT count(*) FROM webhook_deliveries WHERE state <> 'delivered'";
    assert_eq!(database.number(failed).await, 0);
    let posted = all.posted();
    let mut bodies: BTreeMap<&str, &str> = BTreeMap::new();
    for it in &posted {
        let first = bodies.entry(it.header("webhook-id")).or_insert(&it.body);
        assert_eq!(*first, it.body, "the same identifier, the same body");
    }
    assert!(posted.len() > bodies.len() * 5 / 4, "it was a bad endpoint: {}", posted.len());
    database.assert_sound().await;
}
