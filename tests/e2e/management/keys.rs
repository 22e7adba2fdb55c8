//! `/v1/keys`.

use serde_json::{Value, json};
use waxwing_tests::Server;

use super::{holder, operator, pages, patch, post, text};
use crate::fixture::message;

#[tokio::test]
async fn a_key_that_was_made_over_http_sends_and_its_secret_is_told_once() {
    let server = Server::dev();
    let account = holder(&server);
    let body = json!({"name": "Shop", "networks": ["127.0.0.0/8"], "templates": ["verification-code"],
                      "expiresAt": "2099-01-01T00:00:00Z", "colour": 1});
    let made = post(&server, &account.key, "/v1/keys", body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(made.body["warnings"], json!(["unknown field `colour`"]));
    let secret = text(&made.body["key"]);
    assert!(secret.starts_with(&text(&made.body["prefix"])), "{}", made.body);
    server.send(&secret, &message("ada@example.com")).await.message_id();

    let path = format!("/v1/keys/{}", text(&made.body["id"]));
    let shown = server.get_as(&account.key, &path).await;
    assert_eq!(shown.status, 200, "{}", shown.body);
    assert_eq!(shown.body["key"], Value::Null);
    assert!(!shown.body.to_string().contains(&secret));
    for (member, value) in [
        ("name", json!("Shop")),
        ("mode", json!("live")),
        ("scopes", json!(["send"])),
        ("domains", json!([])),
        ("templates", json!(["verification-code"])),
        ("networks", json!(["127.0.0.0/8"])),
        ("state", json!("active")),
        ("expiresAt", json!("2099-01-01T00:00:00Z")),
    ] {
        assert_eq!(shown.body[member], value, "{member}");
    }
    let listed = server.cli(&["key", "list", "--account", &account.id]);
    assert!(listed.as_array().is_some_and(|it| it.contains(&shown.body)), "{listed}");
}

#[tokio::test]
async fn a_key_is_switched_off_for_good_and_its_next_request_refused() {
    let server = Server::dev();
    let account = holder(&server);
    let made = post(&server, &account.key, "/v1/keys", json!({})).await.body;
    let (id, secret) = (text(&made["id"]), text(&made["key"]));
    server.send(&secret, &message("ada@example.com")).await.message_id();
    let path = format!("/v1/keys/{id}/deactivate");
    for _ in 0..2 {
        let off = post(&server, &account.key, &path, Value::Null).await;
        assert_eq!((off.status, &off.body["state"]), (200, &json!("deactivated")), "{}", off.body);
    }
    server.send(&secret, &message("ada@example.com")).await.assert_refused(401, "UNAUTHORIZED");
    let change =
        patch(&server, &account.key, &format!("/v1/keys/{id}"), json!({"name": "x"})).await;
    change.assert_refused(409, "CONFLICT");
}

#[tokio::test]
async fn nobody_takes_rights_from_the_key_they_call_with_unless_they_force_it() {
    let server = Server::dev();
    let account = holder(&server);
    let own = format!("/v1/keys/{}", account.key_id);
    let named = patch(&server, &account.key, &own, json!({"name": "Mine"})).await;
    assert_eq!((named.status, &named.body["name"]), (200, &json!("Mine")), "{}", named.body);
    let narrower = json!({"scopes": ["admin"]});
    patch(&server, &account.key, &own, narrower.clone()).await.assert_refused(409, "CONFLICT");
    let off = format!("{own}/deactivate");
    post(&server, &account.key, &off, Value::Null).await.assert_refused(409, "CONFLICT");

    let forced = patch(&server, &account.key, &format!("{own}?force=true"), narrower).await;
    assert_eq!((forced.status, &forced.body["scopes"]), (200, &json!(["admin"])));
    server.send(&account.key, &message("a@example.com")).await.assert_refused(403, "FORBIDDEN");
    let forced = post(&server, &account.key, &format!("{off}?force=true"), Value::Null).await;
    assert_eq!(forced.status, 200, "{}", forced.body);
    server.get_as(&account.key, "/v1/keys").await.assert_refused(401, "UNAUTHORIZED");
}

#[tokio::test]
async fn a_key_gives_no_more_than_it_has_and_all_that_it_lacks_is_named() {
    let server = Server::dev();
    let account = holder(&server);
    let own = [
        "--scope",
        "admin",
        "--domain",
        "sandbox.test",
        "--template",
        "verification-code",
        "--ip",
        "127.0.0.0/8",
        "--expires",
        "2098-01-01T00:00:00Z",
    ];
    let (_, narrow) = server.make_key(&account.id, &own);
    let refused = post(&server, &narrow, "/v1/keys", json!({"scopes": ["send", "operator"]})).await;
    refused.assert_refused(403, "FORBIDDEN");
    let words = text(&refused.body["message"]);
    for lacking in
        ["scope send", "scope operator", "domains", "templates", "networks", "a later expiry"]
    {
        assert!(words.contains(lacking), "{lacking}: {words}");
    }
    let within = json!({"scopes": ["admin"], "domains": ["sandbox.test"], "templates": ["verification-code"],
                        "networks": ["127.0.0.1"], "expiresAt": "2097-01-01T00:00:00Z"});
    let made = post(&server, &narrow, "/v1/keys", within).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let path = format!("/v1/keys/{}", text(&made.body["id"]));
    for wider in [
        json!({"scopes": ["admin", "send"]}),
        json!({"domains": []}),
        json!({"templates": ["receipt"]}),
        json!({"networks": ["10.0.0.0/8"]}),
        json!({"expiresAt": null}),
    ] {
        let refused = patch(&server, &narrow, &path, wider.clone()).await;
        assert_eq!((refused.status, refused.code()), (403, "FORBIDDEN"), "{wider}");
    }
    // Whoever has it may give it.
    let wider = json!({"scopes": ["admin", "send"], "domains": [], "expiresAt": null});
    let widened = patch(&server, &account.key, &path, wider).await;
    assert_eq!(
        (widened.status, &widened.body["expiresAt"]),
        (200, &Value::Null),
        "{}",
        widened.body
    );
    // It is none that the narrow key is told of any more.
    patch(&server, &narrow, &path, json!({"name": "x"})).await.assert_refused(404, "NOT_FOUND");
    let seen = pages(&server, &narrow, "/v1/keys", 50).await.concat();
    assert_eq!(seen.len(), 1, "itself: {seen:?}");
}

#[tokio::test]
async fn a_change_may_narrow_a_key_that_has_more_than_the_caller() {
    let server = Server::dev();
    let account = holder(&server);
    let (_, admin) = server.make_key(&account.id, &["--scope", "admin"]);
    let (sender_id, sender) = server.make_key(&account.id, &[]);
    let path = format!("/v1/keys/{sender_id}");
    let narrowed = patch(&server, &admin, &path, json!({"networks": ["192.0.2.0/24"]})).await;
    assert_eq!(narrowed.status, 200, "{}", narrowed.body);
    server.send(&sender, &message("a@example.com")).await.assert_refused(403, "FORBIDDEN");
    // Back again would give what the caller does not have: scope send.
    let back = json!({"networks": []});
    patch(&server, &admin, &path, back.clone()).await.assert_refused(403, "FORBIDDEN");
    assert_eq!(patch(&server, &account.key, &path, back).await.status, 200);
    server.send(&sender, &message("a@example.com")).await.message_id();
}

#[tokio::test]
async fn a_key_of_an_operator_is_changed_by_operators_only() {
    let server = Server::dev();
    let account = holder(&server);
    let (id, _) = server.make_key(&account.id, &["--scope", "operator"]);
    let path = format!("/v1/keys/{id}");
    patch(&server, &account.key, &path, json!({"name": "x"}))
        .await
        .assert_refused(403, "FORBIDDEN");
    let off = format!("{path}/deactivate");
    post(&server, &account.key, &off, Value::Null).await.assert_refused(403, "FORBIDDEN");
    let operator = operator(&server);
    let off = post(&server, &operator, &format!("{off}?account={}", account.id), Value::Null).await;
    assert_eq!(off.status, 200, "{}", off.body);
}

#[tokio::test]
async fn an_operator_makes_keys_for_any_account_with_no_more_than_its_own() {
    let server = Server::dev();
    let account = server.open_account("pro", 10);
    let operator = operator(&server);
    let path = format!("/v1/keys?account={}", account.id);
    let made = post(&server, &operator, &path, json!({"scopes": ["send", "admin"]})).await;
    assert_eq!((made.status, &made.body["accountId"]), (201, &json!(account.id)), "{}", made.body);
    server.send(&text(&made.body["key"]), &message("a@example.com")).await.message_id();
    let listed = pages(&server, &operator, &path, 50).await.concat();
    assert_eq!(listed.len(), 2, "{listed:?}");

    let (_, local) = server.make_key(&account.id, &["--scope", "operator", "--ip", "127.0.0.1"]);
    let further = json!({"scopes": ["operator"]});
    let refused = post(&server, &local, &path, further.clone()).await;
    refused.assert_refused(403, "FORBIDDEN");
    assert!(text(&refused.body["message"]).contains("networks"), "{}", refused.body);
    assert_eq!(post(&server, &local, &path, json!({})).await.status, 201);
    assert_eq!(post(&server, &operator, &path, further).await.status, 201);

    let nobody = "/v1/keys?account=acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
    post(&server, &operator, nobody, json!({})).await.assert_refused(404, "NOT_FOUND");
    let holder = holder(&server);
    post(&server, &holder.key, &path, json!({})).await.assert_refused(403, "FORBIDDEN");
}

#[tokio::test]
async fn no_account_sees_or_changes_the_keys_of_another() {
    let server = Server::dev();
    let (own, other) = (holder(&server), holder(&server));
    let path = format!("/v1/keys/{}", other.key_id);
    server.get_as(&own.key, &path).await.assert_refused(404, "NOT_FOUND");
    patch(&server, &own.key, &path, json!({"name": "x"})).await.assert_refused(404, "NOT_FOUND");
    let off = format!("{path}/deactivate");
    post(&server, &own.key, &off, Value::Null).await.assert_refused(404, "NOT_FOUND");
    let listed = pages(&server, &own.key, "/v1/keys", 50).await.concat();
    assert!(listed.iter().all(|it| it["accountId"] == json!(own.id)), "{listed:?}");
    // An operator that names one account does not get at the key of another.
    let operator = operator(&server);
    let path = format!("{path}?account={}", own.id);
    server.get_as(&operator, &path).await.assert_refused(404, "NOT_FOUND");
    assert_eq!(server.get_as(&other.key, "/v1/keys").await.status, 200);
}

#[tokio::test]
async fn a_test_key_sees_and_makes_test_keys_only() {
    let server = Server::dev();
    let account = holder(&server);
    let (_, test) =
        server.make_key(&account.id, &["--test", "--scope", "send", "--scope", "admin"]);
    post(&server, &test, "/v1/keys", json!({})).await.assert_refused(403, "FORBIDDEN");
    let made = post(&server, &test, "/v1/keys", json!({"mode": "test"})).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert!(text(&made.body["key"]).starts_with("wx_test_"));
    let listed = pages(&server, &test, "/v1/keys", 50).await.concat();
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(listed.iter().all(|it| it["mode"] == "test"), "{listed:?}");
    let off = format!("/v1/keys/{}/deactivate", account.key_id);
    post(&server, &test, &off, Value::Null).await.assert_refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn every_fault_of_a_key_is_named_at_once() {
    let server = Server::dev();
    let account = holder(&server);
    let all = json!({"name": "", "mode": "loud", "scopes": ["send", "fly"], "domains": ["a b", 1],
                     "templates": "receipt", "networks": ["10.0.0.0/99"], "expiresAt": "soon"});
    let faults = [
        "name",
        "mode",
        "scopes[1]",
        "domains[0]",
        "domains[1]",
        "templates",
        "networks[0]",
        "expiresAt",
    ];
    post(&server, &account.key, "/v1/keys", all).await.assert_faults(&faults);
    let many: Vec<String> = (0..101).map(|it| format!("d{it}.example")).collect();
    let more = json!({"domains": many, "mode": "test", "scopes": ["operator"]});
    post(&server, &account.key, "/v1/keys", more).await.assert_faults(&["domains", "scopes"]);
    let path = format!("/v1/keys/{}", account.key_id);
    let change = json!({"name": "x".repeat(101), "scopes": [], "expiresAt": 7});
    let faults = ["name", "scopes", "expiresAt"];
    patch(&server, &account.key, &path, change).await.assert_faults(&faults);
    let message = "a test key cannot have the scope operator";
    let test = ["key", "create", "--account", &account.id, "--test", "--scope", "operator"];
    assert!(server.cli_fails(&test).contains(message));
}

#[tokio::test]
async fn keys_are_listed_page_by_page_also_for_a_key_that_sees_few() {
    let server = Server::dev();
    let account = holder(&server);
    let mut made = Vec::new();
    for number in 0..7 {
        let domains = if number % 3 == 0 { json!(["sandbox.test"]) } else { json!([]) };
        let key = json!({"name": format!("k{number}"), "domains": domains});
        made.push(text(&post(&server, &account.key, "/v1/keys", key).await.body["id"]));
    }
    let all = pages(&server, &account.key, "/v1/keys", 2).await;
    let ids: Vec<String> = all.concat().iter().map(|it| text(&it["id"])).collect();
    assert_eq!(ids[2..], made, "behind the two of the account");
    assert_eq!(all.len(), 5);
    let narrow = ["--scope", "admin", "--scope", "send", "--domain", "sandbox.test"];
    let (_, narrow) = server.make_key(&account.id, &narrow);
    let seen: Vec<usize> =
        pages(&server, &narrow, "/v1/keys", 2).await.iter().map(Vec::len).collect();
    assert_eq!(seen, [2, 2], "three and itself");
    let bad = server.get_as(&account.key, "/v1/keys?limit=0&after=x&colour=red").await;
    bad.assert_faults(&["after", "colour"]);
}

#[tokio::test]
async fn the_command_line_changes_a_key_by_the_same_rules() {
    let server = Server::dev();
    let account = holder(&server);
    let (id, key) = server.make_key(&account.id, &["--domain", "other.example"]);
    let path = ["key", "update", &id];
    let update = |arguments: &[&str]| server.cli(&[&path[..], arguments].concat());
    server.send(&key, &message("a@example.com")).await.assert_refused(403, "FORBIDDEN");
    let changed =
        update(&["--clear", "domain", "--name", "Shop", "--expires", "2099-01-01T00:00:00Z"]);
    assert_eq!((&changed["domains"], &changed["name"]), (&json!([]), &json!("Shop")), "{changed}");
    server.send(&key, &message("a@example.com")).await.message_id();
    assert_eq!(update(&["--clear", "expires"])["expiresAt"], Value::Null);
    let refused = server.cli_fails(&["key", "update", &id, "--name", ""]);
    assert!(refused.contains("name: must be 1 to 100 characters"), "{refused}");
    let off = server.cli(&["key", "deactivate", &id]);
    assert_eq!(off["state"], "deactivated", "{off}");
}
