//! After an outage mail goes on: by itself, after a restart, and when somebody wants it.

use std::fs;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use waxwing_mx::{Behaviour, MxServer};
use waxwing_tests::{Account, Answer, Launch, Server, name_server, until_async};

use super::{lab_pausing, mail, smarthosts, started};
use crate::fixture::Database;

/// Until the next attempt of a message's own.
const HOUR: &str = "[3600]";
const BOUND: Duration = Duration::from_secs(90);

async fn ask(server: &Server, account: &Account, method: Method, below: &str) -> Answer {
    let request = server.request(method, &format!("/v1/messages/{below}"));
    server.answer(request.header("x-api-key", &account.key)).await
}

async fn until_state(server: &Server, account: &Account, id: &str, state: &str) -> Value {
    let seen = || async {
        let file = ask(server, account, Method::GET, id).await.body;
        (file["state"] == state).then_some(file)
    };
    until_async(&format!("{id} is {state}"), BOUND, seen).await
}

async fn deferred(server: &Server, account: &Account, names: [&str; 3]) -> [String; 3] {
    let mut ids = names.map(|it| format!("{it}@recipient.example"));
    for id in &mut ids {
        *id = server.send(&account.key, &mail(id)).await.message_id();
    }
    for id in &ids {
        until_state(server, account, id, "deferred").await;
    }
    ids
}

#[tokio::test]
async fn one_message_that_is_tried_again_takes_with_it_all_that_waited() {
    let smarthost = MxServer::start(Behaviour::new());
    let (_dns, server, account) = lab_pausing(&smarthost, HOUR).await;
    smarthost.stop();
    let ids = deferred(&server, &account, ["a", "b", "c"]).await;
    smarthost.start_again();
    let answer = ask(&server, &account, Method::POST, &format!("{}/retry", ids[1])).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    for id in &ids {
        until_state(&server, &account, id, "relayed").await;
    }
    assert_eq!(smarthost.message_count(), 3);
    let again = ask(&server, &account, Method::POST, &format!("{}/retry", ids[1])).await;
    assert_eq!((again.status, &again.body["code"]), (409, &json!("CONFLICT")));
    let stranger = server.open_account("pro", 1);
    let stranger = ask(&server, &stranger, Method::POST, &format!("{}/retry", ids[1])).await;
    assert!([403, 404].contains(&stranger.status), "{}", stranger.body);
}

#[tokio::test]
async fn an_operator_lets_all_that_waits_go_on_from_the_command_line() {
    let smarthost = MxServer::start(Behaviour::new());
    let (_dns, server, account) = lab_pausing(&smarthost, HOUR).await;
    smarthost.stop();
    let ids = deferred(&server, &account, ["a", "b", "c"]).await;
    let none = server.cli(&["message", "retry", "--domain", "elsewhere.example"]);
    assert_eq!(none, json!({"due": 0}));
    smarthost.start_again();
    let due = server.cli(&["message", "retry", "--domain", "Recipient.example"]);
    assert_eq!(due, json!({"due": 3}));
    for id in &ids {
        until_state(&server, &account, id, "relayed").await;
    }
    let refused = server.cli_fails(&["message", "retry", &ids[0]]);
    assert!(refused.contains("only a deferred message"), "{refused}");
}

#[tokio::test]
async fn after_a_restart_what_waited_for_a_destination_tries_it_at_once() {
    let smarthost = MxServer::start(Behaviour::new());
    let (_dns, mut server, account) = lab_pausing(&smarthost, HOUR).await;
    smarthost.stop();
    let ids = deferred(&server, &account, ["a", "b", "c"]).await;
    smarthost.start_again();
    server.restart();
    for id in &ids {
        until_state(&server, &account, id, "relayed").await;
    }
    assert_eq!(smarthost.message_count(), 3);
}

#[tokio::test]
async fn mail_of_an_account_activated_while_the_server_is_down_goes_on() {
    let smarthost = MxServer::start(Behaviour::new());
    let (_dns, mut server, account) = lab_pausing(&smarthost, HOUR).await;
    smarthost.stop();
    let ids = deferred(&server, &account, ["a", "b", "c"]).await;
    smarthost.start_again();
    assert_eq!(server.cli(&["account", "deactivate", &account.id])["state"], "suspended");
    assert_eq!(server.cli(&["message", "retry", "--all"]), json!({"due": 3}));
    for id in &ids {
        let is_held_back = || async {
            let file = server.message(id);
            file["reason"].as_str().is_some_and(|it| it.contains("suspended")).then_some(())
        };
        until_async("it is held back", BOUND, is_held_back).await;
    }
    assert_eq!(smarthost.message_count(), 0);
    server.kill9();
    assert_eq!(server.cli(&["account", "activate", &account.id])["state"], "active");
    server.restart();
    for id in &ids {
        until_state(&server, &account, id, "relayed").await;
    }
    assert_eq!(smarthost.message_count(), 3, "each once");
}

#[tokio::test]
async fn who_tries_again_without_a_pause_is_told_to_wait() {
    let launch = Launch::dev().with("limits", "sends_per_second", "1");
    let server = Server::start(launch.with("limits", "send_burst", "3"));
    let account = server.open_account("pro", 1);
    let (key_id, key) = server.make_key(&account.id, &["--scope", "admin"]);
    let account = Account { key_id, key, ..account };
    let tries = (0..12).map(|_| ask(&server, &account, Method::POST, "msg_0/retry"));
    let answers = join_all(tries).await;
    let refused: Vec<&Answer> = answers.iter().filter(|it| it.status != 404).collect();
    assert!(refused.len() < 12, "the first are looked for");
    assert!(!refused.is_empty(), "so many at once are too many");
    for answer in refused {
        answer.assert_refused(429, "RATE_LIMITED");
        assert!(answer.header("retry-after").is_some());
    }
}

#[tokio::test]
async fn what_waits_goes_another_way_when_the_operator_has_named_one() {
    let (down, up) = (MxServer::start(Behaviour::new()), MxServer::start(Behaviour::new()));
    let dns = name_server().await;
    let sections = format!(
        "[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n\
         [delivery]\nroute = \"smarthost\"\nretry_pauses_s = {HOUR}\nsmarthosts = {}\n",
        smarthosts(&down)
    );
    let (server, account) = started(Launch::serve(&sections).that_asks(&dns), &dns).await;
    down.stop();
    let ids = deferred(&server, &account, ["a", "b", "c"]).await;
    let file = server.scratch("waxwing.toml");
    let text = fs::read_to_string(&file).expect("the file");
    fs::write(file, text.replace(&smarthosts(&down), &smarthosts(&up))).expect("written");
    server.signal("HUP");
    for id in &ids {
        until_state(&server, &account, id, "relayed").await;
    }
    assert_eq!((down.message_count(), up.message_count()), (0, 3));
}

#[tokio::test]
async fn a_change_of_routes_costs_no_attempt_where_the_new_destination_is_down() {
    let (one, two) = (MxServer::start(Behaviour::new()), MxServer::start(Behaviour::new()));
    let other = smarthosts(&two).replace("post", "other");
    one.stop();
    two.stop();
    let dns = name_server().await;
    let sections = format!(
        "[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n\
         [delivery]\nroute = \"smarthost\"\nconnections = 1\nretry_pauses_s = {HOUR}\nsmarthosts = {}\n",
        smarthosts(&one)
    );
    let (server, account) = started(Launch::serve(&sections).that_asks(&dns), &dns).await;
    for n in 0..30 {
        let mail = mail(&format!("n{n}@recipient.example"));
        drop(server.send(&account.key, &mail).await.message_id());
    }
    let database = Database::of(&server).await;
    let attempts = "SELECT sum(attempts) FROM queue";
    let until_all_wait = async |waiting: &'static str| {
        let seen = || async { (database.number(waiting).await == 30).then_some(()) };
        until_async(waiting, BOUND, seen).await;
    };
    until_all_wait("SELECT count(*) FROM queue WHERE waits_for = 'smarthost post'").await;
    let before = database.number(attempts).await;
    let file = server.scratch("waxwing.toml");
    let text = fs::read_to_string(&file).expect("the file");
    fs::write(file, text.replace(&smarthosts(&one), &other)).expect("written");
    server.signal("HUP");
    until_all_wait("SELECT count(*) FROM queue WHERE waits_for = 'smarthost other'").await;
    // Two are on their way before the first one has failed; further ones try when a back-off is over.
    let after = database.number(attempts).await;
    assert!(after - before < 10, "{before} attempts before, {after} after");
}
