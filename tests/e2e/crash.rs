//! kill -9 under load: every message answered with 201 is stored and delivered, an unanswered one costs
//! nothing, and a retry with its idempotency key creates no second message.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::Method;
use waxwing_tests::{Server, until_async};

use crate::fixture::{Database, message};

const ROUNDS: usize = 5;
const CLIENTS: usize = 24;
const SENDS: usize = 12;
const BOUND: Duration = Duration::from_mins(1);

/// The sends of one round, by the name that is both recipient and idempotency key.
struct Round {
    names: Vec<String>,
    accepted: Mutex<BTreeSet<String>>,
    answered: AtomicUsize,
}

impl Round {
    fn new(round: usize) -> Self {
        let names = (0..CLIENTS * SENDS).map(|n| format!("r{round}n{n}")).collect();
        Self { names, accepted: Mutex::default(), answered: AtomicUsize::new(0) }
    }

    fn accepted(&self) -> BTreeSet<String> {
        self.accepted.lock().expect("no client panics").clone()
    }

    /// One client: its share of the sends, until the server is gone.
    async fn client(&self, server: &Server, client: usize) {
        for name in self.names.iter().skip(client).step_by(CLIENTS) {
            let to = format!("{name}@example.com");
            let request = server.request(Method::POST, "/messages/send").json(&message(&to));
            let request = request.header("x-api-key", server.key()).header("idempotency-key", name);
            let Ok(answer) = server.try_answer(request).await else { return };
            let id = answer.message_id();
            self.accepted.lock().expect("no client panics").insert(id);
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_under_load_loses_nothing_and_duplicates_nothing() {
    let mut server = Server::dev();
    let account = server.dev_output("accountId").to_owned();
    let mut accepted = BTreeSet::new();
    let mut names = BTreeSet::new();
    for number in 0..ROUNDS {
        let round = Round::new(number);
        // Kill after a random number of answers.
        let after = random(CLIENTS * SENDS * 9 / 10);
        let clients = join_all((0..CLIENTS).map(|client| round.client(&server, client)));
        let reached = || async { (round.answered.load(Ordering::Relaxed) >= after).then_some(()) };
        let killer = async {
            until_async("enough answers", BOUND, reached).await;
            kill(server.process_id().expect("the server runs"));
        };
        join(clients, killer).await;
        server.wait_for_exit();
        let accepted_before_kill = round.accepted();
        assert!(accepted_before_kill.len() >= after, "round {number}");

        // What a power cut leaves must be sound as it is, before anything repairs it.
        let database = Database::of(&server).await;
        database.assert_sound().await;
        let stored: BTreeSet<String> =
            database.messages("SELECT id FROM messages").await.into_iter().collect();
        let lost: Vec<_> = accepted_before_kill.difference(&stored).collect();
        assert!(lost.is_empty(), "round {number}: answered with 201 and gone: {lost:?}");
        drop(database);

        server.restart();
        // Every client asks again for all of its sends.
        let again = Round::new(number);
        join_all((0..CLIENTS).map(|client| again.client(&server, client))).await;
        let accepted_after_retry = again.accepted();
        assert_eq!(
            accepted_after_retry.len(),
            CLIENTS * SENDS,
            "round {number}: each is accepted once"
        );
        assert!(
            accepted_before_kill.is_subset(&accepted_after_retry),
            "round {number}: the first answers are remembered"
        );
        accepted.extend(accepted_after_retry);
        names.extend(round.names.iter().map(|name| format!("{name}@example.com")));
    }

    let database = Database::of(&server).await;
    let ask = || async { (database.number("SELECT count(*) FROM queue").await == 0).then_some(()) };
    until_async("the queue is empty", BOUND, ask).await;
    database.assert_sound().await;
    let stored: BTreeSet<String> =
        database.messages("SELECT id FROM messages").await.into_iter().collect();
    assert_eq!(stored, accepted, "a message for each send, and no other");
    let undelivered = "SELECT count(*) FROM messages WHERE state <> 'delivered'";
    assert_eq!(database.number(undelivered).await, 0);
    let recipients = "SELECT count(DISTINCT recipient) FROM messages";
    assert_eq!(
        database.number(recipients).await,
        database.number("SELECT count(*) FROM messages").await
    );
    let spent = i64::try_from(accepted.len()).expect("a small number");
    assert_eq!(server.balance(&account), 1_000_000 - spent);
    let arrived: BTreeSet<String> = server.inbox().await.into_iter().map(|mail| mail.to).collect();
    assert_eq!(arrived, names, "each has arrived, at least once");
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_while_mail_is_being_delivered_loses_none() {
    let mut server = Server::dev();
    let batch: Vec<_> = (0..400).map(|n| message(&format!("n{n}@example.com"))).collect();
    let sent = server.send_batch(server.key(), &batch.into()).await;
    assert_eq!(sent.body["success"], true);
    for delivered in [1, 100, 250] {
        server.wait_for_mails(delivered + random(50)).await;
        server.kill9();
        Database::of(&server).await.assert_sound().await;
        server.restart();
    }
    let database = Database::of(&server).await;
    let delivered = "SELECT count(*) FROM messages WHERE state = 'delivered'";
    let ask = || async { (database.number(delivered).await == 400).then_some(()) };
    until_async("all are delivered", BOUND, ask).await;
    let arrived: BTreeSet<String> = server.inbox().await.into_iter().map(|mail| mail.to).collect();
    assert_eq!(arrived.len(), 400);
    database.assert_sound().await;
}

fn random(below: usize) -> usize {
    let hash = RandomState::new().hash_one(0);
    usize::try_from(hash % u64::try_from(below).expect("small")).expect("small")
}

/// Sends SIGKILL while clients still borrow the server.
pub fn kill(process: u32) {
    let killed =
        std::process::Command::new("sh").args(["-c", &format!("kill -KILL {process}")]).status();
    assert!(killed.expect("sh runs").success());
}
