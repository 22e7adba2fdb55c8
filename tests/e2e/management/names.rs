//! Names are on one line and read as they are written; what an e-mail says is shown without what would turn the page around.

use serde_json::json;
use waxwing_tests::Server;

use super::{holder, operator, patch, post};
use crate::dashboard::Browser;
use crate::fixture::{Template, message, publish, with};

/// An override and an isolate (UAX 9).
const TURNING: [&str; 3] = ["moc\u{202e}emcA", "A\u{2066}cme", "Ac\u{2069}me"];

#[tokio::test]
async fn a_name_that_turns_the_direction_of_text_is_refused() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let key = account.key.as_str();
    for name in TURNING {
        let words = |body: &serde_json::Value| {
            assert!(body.to_string().contains("turn the direction of text"), "{name:?}: {body}");
        };
        let made = post(&server, &operator, "/v1/accounts", json!({"name": name})).await;
        made.assert_faults(&["name"]);
        words(&made.body);
        let named = patch(&server, key, "/v1/account", json!({"name": name})).await;
        named.assert_faults(&["name"]);
        let made = post(&server, key, "/v1/keys", json!({"name": name})).await;
        made.assert_faults(&["name"]);
        words(&made.body);
        let url = "https://hooks.example/waxwing";
        let webhook = json!({"url": url, "description": name});
        let made = post(&server, key, "/v1/webhooks", webhook).await;
        made.assert_faults(&["description"]);
        words(&made.body);
        let gone = json!({"address": "gone@example.com", "reason": name});
        post(&server, key, "/v1/suppressions", gone).await.assert_faults(&["reason"]);
        let grant = json!({"accountId": account.id, "amount": 1, "reason": name});
        post(&server, &operator, "/v1/credits/grants", grant).await.assert_faults(&["reason"]);
        let brand = json!({"productName": name, "companyAddress": name});
        let refused = patch(&server, key, "/v1/brand", brand).await;
        refused.assert_faults(&["productName", "companyAddress"]);
        let draft = json!({"name": name, "subject": "s", "text": "t"});
        let path = "/v1/templates/verification-code/draft";
        let request = server.request(reqwest::Method::PUT, path).header("x-api-key", key);
        server.answer(request.json(&draft)).await.assert_faults(&["name"]);
        let sent =
            server.send(key, &with(message("ada@example.com"), "fromName", json!(name))).await;
        sent.assert_faults(&["fromName"]);
    }
    // Right to left by itself is no trick.
    let named = json!({"name": "\u{5d0}\u{5d1}\u{5d2} 12"});
    assert_eq!(patch(&server, key, "/v1/account", named).await.status, 200);
}

#[tokio::test]
async fn pages_show_a_subject_that_turns_text_around_without_its_marks() {
    let server = Server::dev();
    let account = server.dev_account();
    let template = Template { subject: "Re\u{202e}ceipt", html: None, text: Some("hi") };
    drop(publish(&server, &account.id, "turned", &template, &[]));
    let body = with(message("ada@example.com"), "template", json!("turned"));
    let id = server.send(&account.key, &with(body, "data", json!({}))).await.message_id();
    let mut browser = Browser::of_dev(&server).await;
    let html = browser.get("/app/messages").await.html;
    assert!(html.contains("Re\u{fffd}ceipt") && !html.contains('\u{202e}'), "{html}");
    let html = browser.get(&format!("/app/messages/{id}")).await.html;
    let head = html.split("</h1>").next().unwrap_or_default();
    assert!(head.contains("Re\u{fffd}ceipt") && !head.contains('\u{202e}'), "{html}");
}
