//! A newcomer's first minutes: start, paste, look; stop, start again.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use waxwing_tests::{Launch, OwnDatabase, Server, until_async};
use waxwing_tools::Need;

use crate::fixture::message;
use crate::wire::{head, read_until};

const BOUND: Duration = Duration::from_secs(20);

#[tokio::test]
async fn the_curl_that_dev_prints_puts_an_email_into_the_inbox_that_it_names() {
    if !Need::Curl.is_met("the curl that `waxwing dev` prints") {
        return;
    }
    let server = Server::start(Launch::plain_dev());
    let welcome = server.dev_output("welcome");
    let (_, rest) = welcome.split_once("terminal:\n\n").expect("a curl is announced");
    let (curl, _) = rest.split_once("\n\n").expect("the curl ends with an empty line");

    // The paste stays as it is; curl's own configuration makes it tell the status.
    let home = server.scratch("curl");
    fs::create_dir(&home).expect("a folder");
    fs::write(home.join(".curlrc"), "write-out = \"\\n%{http_code}\"\n").expect("written");
    let output = Command::new("sh").args(["-c", curl]).env("CURL_HOME", &home).output();
    let output = output.expect("sh and curl are installed");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let (body, status) = printed.rsplit_once('\n').expect("a body and a status");
    assert_eq!(status, "201", "{curl}\n{printed}");
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["success"], true);

    let mail = server.wait_for_mail_to("ada@example.com").await;
    assert_eq!(mail.subject, "481 902 is your Tern & Co code");
    let page = page_in_a_browser(server.dev_output("inbox"));
    assert!(page.contains("<html") && page.contains("481 902 is your Tern"), "{page}");
}

fn page_in_a_browser(url: &str) -> String {
    let output = Command::new("curl").args(["-sS", "-H", "accept: text/html", url]).output();
    String::from_utf8(output.expect("curl runs").stdout).expect("UTF-8")
}

#[test]
fn the_line_of_dev_json_has_every_key_of_the_contract() {
    let server = Server::dev();
    let line = server.line();
    for key in [
        "http",
        "smtpStarttls",
        "smtpTls",
        "apiKey",
        "from",
        "caFile",
        "dashboard",
        "template",
        "exampleData",
        "pluginsDir",
        "inbox",
    ] {
        assert!(line.get(key).is_some(), "`{key}` is missing in {line}");
    }
    assert!(server.url().starts_with("http://127.0.0.1:"), "{line}");
    assert!(server.key().starts_with("wx_live_") && server.key().len() == 49, "{line}");
    assert!(server.dev_output("from").contains("@sandbox."), "{line}");
    assert!(line["exampleData"].is_object(), "{line}");
    assert!(fs::metadata(server.dev_output("pluginsDir")).is_ok_and(|it| it.is_dir()), "{line}");
    let keys = server.cli(&["key", "list", "--account", server.dev_output("accountId")]);
    assert_eq!(keys[0]["scopes"], serde_json::json!(["send", "admin", "operator"]));
}

#[tokio::test]
async fn a_second_start_goes_on_with_the_same_data_key_and_template() {
    let mut server = Server::dev();
    let first = server.line().clone();
    let id = server.send(server.key(), &message("one@example.com")).await.message_id();
    server.wait_for_mails(1).await;
    assert!(server.terminate().success(), "SIGTERM is a clean end");

    server.restart();
    for key in ["apiKey", "from", "template", "exampleData", "accountId"] {
        assert_eq!(server.line()[key], first[key], "{key}");
    }
    assert_eq!(server.message(&id)["state"], "delivered");
    server.send(server.key(), &message("two@example.com")).await.message_id();
    let mails = server.wait_for_mails(2).await;
    let to: Vec<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, ["one@example.com", "two@example.com"]);
    assert_eq!(server.balance(server.dev_output("accountId")), 1_000_000 - 2);
}

#[tokio::test]
async fn a_start_after_its_key_was_switched_off_makes_a_new_one() {
    let mut server = Server::dev();
    let old = server.key().to_owned();
    let keys = server.cli(&["key", "list", "--account", server.dev_output("accountId")]);
    let id = keys[0]["id"].as_str().expect("an id");
    assert_eq!(server.cli(&["key", "deactivate", id])["state"], "deactivated");
    server.restart();
    assert_ne!(server.key(), old);
    server.send(server.key(), &message("a@example.com")).await.message_id();
    server.send(&old, &message("a@example.com")).await.assert_refused(401, "UNAUTHORIZED");
}

#[test]
fn a_second_server_on_the_same_data_directory_says_what_is_wrong() {
    let server = Server::dev();
    let error = server.cli_fails(&["dev", "--http", "127.0.0.1:0"]);
    let data = server.data_dir();
    assert!(error.starts_with("error: another waxwing runs on the data directory"), "{error}");
    assert!(
        error.contains(data.to_str().expect("UTF-8")) && error.contains("--data-dir"),
        "{error}"
    );
}

#[test]
fn a_taken_port_is_named_with_the_way_out() {
    let server = Server::dev();
    let other = server.scratch("other");
    let database = OwnDatabase::make();
    let output = Command::new(waxwing_tests::binary())
        .args(["dev", "--json", "--http", server.address(), "--data-dir"])
        .arg(other)
        .envs(database.iter().map(OwnDatabase::setting))
        .output()
        .expect("the binary runs");
    let error = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(!output.status.success(), "{error}");
    assert!(error.contains(server.address()) && error.contains("--http"), "{error}");
}

#[tokio::test]
async fn a_request_in_flight_is_answered_when_the_server_is_told_to_stop() {
    let mut server = Server::dev();
    let body = message("late@example.com").to_string();
    let mut client = TcpStream::connect(server.address()).await.expect("connected");
    let head = head(&server, server.key(), body.len(), "Expect: 100-continue\r\n");
    client.write_all(head.as_bytes()).await.expect("written");
    // The server asks for the body: from here on, the request is in flight.
    read_until(&mut client, "100 Continue\r\n\r\n").await;

    server.ask_to_stop();
    let address = server.address().to_owned();
    let refused = || async { TcpStream::connect(&address).await.is_err().then_some(()) };
    until_async("new clients are turned away", BOUND, refused).await;

    client.write_all(body.as_bytes()).await.expect("written");
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.expect("answered");
    assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
    assert!(server.wait_for_exit().success(), "a drained server ends well");

    server.restart();
    server.wait_for_mail_to("late@example.com").await;
}

#[tokio::test]
async fn a_second_signal_does_not_wait_for_anything() {
    let mut server = Server::dev();
    let mut client = TcpStream::connect(server.address()).await.expect("connected");
    let head = head(&server, server.key(), 100, "Expect: 100-continue\r\n");
    client.write_all(head.as_bytes()).await.expect("written");
    read_until(&mut client, "100 Continue\r\n\r\n").await;
    server.ask_to_stop();
    let address = server.address().to_owned();
    let refused = || async { TcpStream::connect(&address).await.is_err().then_some(()) };
    until_async("new clients are turned away", BOUND, refused).await;

    let start = Instant::now();
    server.ask_to_stop();
    server.wait_for_exit();
    let took = start.elapsed();
    assert!(took < Duration::from_secs(10), "it waited {took:?} for a client that says nothing");
}
