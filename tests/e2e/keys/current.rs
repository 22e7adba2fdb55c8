//! A request is decided on the key and the account as they are, also on a server where nobody sends.

use reqwest::Method;
use serde_json::json;
use waxwing_tests::{Account, Launch, Port, Server, Smtp};

use super::operations::{Operation, Things};
use super::with_every_scope;
use crate::fixture::{change, message};

const FROM: &str = "hello@sandbox.test";

/// A change of a key or its account, and what each request is answered from then on.
struct Change {
    what: &'static str,
    sql: &'static str,
    status: u16,
    code: &'static str,
    /// AUTH.
    login: &'static str,
    /// MAIL in a session that had logged in before.
    sender: &'static str,
}

const CHANGES: [Change; 5] = [
    Change {
        what: "the key is deactivated",
        sql: "UPDATE keys SET state = 'deactivated' WHERE id = {key}",
        status: 401,
        code: "UNAUTHORIZED",
        login: "535 5.7.8 UNAUTHORIZED",
        sender: "451 4.7.0 UNAUTHORIZED",
    },
    Change {
        what: "the key has expired",
        sql: "UPDATE keys SET expires_at = 1 WHERE id = {key}",
        status: 401,
        code: "UNAUTHORIZED",
        login: "535 5.7.8 UNAUTHORIZED",
        sender: "451 4.7.0 UNAUTHORIZED",
    },
    Change {
        what: "the key has lost its scopes",
        sql: "UPDATE keys SET scopes = '[]' WHERE id = {key}",
        status: 403,
        code: "FORBIDDEN",
        login: "535 5.7.8 FORBIDDEN the key does not have the scope send",
        sender: "550 5.7.1 FORBIDDEN the key does not have the scope send",
    },
    Change {
        what: "the key is for other addresses",
        sql: "UPDATE keys SET networks = '[\"192.0.2.0/24\"]' WHERE id = {key}",
        status: 403,
        code: "FORBIDDEN",
        login: "535 5.7.8 FORBIDDEN the key may not be used from this address",
        sender: "550 5.7.1 FORBIDDEN the key may not be used from this address",
    },
    Change {
        what: "the account is suspended",
        sql: "UPDATE accounts SET state = 'suspended' WHERE id = {account}",
        status: 403,
        code: "FORBIDDEN",
        login: "535 5.7.8 FORBIDDEN the account is suspended",
        sender: "550 5.7.1 FORBIDDEN the account is suspended",
    },
];

const NARROWINGS: [&str; 2] = [
    "UPDATE keys SET domains = '[\"other.test\"]' WHERE id = {key}",
    "UPDATE keys SET templates = '[\"other\"]' WHERE id = {key}",
];

const UNDO: &str = "UPDATE accounts SET state = 'active' WHERE id = {account};
    UPDATE keys SET state = 'active', expires_at = NULL, networks = '[]', domains = '[]',
                    templates = '[]', scopes = '[\"send\",\"admin\",\"operator\"]'
    WHERE id = {key}";

#[tokio::test]
async fn no_operation_works_with_a_key_that_has_just_changed() {
    let server = quiet();
    let account = with_every_scope(&server);
    let things = Things::of(&server, &account.key).await;
    let mut wrong = Vec::new();
    for operation in Operation::all(&server, &things).await {
        for it in &CHANGES {
            used(&server, &account).await;
            apply(&server, &account, it.sql).await;
            let answer = operation.with(&server, &account.key).await;
            if (answer.status, answer.code()) != (it.status, it.code) {
                wrong.push(format!("{operation}, {}: {} {}", it.what, answer.status, answer.body));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_change_holds_for_a_request_whose_body_is_on_its_way() {
    let server = quiet();
    let account = with_every_scope(&server);
    let things = Things::of(&server, &account.key).await;
    let narrowings = NARROWINGS.map(|sql| (sql, "FORBIDDEN"));
    let changes: Vec<(&str, &str)> =
        CHANGES.iter().map(|it| (it.sql, it.code)).chain(narrowings).collect();
    let (mut begun, mut wrong) = (0, Vec::new());
    for operation in Operation::all(&server, &things).await {
        for &(sql, code) in &changes {
            used(&server, &account).await;
            let request = operation.begin_with(&server, &account.key).await;
            let Some(request) = request else { break };
            apply(&server, &account, sql).await;
            let answer = request.end().await;
            begun += 1;
            // Of a batch that a narrowed key sends each message is refused.
            if !answer.contains(code) {
                wrong.push(format!("{operation}, {sql}: {answer}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let most = 40 * changes.len();
    assert!(begun > most, "of each change: {begun}");
}

#[tokio::test]
async fn a_login_over_smtp_is_decided_on_the_key_as_it_is() {
    let server = quiet();
    let account = with_every_scope(&server);
    for it in &CHANGES {
        used(&server, &account).await;
        let mut before = Smtp::secured(&server, Port::StartTls).await;
        before.log_in(&account.key).await.assert(235);
        let mut after = Smtp::secured(&server, Port::Implicit).await;
        apply(&server, &account, it.sql).await;
        after.log_in(&account.key).await.assert_begins(it.login);
        before.say(&format!("MAIL FROM:<{FROM}>")).await.assert_begins(it.sender);
    }
}

#[tokio::test]
async fn a_change_holds_for_what_a_session_has_begun() {
    let server = quiet();
    let account = with_every_scope(&server);
    let content = format!("From: {FROM}\r\nTo: ada@example.com\r\nSubject: Hi\r\n\r\nHi\r\n");
    for it in &CHANGES {
        used(&server, &account).await;
        let mut client = Smtp::secured(&server, Port::StartTls).await;
        client.log_in(&account.key).await.assert(235);
        client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
        client.say("RCPT TO:<ada@example.com>").await.assert(250);
        client.say("DATA").await.assert(354);
        apply(&server, &account, it.sql).await;
        client.content(&content).await.assert_begins(it.sender);
    }
    assert!(server.messages(&account.id).is_empty());
}

#[tokio::test]
async fn a_key_that_is_switched_off_gets_no_earlier_answer_again() {
    let server = quiet();
    let account = with_every_scope(&server);
    let body = message("ada@example.com");
    for it in &CHANGES {
        used(&server, &account).await;
        server.send_once(&account.key, &body, "one").await.message_id();
        apply(&server, &account, it.sql).await;
        server.send_once(&account.key, &body, "one").await.assert_refused(it.status, it.code);
    }
    assert_eq!(server.messages(&account.id).len(), 1);
}

#[tokio::test]
async fn what_is_wrong_with_a_body_is_told_to_a_key_that_works_only() {
    let server = quiet();
    let account = with_every_scope(&server);
    for it in &CHANGES {
        for path in ["/messages/send", "/messages/send/batch"] {
            used(&server, &account).await;
            apply(&server, &account, it.sql).await;
            let request = server.request(Method::POST, path).header("x-api-key", &account.key);
            let request = request.header("content-type", "application/json").body("{");
            server.answer(request).await.assert_refused(it.status, it.code);
        }
    }
}

#[tokio::test]
async fn a_narrowed_key_reaches_only_what_is_left_to_it() {
    let server = quiet();
    let account = with_every_scope(&server);
    let things = Things::of(&server, &account.key).await;
    let mut wrong = Vec::new();
    for operation in Operation::all(&server, &things).await {
        for sql in NARROWINGS {
            used(&server, &account).await;
            apply(&server, &account, sql).await;
            let is_of_domains = operation.known_as.starts_with("/v1/domains");
            let for_templates = sql.contains("templates");
            // Neither has to do with domains or templates.
            if operation.is_for_the_server() || (is_of_domains && for_templates) {
                continue;
            }
            let answer = operation.with(&server, &account.key).await;
            let reads = operation.method == Method::GET || operation.tries();
            if operation.is_of_templates() && !for_templates && reads {
                // A template belongs to no domain; a test of it is sent from one.
                let is_test = operation.known_as.ends_with("/test");
                let sent = &answer.body["data"][0]["code"];
                if answer.status != 200 || (is_test && *sent != json!("FORBIDDEN")) {
                    wrong.push(format!("{operation}, {sql}: {} {}", answer.status, answer.body));
                }
                continue;
            }
            let holds = match operation.known_as.as_str() {
                "/v1/messages" | "/v1/domains" if operation.method == Method::GET => {
                    answer.body["data"] == json!([])
                }
                "/v1/brand"
                | "/v1/account"
                | "/v1/credits"
                | "/v1/plans"
                | "/v1/test-recipients"
                | "/v1/traffic"
                    if operation.method == Method::GET =>
                {
                    answer.status == 200
                }
                // It sees itself.
                "/v1/keys" if operation.method == Method::GET => {
                    answer.body["data"].as_array().is_some_and(|it| it.len() == 1)
                }
                path if path.starts_with("/v1/keys/") => answer.status == 404,
                "/messages/send/batch" => answer.body["data"][0]["code"] == "FORBIDDEN",
                _ => (answer.status, answer.code()) == (403, "FORBIDDEN"),
            };
            if !holds {
                wrong.push(format!("{operation}, {sql}: {} {}", answer.status, answer.body));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A server on which nothing happens but what a test does, and where failed logins are not slowed down.
fn quiet() -> Server {
    Server::start(Launch::dev().with("limits", "failed_logins", "1000000"))
}

/// The key works, and the server has just seen it.
async fn used(server: &Server, account: &Account) {
    apply(server, account, UNDO).await;
    let request = server.request(Method::GET, "/v1/domains").header("x-api-key", &account.key);
    let answer = server.answer(request).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

async fn apply(server: &Server, account: &Account, sql: &str) {
    let (key, account) = (server.in_sql(&account.key_id), server.in_sql(&account.id));
    change(server, &sql.replace("{key}", &key).replace("{account}", &account)).await;
}
