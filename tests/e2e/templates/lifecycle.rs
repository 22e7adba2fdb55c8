//! The life of a template over HTTP: from a starter, checked, published, rolled back, archived, deleted.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, Server};

use super::{api, create, publish};
use crate::fixture::Database;

async fn send(server: &Server, data: Value, locale: Option<&str>) -> Answer {
    let mut message =
        json!({"to": "ada@example.com", "type": "EMAIL", "template": "note", "data": data});
    if let Some(locale) = locale {
        message["locale"] = json!(locale);
    }
    server.send(server.key(), &message).await
}

#[tokio::test]
async fn an_authors_whole_day() {
    let server = Server::dev();
    writes(&server).await;
    tries_and_publishes(&server).await;
    changes(&server).await;
    ends(&server).await;
    Database::of(&server).await.assert_sound().await;
}

/// A draft from a starter, broken.
async fn writes(server: &Server) {
    let call = async |method, path: &str, body: Value| api(server, method, path, &body).await;
    // From a starter, with its layout; nothing is sent before it is published.
    let made =
        call(Method::POST, "/v1/templates", json!({"slug": "note", "starter": "receipt"})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(
        (&made.body["state"], &made.body["draft"]["layout"]),
        (&json!("draft"), &json!("base"))
    );
    assert_eq!(made.header("etag"), made.body["etag"].as_str());
    send(server, json!({}), None).await.assert_faults(&["template"]);

    // Broken: each fault with part, line, column and what was meant.
    let broken = json!({
        "subject": "Hi {{ name | upcas }}", "text": "Dear {{ name }},\n{% render 'fooler' %}",
        "layout": "bse",
    });
    let put = call(Method::PUT, "/v1/templates/note/draft", broken).await;
    assert_eq!(put.status, 200, "{}", put.body);
    let found = call(Method::POST, "/v1/templates/note/validate", json!({})).await;
    assert_eq!((found.status, &found.body["valid"]), (200, &json!(false)), "{}", found.body);
    let diagnostic = |code: &str| {
        let all = found.body["diagnostics"].as_array().expect("a list").iter();
        let found: Vec<&Value> = all.filter(|it| it["code"] == code).collect();
        assert!(!found.is_empty(), "no {code}");
        found[0].clone()
    };
    let filter = diagnostic("unknown_filter");
    assert_eq!(
        (&filter["part"], &filter["line"], &filter["suggestion"]),
        (&json!("subject"), &json!(1), &json!("upcase"))
    );
    assert!(filter["column"].as_u64().is_some_and(|it| it > 1), "{filter}");
    let partial = diagnostic("unknown_partial");
    assert_eq!((&partial["part"], &partial["line"]), (&json!("text"), &json!(2)), "{partial}");
    assert_eq!(diagnostic("unknown_layout")["suggestion"], "base");
    let refused = call(Method::POST, "/v1/templates/note/publish", json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    assert_eq!(refused.body["diagnostics"].as_array().map(Vec::len), Some(3), "{}", refused.body);
}

/// Mended, previewed and tried, then published.
async fn tries_and_publishes(server: &Server) {
    let call = async |method, path: &str, body: Value| api(server, method, path, &body).await;
    // Mended, in two languages; previewed in both.
    let good = json!({
        "subject": "Hi {{ name }}", "text": "Dear {{ name }}{% if town %} in {{ town }}{% endif %}",
        "variables": [
            {"path": "name", "type": "string", "required": true}, {"path": "town", "type": "string"},
        ],
        "examples": {"default": {"name": "Ada"}},
        "locales": {"de": {"subject": "Hallo {{ name }}"}},
    });
    call(Method::PUT, "/v1/templates/note/draft", good.clone()).await;
    let preview = async |body: Value| call(Method::POST, "/v1/templates/note/preview", body).await;
    let own = preview(json!({})).await;
    assert_eq!(
        (own.status, &own.body["parts"]["subject"]),
        (200, &json!("Hi Ada")),
        "{}",
        own.body
    );
    let data = json!({"name": "Ada", "colour": "red"});
    let german = preview(json!({"locale": "de-AT", "data": data})).await;
    assert_eq!(german.body["parts"]["subject"], "Hallo Ada", "{}", german.body);
    assert_eq!(german.body["parts"]["text"], "Dear Ada", "the text falls back: {}", german.body);
    assert_eq!(
        (&german.body["locale"], &german.body["unused"]),
        (&json!("de"), &json!(["colour"]))
    );
    let without = preview(json!({"data": {}})).await;
    assert_eq!(without.body["missing"], json!(["name"]), "{}", without.body);

    // Tried, published, sent in both languages.
    let tried =
        call(Method::POST, "/v1/templates/note/test", json!({"to": ["me@example.com"]})).await;
    assert_eq!((tried.status, &tried.body["success"]), (200, &json!(true)), "{}", tried.body);
    let mail = server.wait_for_mail_to("me@example.com").await;
    assert_eq!(mail.subject, "Hi Ada");
    assert_eq!(publish(server, "/v1/templates/note", json!({})).await["revision"], 1);
    let sent = send(server, json!({"name": "Ada"}), Some("de-CH")).await;
    assert_eq!(sent.body["locale"], "de", "{}", sent.body);
    let shown = server.message(&sent.message_id());
    let decisions = shown["decisions"].as_array().expect("a list").iter();
    let renderer = decisions.clone().find(|it| it["kind"] == "renderer").expect("it was rendered");
    assert_eq!(renderer["locale"], "de", "{renderer}");
    assert_eq!(send(server, json!({"name": "Ada"}), None).await.body["locale"], "en");
    send(server, json!({"name": "Ada"}), Some("d")).await.assert_faults(&["locale"]);
}

/// A version that would break senders, forced and rolled back.
async fn changes(server: &Server) {
    let call = async |method, path: &str, body: Value| api(server, method, path, &body).await;
    // A change that breaks senders is refused with how many these are, unless it is forced.
    let change =
        json!({"text": "Dear {{ name }} in {{ town }} of {{ country }}", "variables": null});
    call(Method::PATCH, "/v1/templates/note", change).await;
    call(Method::PATCH, "/v1/templates/note", json!({"examples": null})).await;
    let refused = call(Method::POST, "/v1/templates/note/publish", json!({})).await;
    refused.assert_refused(409, "CONFLICT");
    let breaking = refused.body["breaking"].as_array().expect("a list");
    assert!(
        breaking.iter().any(|it| it["path"] == "country" && it["change"] == "required"),
        "{}",
        refused.body
    );
    assert_eq!(refused.body["sentLast30Days"], 2, "{}", refused.body);
    let forced = publish(server, "/v1/templates/note", json!({"force": true, "note": "new"})).await;
    assert_eq!(forced["revision"], 2);
    send(server, json!({"name": "Ada"}), None).await.assert_refused(400, "BAD_REQUEST");

    // Rolled back: the old sends work at once.
    let back = call(Method::POST, "/v1/templates/note/rollback", json!({"revision": 1})).await;
    assert_eq!((back.status, &back.body["revision"]), (200, &json!(1)), "{}", back.body);
    send(server, json!({"name": "Ada"}), None).await.message_id();
    let versions = call(Method::GET, "/v1/templates/note/versions", Value::Null).await;
    let listed: Vec<_> = versions.body["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| (it["revision"].as_u64(), it["published"].as_bool(), it["note"].as_str()))
        .collect();
    assert_eq!(listed, [(Some(2), Some(false), Some("new")), (Some(1), Some(true), None)]);
    let diff = call(Method::GET, "/v1/templates/note/diff?from=1&to=2", Value::Null).await;
    let parts = diff.body["parts"].as_array().expect("a list");
    let text = parts.iter().find(|it| it["part"] == "text").expect("it differs");
    assert!(
        text["unified"].as_str().is_some_and(|it| it.contains("+Dear {{ name }} in")),
        "{text}"
    );
}

/// Archived, brought back, copied and deleted.
async fn ends(server: &Server) {
    let call = async |method, path: &str, body: Value| api(server, method, path, &body).await;
    // Archived: refused in words, and never deleted, for it was sent.
    let archived = call(Method::POST, "/v1/templates/note/archive", Value::Null).await;
    assert_eq!(archived.body["state"], "archived", "{}", archived.body);
    let refused = send(server, json!({"name": "Ada"}), None).await;
    refused.assert_faults(&["template"]);
    assert_eq!(refused.body["errors"][0]["code"], "archived");
    assert!(refused.body["message"].as_str().is_some_and(|it| it.contains("was archived at 20")));
    let gone = call(Method::DELETE, "/v1/templates/note", Value::Null).await;
    gone.assert_refused(409, "CONFLICT");
    assert!(
        gone.body["message"].as_str().is_some_and(|it| it.contains("archive it")),
        "{}",
        gone.body
    );
    // It comes back as it was, and the history says who brought it.
    assert_eq!(publish(server, "/v1/templates/note", json!({"note": "back"})).await["revision"], 1);
    let versions = call(Method::GET, "/v1/templates/note/versions", Value::Null).await;
    let again = &versions.body["data"][1]["republications"];
    let notes: Vec<&Value> = again.as_array().into_iter().flatten().map(|it| &it["note"]).collect();
    assert_eq!(notes, [&json!("back"), &Value::Null], "{again}");
    assert!(again[1]["author"].as_str().is_some_and(|it| it.starts_with("key_")), "{again}");

    // A copy that nobody has sent goes with all that is of it.
    let copied = call(Method::POST, "/v1/templates/note/duplicate", json!({"slug": "copy"})).await;
    assert_eq!(copied.status, 201, "{}", copied.body);
    publish(server, "/v1/templates/copy", json!({})).await;
    let gone = call(Method::DELETE, "/v1/templates/copy", Value::Null).await;
    assert_eq!((gone.status, &gone.body["deleted"]), (200, &json!(true)), "{}", gone.body);
    call(Method::GET, "/v1/templates/copy", Value::Null).await.assert_refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn two_authors_do_not_write_over_each_other() {
    let server = Server::dev();
    let made = create(&server, "/v1/templates", "note", json!({"subject": "s", "text": "t"})).await;
    let change = async |etag: &str, text: &str| {
        let request = server.request(Method::PATCH, "/v1/templates/note");
        let request = request.header("x-api-key", server.key()).header("if-match", etag);
        server.answer(request.json(&json!({"text": text}))).await
    };
    let etag = made["etag"].as_str().expect("a text");
    let first = change(etag, "one").await;
    assert_eq!(first.status, 200, "{}", first.body);
    let second = change(etag, "two").await;
    second.assert_refused(409, "CONFLICT");
    assert!(second.body["message"].as_str().is_some_and(|it| it.contains("read it again")));
    let shown = api(&server, Method::GET, "/v1/templates/note", &Value::Null).await;
    assert_eq!(shown.body["draft"]["text"], "one");
    change("\"old\"", "three").await.assert_faults(&["If-Match"]);
    assert_eq!(change("*", "four").await.status, 200);
}

#[tokio::test]
async fn a_preview_as_a_page_runs_nothing() {
    let server = Server::dev();
    let html = "<script>alert(1)</script><p>Hi {{ name }}</p>";
    create(&server, "/v1/templates", "page", json!({"subject": "s", "html": html})).await;
    let request = server.request(Method::POST, "/v1/templates/page/preview");
    let request = request.header("x-api-key", server.key()).header("accept", "text/html");
    let page = server.answer(request.json(&json!({"data": {"name": "<b>"}}))).await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("a policy");
    for words in ["sandbox;", "default-src 'none'", "img-src https:"] {
        assert!(policy.contains(words) && !policy.contains("allow-scripts"), "{policy}");
    }
}
