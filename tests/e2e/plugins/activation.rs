//! Before a plugin is live: what it would change of recorded calls, and what it answers to live
//! ones while nobody waits for it.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Server, only_on_a_file, until, until_async};

use super::{Component, PLAN, RENDERER, SOON, note, of_kind, publish_note, reason, sent, server};
use crate::fixture::Database;

/// Waits until so many calls of the plan policy are recorded.
async fn recorded(server: &Server, calls: i64) {
    let database = Database::of(server).await;
    let count = "SELECT count(*) FROM samples WHERE kind = 'plan'";
    let ask = || async { (database.number(count).await == calls).then_some(()) };
    until_async("the calls are recorded", SOON, ask).await;
}

#[tokio::test]
async fn a_plugin_that_waits_for_the_operator_says_what_it_would_change() {
    let server = server();
    let free = server.open_account("free", 100);
    publish_note(&server, &free.id, "note");
    for n in 0..3 {
        sent(&server, n).await;
    }
    for n in 0..2 {
        server.send(&free.key, &note(n)).await.message_id();
    }
    recorded(&server, 5).await;
    // Only what accounts on the plan `pro` send gets dearer.
    let plans = "[activation]\nimpact = \"ask\"\n[settings]\nplans = [{ name = \"free\" }, \
                 { name = \"pro\", creditsPerRecipient = 7 }]\n";
    server.place("plan-policy.toml", plans);
    let view = server.at_stage(PLAN, "waiting").await;
    let impact = &view["candidate"]["impact"];
    assert_eq!((&impact["wouldChange"], &impact["compared"]), (&json!(3), &json!(5)), "{impact:#}");
    assert_eq!(impact["wouldFail"], 0);
    let differences = impact["differences"].as_array().expect("a list");
    assert_eq!(differences.len(), 3, "{impact:#}");
    assert!(differences[0]["lines"].to_string().contains("credits"), "{impact:#}");
    assert!(
        server
            .log()
            .contains("plugin validated but not activated; `waxwing plugin activate` activates it")
    );
    let decision = sent(&server, 3).await;
    assert_eq!(of_kind(&decision, "plan")["settingsRevision"], 0, "it waits");

    let activated = server.order(PLAN, "activate").await;
    assert_eq!(activated.status, 200, "{}", activated.body);
    let is_live =
        |view: &Value| (view["active"]["settingsRevision"] == 1).then(|| view["candidate"].clone());
    let candidate = server.until_slot(PLAN, "it is live", is_live).await;
    assert_eq!(candidate, Value::Null);
    assert_eq!(of_kind(&sent(&server, 4).await, "plan")["settingsRevision"], 1);
    server.order(PLAN, "activate").await.assert_refused(409, "CONFLICT");
}

#[tokio::test]
async fn an_installed_plugin_may_change_as_many_answers_as_the_operator_allows() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    for n in 0..4 {
        sent(&server, n).await;
    }
    recorded(&server, 4).await;
    // Asked about beforehand: nothing is installed.
    let path = format!("/v1/plugins/{PLAN}/impact");
    let asked = server.operate(Method::POST, &path, two.bytes.clone()).await;
    assert_eq!(asked.status, 200, "{}", asked.body);
    assert_eq!((&asked.body["wouldChange"], &asked.body["compared"]), (&json!(4), &json!(4)));
    assert_eq!(server.slot(PLAN).await["candidate"], Value::Null);

    let installed = server.install(PLAN, "?impact=3", &two.bytes).await;
    assert_eq!(installed.status, 202, "{}", installed.body);
    assert_eq!(
        (&installed.body["slot"], &installed.body["digest"]),
        (&json!(PLAN), &json!(two.digest))
    );
    let view = server.at_stage(PLAN, "waiting").await;
    assert_eq!(view["candidate"]["impact"]["wouldChange"], 4, "{view:#}");
    assert_eq!(reason(&server).await, "price one");
    // The same component again, and four are allowed.
    server.install(PLAN, "?impact=5", &two.bytes).await;
    server.live(PLAN, &two.digest).await;
    assert_eq!(reason(&server).await, "price two");
    for query in ["?impact=never", "?shadow=x", "?other=1"] {
        let answer = server.install(PLAN, query, &one.bytes).await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.body);
    }
    assert_eq!(reason(&server).await, "price two");
}

#[tokio::test]
async fn in_the_shadow_the_live_one_answers_and_differences_are_counted() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let account = server.dev_output("accountId").to_owned();
    let before = server.balance(&account);
    server.install(PLAN, "?shadow=20&impact=ask", &two.bytes).await;
    server.at_stage(PLAN, "shadow").await;
    for n in 0..20 {
        let decision = sent(&server, n).await;
        assert_eq!(of_kind(&decision, "plan")["digest"], one.digest);
        if n == 9 {
            let shadow = server.at_stage(PLAN, "shadow").await["candidate"]["shadow"].clone();
            assert!(shadow["compared"].as_u64() <= Some(10), "{shadow}");
        }
    }
    assert_eq!(server.balance(&account), before - 20, "callers pay the live price");
    let view = server.at_stage(PLAN, "waiting").await;
    let shadow = &view["candidate"]["shadow"];
    assert_eq!((&shadow["compared"], &shadow["different"]), (&json!(20), &json!(20)), "{shadow:#}");
    assert_eq!((&shadow["failed"], &shadow["dropped"]), (&json!(0), &json!(0)), "{shadow:#}");
    assert_eq!(shadow["differences"].as_array().map(Vec::len), Some(20), "{shadow:#}");
    // Not enough? Once more.
    assert_eq!(server.order(PLAN, "shadow?calls=5").await.status, 200);
    for n in 0..5 {
        assert_eq!(of_kind(&sent(&server, n).await, "plan")["reason"], "price one");
    }
    let view = server.at_stage(PLAN, "waiting").await;
    assert_eq!(view["candidate"]["shadow"]["compared"], 5, "{view:#}");
    server.order(PLAN, "activate").await;
    server.live(PLAN, &two.digest).await;
    assert_eq!(reason(&server).await, "price two");
    server.order(PLAN, "shadow?calls=5").await.assert_refused(409, "CONFLICT");
}

#[tokio::test]
async fn after_its_shadow_a_plugin_becomes_live_where_the_operator_lets_it() {
    let server = server();
    let a = Component::guest("visible-a");
    let again = a.marked("another build");
    server.swap(RENDERER, &a.bytes, &a.digest).await;
    server.install(RENDERER, "?shadow=20", &again.bytes).await;
    server.at_stage(RENDERER, "shadow").await;
    for n in 0..20 {
        let decision = sent(&server, n).await;
        assert_eq!(of_kind(&decision, "renderer")["digest"], a.digest);
    }
    let view = server.live(RENDERER, &again.digest).await;
    let shadow = &view["active"]["shadow"];
    assert_eq!((&shadow["compared"], &shadow["different"]), (&json!(20), &json!(0)), "{view:#}");
    let decision = sent(&server, 20).await;
    assert_eq!(of_kind(&decision, "renderer")["digest"], again.digest);
}

#[tokio::test]
async fn a_renderer_whose_every_answer_differs_waits_after_its_shadow() {
    let server = server();
    let (a, b) = (Component::guest("visible-a"), Component::guest("visible-b"));
    server.swap(RENDERER, &a.bytes, &a.digest).await;
    server.install(RENDERER, "?shadow=5", &b.bytes).await;
    server.at_stage(RENDERER, "shadow").await;
    for n in 0..5 {
        sent(&server, n).await;
    }
    let view = server.at_stage(RENDERER, "waiting").await;
    let why = &view["candidate"]["waits"];
    assert_eq!(why, "all 5 shadow calls were answered differently from now", "{view:#}");
    let decision = sent(&server, 6).await;
    assert_eq!(of_kind(&decision, "renderer")["digest"], a.digest);
}

/// It compiles, passes the built-in cases, and no template that customers use has a part in it.
#[tokio::test]
async fn a_renderer_that_would_break_every_send_does_not_go_live_by_itself() {
    let server = server();
    let bad = Component::guest("loses-parts");
    server.install(RENDERER, "", &bad.bytes).await;
    let view = server.at_stage(RENDERER, "waiting").await;
    let templates = &view["candidate"]["impact"]["templates"];
    let failures = templates["failures"].as_array().expect("a list");
    let ours = failures.iter().find(|it| it["template"] == "note").expect("it is named");
    assert_eq!(ours["reason"], "the answer has no text", "{templates:#}");
    let why = view["candidate"]["waits"].as_str().expect("a reason");
    assert!(why.contains("would not be served as now"), "{why}");
    sent(&server, 1).await;
}

/// Its file says whose calls come there; what it is compared on are those of the broader slot.
#[tokio::test]
async fn a_slot_without_samples_is_compared_on_those_of_the_slot_it_narrows() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    for n in 0..3 {
        sent(&server, n).await;
    }
    recorded(&server, 3).await;
    let account = server.dev_output("accountId");
    let binding = format!("[binding]\naccount = \"{account}\"\n");
    server.place("house-prices.toml", format!("{binding}[activation]\nimpact = \"ask\"\n"));
    server.place("house-prices.wasm", &two.bytes);
    let view = server.at_stage("house-prices", "waiting").await;
    let impact = &view["candidate"]["impact"];
    assert_eq!((&impact["compared"], &impact["wouldChange"]), (&json!(3), &json!(3)), "{impact:#}");
    server.order("house-prices", "activate").await;
    server.live("house-prices", &two.digest).await;
    // It is live and has answered nothing yet.
    server.place("house-prices.wasm", &one.bytes);
    let view = server.at_stage("house-prices", "waiting").await;
    let impact = &view["candidate"]["impact"];
    assert_eq!((&impact["compared"], &impact["wouldChange"]), (&json!(3), &json!(3)), "{impact:#}");
}

#[tokio::test]
async fn a_plugin_that_traps_in_the_shadow_harms_nobody_and_is_counted() {
    let server = server();
    let (a, bad) = (Component::guest("visible-a"), Component::guest("poison-renderer"));
    server.swap(RENDERER, &a.bytes, &a.digest).await;
    let account = server.dev_output("accountId").to_owned();
    let template = crate::fixture::Template {
        subject: "A subject",
        text: Some("POISON"),
        ..crate::fixture::Template::default()
    };
    drop(crate::fixture::publish(&server, &account, "bad-one", &template, &[]));
    server.install(RENDERER, "?shadow=4&impact=ask", &bad.bytes).await;
    server.at_stage(RENDERER, "shadow").await;
    for slug in ["bad-one", "note", "bad-one", "note"] {
        let message = crate::fixture::with(note(1), "template", json!(slug));
        server.send(server.key(), &message).await.message_id();
    }
    let view = server.at_stage(RENDERER, "waiting").await;
    let shadow = &view["candidate"]["shadow"];
    assert_eq!((&shadow["failed"], &shadow["different"]), (&json!(2), &json!(4)), "{shadow:#}");
    assert_eq!(view["active"]["digest"], a.digest);
    assert_eq!(view["active"]["trapped"], 0, "{view:#}");
}

#[tokio::test]
async fn while_a_slot_is_switched_off_the_built_in_one_answers() {
    let mut server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let off = server.order(PLAN, "disable").await;
    assert_eq!((off.status, &off.body["state"]), (200, &json!("disabled")), "{}", off.body);
    let decision = sent(&server, 1).await;
    assert_eq!(of_kind(&decision, "plan")["name"], "waxwing-plan-policy");
    server.restart();
    assert_eq!(server.slot(PLAN).await["state"], "disabled", "a restart remembers it");
    // A new file does not switch it on.
    server.place("plan-policy.wasm", &two.bytes);
    server.at_stage(PLAN, "waiting").await;
    assert_eq!(of_kind(&sent(&server, 2).await, "plan")["name"], "waxwing-plan-policy");
    server.order(PLAN, "activate").await;
    server.live(PLAN, &two.digest).await;
    assert_eq!(reason(&server).await, "price two");
}

#[tokio::test]
async fn to_activate_a_broken_file_is_no_blank_cheque_for_the_next_one() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.place("plan-policy.toml", "[activation]\nimpact = \"ask\"\n");
    server.at_stage(PLAN, "waiting").await;
    server.order(PLAN, "activate").await;
    let broken = waxwing_guests::truncated(&two.bytes, 1_000);
    server.place("plan-policy.wasm", &broken);
    server.rejected(PLAN, "damaged").await;
    server.order(PLAN, "activate").await;
    server.rejected(PLAN, "damaged").await;
    server.place("plan-policy.wasm", &two.bytes);
    server.at_stage(PLAN, "waiting").await;
    assert_eq!(reason(&server).await, "price one", "the next one still has to ask");
}

#[tokio::test]
async fn a_component_that_is_to_wait_waits_though_its_settings_change() {
    if only_on_a_file("among nodes an order to install writes no file beside that of the settings")
    {
        return;
    }
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.install(PLAN, "?impact=ask", &two.bytes).await;
    server.at_stage(PLAN, "waiting").await;
    server.place("plan-policy.toml", "[limits]\ncall_ms = 11\n");
    let waits = "plugin validated but not activated";
    let twice = || (server.log().matches(waits).count() >= 2).then_some(());
    until("it was looked at once more", SOON, twice);
    server.at_stage(PLAN, "waiting").await;
    assert_eq!(reason(&server).await, "price one");
    server.order(PLAN, "activate").await;
    let view = server.live(PLAN, &two.digest).await;
    assert_eq!(view["active"]["limits"]["callMs"], 11);
}
