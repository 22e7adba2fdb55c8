//! A compiler of MJML that breaks on a document: its author is told in words, and nobody else is harmed.

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use waxwing_tests::{Answer, Server};

use super::{api, create, publish};

const SLOT: &str = "mjml";

fn draft(text: &str) -> Value {
    let mjml = format!(
        "<mjml><mj-body><mj-section><mj-column><mj-text>{text} {{{{ name }}}}</mj-text></mj-column></mj-section>\
         </mj-body></mjml>"
    );
    json!({"subject": "Hi {{ name }}", "mjml": mjml, "examples": {"default": {"name": "Ada"}}})
}

/// A server with the compiler `poison-compiler`, and its digest.
async fn server() -> (Server, String) {
    let server = Server::dev();
    let bytes = waxwing_guests::component("poison-compiler");
    let digest = Sha256::digest(&bytes).iter().fold("sha256:".to_owned(), |text, byte| {
        let (high, low) = (byte >> 4, byte & 0xf);
        text + &format!("{high:x}{low:x}")
    });
    server.swap(SLOT, &bytes, &digest).await;
    (server, digest)
}

async fn validate(server: &Server, text: &str) -> Answer {
    let body = json!({"draft": draft(text)});
    api(server, Method::POST, "/v1/templates/order/validate", &body).await
}

/// Somebody of another account publishes a template in MJML, and sends it.
async fn neighbour_publishes(server: &Server, slug: &str) {
    let account = server.open_account("pro", 10);
    let (_, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "templates"]);
    let call = async |path: &str, body: Value| {
        let request = server.request(Method::POST, path).header("x-api-key", &key);
        let answer = server.answer(request.json(&body)).await;
        assert!(answer.status < 300, "{path}: {}", answer.body);
    };
    call("/v1/templates", json!({"slug": slug, "draft": draft("Good")})).await;
    call(&format!("/v1/templates/{slug}/publish"), json!({})).await;
    let to = format!("{slug}@example.com");
    let mail = json!({"to": to, "type": "EMAIL", "template": slug, "data": {"name": "Bo"}});
    server.send(&key, &mail).await.message_id();
    assert_eq!(server.wait_for_mail_to(&to).await.subject, "Hi Bo");
}

#[tokio::test]
async fn mjml_that_exhausts_the_compiler_is_a_fault_of_the_template() {
    let (server, digest) = server().await;
    create(&server, "/v1/templates", "order", draft("Good")).await;
    publish(&server, "/v1/templates/order", json!({})).await;
    // An author tries again and again; the built-in compiler gets over both, and still two documents condemn no plugin.
    for (text, limit) in [("ENDLESS", "_ms is "), ("GREEDY", "memory_bytes is ")].repeat(4) {
        let told = validate(&server, text).await;
        assert_eq!((told.status, &told.body["valid"]), (200, &json!(false)), "{}", told.body);
        let fault = &told.body["diagnostics"][0];
        assert_eq!((&fault["code"], &fault["part"]), (&json!("too_much_work"), &json!("mjml")));
        let words = fault["message"].as_str().expect("a message");
        assert!(words.contains("needs more than the server allows"), "{words}");
        assert!(words.contains(limit) && words.contains("make it do less"), "{words}");
    }
    let put = api(&server, Method::PUT, "/v1/templates/order/draft", &draft("ENDLESS")).await;
    assert_eq!(put.status, 200, "a draft may be anything: {}", put.body);
    let refused = api(&server, Method::POST, "/v1/templates/order/publish", &json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    let shown = api(&server, Method::GET, "/v1/templates/order", &Value::Null).await;
    assert_eq!(shown.body["publishedRevision"], 1, "{}", shown.body);
    neighbour_publishes(&server, "neighbour").await;
    let view = server.live(SLOT, &digest).await;
    assert_eq!(view["active"]["inputsInQuarantine"], 0, "{view:#}");
    assert_eq!(view["quarantined"], json!([]), "{view:#}");
}

#[tokio::test]
async fn a_compiler_that_panics_goes_for_several_documents_and_not_for_one() {
    let (server, digest) = server().await;
    create(&server, "/v1/templates", "order", draft("Good")).await;
    publish(&server, "/v1/templates/order", json!({})).await;
    for _ in 0..6 {
        let told = validate(&server, "PANIC").await;
        told.assert_refused(503, "UNAVAILABLE");
        let words = told.body["message"].as_str().expect("a message");
        assert!(words.contains("nothing was changed"), "{words}");
        assert!(!words.contains("poisoned"), "a plugin's own words are the operator's: {words}");
    }
    neighbour_publishes(&server, "first").await;
    let view = server.live(SLOT, &digest).await;
    assert_eq!(view["active"]["trapped"].as_u64(), Some(6), "{view:#}");

    // The built-in one compiles them all, so the fault is the plugin's.
    for number in 0..6 {
        let told = validate(&server, &format!("PANIC {number}")).await;
        assert!(matches!(told.status, 200 | 503), "{}", told.body);
    }
    server.built_in(SLOT).await;
    let told = validate(&server, "PANIC").await;
    assert_eq!((told.status, &told.body["valid"]), (200, &json!(true)), "{}", told.body);
    neighbour_publishes(&server, "second").await;
    let view = server.slot(SLOT).await;
    assert_eq!(view["quarantined"][0]["digest"], digest, "{view:#}");
}

#[tokio::test]
async fn what_a_new_compiler_would_change_is_told_before_it_is_live() {
    let server = Server::dev();
    for (slug, text) in [("good", "Good"), ("poisoned", "PANIC"), ("late", "Later")] {
        create(&server, "/v1/templates", slug, draft(text)).await;
    }
    for slug in ["good", "poisoned"] {
        publish(&server, &format!("/v1/templates/{slug}"), json!({})).await;
    }
    let layout = "<mjml><mj-body><mj-section><mj-column><mj-text>{{ content }}</mj-text></mj-column></mj-section>\
                  </mj-body></mjml>";
    create(&server, "/v1/layouts?owner=server", "around", json!({"mjml": layout})).await;
    publish(&server, "/v1/layouts/around?owner=server", json!({})).await;
    let bytes = waxwing_guests::component("poison-compiler");
    let impact =
        server.operate(Method::POST, &format!("/v1/plugins/{SLOT}/impact"), bytes.clone()).await;
    assert_eq!(impact.status, 200, "{}", impact.body);
    assert_eq!(impact.body["compared"], 0, "no message asks a compiler: {}", impact.body);
    let templates = &impact.body["templates"];
    let counts = ["checked", "failed", "changed"].map(|it| templates[it].as_u64());
    assert_eq!(counts, [Some(3), Some(1), Some(2)], "{templates}");
    let failure = &templates["failures"][0];
    assert_eq!((&failure["template"], &failure["revision"]), (&json!("poisoned"), &json!(1)));
    assert_eq!(failure["account"], server.dev_output("accountId"));
    let reason = failure["reason"].as_str().expect("a reason");
    assert!(reason.contains("trapped in compile"), "{reason}");
    let changes = templates["changes"].as_array().expect("a list");
    let named: Vec<_> = changes.iter().map(|it| (&it["template"], &it["account"])).collect();
    let account = json!(server.dev_output("accountId"));
    assert_eq!(named, [(&json!("good"), &account), (&json!("around"), &json!(""))]);
    assert!(
        changes[0]["reason"].as_str().is_some_and(|it| it.starts_with("html: ")),
        "{changes:?}"
    );

    // It waits for the operator, and what is published stays as it is.
    server.place("mjml.wasm", &bytes);
    let waits = server.at_stage(SLOT, "waiting").await;
    assert_eq!(waits["candidate"]["waits"], "1 published template would not be served as now");
    assert_eq!(waits["active"]["builtin"], true, "{waits:#}");
}
