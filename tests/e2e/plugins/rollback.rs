//! A plugin that breaks on live traffic is rolled back by the server itself.

use serde_json::{Value, json};
use waxwing_tests::{Answer, Server};

use super::{Component, PLAN, note, note_to, of_kind, publish_note, reason, refused, sent, server};
use crate::fixture::{Database, with};

/// `panic-on-poison` panics on this, and on every template `poison`.
async fn poisoned(server: &Server) -> Answer {
    server.send(server.key(), &note_to(1, "a@poison.example")).await
}

async fn until_rolled_back(server: &Server, bad: &Component) -> Value {
    let back = |view: &Value| {
        let quarantined = view["quarantined"].as_array()?;
        quarantined.iter().find(|it| it["digest"] == bad.digest).cloned()
    };
    server.until_slot(PLAN, "it is rolled back", back).await
}

#[tokio::test]
async fn a_plugin_whose_first_calls_trap_is_rolled_back_and_nothing_charged() {
    let mut server = server();
    let account = server.dev_output("accountId").to_owned();
    let (one, bad) = (Component::guest("price-one"), Component::guest("panic-on-poison"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    let before = server.balance(&account);
    for _ in 0..3 {
        let answer = poisoned(&server).await;
        answer.assert_refused(503, "UNAVAILABLE");
        let words = answer.body["message"].as_str().expect("a message");
        let own = "poisoned by the recipient";
        assert!(!words.contains(own), "a guest's words are not the client's: {words}");
        assert!(words.contains("nothing was charged or sent"), "{words}");
        let decision = refused(&server, &answer, 503).await;
        let policy = of_kind(&decision, "plan");
        assert_eq!((&policy["digest"], &policy["verdict"]), (&json!(bad.digest), &json!("failed")));
        assert!(policy["reason"].to_string().contains(own), "but the operator's: {policy}");
    }
    let quarantined = until_rolled_back(&server, &bad).await;
    assert_eq!(quarantined["reason"], "its first 3 calls failed");
    assert_eq!(server.balance(&account), before, "nothing was charged");
    assert!(server.messages(&account).is_empty(), "nothing was sent");
    let view = server.slot(PLAN).await;
    assert_eq!(view["active"]["digest"], one.digest, "the one before it is back: {view:#}");
    let again = poisoned(&server).await;
    again.message_id();
    assert_eq!(reason(&server).await, "price one");
    let line = server.log();
    let line = line.lines().find(|line| line.contains("plugin rolled back"));
    assert!(line.is_some_and(|line| line.contains("its first 3 calls failed")), "{line:?}");

    // The same bytes come again, by any way: refused, also after a restart.
    server.place("plan-policy.wasm", &bad.bytes);
    server.rejected(PLAN, "in quarantine (its first 3 calls failed)").await;
    server.restart();
    assert_eq!(reason(&server).await, "price one");
    let words = server.rejected(PLAN, "in quarantine").await;
    assert!(words.contains("waxwing plugin activate plan-policy"), "what to do: {words}");

    // The operator's word forgives it.
    let forgiven = server.order(PLAN, "activate").await;
    assert_eq!(forgiven.status, 200, "{}", forgiven.body);
    let view = server.live(PLAN, &bad.digest).await;
    assert_eq!(view["quarantined"], json!([]), "{view:#}");
    assert_eq!(reason(&server).await, "panic-on-poison");
    Database::of(&server).await.assert_sound().await;
}

/// 30 of 30 sends were refused once, and nothing happened.
#[tokio::test]
async fn a_policy_that_gives_up_on_every_send_is_rolled_back_and_sends_go_on() {
    let server = server();
    let (one, bad) = (Component::guest("price-one"), Component::guest("gives-up"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    for n in 0..3 {
        let answer = server.send(server.key(), &note(n)).await;
        answer.assert_refused(503, "UNAVAILABLE");
        assert!(!answer.body.to_string().contains("price list"), "{}", answer.body);
        let decision = refused(&server, &answer, 503).await;
        let reason = of_kind(&decision, "plan")["reason"].to_string();
        assert!(reason.contains("its price list is lost"), "{reason}");
    }
    let quarantined = until_rolled_back(&server, &bad).await;
    assert_eq!(quarantined["reason"], "its first 3 calls failed");
    assert_eq!(reason(&server).await, "price one");
}

#[tokio::test]
async fn five_traps_over_three_inputs_are_enough_and_two_inputs_are_not() {
    let server = server();
    publish_note(&server, server.dev_output("accountId"), "poison");
    let (one, bad) = (Component::guest("price-one"), Component::guest("panic-on-poison"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    for n in 0..20 {
        server.send(server.key(), &note(n)).await.message_id();
    }
    let poison = with(note(1), "template", json!("poison"));
    // One customer's broken template and one dead domain do not take the plugin down.
    for _ in 0..4 {
        poisoned(&server).await.assert_refused(503, "UNAVAILABLE");
        server.send(server.key(), &poison).await.assert_refused(503, "UNAVAILABLE");
    }
    let evaluated = |view: &Value| (view["active"]["trapped"] == 8).then(|| view.clone());
    let view = server.until_slot(PLAN, "all traps are counted", evaluated).await;
    assert_eq!(view["active"]["digest"], bad.digest, "{view:#}");
    // The third input is one too many.
    let both = with(note_to(1, "b@poison.example"), "template", json!("poison"));
    server.send(server.key(), &both).await.assert_refused(503, "UNAVAILABLE");
    let quarantined = until_rolled_back(&server, &bad).await;
    let words = quarantined["reason"].as_str().expect("a reason");
    assert!(words.contains(" calls failed within a minute, on 3 inputs"), "{words}");
    server.send(server.key(), &both).await.message_id();
    assert_eq!(reason(&server).await, "price one");
}

#[tokio::test]
async fn without_one_before_it_the_built_in_plugin_comes_back() {
    let server = server();
    let bad = Component::guest("panic-check");
    // Its fault is in every call, so that the built-in cases find it; nothing becomes live.
    server.place("plan-policy.wasm", &bad.bytes);
    let words = server.rejected(PLAN, "panic-check always panics").await;
    assert!(words.contains("the built-in case"), "{words}");
    let bad = Component::guest("panic-on-poison");
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    for _ in 0..3 {
        poisoned(&server).await.assert_refused(503, "UNAVAILABLE");
    }
    until_rolled_back(&server, &bad).await;
    server.built_in(PLAN).await;
    poisoned(&server).await.message_id();
    sent(&server, 1).await;
}

#[tokio::test]
async fn the_operator_rolls_back_once_and_a_second_time_to_the_built_in_one() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.swap(PLAN, &two.bytes, &two.digest).await;
    let back = server.order(PLAN, "rollback").await;
    assert_eq!((back.status, &back.body["active"]["digest"]), (200, &json!(one.digest)));
    assert_eq!(reason(&server).await, "price one");
    assert_eq!(back.body["quarantined"][0]["reason"], "the operator rolled it back");
    assert_eq!(server.order(PLAN, "rollback").await.body["active"]["builtin"], true);
    server.order(PLAN, "rollback").await.assert_refused(409, "CONFLICT");
    server.order("no-such-slot", "rollback").await.assert_refused(404, "NOT_FOUND");
    server.order("No Slot", "rollback").await.assert_refused(400, "BAD_REQUEST");
    sent(&server, 1).await;
}

#[tokio::test]
async fn a_policy_that_may_fail_open_leaves_the_decision_to_the_built_in_one() {
    let server = server();
    let bad = Component::guest("panic-on-poison");
    server.place("plan-policy.toml", "on_failure = \"builtin\"\n");
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    let id = poisoned(&server).await.message_id();
    let decision = super::decision(&server, &id).await;
    let plugins = decision["plugins"].as_array().expect("a decision lists plugins");
    let policies: Vec<_> = plugins.iter().filter(|it| it["kind"] == "plan").collect();
    let said = |n: usize| (policies[n]["name"].clone(), policies[n]["verdict"].clone());
    assert_eq!(said(0), (json!("panic-on-poison"), json!("failed")), "{decision:#}");
    assert_eq!(said(1), (json!("waxwing-plan-policy"), json!("allow")), "{decision:#}");
    assert_eq!(reason(&server).await, "panic-on-poison");
}
