//! What is recorded of every decision, and the same calls made again.

use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, Server, until_async};

use super::{
    Component, PLAN, SOON, decision, note, note_to, of_kind, publish_note, reason, refused, sent,
    server,
};
use crate::fixture::{Template, publish, with};

/// The component that must have decided, by its slot and name, as the API lists it now.
async fn assert_names_what_is_live(server: &Server, decision: &Value, kinds: &[&str]) {
    let plugins = decision["plugins"].as_array().expect("a list");
    let recorded: Vec<&str> = plugins.iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(recorded, kinds, "{decision:#}");
    for plugin in plugins {
        let slot = plugin["slot"].as_str().expect("a slot");
        let active = &server.slot(slot).await["active"];
        for member in ["name", "version", "digest", "settingsRevision"] {
            assert_eq!(plugin[member], active[member], "{member} of {plugin}");
        }
        let digest = plugin["digest"].as_str().unwrap_or_default();
        assert!(digest.starts_with("sha256:") && digest.len() == 71, "{digest}");
        assert!(plugin["micros"].is_u64() && plugin["verdict"].is_string(), "{plugin}");
    }
}

#[tokio::test]
async fn every_message_and_every_refusal_has_a_record_that_names_its_plugins() {
    let server = server();
    let free = server.open_account("free", 10);
    let gold = Template { subject: "Gold", text: Some("Gold."), ..Template::default() };
    drop(publish(&server, &free.id, "gold", &gold, &["--required-plan", "pro"]));
    let poor = server.open_account("pro", 0);
    publish_note(&server, &poor.id, "note");

    let accepted = sent(&server, 1).await;
    assert_eq!(accepted["outcome"], "accepted");
    assert_names_what_is_live(&server, &accepted, &["plan", "domain", "renderer"]).await;

    let answer = server.send(&free.key, &with(note(1), "template", json!("gold"))).await;
    answer.assert_refused(403, "RESTRICTED_TEMPLATE");
    let restricted = refused(&server, &answer, 403).await;
    assert_names_what_is_live(&server, &restricted, &["plan"]).await;
    assert_eq!(restricted["plugins"][0]["verdict"], "deny");
    assert_eq!(
        (&restricted["messageId"], &restricted["accountId"]),
        (&Value::Null, &json!(free.id))
    );

    let answer = server.send(&poor.key, &note(1)).await;
    answer.assert_refused(402, "INSUFFICIENT_BALANCE");
    let unpaid = refused(&server, &answer, 402).await;
    assert_names_what_is_live(&server, &unpaid, &["plan", "domain", "renderer"]).await;

    let answer = server.send(server.key(), &with(note(1), "data", json!({}))).await;
    answer.assert_faults(&["data.n"]);
    let missing = refused(&server, &answer, 400).await;
    assert_names_what_is_live(&server, &missing, &["plan", "domain", "renderer"]).await;
    assert_eq!(of_kind(&missing, "renderer")["verdict"], "invalid");

    let bad = Component::guest("panic-on-poison");
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    let answer = server.send(server.key(), &note_to(1, "a@poison.example")).await;
    let trapped = refused(&server, &answer, 503).await;
    assert_names_what_is_live(&server, &trapped, &["plan"]).await;

    // In a batch each refusal has its own.
    let batch = json!([note(2), note_to(1, "a@poison.example"), with(note(3), "data", json!({}))]);
    let answer = server.send_batch(server.key(), &batch).await;
    let text = answer.body.to_string();
    assert_eq!(text.matches("decisionId").count(), 2, "{text}");

    let listed = server.look("/v1/decisions?refusals=true&limit=100").await;
    let outcomes: Vec<&str> =
        rows(&listed).iter().filter_map(|it| it["outcome"].as_str()).collect();
    for code in ["UNAVAILABLE", "BAD_REQUEST", "INSUFFICIENT_BALANCE", "RESTRICTED_TEMPLATE"] {
        assert!(outcomes.contains(&code), "{code} in {outcomes:?}");
    }
    assert!(!outcomes.contains(&"accepted"), "{outcomes:?}");
    // What no plugin was asked about is no decision.
    let unknown = server.send(server.key(), &with(note(1), "template", json!("nothing"))).await;
    unknown.assert_refused(400, "BAD_REQUEST");
    assert_eq!(unknown.body["decisionId"], Value::Null);
}

#[tokio::test]
async fn decisions_are_listed_newest_first_by_pages_and_by_what_one_looks_for() {
    let server = server();
    for n in 0..5 {
        sent(&server, n).await;
    }
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let last = sent(&server, 5).await;
    let first = server.look("/v1/decisions?limit=4").await;
    assert_eq!((rows(&first).len(), &first["hasMore"]), (4, &json!(true)));
    assert_eq!(rows(&first)[0]["id"], last["id"]);
    let after = first["next"].as_str().expect("where the next page begins");
    assert_eq!(rows(&first)[3]["id"], after);
    let rest = server.look(&format!("/v1/decisions?limit=4&after={after}")).await;
    assert_eq!((rows(&rest).len(), &rest["hasMore"]), (2, &json!(false)));
    for plugin in ["price-one", one.digest.as_str()] {
        let found = server.look(&format!("/v1/decisions?plugin={plugin}")).await;
        let found: Vec<&Value> = rows(&found).iter().map(|it| &it["id"]).collect();
        assert_eq!(found, [&last["id"]], "{plugin}");
    }
    let all = server.look("/v1/decisions?plugin=plan-policy&outcome=accepted").await;
    assert_eq!(rows(&all).len(), 6, "by the slot");
    let id = last["messageId"].as_str().expect("a message");
    let message = server.look(&format!("/v1/decisions?message={id}")).await;
    assert_eq!(rows(&message).len(), 1);
    for (path, status) in
        [("dec_01J0000000000000000000000", 400), ("dec_01J00000000000000000000000", 404)]
    {
        let path = format!("/v1/decisions/{path}");
        let answer = server.operate(Method::GET, &path, Vec::new()).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.body);
    }
}

/// A decision whose calls were recorded.
async fn recorded(server: &Server, id: &str) -> Value {
    let ask = || async {
        let row = decision(server, id).await;
        row["recorded"].as_array().is_some_and(|it| !it.is_empty()).then_some(row)
    };
    until_async("the calls are recorded", SOON, ask).await
}

async fn replay(server: &Server, id: &str, with: &[u8]) -> Answer {
    server.operate(Method::POST, &format!("/v1/decisions/{id}/replay"), with.to_vec()).await
}

#[tokio::test]
async fn a_recorded_call_is_answered_again_and_by_another_plugin() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let mut message = note(7);
    message["data"]["unread"] = json!("zanzibar-by-night");
    let id = server.send(server.key(), &message).await.message_id();
    let row = recorded(&server, &id).await;
    assert_eq!(row["recorded"], json!(["plan", "renderer"]), "{row}");
    // What decided it is not live any more; its bytes are still there.
    server.swap(PLAN, &two.bytes, &two.digest).await;

    let again = replay(&server, &id, &[]).await;
    assert_eq!(again.status, 200, "{}", again.body);
    assert_eq!(rows(&again.body).len(), 2, "{}", again.body);
    for call in rows(&again.body) {
        assert_eq!((&call["same"], &call["differences"]), (&json!(true), &json!([])), "{call}");
        assert_eq!(call["digest"], call["replayedBy"], "{call}");
    }
    assert_eq!(rows(&again.body)[0]["digest"], one.digest);
    assert_eq!(rows(&again.body)[0]["answer"]["decisions"][0]["allow"]["credits"], 1);
    let input = &rows(&again.body)[1]["input"];
    assert_eq!(input["data"]["unread"], "zanzibar-by-night", "the whole input is there");

    let other = replay(&server, &id, &two.bytes).await;
    let [call] = rows(&other.body) else { unreachable_calls(&other.body) };
    assert_eq!((&call["same"], &call["replayedBy"]), (&json!(false), &json!(two.digest)));
    assert_eq!(call["answer"]["decisions"][0]["allow"]["credits"], 2);
    let differences = call["differences"].to_string();
    assert!(differences.contains("credits") && differences.contains("price two"), "{differences}");

    // The sender's data is nowhere on disk in the clear: the template does not show this member.
    server.wait_for_mails(1).await;
    assert_nowhere(&server.data_dir(), b"zanzibar-by-night");
    let broken = replay(&server, &id, b"no component").await;
    broken.assert_refused(400, "BAD_REQUEST");
    let domain = Component::guest("strict-domain");
    replay(&server, &id, &domain.bytes).await.assert_refused(400, "BAD_REQUEST");
}

#[tokio::test]
async fn a_failure_in_live_calls_only_is_seen_again_in_a_replay() {
    let server = server();
    let guest = Component::guest("gives-up");
    server.swap(PLAN, &guest.bytes, &guest.digest).await;
    let answer = server.send(server.key(), &note(1)).await;
    let decision = refused(&server, &answer, 503).await;
    let id = decision["id"].as_str().expect("an id").to_owned();
    let ask = || async {
        let answer = replay(&server, &id, &[]).await;
        (answer.status == 200).then_some(answer.body)
    };
    let again = until_async("the call is recorded", SOON, ask).await;
    let call = &again["data"][0];
    assert_eq!(call["same"], true, "{again:#}");
    assert_eq!(call["answer"]["failure"]["internal"], "its price list is lost", "{again:#}");
}

#[tokio::test]
async fn a_trap_is_always_recorded_and_a_replay_proves_its_mending() {
    let mut server =
        Server::start(waxwing_tests::Launch::dev().with("plugins", "sample_every", "1000000"));
    super::publish_note(&server, server.dev_output("accountId"), "note");
    let (bad, one) = (Component::guest("panic-on-poison"), Component::guest("price-one"));
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    // Past the first calls of a generation, which are all recorded.
    for n in 0..25 {
        sent(&server, n).await;
    }
    let last = sent(&server, 25).await;
    let poison = note_to(1, "a@poison.example");
    let answer = server.send(server.key(), &poison).await;
    let id = refused(&server, &answer, 503).await["id"].as_str().expect("an id").to_owned();
    let row = recorded(&server, &id).await;
    assert_eq!(row["recorded"], json!(["plan"]));
    let last = decision(&server, last["id"].as_str().expect("an id")).await;
    assert_eq!(last["recorded"], json!([]), "one that is not of the sample");
    let not = replay(&server, last["id"].as_str().expect("an id"), &[]).await;
    not.assert_refused(404, "NOT_FOUND");

    server.restart();
    let again = replay(&server, &id, &[]).await;
    let call = &rows(&again.body)[0];
    assert_eq!(call["same"], true, "it traps again: {call:#}");
    assert!(call["answer"].to_string().contains("poisoned by the recipient"), "{call:#}");
    let mended = replay(&server, &id, &one.bytes).await;
    let call = &rows(&mended.body)[0];
    assert_eq!(call["answer"]["decisions"][0]["allow"]["reason"], "price one", "{call:#}");
    assert_eq!(reason(&server).await, "panic-on-poison", "a replay makes nothing live");
}

fn rows(page: &Value) -> &[Value] {
    page["data"].as_array().expect("a page has data")
}

#[expect(clippy::panic, reason = "a replay with other calls than expected has failed the test")]
fn unreachable_calls(body: &Value) -> ! {
    panic!("one call of the plan policy is replayed: {body:#}")
}

fn assert_nowhere(directory: &Path, words: &[u8]) {
    for entry in fs::read_dir(directory).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_nowhere(&path, words);
        } else {
            // What the server has just renamed is read under its other name.
            let Ok(bytes) = fs::read(&path) else { continue };
            let found = bytes.windows(words.len()).any(|it| it == words);
            assert!(!found, "{} tells what was sent", path.display());
        }
    }
}
