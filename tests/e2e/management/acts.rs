//! One act, three ways: a page, an operation of the API and a command write the same into the audit log.

use serde_json::{Value, json};
use waxwing_tests::Server;

use super::{delete, operator, patch, post, text};
use crate::dashboard::Browser;
use crate::fixture::message;

/// What the log has of an act: whose log, which action, on what.
type Written = (String, String, String);

const ADDRESS: &str = "gone@example.com";

/// A server with an account, its owner, a key of it and one of the operator.
struct Place<'a> {
    server: &'a Server,
    account: String,
    key: String,
    operator: String,
    written: Vec<Written>,
}

impl<'a> Place<'a> {
    fn of(server: &'a Server) -> Self {
        let account = server.open_account("pro", 0).id;
        let (_, key) = server.make_key(&account, &["--scope", "admin"]);
        Self { server, account, key, operator: operator(server), written: Vec::new() }
    }

    /// Keeps what the newest entry of the log says.
    async fn note(&mut self) {
        let log = self.server.get_as(&self.operator, "/v1/audit?limit=1").await.body;
        let newest = &log["data"][0];
        let said = |member: &str| text(&newest[member]).replace(&self.account, "ACCOUNT");
        self.written.push((said("accountId"), said("action"), said("subject")));
    }

    /// The path with the identifier of the member that an earlier act has invited.
    async fn with_member(&self, path: &str) -> String {
        if !path.contains("{bo}") {
            return path.to_owned();
        }
        let team = self.server.get_as(&self.key, "/v1/team").await.body;
        let all = team["data"].as_array().expect("people").clone();
        let bo = all.iter().find(|it| it["email"] == "bo@example.com").expect("a member");
        path.replace("{bo}", &text(&bo["id"]))
    }
}

async fn by_page(server: &Server) -> Vec<Written> {
    let mut place = Place::of(server);
    let account = place.account.clone();
    let mut owner = Browser::invited(server, "ann@example.com", &account, "owner").await;
    let mut operator = Browser::of_dev(server).await;
    let forms: [(&str, &[(&str, &str)]); 8] = [
        ("/app/credits", &[("low", "50")]),
        ("/app/brand", &[("product_name", "Acme")]),
        ("/app/team", &[("email", "bo@example.com"), ("role", "member")]),
        ("/app/team/{bo}/role", &[("role", "read-only")]),
        ("/app/suppressions", &[("address", ADDRESS)]),
        ("/app/suppressions/remove", &[("address", ADDRESS)]),
        ("/app/domains", &[("name", "new.example"), ("kind", "sandbox")]),
        ("/app/templates/verification-code/duplicate", &[("slug", "copy")]),
    ];
    for (path, fields) in forms {
        let path = place.with_member(path).await;
        let page = owner.submit(&path, fields).await;
        assert!(page.status < 400, "{path}: {}", page.html);
        place.note().await;
    }
    let forms: [(&str, &[(&str, &str)]); 3] =
        [("grant", &[("amount", "1 000")]), ("plan", &[("plan", "business")]), ("suspend", &[])];
    for (end, fields) in forms {
        let page = operator.submit(&format!("/ops/accounts/{account}/{end}"), fields).await;
        assert_eq!(page.status, 303, "{end}: {}", page.html);
        place.note().await;
    }
    place.written
}

async fn by_api(server: &Server) -> Vec<Written> {
    let mut place = Place::of(server);
    let (key, operator) = (place.key.clone(), place.operator.clone());
    let of_account = format!("/v1/accounts/{}", place.account);
    let team = json!({"email": "bo@example.com", "role": "member"});
    let address = format!("/v1/suppressions/{ADDRESS}");
    let grant = json!({"accountId": place.account, "amount": 1_000});
    let requests: [(&str, &str, &str, Value); 11] = [
        ("PATCH", &key, "/v1/account", json!({"creditsLow": 50})),
        ("PATCH", &key, "/v1/brand", json!({"productName": "Acme"})),
        ("POST", &key, "/v1/team", team),
        ("PATCH", &key, "/v1/team/{bo}", json!({"role": "read-only"})),
        ("POST", &key, "/v1/suppressions", json!({"address": ADDRESS})),
        ("DELETE", &key, &address, Value::Null),
        ("POST", &key, "/v1/domains", json!({"name": "new.example", "sandbox": true})),
        ("POST", &key, "/v1/templates/verification-code/duplicate", json!({"slug": "copy"})),
        ("POST", &operator, "/v1/credits/grants", grant),
        ("PATCH", &operator, &of_account, json!({"plan": "business"})),
        ("PATCH", &operator, &of_account, json!({"state": "suspended"})),
    ];
    for (method, key, path, body) in requests {
        let path = place.with_member(path).await;
        let answer = match method {
            "POST" => post(server, key, &path, body).await,
            "PATCH" => patch(server, key, &path, body).await,
            _ => delete(server, key, &path).await,
        };
        assert!(answer.status < 300, "{method} {path}: {}", answer.body);
        place.note().await;
    }
    place.written
}

async fn by_command(server: &Server) -> Vec<Written> {
    let mut place = Place::of(server);
    let account = place.account.clone();
    let id = account.as_str();
    let bo = ["--email", "bo@example.com"];
    let commands: [&[&str]; 11] = [
        &["account", "update", id, "--credits-low", "50"],
        &["account", "brand", id, "--product-name", "Acme"],
        &["user", "add", bo[0], bo[1], "--account", id, "--role", "member"],
        &["user", "role", bo[1], "--account", id, "--role", "read-only"],
        &["suppression", "add", "--account", id, ADDRESS],
        &["suppression", "remove", "--account", id, ADDRESS],
        &["domain", "add", "--account", id, "new.example", "--sandbox"],
        &["template", "duplicate", "--account", id, "verification-code", "--as", "copy"],
        &["credits", "grant", "--account", id, "1000"],
        &["account", "update", id, "--plan", "business"],
        &["account", "deactivate", id],
    ];
    for command in commands {
        drop(server.cli(command));
        place.note().await;
    }
    place.written
}

#[tokio::test]
async fn page_api_and_command_write_the_same_act_into_the_log() {
    let wanted = [
        ("change_account", "ACCOUNT: credits low 50"),
        ("change_brand", "ACCOUNT: product_name “Acme”"),
        ("invite_user", "bo@example.com: member"),
        ("give_role", "bo@example.com: read-only"),
        ("add_suppression", ADDRESS),
        ("delete_suppression", ADDRESS),
        ("add_domain", "new.example"),
        ("duplicate_template", "copy"),
        ("grant_credits", "ACCOUNT: 1000"),
        ("change_account", "ACCOUNT: plan business"),
        ("change_account", "ACCOUNT: suspended"),
    ];
    let wanted = wanted
        .map(|(action, subject)| ("ACCOUNT".to_owned(), action.to_owned(), subject.to_owned()));
    assert_eq!(by_page(&Server::dev()).await, wanted, "pages");
    assert_eq!(by_api(&Server::dev()).await, wanted, "the API");
    assert_eq!(by_command(&Server::dev()).await, wanted, "commands");
}

#[tokio::test]
async fn what_is_granted_stands_in_the_log_of_who_gets_it() {
    let server = Server::dev();
    let place = Place::of(&server);
    let grant = json!({"accountId": place.account, "amount": 7});
    let once = [("idempotency-key", "order-1")];
    let log = format!("/v1/audit?text=grant&account={}", place.account);
    for _ in 0..2 {
        let granted = server.post("/v1/credits/grants", &place.operator, &grant, &once).await;
        assert_eq!(granted.status, 201, "{}", granted.body);
    }
    let found = server.get_as(&place.operator, &log).await.body;
    assert_eq!(found["data"].as_array().map(Vec::len), Some(1), "granted once: {found}");
    assert_eq!(found["data"][0]["subject"], json!(format!("{}: 7", place.account)));
}

#[tokio::test]
async fn changes_of_the_server_and_its_people_say_what_they_changed() {
    let server = Server::dev();
    let operator = operator(&server);
    let newest = async || {
        let log = server.get_as(&operator, "/v1/audit?limit=1").await.body;
        (text(&log["data"][0]["action"]), text(&log["data"][0]["subject"]))
    };
    let said = |action: &str, subject: &str| (action.to_owned(), subject.to_owned());
    let cy = json!({"email": "cy@example.com", "operator": true});
    let made = post(&server, &operator, "/v1/users", cy).await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(newest().await, said("invite_user", "cy@example.com: operator"));
    let user = format!("/v1/users/{}", text(&made.body["id"]));
    assert_eq!(post(&server, &operator, &format!("{user}/reset"), json!({})).await.status, 201);
    assert_eq!(newest().await, said("make_reset_link", "cy@example.com"));
    assert_eq!(delete(&server, &operator, &user).await.status, 200);
    assert_eq!(newest().await, said("remove_user", "cy@example.com"));
    let message = server.send(server.key(), &message("ada@example.com")).await.message_id();
    assert!(server.cli_text(&["message", "raw", &message]).contains("ada@example.com"));
    assert_eq!(newest().await, said("show_message_raw", &message));
    drop(server.cli(&["maintenance", "on", "--reason", "new disk", "--hold-delivery"]));
    assert_eq!(newest().await, said("set_maintenance", "on, delivery held: new disk"));
    let off =
        server.request(reqwest::Method::PUT, "/v1/maintenance").header("x-api-key", &operator);
    assert_eq!(server.answer(off.json(&json!({"readOnly": false}))).await.status, 200);
    assert_eq!(newest().await, said("set_maintenance", "off"));
}
