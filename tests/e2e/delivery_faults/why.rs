//! `waxwing queue why` and its routes say why mail waits, until when, and what to do.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_dns::Fault;
use waxwing_mx::{Behaviour, MxServer, Stage};
use waxwing_tests::{Account, Answer, Launch, Server, from_now, name_server, until_async};

use super::{lab_pausing, mail, smarthosts, started};
use crate::fixture::with;

const HOUR: &str = "[3600]";
const BOUND: Duration = Duration::from_secs(90);

async fn get(server: &Server, key: &str, path: &str) -> Answer {
    server.answer(server.request(Method::GET, path).header("x-api-key", key)).await
}

/// The answer about that message once it waits for this.
async fn until_waits_for(server: &Server, id: &str, reason: &str) -> Value {
    let seen = || async {
        let answer = server.cli(&["queue", "why", id]);
        (answer["waitsFor"] == reason).then_some(answer)
    };
    until_async(&format!("{id} waits for {reason}"), BOUND, seen).await
}

async fn send(server: &Server, account: &Account, to: &str) -> String {
    server.send(&account.key, &mail(to)).await.message_id()
}

#[tokio::test]
async fn a_destination_that_refuses_connections_is_named_with_its_back_off() {
    let smarthost = MxServer::start(Behaviour::new());
    let (_dns, server, account) = lab_pausing(&smarthost, HOUR).await;
    smarthost.stop();
    let id = send(&server, &account, "a@recipient.example").await;
    let why = until_waits_for(&server, &id, "back_off").await;
    assert_eq!((&why["state"], &why["to"]), (&json!("deferred"), &json!("a@recipient.example")));
    for field in ["since", "until", "advice", "reason"] {
        assert!(why[field].is_string(), "{field}: {why}");
    }
    assert!(why["next"].as_str().is_some_and(|it| it.contains("and earlier if")), "{why}");
    let explanation = why["explanation"].as_str().unwrap_or_default();
    assert!(explanation.contains("backs off from the smarthost post"), "{explanation}");
    assert!(explanation.contains("while connecting"), "{explanation}");
    assert!(why["lastAttempt"]["reply"].as_str().is_some_and(|it| it.contains("connect")), "{why}");
    let is_told = |it: &str| it.contains("delivery attempted") && it.contains("reason");
    let told = || async { server.log().lines().any(is_told).then_some(()) };
    until_async("the log says why the attempt failed", BOUND, told).await;

    let domain = server.cli(&["queue", "why", "Recipient.example"]);
    assert_eq!((&domain["messages"], &domain["hasMore"]), (&json!(1), &json!(false)));
    assert_eq!(domain["groups"][0]["waitsFor"], "back_off");
    let hosts = &domain["hosts"][0];
    assert_eq!(
        (&hosts["hosts"], &hosts["health"]),
        (&json!("the smarthost post"), &json!("backing_off"))
    );
    assert!(hosts["until"].is_string() && hosts["lastError"].is_string(), "{hosts}");
    let dotted = server.cli(&["queue", "why", "recipient.example."]);
    assert_eq!(dotted["messages"], 1, "as dig prints it: {dotted}");
    let text = server.cli_text(&["queue", "why", "recipient.example"]);
    assert!(text.starts_with("1 message to recipient.example waits.\n"), "{text}");
    assert!(text.contains("What to do: "), "{text}");

    let queue = server.cli(&["queue", "list"]);
    let [destination] = queue.as_array().map(Vec::as_slice).unwrap_or_default() else {
        panic!("one destination: {queue}");
    };
    assert_eq!(
        (&destination["domain"], &destination["messages"], &destination["waitsFor"]),
        (&json!("recipient.example"), &json!(1), &json!("back_off")),
    );
    assert!(destination["until"].is_string() && destination["oldestAt"].is_string(), "{queue}");
    let behind = server.cli(&["queue", "list", "--after", "recipient.example"]);
    assert_eq!(behind, json!([]));

    smarthost.start_again();
    assert_eq!(server.cli(&["message", "retry", &id]), json!({"due": 1}));
    let seen = || async {
        let answer = server.cli(&["queue", "why", &id]);
        (answer["state"] == "relayed").then_some(answer)
    };
    let relayed = until_async("it is relayed", BOUND, seen).await;
    assert_eq!(relayed["waitsFor"], Value::Null);
    assert_eq!(relayed["lastAttempt"]["code"], 250, "{relayed}");
    let text = server.cli_text(&["queue", "why", &id]);
    assert!(text.contains("nothing is left to be delivered"), "{text}");
}

#[tokio::test]
async fn a_message_that_was_answered_421_waits_for_its_next_attempt() {
    let smarthost = MxServer::start(Behaviour::new().reject(Stage::Mail, 421, "4.3.2 come back"));
    let (_dns, server, account) = lab_pausing(&smarthost, HOUR).await;
    let id = send(&server, &account, "a@recipient.example").await;
    let why = until_waits_for(&server, &id, "retry").await;
    // Nothing but its time, or a command, lets such a message go on.
    let said = server.cli_text(&["queue", "why", &id]);
    assert!(said.contains("its next attempt is due at") && !said.contains("earlier"), "{said}");
    let last = &why["lastAttempt"];
    assert_eq!((&last["code"], &last["enhanced"]), (&json!(421), &json!("4.3.2")), "{why}");
    let domain = server.cli(&["queue", "why", "recipient.example"]);
    assert_eq!(domain["lastAttempt"], *last, "the last error of the domain");
}

#[tokio::test]
async fn a_domain_without_an_mx_answer_and_a_scheduled_message_say_so() {
    let (smarthost, dns) = (MxServer::start(Behaviour::new()), name_server().await);
    dns.fault("silent.example", Fault::ServFail);
    let launch = Launch::asking(&dns)
        .with("delivery", "route", "smarthost")
        .with("delivery", "smarthosts", &smarthosts(&smarthost))
        .with("delivery", "rules", "[{ recipients = [\"silent.example\"], route = \"direct\" }]")
        .with("delivery", "retry_pauses_s", HOUR);
    let (server, account) = started(launch, &dns).await;
    let id = send(&server, &account, "a@silent.example").await;
    let why = until_waits_for(&server, &id, "unresolved_mx").await;
    assert!(why["explanation"].as_str().is_some_and(|it| it.contains("silent.example")), "{why}");
    let domain = server.cli(&["queue", "why", "silent.example"]);
    assert_eq!(domain["groups"][0]["waitsFor"], "unresolved_mx", "{domain}");

    let tomorrow = from_now(Duration::from_hours(24));
    let later = with(mail("later@recipient.example"), "sendAt", json!(tomorrow));
    let id = server.send(&account.key, &later).await.message_id();
    let why = server.cli(&["queue", "why", &id]);
    assert_eq!((&why["state"], &why["waitsFor"]), (&json!("scheduled"), &json!("scheduled")));
    assert!(why["until"].is_string(), "{why}");
}

#[tokio::test]
async fn a_retried_message_of_a_suspended_account_waits_for_the_account() {
    let smarthost = MxServer::start(Behaviour::new());
    let (_dns, server, account) = lab_pausing(&smarthost, HOUR).await;
    smarthost.stop();
    let id = send(&server, &account, "a@recipient.example").await;
    let deferred = until_waits_for(&server, &id, "back_off").await;
    assert_eq!(server.cli(&["account", "deactivate", &account.id])["state"], "suspended");
    assert_eq!(server.cli(&["message", "retry", &id]), json!({"due": 1}));
    let why = server.cli(&["queue", "why", &id]);
    assert_eq!(why["waitsFor"], "account_suspended", "{why}");
    assert_eq!(why["until"], Value::Null, "{why}");
    assert!(why["advice"].as_str().is_some_and(|it| it.contains("account activate")), "{why}");
    let domain = server.cli(&["queue", "why", "recipient.example"]);
    assert_eq!(domain["groups"].as_array().map(Vec::len), Some(1), "{domain}");
    assert_eq!(domain["groups"][0]["waitsFor"], "account_suspended", "{domain}");
    assert_eq!(domain["lastAttempt"], deferred["lastAttempt"], "{domain}");
}

#[tokio::test]
async fn what_is_not_there_is_an_error_and_an_account_sees_its_own_mail_alone() {
    let smarthost = MxServer::start(Behaviour::new());
    let (_dns, server, account) = lab_pausing(&smarthost, HOUR).await;
    smarthost.stop();
    let id = send(&server, &account, "a@recipient.example").await;
    until_waits_for(&server, &id, "back_off").await;
    for (subject, words) in [
        ("nobody.example", "no message to `nobody.example` waits"),
        ("msg_01JAB3VYZ0000000000000000Z", "has no message"),
        ("a b", "neither a domain nor a message"),
        ("msg_01JAB3", "neither a domain nor a message"),
        ("nobody..example", "is no recipient domain"),
    ] {
        let said = server.cli_fails(&["queue", "why", subject]);
        assert!(said.contains(words), "{said}");
    }
    let own = get(&server, &account.key, &format!("/v1/messages/{id}/why")).await;
    assert_eq!((own.status, &own.body["waitsFor"]), (200, &json!("back_off")), "{}", own.body);
    for words in ["explanation", "advice"].map(|it| own.body[it].as_str().unwrap_or_default()) {
        let is_operators =
            ["smarthost", "waxwing", "[delivery]"].iter().any(|it| words.contains(it));
        assert!(!words.is_empty() && !is_operators, "{words}");
    }
    assert_eq!(own.body["lastAttempt"]["host"], Value::Null, "the operator's smarthost");
    let stranger = server.open_account("pro", 1);
    let (_, stranger) = server.make_key(&stranger.id, &["--scope", "admin"]);
    let other = get(&server, &stranger, &format!("/v1/messages/{id}/why")).await;
    other.assert_refused(404, "NOT_FOUND");
    for path in [
        format!("/v1/queue/why?message={id}"),
        "/v1/queue/why?domain=recipient.example".into(),
        "/v1/queue".into(),
    ] {
        get(&server, &stranger, &path).await.assert_refused(403, "FORBIDDEN");
        get(&server, "wx_live_nothing", &path).await.assert_refused(401, "UNAUTHORIZED");
    }
}
