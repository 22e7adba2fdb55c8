//! Swaps while clients send: none of the sends is lost, refused or decided by two generations.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join, join_all};
use lz4_flex::block::decompress_size_prepended_with_dict;
use mail_parser::MessageParser;
use reqwest::Method;
use serde_json::Value;
use waxwing_tests::{Server, Sql, either, until_async};

use super::measure::{percentile, tell};
use super::{Component, PLAN, RENDERER, note, of_kind, server};
use crate::fixture::{Database, told};

const CLIENTS: usize = 48;
const CALM: usize = 1_000;
const SENDS: usize = 10_000;
const SWAPS: usize = 50;
/// Answers between one swap and the next.
const BETWEEN: usize = 20;
/// Messages that the inbox holds in any case.
const MIN_ARRIVED: usize = 1_000;
const BOUND: Duration = Duration::from_mins(15);

/// Clients that send, each message with a number of its own.
#[derive(Default)]
struct Traffic {
    next: AtomicUsize,
    answered: AtomicUsize,
    enough: AtomicBool,
    sent: Mutex<Vec<(String, usize, Duration)>>,
}

impl Traffic {
    /// Sends until somebody says that it is enough.
    async fn client(&self, server: &Server) {
        while !self.enough.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let start = Instant::now();
            let request = server.request(Method::POST, "/messages/send").json(&note(number));
            let answer = request.header("x-api-key", server.key()).send().await;
            let answer = answer.expect("the server answers");
            let status = answer.status();
            let body: Value = answer.json().await.expect("JSON");
            assert_eq!(status, 201, "none is refused: {body}");
            let id = body["messageId"].as_str().expect("a messageId").to_owned();
            self.sent.lock().expect("no client panics").push((id, number, start.elapsed()));
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }

    async fn until_answered(&self, count: usize) {
        let reached = || async { (self.answered.load(Ordering::Relaxed) >= count).then_some(()) };
        until_async(&format!("{count} answers"), BOUND, reached).await;
    }

    fn times(&self, from: usize) -> Vec<Duration> {
        let sent = self.sent.lock().expect("no client panics");
        sent.iter().skip(from).map(|(_, _, took)| *took).collect()
    }
}

/// What a component leaves in every message that it had a part in.
struct Marks {
    name: &'static str,
    version: &'static str,
    digest: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn of_10_000_sends_over_50_swaps_none_is_lost_refused_or_mixed() {
    let server = server();
    let renderers = [Component::guest("visible-a"), Component::guest("visible-b")];
    let policies = [Component::guest("price-one"), Component::guest("price-two")];
    for (renderer, policy) in renderers.iter().zip(&policies) {
        server.swap(RENDERER, &renderer.bytes, &renderer.digest).await;
        server.swap(PLAN, &policy.bytes, &policy.digest).await;
    }
    let traffic = Traffic::default();
    let clients = join_all((0..CLIENTS).map(|_| traffic.client(&server)));
    let swapper = async {
        traffic.until_answered(CALM).await;
        let mut took = Vec::with_capacity(SWAPS);
        for swap in 0..SWAPS {
            let start = Instant::now();
            let (renderer, policy) = (&renderers[swap % 2], &policies[swap % 2]);
            server.place("liquid-renderer.wasm", &renderer.bytes);
            server.place("plan-policy.wasm", &policy.bytes);
            join(server.live(RENDERER, &renderer.digest), server.live(PLAN, &policy.digest)).await;
            took.push(start.elapsed());
            let answered = traffic.answered.load(Ordering::Relaxed);
            traffic.until_answered(answered + BETWEEN).await;
        }
        traffic.until_answered(CALM + SENDS).await;
        traffic.enough.store(true, Ordering::Relaxed);
        took
    };
    let start = Instant::now();
    let ((), mut took) = join(async { drop(clients.await) }, swapper).await;
    let in_all = start.elapsed();

    let mut with = traffic.times(CALM);
    let mut without = traffic.times(0);
    without.truncate(CALM);
    tell(&format!(
        "{} sends and {SWAPS} swaps of both kinds in {in_all:?}; p50 and p99 of sends: {:?} and \
         {:?} without swaps, {:?} and {:?} with; p50 of a swap of both under load: {:?}",
        traffic.answered.load(Ordering::Relaxed),
        percentile(&mut without, 50),
        percentile(&mut without, 99),
        percentile(&mut with, 50),
        percentile(&mut with, 99),
        percentile(&mut took, 50),
    ));
    let sent = traffic.sent.into_inner().expect("no client panics");
    assert!(sent.len() >= SENDS + CALM);
    let numbers = sent.into_iter().map(|(id, number, _)| (id, number)).collect();
    hold_each_to_its_generations(&server, &renderers, &policies, numbers).await;
    hold_the_inbox_to_the_rows(&server).await;
}

/// Every row names who made it, and its content and its price prove it.
async fn hold_each_to_its_generations(
    server: &Server,
    renderers: &[Component; 2],
    policies: &[Component; 2],
    mut numbers: BTreeMap<String, usize>,
) {
    let database = Database::of(server).await;
    database.assert_sound().await;
    let marks = |name, version, component: &Component| Marks {
        name,
        version,
        digest: component.digest.clone(),
    };
    let renderers =
        [marks("visible-a", "1.0.0", &renderers[0]), marks("visible-b", "2.0.0", &renderers[1])];
    let policies =
        [marks("price-one", "1.0.0", &policies[0]), marks("price-two", "2.0.0", &policies[1])];
    let mut combinations = BTreeMap::new();
    let mut spent = 0;
    for row in database.texts(rows()).await {
        let row: Value = serde_json::from_str(&row).expect("the database makes JSON");
        let id = told("msg_", &unhex(row["id"].as_str().expect("an identifier")));
        let number = numbers.remove(&id).expect("no message that nobody was told of");
        assert_eq!(row["recipient"], format!("n{number}@example.com"));
        let renderer = maker(of_kind(&row, "renderer"), &renderers);
        let policy = maker(of_kind(&row, "plan"), &policies);
        let mark = ["[A]", "[B]"][renderer];
        assert_eq!(row["subject"], format!("{mark} Note {number}"), "{row}");
        let stored = |column: &str| unhex(row[column].as_str().expect("bytes in hex"));
        assert_body(&stored("body"), &stored("dictionary"), mark, number);
        let price = [1, 2][policy];
        assert_eq!(row["credits"], price, "{row}");
        let reason = ["price one", "price two"][policy];
        assert_eq!(of_kind(&row, "plan")["reason"], reason, "{row}");
        spent += price;
        *combinations.entry((renderer, policy)).or_insert(0_usize) += 1;
    }
    assert!(numbers.is_empty(), "answered with 201 and lost: {numbers:?}");
    for (what, index) in [("renderer", 0), ("plan policy", 1)] {
        let used: BTreeSet<usize> =
            combinations.keys().map(|it| if index == 0 { it.0 } else { it.1 }).collect();
        assert_eq!(used.len(), 2, "both generations of the {what} were used: {combinations:?}");
    }
    assert_eq!(server.balance(server.dev_output("accountId")), 1_000_000 - spent);
}

/// A decision names the component by its number.
fn rows() -> Sql {
    either(
        "SELECT json_object('id', hex(m.id), 'recipient', m.recipient,
            'subject', m.subject, 'credits', m.credits,
            'plugins', (SELECT json_group_array(json_patch(i.identity,
                            json_object('kind', i.kind, 'reason', d.value ->> 2)))
                        FROM json_each(m.decisions) d
                        JOIN plugin_identities i ON i.id = d.value ->> 0),
            'body', hex(b.bytes), 'dictionary', hex(d.bytes))
        FROM messages m JOIN bodies b ON b.message_id = m.id
        JOIN dictionaries d ON d.id = b.dictionary",
        "SELECT CAST(json_build_object('id', encode(m.id, 'hex'), 'recipient', m.recipient,
            'subject', m.subject, 'credits', m.credits,
            'plugins', (SELECT json_agg(CAST(i.identity AS JSONB)
                            || jsonb_build_object('kind', i.kind, 'reason', e.value -> 2))
                        FROM jsonb_array_elements(CAST(m.decisions AS JSONB)) e (value)
                        JOIN plugin_identities i ON i.id = CAST(e.value ->> 0 AS BIGINT)),
            'body', encode(b.bytes, 'hex'), 'dictionary', encode(d.bytes, 'hex')) AS TEXT)
        FROM messages m JOIN bodies b ON b.message_id = m.id
        JOIN dictionaries d ON d.id = b.dictionary",
    )
}

/// Which of the two generations a decision names, with all that names it.
fn maker(decision: &Value, generations: &[Marks; 2]) -> usize {
    let index = generations.iter().position(|it| decision["digest"] == it.digest);
    let index = index.expect("a decision names a digest that was live");
    let marks = &generations[index];
    assert_eq!(
        (&decision["name"], &decision["version"]),
        (&marks.name.into(), &marks.version.into())
    );
    index
}

/// The whole body is of one generation and of one message.
fn assert_body(compressed: &[u8], dictionary: &[u8], mark: &str, number: usize) {
    let raw = decompress_size_prepended_with_dict(compressed, dictionary).expect("LZ4");
    let mail = MessageParser::default().parse(&raw).expect("an e-mail");
    let text = mail.body_text(0).expect("a text part");
    assert_eq!(text.trim_end(), format!("{mark} Number {number}."));
    assert_eq!(mail.subject(), Some(format!("{mark} Note {number}").as_str()));
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.map(|pair| byte(pair).expect("hex")).collect()
}

/// What arrives is what the rows say.
async fn hold_the_inbox_to_the_rows(server: &Server) {
    let database = Database::of(server).await;
    let ask = || async { (database.number("SELECT count(*) FROM queue").await == 0).then_some(()) };
    until_async("the queue is empty", BOUND, ask).await;
    let rows = database.texts("SELECT recipient || ' ' || subject FROM messages").await;
    let rows: BTreeSet<String> = rows.into_iter().collect();
    let mails = server.inbox().await;
    let arrived: BTreeSet<String> =
        mails.iter().map(|mail| format!("{} {}", mail.to, mail.subject)).collect();
    assert!(arrived.is_subset(&rows), "nothing arrives that no row knows");
    // The inbox keeps the newest only; all were delivered to it.
    assert!(arrived.len() >= MIN_ARRIVED, "{} are in the inbox", arrived.len());
    let delivered = "SELECT count(*) FROM messages WHERE state = 'delivered'";
    let delivered = usize::try_from(database.number(delivered).await).expect("a count");
    assert_eq!(delivered, rows.len());
}
