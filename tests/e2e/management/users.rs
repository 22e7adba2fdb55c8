//! `/v1/users`: what `waxwing user` does, over HTTP.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, Server};

use super::{delete, holder, operator, pages, post, status_of, text};

async fn put(server: &Server, key: &str, path: &str, body: Value) -> Answer {
    let request = server.request(Method::PUT, path).header("x-api-key", key).json(&body);
    server.answer(request).await
}

#[tokio::test]
async fn a_user_is_invited_given_roles_reset_and_removed_over_http() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let body =
        json!({"email": "Ada@Example.com", "account": account.id, "role": "member", "colour": 1});
    let invited = post(&server, &operator, "/v1/users", body).await;
    assert_eq!(invited.status, 201, "{}", invited.body);
    assert_eq!(invited.body["warnings"], json!(["unknown field `colour`"]));
    let path = text(&invited.body["path"]);
    assert!(path.starts_with("/invite/"), "{path}");
    assert_eq!(status_of(&server, &path).await, 200, "the link works");
    let id = text(&invited.body["id"]);
    let user = format!("/v1/users/{id}");
    let shown = server.get_as(&operator, &user).await.body;
    let roles =
        json!([{"account": account.id, "name": "Test", "role": "member", "accepted": true}]);
    for (member, value) in
        [("hasPassword", json!(false)), ("operator", json!(false)), ("roles", roles)]
    {
        assert_eq!(shown[member], value, "{member}: {shown}");
    }
    assert!(shown["path"].is_null(), "the link is told once: {shown}");
    let listed = server.cli(&["user", "list"]);
    let same = listed.as_array().expect("users").iter().find(|it| it["id"] == json!(id));
    assert_eq!(same, Some(&shown), "the command line says the same");

    let role = format!("{user}/roles/{}", account.id);
    let given = put(&server, &operator, &role, json!({"role": "owner"})).await;
    assert_eq!((given.status, &given.body["roles"][0]["role"]), (200, &json!("owner")));
    let reset = post(&server, &operator, &format!("{user}/reset"), json!({})).await;
    assert_eq!(reset.status, 201, "{}", reset.body);
    let again = text(&reset.body["path"]);
    assert!(again.starts_with("/invite/") && again != path, "no password yet: {again}");
    let removed = delete(&server, &operator, &user).await;
    assert_eq!(removed.body["deleted"], json!(true), "{}", removed.body);
    assert_eq!(status_of(&server, &again).await, 410, "the link ended with the user");
    server.get_as(&operator, &user).await.assert_refused(404, "NOT_FOUND");

    let log = server.get_as(&operator, "/v1/audit?limit=4").await.body;
    let rows = log["data"].as_array().expect("changes");
    let actions: Vec<&str> = rows.iter().filter_map(|it| it["action"].as_str()).collect();
    assert_eq!(actions, ["remove_user", "make_reset_link", "give_role", "invite_user"]);
    let of: Vec<&Value> = rows.iter().map(|it| &it["accountId"]).collect();
    let own = json!(account.id);
    assert_eq!(of, [&Value::Null, &Value::Null, &own, &own], "whose account it changed");
    let subjects = rows.iter().filter_map(|it| it["subject"].as_str().map(str::to_lowercase));
    let ada = "ada@example.com";
    let (owner, member) = (format!("{ada}: owner"), format!("{ada}: member"));
    let wanted = [ada, ada, owner.as_str(), member.as_str()];
    assert_eq!(subjects.collect::<Vec<_>>(), wanted, "{log}");
}

#[tokio::test]
async fn only_an_operator_sees_and_changes_users() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let made = json!({"email": "ada@example.com", "account": account.id, "role": "owner"});
    let id = text(&post(&server, &operator, "/v1/users", made.clone()).await.body["id"]);
    let user = format!("/v1/users/{id}");
    let role = format!("{user}/roles/{}", account.id);
    for path in ["/v1/users", &user] {
        server.get_as(&account.key, path).await.assert_refused(403, "FORBIDDEN");
        let nobody = server.answer(server.request(Method::GET, path)).await;
        nobody.assert_refused(401, "UNAUTHORIZED");
    }
    post(&server, &account.key, "/v1/users", made).await.assert_refused(403, "FORBIDDEN");
    let reset = format!("{user}/reset");
    post(&server, &account.key, &reset, json!({})).await.assert_refused(403, "FORBIDDEN");
    let given = put(&server, &account.key, &role, json!({"role": "member"})).await;
    given.assert_refused(403, "FORBIDDEN");
    delete(&server, &account.key, &user).await.assert_refused(403, "FORBIDDEN");
    assert_eq!(server.get_as(&operator, &user).await.body["roles"][0]["role"], "owner");
}

#[tokio::test]
async fn every_fault_of_a_user_is_named_at_once() {
    let server = Server::dev();
    let (account, operator) = (holder(&server), operator(&server));
    let invite = async |body: Value| post(&server, &operator, "/v1/users", body).await;
    let all = json!({"email": "ada", "account": "x", "role": "boss", "operator": 1});
    invite(all).await.assert_faults(&["email", "account", "role", "operator"]);
    invite(json!({})).await.assert_faults(&["email", "account"]);
    let no_role = json!({"email": "ada@example.com", "account": account.id});
    invite(no_role).await.assert_faults(&["role"]);
    let no_account = json!({"email": "ada@example.com", "role": "owner", "operator": true});
    invite(no_account).await.assert_faults(&["account"]);
    let nowhere = json!({"email": "ada@example.com", "account": "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV", "role": "owner"});
    invite(nowhere).await.assert_refused(404, "NOT_FOUND");
    let operators = json!({"email": "ada@example.com", "operator": true});
    let made = invite(operators.clone()).await;
    assert_eq!((made.status, &made.body["operator"]), (201, &json!(true)), "{}", made.body);
    invite(operators).await.assert_refused(409, "CONFLICT");
    let user = format!("/v1/users/{}", text(&made.body["id"]));
    let role = format!("{user}/roles/{}", account.id);
    put(&server, &operator, &role, json!({"role": "boss"})).await.assert_faults(&["role"]);
    put(&server, &operator, &role, json!({})).await.assert_faults(&["role"]);
    for nowhere in [
        format!("{user}/roles/acc_01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        format!("{user}/roles/x"),
        format!("/v1/users/usr_01ARZ3NDEKTSV4RRFFQ69G5FAV/roles/{}", account.id),
    ] {
        let given = put(&server, &operator, &nowhere, json!({"role": "member"})).await;
        given.assert_refused(404, "NOT_FOUND");
    }
    let all = pages(&server, &operator, "/v1/users", 1).await;
    let ids: Vec<String> = all.concat().iter().map(|it| text(&it["id"])).collect();
    assert!(ids.len() == 2 && ids.is_sorted(), "dev's owner and this one: {ids:?}");
}

#[tokio::test]
async fn a_reset_ends_sessions_and_may_remove_the_second_factor() {
    let server = Server::dev();
    let operator = operator(&server);
    let users = server.get_as(&operator, "/v1/users").await.body;
    let id = text(&users["data"][0]["id"]);
    let reset = format!("/v1/users/{id}/reset");
    let faulty = post(&server, &operator, &reset, json!({"removeFactor": "yes"})).await;
    faulty.assert_faults(&["removeFactor"]);
    let made = post(&server, &operator, &reset, json!({"removeFactor": true})).await;
    let path = text(&made.body["path"]);
    assert!(path.starts_with("/reset/"), "a user with a password: {}", made.body);
    assert_eq!(made.body["hasFactor"], json!(false), "{}", made.body);
    assert_eq!(status_of(&server, &path).await, 200);
}
