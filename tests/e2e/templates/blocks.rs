//! Layouts and partials: what touches many templates touches all of them or none.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::Server;

use super::{api, create, publish};
use crate::fixture::Database;

const TEMPLATES: usize = 10;

/// Templates `t0` to `t9`, made of the layout `frame`, which calls the partial `foot`.
async fn published(server: &Server, templates: usize) {
    create(server, "/v1/partials", "foot", json!({"html": "<i>foot 1</i>"})).await;
    publish(server, "/v1/partials/foot", json!({})).await;
    let html = "<main>{{ content }}</main>{% render 'foot' %}";
    create(server, "/v1/layouts", "frame", json!({"html": html})).await;
    publish(server, "/v1/layouts/frame", json!({})).await;
    for n in 0..templates {
        let slug = format!("t{n}");
        let draft = json!({
            "subject": "s", "html": "<p>{{ name }}</p>", "layout": "frame",
            "examples": {"default": {"name": "Ada"}},
        });
        create(server, "/v1/templates", &slug, draft).await;
        publish(server, &format!("/v1/templates/{slug}"), json!({})).await;
    }
}

async fn html(server: &Server, slug: &str) -> String {
    let path = format!("/v1/templates/{slug}/preview");
    let preview = api(server, Method::POST, &path, &json!({"of": "published"})).await;
    assert_eq!(preview.status, 200, "{}", preview.body);
    preview.body["parts"]["html"].as_str().expect("a text").to_owned()
}

#[tokio::test]
async fn a_changed_layout_or_partial_is_a_new_version_of_all_that_it_touches() {
    let server = Server::dev();
    published(&server, TEMPLATES).await;
    assert!(html(&server, "t0").await.contains("<main><p>Ada</p></main><i>foot 1</i>"));
    let change = json!({"html": "<i>foot 2</i>"});
    api(&server, Method::PATCH, "/v1/partials/foot", &change).await;
    assert!(html(&server, "t0").await.contains("foot 1"), "a draft changes nothing");
    let drafts = json!({"of": "drafts"});
    let shown = api(&server, Method::POST, "/v1/templates/t0/preview", &drafts).await;
    assert!(shown.body["parts"]["html"].as_str().is_some_and(|it| it.contains("foot 2")));
    let told = publish(&server, "/v1/partials/foot", json!({})).await;
    assert_eq!(told["touched"].as_array().map(Vec::len), Some(TEMPLATES), "{told}");
    for n in 0..TEMPLATES {
        assert!(html(&server, &format!("t{n}")).await.contains("foot 2"));
    }
    let shown = api(&server, Method::GET, "/v1/templates/t3", &Value::Null).await;
    assert_eq!(
        (&shown.body["publishedRevision"], &shown.body["hasDraft"]),
        (&json!(2), &json!(false))
    );
    let back = json!({"revision": 1});
    let back = api(&server, Method::POST, "/v1/partials/foot/rollback", &back).await;
    assert_eq!(back.body["touched"].as_array().map(Vec::len), Some(TEMPLATES), "{}", back.body);
    assert!(html(&server, "t9").await.contains("foot 1"));
}

#[tokio::test]
async fn a_layout_that_would_break_one_template_is_published_with_none() {
    let server = Server::dev();
    published(&server, 3).await;
    let change =
        json!({"html": "{{ content }}{% render 'foot' %}{{ town | date: 1, 2, 3 }}{% nope %}"});
    api(&server, Method::PATCH, "/v1/layouts/frame", &change).await;
    let refused = api(&server, Method::POST, "/v1/layouts/frame/publish", &json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    let part = &refused.body["diagnostics"][0]["part"];
    assert_eq!(part, "layout", "{}", refused.body);
    // Sound by itself, and a new demand on the senders of all three.
    let change = json!({"html": "{{ content }}{{ imprint }}"});
    api(&server, Method::PATCH, "/v1/layouts/frame", &change).await;
    let refused = api(&server, Method::POST, "/v1/layouts/frame/publish", &json!({})).await;
    refused.assert_refused(409, "CONFLICT");
    let words = refused.body.to_string();
    assert!(words.contains("t0") && words.contains("imprint"), "{words}");
    let shown = api(&server, Method::GET, "/v1/layouts/frame", &Value::Null).await;
    assert_eq!(shown.body["publishedRevision"], 1);
    for gone in [Method::DELETE, Method::POST] {
        let path =
            if gone == Method::POST { "/v1/layouts/frame/archive" } else { "/v1/layouts/frame" };
        let refused = api(&server, gone, path, &Value::Null).await;
        refused.assert_refused(409, "CONFLICT");
        assert!(refused.body["message"].as_str().is_some_and(|it| it.contains("t0, t1, t2")));
    }
}

#[tokio::test]
async fn a_layout_that_leaves_out_what_it_surrounds_is_refused() {
    let server = Server::dev();
    let html = "<meta name='a' content='b'><p>all alone</p>";
    create(&server, "/v1/layouts", "alone", json!({"html": html})).await;
    let refused = api(&server, Method::POST, "/v1/layouts/alone/publish", &json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    assert!(refused.body.to_string().contains("no_content"), "{}", refused.body);
    // A partial may show it.
    create(&server, "/v1/partials", "inner", json!({"html": "<b>{{ content }}</b>"})).await;
    publish(&server, "/v1/partials/inner", json!({})).await;
    let html = json!({"html": "{% include 'inner' %}"});
    api(&server, Method::PATCH, "/v1/layouts/alone", &html).await;
    publish(&server, "/v1/layouts/alone", json!({})).await;
}

#[tokio::test]
async fn kill_9_while_a_layout_is_published_leaves_all_of_it_or_nothing() {
    let mut server = Server::dev();
    published(&server, TEMPLATES).await;
    for round in 2..8_u64 {
        let change = json!({"html": format!("<i>foot {round}</i>")});
        api(&server, Method::PATCH, "/v1/partials/foot", &change).await;
        let request = server.request(Method::POST, "/v1/partials/foot/publish");
        let request = request.header("x-api-key", server.key()).json(&json!({}));
        let pause = Duration::from_millis(15 * round);
        let answered = tokio::time::timeout(pause, server.try_answer(request)).await;
        server.kill9();
        server.restart();
        let mut seen = Vec::new();
        for n in 0..TEMPLATES {
            seen.push(html(&server, &format!("t{n}")).await.contains(&format!("foot {round}")));
        }
        assert!(seen.iter().all(|it| *it == seen[0]), "round {round}: {seen:?}");
        if answered.is_ok_and(|it| it.is_ok()) {
            assert!(seen[0], "round {round}: it was answered");
        }
        if !seen[0] {
            publish(&server, "/v1/partials/foot", json!({})).await;
        }
    }
    Database::of(&server).await.assert_sound().await;
}

#[tokio::test]
async fn a_layout_of_the_server_is_for_all_and_an_accounts_own_comes_first() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let shared = "/v1/layouts?owner=server";
    let body = json!({"slug": "shared", "draft": {"html": "<u>{{ content }}</u>"}});
    let made = api(&server, Method::POST, shared, &body).await;
    assert_eq!((made.status, &made.body["owner"]), (201, &json!("server")), "{}", made.body);
    publish(&server, "/v1/layouts/shared?owner=server", json!({})).await;
    let request = server.request(Method::POST, shared).header("x-api-key", &account.key);
    server.answer(request.json(&body)).await.assert_refused(403, "FORBIDDEN");
    let draft = json!({"subject": "s", "html": "<p>x</p>", "layout": "shared"});
    create(&server, "/v1/templates", "note", draft).await;
    publish(&server, "/v1/templates/note", json!({})).await;
    assert!(html(&server, "note").await.contains("<u><p>x</p></u>"));
    create(&server, "/v1/layouts", "shared", json!({"html": "<s>{{ content }}</s>"})).await;
    publish(&server, "/v1/layouts/shared", json!({})).await;
    api(&server, Method::PATCH, "/v1/templates/note", &json!({"name": "Note"})).await;
    publish(&server, "/v1/templates/note", json!({})).await;
    assert!(html(&server, "note").await.contains("<s><p>x</p></s>"));
}

#[tokio::test]
async fn what_a_layout_of_the_server_breaks_is_named_with_its_account() {
    let server = Server::dev();
    let body = json!({"slug": "shared", "draft": {"html": "<u>{{ content }}</u>"}});
    api(&server, Method::POST, "/v1/layouts?owner=server", &body).await;
    publish(&server, "/v1/layouts/shared?owner=server", json!({})).await;
    let draft = json!({"subject": "s", "html": "<p>x</p>", "layout": "shared"});
    create(&server, "/v1/templates", "note", draft).await;
    publish(&server, "/v1/templates/note", json!({})).await;
    let change = json!({"html": "<u>{{ content }}{{ imprint }}</u>"});
    api(&server, Method::PATCH, "/v1/layouts/shared?owner=server", &change).await;
    let path = "/v1/layouts/shared/publish?owner=server";
    let refused = api(&server, Method::POST, path, &json!({})).await;
    refused.assert_refused(409, "CONFLICT");
    let account = server.dev_output("accountId");
    let broken = &refused.body["breaking"][0];
    assert_eq!((&broken["template"], &broken["account"]), (&json!("note"), &json!(account)));
    let words = refused.body["message"].as_str().expect("words");
    assert!(words.contains(&format!("`imprint` of note of {account} was")), "{words}");
}
