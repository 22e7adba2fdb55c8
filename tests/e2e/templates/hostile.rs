//! Authors that mean harm, and accounts that look at each other's templates.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::Server;

use super::{api, create, publish};
use crate::fixture::message;

#[tokio::test]
async fn what_is_too_large_is_refused_with_the_bound() {
    let server = Server::dev();
    create(&server, "/v1/templates", "big", json!({"subject": "s", "text": "t"})).await;
    let put =
        async |draft: Value| api(&server, Method::PUT, "/v1/templates/big/draft", &draft).await;
    let answer = put(json!({"html": "x".repeat(10 << 20)})).await;
    assert!(matches!(answer.status, 400 | 413), "{}", answer.status);
    let answer = put(json!({"html": "x".repeat(600 << 10)})).await;
    answer.assert_faults(&["html"]);
    assert!(answer.body["message"].as_str().is_some_and(|it| it.contains("524288")));
    let many: Vec<Value> = (0..100_000).map(|n| json!({"path": format!("v{n}")})).collect();
    put(json!({"variables": many})).await.assert_faults(&["variables"]);
    let reads = (0..6_000).map(|n| format!("{{{{ v{n} }}}}")).collect::<Vec<_>>().concat();
    assert_eq!(put(json!({"subject": "s", "text": reads})).await.status, 200);
    let refused = api(&server, Method::POST, "/v1/templates/big/publish", &json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    server.send(server.key(), &message("good@example.com")).await.message_id();
}

#[tokio::test]
async fn a_body_that_is_no_object_is_the_one_fault_and_is_named() {
    let server = Server::dev();
    create(&server, "/v1/templates", "note", json!({"subject": "s", "text": "t"})).await;
    for (method, path) in [
        (Method::POST, "/v1/templates"),
        (Method::PATCH, "/v1/templates/note"),
        (Method::PUT, "/v1/templates/note/draft"),
        (Method::POST, "/v1/templates/note/rollback"),
        (Method::POST, "/v1/templates/note/duplicate"),
        (Method::POST, "/v1/templates/note/test"),
    ] {
        for (body, kind) in [(Value::Null, "null"), (json!([]), "an array")] {
            let request = server.request(method.clone(), path).header("x-api-key", server.key());
            let refused = server.answer(request.json(&body)).await;
            refused.assert_faults(&[""]);
            let message = refused.body["message"].as_str().unwrap_or_default();
            let words = format!("must be a JSON object, not {kind}");
            assert!(message.contains(&words), "{method} {path}: {message}");
        }
    }
}

#[tokio::test]
async fn templates_that_never_end_and_partials_that_call_each_other_are_refused() {
    let server = Server::dev();
    for (a, b) in [("one", "two"), ("two", "one")] {
        let html = format!("{{% render '{b}' %}}");
        create(&server, "/v1/partials", a, json!({"html": html})).await;
    }
    // The first has nothing to call yet; so it is published without, and the circle is closed afterwards.
    api(&server, Method::PATCH, "/v1/partials/one", &json!({"html": "1"})).await;
    publish(&server, "/v1/partials/one", json!({})).await;
    publish(&server, "/v1/partials/two", json!({})).await;
    let circle = json!({"html": "{% render 'two' %}"});
    api(&server, Method::PATCH, "/v1/partials/one", &circle).await;
    let refused = api(&server, Method::POST, "/v1/partials/one/publish", &json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    assert!(refused.body.to_string().contains("recursive_partial"), "{}", refused.body);

    let endless = "{% for a in (1..9999) %}{% for b in (1..9999) %}{% for c in (1..9999) %}x{% endfor %}{% endfor %}\
                   {% endfor %}";
    let draft = json!({"subject": "s", "text": endless, "examples": {"default": {}}});
    create(&server, "/v1/templates", "endless", draft).await;
    // With an example and without one.
    for examples in [json!({"default": {}}), Value::Null] {
        let change = json!({"examples": examples});
        api(&server, Method::PATCH, "/v1/templates/endless", &change).await;
        let refused = api(&server, Method::POST, "/v1/templates/endless/publish", &json!({})).await;
        refused.assert_refused(400, "BAD_REQUEST");
        assert!(refused.body.to_string().contains("too_much_work"), "{}", refused.body);
    }
    let shown = api(&server, Method::POST, "/v1/templates/endless/preview", &json!({})).await;
    shown.assert_refused(400, "BAD_REQUEST");
    server.send(server.key(), &message("good@example.com")).await.message_id();
}

#[tokio::test]
async fn no_account_sees_or_changes_anothers_templates() {
    let server = Server::dev();
    let other = server.open_account("pro", 10);
    create(&server, "/v1/templates", "secret", json!({"subject": "s", "text": "t"})).await;
    create(&server, "/v1/layouts", "secret", json!({"html": "{{ content }}"})).await;
    publish(&server, "/v1/templates/secret", json!({})).await;
    publish(&server, "/v1/layouts/secret", json!({})).await;
    let call = async |method: Method, path: &str, body: Value| {
        let request = server.request(method, path).header("x-api-key", &other.key);
        server.answer(request.json(&body)).await
    };
    drop(server.cli(&["key", "create", "--account", &other.id, "--scope", "templates"]));
    // Its key only sends.
    call(Method::GET, "/v1/templates/secret", Value::Null).await.assert_refused(403, "FORBIDDEN");
    let (_, key) = server.make_key(&other.id, &["--scope", "templates"]);
    let call = async |method: Method, path: &str, body: Value| {
        let request = server.request(method, path).header("x-api-key", &key);
        server.answer(request.json(&body)).await
    };
    for path in ["/v1/templates/secret", "/v1/layouts/secret"] {
        call(Method::GET, path, Value::Null).await.assert_refused(404, "NOT_FOUND");
        call(Method::DELETE, path, Value::Null).await.assert_refused(404, "NOT_FOUND");
        call(Method::PATCH, path, json!({"name": "x"})).await.assert_refused(404, "NOT_FOUND");
        let path = format!("{path}/publish");
        call(Method::POST, &path, json!({})).await.assert_refused(404, "NOT_FOUND");
    }
    let draft = json!({"slug": "mine", "draft": {"subject": "s", "html": "x", "layout": "secret"}});
    assert_eq!(call(Method::POST, "/v1/templates", draft).await.status, 201);
    let refused = call(Method::POST, "/v1/templates/mine/publish", json!({})).await;
    refused.assert_refused(400, "BAD_REQUEST");
    assert!(refused.body.to_string().contains("no published layout `secret`"), "{}", refused.body);
    let listed = call(Method::GET, "/v1/templates?limit=1", Value::Null).await;
    assert_eq!(
        (&listed.body["data"][0]["slug"], &listed.body["hasMore"]),
        (&json!("mine"), &json!(true))
    );
    let after = listed.body["next"].as_str().expect("a slug");
    let listed = call(Method::GET, &format!("/v1/templates?after={after}"), Value::Null).await;
    assert_eq!(listed.body["data"][0]["slug"], "verification-code", "{}", listed.body);
    // A key of scope templates sends nothing, and one for some templates sees no other.
    server.send(&key, &message("ada@example.com")).await.assert_refused(403, "FORBIDDEN");
    let (_, narrow) = server.make_key(&other.id, &["--scope", "templates", "--template", "mine"]);
    for (path, status) in [
        ("/v1/templates/mine", 200),
        ("/v1/templates/verification-code", 403),
        ("/v1/templates", 403),
    ] {
        let request = server.request(Method::GET, path).header("x-api-key", &narrow);
        assert_eq!(server.answer(request).await.status, status, "{path}");
    }
    let (_, test) = server.make_key(&other.id, &["--scope", "admin", "--test"]);
    for (method, path, status) in [
        (Method::GET, "/v1/templates/mine", 200),
        (Method::POST, "/v1/templates/mine/publish", 403),
        (Method::DELETE, "/v1/templates/mine", 403),
    ] {
        let request = server.request(method, path).header("x-api-key", &test).json(&json!({}));
        assert_eq!(server.answer(request).await.status, status, "{path}");
    }
}
