//! The whole server on PostgreSQL: what it does for a sender, what it refuses to start on, and how it goes on when the
//! primary is gone.

mod cut_off;
mod exhausted;
mod full_disk;
mod killed_in_turn;
mod lab;
mod load;
mod nodes;
mod old_primary;
mod operations;
mod proxy;
mod roll;
mod shared;
mod tls;
mod two_nodes;
mod whole;

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use reqwest::Method;
use waxwing_tests::{Launch, Mail, Receiver, Server, until_async};
use waxwing_tools::{Cluster, Pair};

use crate::dashboard::Browser;
use crate::fixture::message;

/// A server whose store is a new database of that name.
fn on_postgres(name: &str, unproven: &str) -> Option<Server> {
    let cluster = Cluster::shared(unproven)?;
    Some(Server::start(Launch::posting_here().with("store", "url", &cluster.create(name))))
}

/// What `waxwing dev` says where it does not start with this database.
fn refused_start(data: &Path, url: &str) -> String {
    let mut dev = Command::new(waxwing_tests::binary());
    dev.args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir"]).arg(data);
    let refused = dev.env("WAXWING_STORE__URL", url).output().expect("the binary runs");
    let why = String::from_utf8(refused.stderr).expect("UTF-8");
    assert!(!refused.status.success(), "{url}: {why}");
    why
}

/// A message that arrives, so that it was accepted, leased, delivered and settled.
async fn assert_delivers(server: &Server, to: &str) {
    server.send(server.key(), &message(to)).await.message_id();
    server.wait_for_mail_to(to).await;
}

/// The balance, which is the sum of the ledger.
fn balance(server: &Server, account: &str) -> i64 {
    let shown = server.cli(&["credits", "show", "--account", account]);
    let ledger = shown["ledger"].as_array().expect("a ledger");
    let sum: i64 = ledger.iter().map(|it| it["amount"].as_i64().expect("a number")).sum();
    assert_eq!(shown["balance"], sum, "the balance is the ledger's sum: {shown}");
    sum
}

#[tokio::test]
async fn a_message_is_sent_delivered_paid_told_and_shown_on_postgresql() {
    let Some(mut server) = on_postgres("journey", "a server on PostgreSQL") else { return };
    assert!(!server.data_dir().join("waxwing.db").exists(), "there is no second store");
    let receiver = Receiver::start().await;
    server.make_webhook(server.key(), &receiver, &["message.*"]).await;
    let account = server.open_account("pro", 10);
    let id = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let mail = server.wait_for_mail_to("ada@example.com").await;
    assert_eq!(mail.subject, "481 902 is your Tern & Co code");
    let told = receiver.event("message.delivered").await.event();
    assert_eq!(told["data"]["messageId"], id.as_str());
    let shown = server.message(&id);
    assert_eq!(shown["state"], "delivered", "{shown}");
    assert_eq!(balance(&server, server.dev_output("accountId")), 1_000_000 - 1);

    for number in 0..3 {
        let to = format!("n{number}@example.com");
        server.send(&account.key, &message(&to)).await.message_id();
    }
    assert_eq!(balance(&server, &account.id), 10 - 3);
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/app/messages?q=ada%40example.com").await;
    assert!(page.html.contains(&id), "{}", page.html);

    let first = server.line().clone();
    server.kill9();
    server.restart();
    assert_eq!(server.line()["apiKey"], first["apiKey"], "it goes on with the same database");
    assert_delivers(&server, "eve@example.com").await;
    assert_eq!(balance(&server, server.dev_output("accountId")), 1_000_000 - 2);
    let metrics = server.request(Method::GET, "/metrics").send().await.expect("answered");
    let metrics = metrics.text().await.expect("a text");
    assert!(metrics.contains("waxwing_queue_length "), "{metrics}");
    assert!(!metrics.contains("waxwing_database_bytes"), "{metrics}");
}

#[test]
fn what_cannot_be_a_store_is_said_before_anything_listens() {
    let home = tempfile::tempdir().expect("a directory");
    let nowhere = "postgres://waxwing:hidden@127.0.0.1:1/waxwing";
    for (url, says) in [
        ("mysql://localhost/waxwing", "store.url: as in postgres://"),
        (nowhere, "127.0.0.1:1, database waxwing) cannot be reached"),
    ] {
        let error = refused_start(&home.path().join("data"), url);
        assert!(error.contains(says), "{url}: {error}");
        assert!(!error.contains("hidden"), "{error}");
    }
}

#[test]
fn each_server_has_a_store_of_its_own_of_the_kind_that_the_run_asks_for() {
    let asked = std::env::var("WAXWING_TEST_STORE").unwrap_or_default();
    let mut one = Server::dev();
    let other = Server::dev();
    assert_eq!(one.store_url().is_some(), asked == "postgres", "{asked}");
    assert_eq!(one.data_dir().join("waxwing.db").exists(), one.store_url().is_none());
    let is_another = one.store_url().is_none() || one.store_url() != other.store_url();
    assert!(is_another, "a second data directory has a second database");
    let account = one.open_account("pro", 3).id;
    one.restart_as(Launch::dev());
    assert_eq!(one.balance(&account), 3, "a restart goes on with the same database");
    assert!(other.cli_fails(&["account", "show", &account]).contains(&account));
}

const CLIENTS: usize = 6;
/// Sends that are accepted before the primary is gone, and after another one is there.
const SENDS: usize = 60;
const BOUND: Duration = Duration::from_mins(1);

/// What clients send while the primary changes.
#[derive(Default)]
struct Load {
    next: AtomicUsize,
    /// The recipients of what was answered 201.
    accepted: Mutex<Vec<String>>,
    is_over: AtomicBool,
}

impl Load {
    /// Sends one message after the other, each once, whatever the answer is.
    async fn client(&self, server: &Server) {
        while !self.is_over.load(Ordering::Relaxed) {
            let to = format!("n{}@example.com", self.next.fetch_add(1, Ordering::Relaxed));
            let answer = server.send(server.key(), &message(&to)).await;
            if answer.status == 201 {
                self.accepted.lock().expect("no client panics").push(to);
            }
        }
    }

    /// Waits until so many more are accepted.
    async fn until_accepted(&self, more: usize) {
        let count = || self.accepted.lock().expect("no client panics").len();
        let wanted = count() + more;
        until_async("sends", BOUND, || async { (count() >= wanted).then_some(()) }).await;
    }
}

async fn assert_each_arrived_once(server: &Server, load: Load) {
    let accepted = load.accepted.into_inner().expect("no client panics");
    let count = |mails: &[Mail], to: &String| mails.iter().filter(|mail| mail.to == *to).count();
    let all_arrived = |mails: &[Mail]| accepted.iter().all(|to| count(mails, to) > 0);
    let mails = server.wait_for("all that was accepted", all_arrived).await;
    let twice: Vec<&String> = accepted.iter().filter(|to| count(&mails, to) > 1).collect();
    assert!(twice.is_empty(), "delivered more than once: {twice:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_primary_costs_no_accepted_message_and_repeats_none() {
    let Some(pair) = Pair::start("a fail-over of PostgreSQL") else { return };
    let url = pair.create("fail_over");
    // The sandbox inbox is in the database, too: what it could not take is tried again.
    let launch = Launch::dev().with("delivery", "retry_pauses_s", "[2]");
    let server = Server::start(launch.with("store", "url", &url));
    let load = Load::default();
    let clients = join_all((0..CLIENTS).map(|_| load.client(&server)));
    let fail_over = async {
        load.until_accepted(SENDS).await;
        pair.primary.crash();
        let refused = || async {
            let answer = server.send(server.key(), &message("refused@example.com")).await;
            (answer.status == 503).then_some(answer)
        };
        let refused = until_async("a refusal", BOUND, refused).await;
        refused.assert_refused(503, "UNAVAILABLE");
        pair.standby.promote();
        load.until_accepted(SENDS).await;
        load.is_over.store(true, Ordering::Relaxed);
    };
    join(clients, fail_over).await;
    assert_each_arrived_once(&server, load).await;
}
