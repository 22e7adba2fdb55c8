//! Whose fault is a trap: the plugin's, if another generation gets over the input; the input's, if
//! two generations trap on it.

use serde_json::{Value, json};
use waxwing_tests::{Answer, Server};

use super::{Component, RENDERER, note, of_kind, refused, sent, server};
use crate::fixture::{Template, publish, publish_harmful, with};

/// `poison-renderer` panics on the text `POISON`.
fn publish_text(server: &Server, slug: &str, text: &str) {
    let template = Template { subject: "A subject", text: Some(text), ..Template::default() };
    drop(publish(server, server.dev_output("accountId"), slug, &template, &[]));
}

async fn send(server: &Server, slug: &str) -> Answer {
    server.send(server.key(), &with(note(1), "template", json!(slug))).await
}

#[tokio::test]
async fn a_template_that_only_one_renderer_traps_on_is_that_renderers_fault() {
    let server = server();
    let slugs = ["bad-one", "bad-two", "bad-three"];
    for slug in slugs {
        publish_text(&server, slug, "POISON");
    }
    let (a, bad) = (Component::guest("visible-a"), Component::guest("poison-renderer"));
    server.swap(RENDERER, &a.bytes, &a.digest).await;
    server.swap(RENDERER, &bad.bytes, &bad.digest).await;
    for n in 0..5 {
        sent(&server, n).await;
    }
    for slug in slugs.into_iter().chain(["bad-one", "bad-two"]) {
        let answer = send(&server, slug).await;
        answer.assert_refused(503, "UNAVAILABLE");
        let decision = refused(&server, &answer, 503).await;
        assert_eq!(of_kind(&decision, "renderer")["digest"], bad.digest);
        assert_eq!(of_kind(&decision, "plan")["verdict"], "allow", "it was priced before");
    }
    let view = server.live(RENDERER, &a.digest).await;
    assert_eq!(view["quarantined"][0]["digest"], bad.digest, "{view:#}");
    send(&server, "bad-one").await.message_id();
}

#[tokio::test]
async fn a_template_that_two_renderers_trap_on_is_in_quarantine() {
    let server = server();
    publish_text(&server, "bad-one", "POISON");
    let first = Component::guest("poison-renderer");
    let second = first.marked("another build");
    server.swap(RENDERER, &first.bytes, &first.digest).await;
    server.swap(RENDERER, &second.bytes, &second.digest).await;
    send(&server, "bad-one").await.assert_refused(503, "UNAVAILABLE");
    let evaluated = |view: &Value| (view["active"]["inputsInQuarantine"] == 1).then_some(());
    server.until_slot(RENDERER, "the template is in quarantine", evaluated).await;
    for _ in 0..10 {
        let answer = send(&server, "bad-one").await;
        answer.assert_refused(500, "INTERNAL");
        let words = answer.body["message"].as_str().expect("a message");
        assert!(words.contains("template bad-one is in quarantine"), "{words}");
        assert!(words.contains("publish a fixed version"), "what to do: {words}");
        refused(&server, &answer, 500).await;
    }
    let view = server.slot(RENDERER).await;
    assert_eq!(view["active"]["digest"], second.digest, "the renderer is not to blame: {view:#}");
    assert_eq!(view["active"]["trapped"], 1, "and is not called with it again");
    let decision = sent(&server, 1).await;
    assert_eq!(of_kind(&decision, "renderer")["digest"], second.digest);
    // A fixed version is another input.
    publish_text(&server, "bad-one", "All is well.");
    send(&server, "bad-one").await.message_id();
}

/// The limits hold for each call, so data that comes to one is refused, and harms nobody else.
async fn bombs_are_refused_and_others_served(server: &Server) {
    publish_text(server, "dots", "{% for i in (1..count) %}.{% endfor %}");
    let dots = async |count: u64| {
        let message =
            with(with(note(1), "template", json!("dots")), "data", json!({"count": count}));
        server.send(server.key(), &message).await
    };
    for _ in 0..3 {
        let answer = dots(1_000_000_000).await;
        answer.assert_refused(400, "BAD_REQUEST");
        let fault = &answer.body["errors"][0];
        assert_eq!((&fault["field"], &fault["code"]), (&json!("data"), &json!("too_much_work")));
        let words = fault["message"].as_str().expect("a message");
        assert!(words.contains("plugins.limits.renderer.call_ms is 100 ms"), "{words}");
        refused(server, &answer, 400).await;
        dots(3).await.message_id();
    }
}

#[tokio::test]
async fn data_that_is_too_much_work_is_refused_and_others_are_served() {
    let server = server();
    bombs_are_refused_and_others_served(&server).await;
    server.place("liquid-renderer.toml", "[settings]\nundefined = \"required\"\n");
    let installed = |view: &Value| (view["active"]["builtin"] == false).then_some(());
    server.until_slot(RENDERER, "an installed renderer is live", installed).await;
    bombs_are_refused_and_others_served(&server).await;
    let view = server.slot(RENDERER).await;
    assert_eq!(view["active"]["inputsInQuarantine"], 0, "{view:#}");
}

#[tokio::test]
async fn a_template_that_is_too_much_work_for_its_own_example_is_to_blame() {
    let server = server();
    let endless = "{% for a in (1..1000000) %}{% for b in (1..1000000) %}{% endfor %}{% endfor %}";
    publish_harmful(&server, server.dev_output("accountId"), "endless", endless).await;
    let answer = send(&server, "endless").await;
    answer.assert_refused(500, "INTERNAL");
    let words = answer.body["message"].as_str().expect("a message");
    assert!(words.contains("template endless cannot be rendered"), "{words}");
    assert!(words.contains("plugins.limits.renderer.call_ms is 100 ms"), "{words}");
}

#[tokio::test]
async fn shadows_that_were_cut_short_do_not_hide_whose_fault_a_trap_is() {
    let server = server();
    publish_text(&server, "bad-one", "POISON");
    let guest = Component::guest("poison-renderer");
    // Each of these waits for live calls that never come, and then becomes live by an order.
    for n in 0..10 {
        let build = guest.marked(&format!("build {n}"));
        let installed = server.install(RENDERER, "?shadow=1000", &build.bytes).await;
        assert_eq!(installed.status, 202, "{}", installed.body);
        server.at_stage(RENDERER, "shadow").await;
        assert_eq!(server.order(RENDERER, "activate").await.status, 200);
        server.live(RENDERER, &build.digest).await;
    }
    send(&server, "bad-one").await.assert_refused(503, "UNAVAILABLE");
    let evaluated = |view: &Value| (view["active"]["inputsInQuarantine"] == 1).then_some(());
    server.until_slot(RENDERER, "the template is in quarantine", evaluated).await;
}
