//! An installation moves from its file to PostgreSQL and back: beside the running server, over kills, and compared row by
//! row.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_tests::{Launch, Posted, Receiver, Server, only_on_a_file, until};
use waxwing_tools::Cluster;

use crate::dashboard::Browser;
use crate::fixture::{Database, Template, change, message, publish};
use crate::messages::send_tomorrow;

/// Of the first account; a batch has half of them.
const MESSAGES: usize = 1_000;

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(waxwing_tests::binary());
    command.arg("migrate").args(arguments).stdin(Stdio::null());
    command
}

/// Waits for the state of the message to an address: its mail may be in the inbox that was left behind.
fn until_handed_over(server: &Server, account: &str, to: &str) {
    until(to, Duration::from_secs(30), || {
        let messages = server.messages(account);
        let message = messages.iter().find(|it| it["to"] == to)?;
        ["delivered", "relayed"].contains(&message["state"].as_str()?).then_some(())
    });
}

fn answered(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

/// A move that needs nobody.
fn moved(from: &str, to: &str) -> Value {
    answered(&command(&["--from", from, "--to", to, "--json"]).output().expect("it runs"))
}

fn refused(arguments: &[&str]) -> String {
    let output = command(arguments).output().expect("it runs");
    let errors = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!output.status.success(), "{arguments:?}");
    errors
}

fn spawned(from: &str, to: &str) -> (Child, impl Iterator<Item = String>) {
    let mut child = command(&["--from", from, "--to", to, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let said = BufReader::new(child.stderr.take().expect("a pipe"));
    (child, said.lines().map(|it| it.expect("a line")))
}

/// A move beside a server, which takes a message after the first pass and is stopped then.
async fn beside(server: &mut Server, from: &str, to: &str, late: &str) -> Value {
    let (child, mut said) = spawned(from, to);
    let is_before = |it: &String| !it.contains("Stop the server");
    let first: Vec<String> = said.by_ref().take_while(is_before).collect();
    assert!(first.iter().any(|it| it.contains("messages: ")), "{first:#?}");
    server.send(server.key(), &message(late)).await.message_id();
    assert!(server.terminate().success());
    let rest: Vec<String> = said.collect();
    assert!(rest.iter().any(|it| it.contains("messages: ")), "the rest came over: {rest:#?}");
    let answer = answered(&child.wait_with_output().expect("it ends"));
    assert!(answer["changedInPause"].as_u64().is_some_and(|it| it > 0), "{answer}");
    answer
}

/// Rows of a table, as the end of a move says it.
fn rows(answer: &Value, table: &str) -> u64 {
    let tables = answer["tables"].as_array().expect("a list");
    let found = tables.iter().find(|it| it["table"] == table).expect("the table is there");
    found["rows"].as_u64().expect("a number")
}

fn path(server: &Server) -> String {
    server.data_dir().to_str().expect("a path of UTF-8").to_owned()
}

fn on(url: &str) -> Launch {
    Launch::posting_here().with("store", "url", url)
}

/// Sends so many messages, and leaves something in every state that a sender can bring about.
async fn fill(server: &Server) -> String {
    for half in 0..2 {
        let batch = (0..MESSAGES / 2).map(|it| message(&format!("n{it}of{half}@example.com")));
        let sent = server.send_batch(server.key(), &batch.collect::<Value>()).await;
        assert_eq!(sent.body["success"], true, "{}", sent.body);
    }
    let account = server.dev_output("accountId");
    drop(server.cli(&["message", "suppress", "--account", account, "gone@example.com"]));
    server.send(server.key(), &message("gone@example.com")).await.message_id();
    let canceled = send_tomorrow(server, server.key(), "never@example.com").await;
    drop(server.cli(&["message", "cancel", &canceled]));
    let template = Template { subject: "Größe", text: Some("x"), ..Template::default() };
    publish(server, account, "greeting", &template, &[]);
    send_tomorrow(server, server.key(), "tomorrow@example.com").await
}

/// The balance of the account, which is the sum of its ledger.
fn balance(server: &Server) -> i64 {
    let shown = server.cli(&["credits", "show", "--account", server.dev_output("accountId")]);
    let ledger = shown["ledger"].as_array().expect("a ledger");
    let sum: i64 = ledger.iter().map(|it| it["amount"].as_i64().expect("a number")).sum();
    assert_eq!(shown["balance"], sum, "{shown}");
    sum
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_moves_beside_its_server_and_back_and_goes_on() {
    if only_on_a_file("it moves from a file to PostgreSQL") {
        return;
    }
    let Some(cluster) = Cluster::shared("that an installation moves to PostgreSQL and back") else {
        return;
    };
    let url = cluster.create("installation");
    let receiver = Receiver::start().await;
    let mut server = Server::start(Launch::posting_here());
    server.make_webhook(server.key(), &receiver, &["message.*"]).await;
    let scheduled = fill(&server).await;
    let (directory, account) = (path(&server), server.dev_output("accountId").to_owned());
    let key = server.key().to_owned();

    let over = beside(&mut server, &directory, &url, "late@example.com").await;
    assert!(rows(&over, "messages") >= u64::try_from(MESSAGES).expect("small") + 4, "{over}");
    for table in ["bodies", "events", "ledger", "users", "audit", "suppressions", "webhooks"] {
        assert!(rows(&over, table) > 0, "{table}");
    }
    let left = server.cli_fails(&["account", "list"]);
    assert!(left.contains("was moved to") && left.contains("database installation"), "{left}");
    let mut start = Command::new(waxwing_tests::binary());
    start.args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir", &directory]);
    let start = String::from_utf8(start.output().expect("it runs").stderr).expect("UTF-8");
    assert!(start.contains("was moved to"), "no server starts with it: {start}");

    server.restart_as(on(&url));
    assert_eq!(server.key(), key, "its key is known there");
    until_handed_over(&server, &account, "late@example.com");
    assert_eq!(server.messages(&account).len(), MESSAGES + 4);
    let before = balance(&server);
    let id = server.send(server.key(), &message("new@example.com")).await.message_id();
    server.wait_for_mail_to("new@example.com").await;
    assert_eq!(balance(&server), before - 1);
    let is_told = |it: &Posted| it.event()["data"]["messageId"] == id.as_str();
    receiver.until("the event of a message", |posted| posted.iter().any(is_told)).await;
    drop(server.cli(&["message", "cancel", &scheduled]));
    assert_eq!(server.message(&scheduled)["state"], "canceled");
    let versions = server.cli(&["template", "versions", "--account", &account, "greeting"]);
    assert_eq!(versions.as_array().map(Vec::len), Some(1), "{versions}");
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/app/messages?q=new%40example.com").await;
    assert!(page.html.contains("new@example.com"), "{}", page.html);

    let filled = refused(&["--from", &url, "--to", &directory]);
    assert!(filled.contains("has data already"), "{filled}");
    for ending in ["", "-wal", "-shm"] {
        let file = server.data_dir().join(format!("waxwing.db{ending}"));
        if file.exists() {
            fs::rename(&file, server.scratch(&format!("left{ending}"))).expect("moved away");
        }
    }
    let back = beside(&mut server, &url, &directory, "later@example.com").await;
    assert_eq!(rows(&back, "messages"), u64::try_from(MESSAGES).expect("small") + 6);
    server.restart_as(Launch::posting_here());
    until_handed_over(&server, &account, "later@example.com");
    server.send(server.key(), &message("last@example.com")).await.message_id();
    server.wait_for_mail_to("last@example.com").await;
    Database::of(&server).await.assert_sound().await;
    assert_eq!(server.messages(&account).len(), MESSAGES + 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_leaves_half_of_a_move_that_goes_on_and_a_changed_row_is_named() {
    if only_on_a_file("it moves from a file to PostgreSQL") {
        return;
    }
    let Some(cluster) = Cluster::shared("that a move to PostgreSQL survives kill -9") else {
        return;
    };
    let url = cluster.create("killed");
    let mut server = Server::start(Launch::posting_here());
    drop(fill(&server).await);
    assert!(server.terminate().success());
    let directory = path(&server);

    for after in ["accounts: ", "bodies: "] {
        let (mut child, mut said) = spawned(&directory, &url);
        assert!(said.any(|it| it.contains(after)), "{after}");
        child.kill().expect("it can be killed");
        assert_eq!(child.wait().expect("it has ended").signal(), Some(9), "in the middle");
        let mut half = Command::new(waxwing_tests::binary());
        half.env("WAXWING_STORE__URL", &url).args(["account", "list", "--data-dir", &directory]);
        let half = String::from_utf8(half.output().expect("it runs").stderr).expect("UTF-8");
        assert!(half.contains("is filling this database"), "{half}");
    }
    let looked = command(&["--from", &directory, "--to", &url, "--dry-run", "--json"]).output();
    assert_eq!(answered(&looked.expect("it runs"))["target"], "half");
    let over = moved(&directory, &url);
    assert!(rows(&over, "bodies") > 0, "{over}");

    let verify = ["--from", &directory, "--to", &url, "--verify"];
    let same = command(&[&verify[..], &["--json"]].concat()).output().expect("it runs");
    assert_eq!(answered(&same)["tables"], over["tables"], "the same digests");
    change(&server, "UPDATE webhook_cursor SET sequence = sequence + 1").await;
    let named = refused(&verify);
    let says = "table webhook_cursor: the row with id = 1 has other values";
    assert!(named.contains(says), "{named}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_moved_is_refused_and_a_look_changes_nothing() {
    if only_on_a_file("it moves from a file to PostgreSQL") {
        return;
    }
    let Some(cluster) = Cluster::shared("what a move to PostgreSQL refuses") else { return };
    let urls = [cluster.create("refused_empty"), cluster.create("refused_taken")];
    let [empty, taken] = urls.each_ref().map(String::as_str);
    let server = Server::dev();
    server.send(server.key(), &message("ada@example.com")).await.message_id();
    let directory = path(&server);
    let directory = directory.as_str();
    for _ in 0..2 {
        let look = ["--from", directory, "--to", empty, "--dry-run", "--json"];
        let looked = answered(&command(&look).output().expect("it runs"));
        assert_eq!((&looked["target"], &looked["serverRuns"]), (&json!("empty"), &json!(true)));
        assert_eq!(rows(&looked, "messages"), 1, "{looked}");
    }
    let other = Server::start(on(taken));
    let nowhere = server.scratch("nowhere");
    let nowhere = nowhere.to_str().expect("UTF-8");
    let stranger = server.scratch("stranger");
    fs::create_dir(&stranger).expect("a directory");
    fs::write(stranger.join("master.key"), [7; 32]).expect("written");
    let stranger = stranger.to_str().expect("UTF-8");
    let unknown = "postgres://waxwing:hidden@127.0.0.1:1/waxwing";
    for (from, to, says) in [
        (directory, directory, "two directories"),
        (taken, taken, "two databases of PostgreSQL"),
        (nowhere, empty, "there is no Waxwing store in"),
        (empty, nowhere, "is no store of this version"),
        (directory, taken, "has data already"),
        (taken, directory, "has data already"),
        (taken, stranger, "is not the master key that this database was made with"),
        (directory, unknown, "cannot be reached"),
    ] {
        let error = refused(&["--from", from, "--to", to]);
        assert!(error.contains(says), "{from} to {to}: {error}");
        assert!(!error.contains("hidden"), "{error}");
    }
    assert!(!server.scratch("nowhere").exists(), "nothing was made");
    server.send(server.key(), &message("eve@example.com")).await.message_id();
    other.send(other.key(), &message("eve@example.com")).await.message_id();
    other.wait_for_mail_to("eve@example.com").await;
}
