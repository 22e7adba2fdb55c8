//! An account's brand: who its mail says that it is from.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Account, Answer, Server, until_async};

use crate::fixture::{Template, message, publish, with};

/// An account that has said nothing of its brand yet.
fn nameless(server: &Server) -> Account {
    let account = server.open_account("pro", 100);
    drop(server.cli(&["account", "brand", &account.id, "--clear", "product-name"]));
    account
}

async fn brand(server: &Server, key: &str, change: Option<&Value>) -> Answer {
    let method = if change.is_some() { Method::PATCH } else { Method::GET };
    let request = server.request(method, "/v1/brand").header("x-api-key", key);
    server
        .answer(match change {
            Some(change) => request.json(change),
            None => request,
        })
        .await
}

async fn text_to(server: &Server, to: &str) -> String {
    let mail = server.wait_for_mail_to(to).await;
    let raw = server.raw_mail(&mail).await;
    format!("{}\n{}", mail.subject, String::from_utf8(raw).expect("UTF-8"))
}

#[tokio::test]
async fn a_starter_whose_product_name_is_known_nowhere_is_refused() {
    let server = Server::dev();
    let account = nameless(&server);
    let body = message("ada@example.com");
    let answer = server.send(&account.key, &body).await;
    answer.assert_faults(&["data.product_name"]);
    let words = answer.body["message"].as_str().expect("words");
    assert!(words.contains("/v1/brand") && words.contains("--product-name"), "{words}");
    // All faults at once, also beside those of the fields.
    let answer = server.send(&account.key, &with(body.clone(), "to", json!("nobody"))).await;
    answer.assert_faults(&["to", "data.product_name"]);

    let named = with(body.clone(), "data", json!({"code": "1", "product_name": "Kestrel"}));
    server.send(&account.key, &named).await.message_id();
    drop(server.cli(&["account", "brand", &account.id, "--product-name", "Plover"]));
    server.send(&account.key, &body).await.message_id();
}

#[tokio::test]
async fn mail_shows_the_accounts_brand_and_never_the_servers_name() {
    let server = Server::dev();
    let account = server.open_account("pro", 100);
    let arguments = ["account", "brand", &account.id, "--product-name", "Plover & Sons"];
    let brand = server.cli(&[&arguments[..], &["--support-email", "help@plover.example"]].concat());
    assert_eq!(brand["productName"], "Plover & Sons", "{brand}");
    for to in ["dev@example.com", "own@example.com"] {
        let key = if to.starts_with("dev") { server.key() } else { &account.key };
        server.send(key, &message(to)).await.message_id();
        let text = text_to(&server, to).await;
        let name = if to.starts_with("dev") { "Tern & Co" } else { "Plover & Sons" };
        assert!(text.contains(&format!("481 902 is your {name} code")), "{text}");
        assert!(!text.contains("Waxwing"), "{text}");
    }
}

#[tokio::test]
async fn the_sends_data_wins_over_the_brand_and_the_brand_over_a_default() {
    let server = Server::dev();
    let account = server.open_account("pro", 100);
    let template = Template {
        subject: "s",
        html: None,
        text: Some("[{{ product_name | default: 'Default' }}]"),
    };
    drop(publish(&server, &account.id, "named", &template, &[]));
    drop(server.cli(&["account", "brand", &account.id, "--product-name", "Brand"]));
    for (to, data, shown) in [
        ("a@example.com", json!({}), "[Brand]"),
        ("b@example.com", json!({"product_name": null}), "[Brand]"),
        ("c@example.com", json!({"product_name": "Own"}), "[Own]"),
    ] {
        let body = with(with(message(to), "template", json!("named")), "data", data);
        server.send(&account.key, &body).await.message_id();
        let text = text_to(&server, to).await;
        assert!(text.contains(shown), "{text}");
    }
    drop(server.cli(&["account", "brand", &account.id, "--clear", "product-name"]));
    let body = with(with(message("d@example.com"), "template", json!("named")), "data", json!({}));
    server.send(&account.key, &body).await.message_id();
    assert!(text_to(&server, "d@example.com").await.contains("[Default]"));
}

#[tokio::test]
async fn a_brand_is_read_and_changed_by_an_admin_key_of_its_account() {
    let server = Server::dev();
    let account = nameless(&server);
    let scopes = ["--scope", "send", "--scope", "admin"];
    let (_, admin) = server.make_key(&account.id, &scopes);
    let empty = brand(&server, &admin, None).await;
    assert_eq!((empty.status, &empty.body["productName"]), (200, &Value::Null), "{}", empty.body);
    assert_eq!(empty.body.as_object().expect("an object").len(), 6, "{}", empty.body);

    let change = json!({"productName": " Plover ", "brandColor": "#ABCDEF", "colour": 1});
    let changed = brand(&server, &admin, Some(&change)).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    let warnings = changed.body["warnings"].as_array().expect("warnings");
    assert_eq!(warnings[0], "unknown field `colour`");
    let words = warnings[1].as_str().expect("of the colour");
    assert!(words.contains("#abcdef") && words.contains("choose a darker colour"), "{words}");
    let told = server.cli(&["account", "brand", &account.id, "--brand-color", "#abcdef"]);
    assert_eq!(told["warnings"], json!([words]), "the command line says the same: {told}");
    let shown = brand(&server, &admin, None).await.body;
    assert_eq!(
        (&shown["productName"], &shown["brandColor"]),
        (&json!("Plover"), &json!("#abcdef"))
    );
    // It holds for the very next request, and null clears.
    server.send(&admin, &message("ada@example.com")).await.message_id();
    let cleared = brand(&server, &admin, Some(&json!({"productName": null}))).await.body;
    assert_eq!(
        (&cleared["productName"], &cleared["brandColor"]),
        (&Value::Null, &json!("#abcdef"))
    );
    server.send(&admin, &message("ada@example.com")).await.assert_faults(&["data.product_name"]);

    let (_, test) = server.make_key(&account.id, &["--test", "--scope", "admin"]);
    assert_eq!(brand(&server, &test, None).await.body["brandColor"], "#abcdef");
    brand(&server, &test, Some(&change)).await.assert_refused(403, "FORBIDDEN");
    brand(&server, &account.key, None).await.assert_refused(403, "FORBIDDEN");
    let of_dev = brand(&server, server.key(), None).await.body;
    assert_eq!(of_dev["productName"], "Tern & Co", "another account's brand stays");
}

#[tokio::test]
async fn every_brand_value_that_is_not_of_its_type_is_named() {
    let server = Server::dev();
    let all = json!({
        "productName": "", "productUrl": "javascript:alert(1)", "supportEmail": "help",
        "companyAddress": "a\nb", "brandColor": "red", "logoUrl": "http://example.com/a.png",
    });
    let answer = brand(&server, server.key(), Some(&all)).await;
    let names: Vec<&str> = all.as_object().expect("an object").keys().map(String::as_str).collect();
    answer.assert_faults(&names);
    let spelled = brand(&server, server.key(), Some(&json!({"product_name": "x"}))).await;
    spelled.assert_faults(&["product_name"]);
    assert!(spelled.body["message"].as_str().is_some_and(|it| it.contains("productName")));
    brand(&server, server.key(), Some(&json!([1]))).await.assert_refused(400, "BAD_REQUEST");
    let account = server.dev_output("accountId");
    let error = server.cli_fails(&[
        "account",
        "brand",
        account,
        "--brand-color",
        "red",
        "--product-url",
        "nowhere",
    ]);
    assert!(error.contains("--brand-color") && error.contains("--product-url"), "{error}");
    assert_eq!(brand(&server, server.key(), None).await.body["productName"], "Tern & Co");
}

#[tokio::test]
async fn a_message_is_rendered_again_with_the_brand_that_it_had() {
    let server = Server::dev();
    let id = server.send(server.key(), &message("ada@example.com")).await.message_id();
    let ask = || async {
        let row = server.look(&format!("/v1/decisions/{id}")).await;
        let recorded = row["recorded"].as_array()?.contains(&json!("renderer"));
        recorded.then_some(())
    };
    until_async("the call is recorded", std::time::Duration::from_secs(30), ask).await;
    brand(&server, server.key(), Some(&json!({"productName": "Another"}))).await;
    let path = format!("/v1/decisions/{id}/replay");
    let again = server.operate(Method::POST, &path, Vec::new()).await;
    let calls = again.body["data"].as_array().expect("calls");
    let rendered = calls.iter().find(|call| call["kind"] == "renderer").expect("the renderer's");
    assert_eq!(rendered["same"], true, "{rendered}");
    assert!(rendered["answer"]["text"].as_str().is_some_and(|it| it.contains("Tern & Co")));
}
