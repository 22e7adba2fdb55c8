//! Test keys stay in the sandbox: a table of what each operation of the API answers them.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Account, Answer, Server};

use super::operations::{Operation, Things};
use super::with_every_scope;
use crate::fixture::{Database, change, message};
use crate::messages::until_state;

/// What a test key may do with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// It sends to the sandbox.
    Sends,
    /// It sees those of test keys only, and changes them.
    TestMessages,
    /// It reads what belongs to the account as a whole.
    Reads,
    /// Those of live keys are not there for it.
    Hidden,
    /// It is refused, in words.
    Refused,
}

/// None for a new operation, which has to be entered here.
fn reach(operation: &Operation) -> Option<Reach> {
    let path = operation.known_as.as_str();
    let is_get = operation.method == Method::GET;
    if operation.is_for_the_server() {
        return Some(Reach::Refused);
    }
    if operation.is_of_templates() {
        let reads = is_get || operation.tries();
        return Some(if reads { Reach::Reads } else { Reach::Refused });
    }
    match path.split(['/', '?']).nth(2)? {
        "send" => Some(Reach::Sends),
        "messages" if path.ends_with("/deliveries") => Some(Reach::Refused),
        "messages" => Some(Reach::TestMessages),
        "keys" if path.contains('{') => Some(Reach::Hidden),
        "credits" if path.ends_with("/ledger") => Some(Reach::Refused),
        "account" | "brand" | "credits" | "domains" | "keys" | "plans" | "test-recipients"
        | "traffic"
            if is_get =>
        {
            Some(Reach::Reads)
        }
        "account" | "keys" | "domains" | "brand" | "suppressions" | "webhooks" | "plugins"
        | "decisions" | "queue" | "refusals" | "team" | "test-recipients" => Some(Reach::Refused),
        _ => None,
    }
}

/// An account with a live key and a test key, which has every scope, as no command would make it.
async fn account(server: &Server) -> (Account, String) {
    let account = with_every_scope(server);
    let scopes = ["--test", "--scope", "send", "--scope", "admin"];
    let (id, test) = server.make_key(&account.id, &scopes);
    let sql = "UPDATE keys SET scopes = '[\"send\",\"admin\",\"operator\"]'";
    change(server, &format!("{sql} WHERE id = {}", server.in_sql(&id))).await;
    (account, test)
}

#[tokio::test]
async fn a_test_key_sees_and_changes_test_objects_only() {
    let server = Server::dev();
    let (account, test) = account(&server).await;
    let live = Things::of(&server, &account.key).await;
    until_state(&server, &account.key, &live.message, "delivered").await;
    let before = state(&server, &account).await;
    let own = server.send(&test, &message("own@example.com")).await.message_id();
    let own = Things { message: own, ..live.clone() };
    let mut wrong = Vec::new();
    let mut check = |operation: &Operation, answer: &Answer, holds: bool| {
        if !holds {
            wrong.push(format!("{operation}: {} {}", answer.status, answer.body));
        }
    };
    for operation in Operation::all(&server, &live).await {
        let answer = operation.with(&server, &test).await;
        let is_about_one = operation.known_as.contains("{id}");
        let holds = match reach(&operation).expect("the table has every operation") {
            Reach::Sends => answer.status < 300,
            Reach::TestMessages if is_about_one => answer.status == 404,
            Reach::TestMessages => {
                let listed = answer.body["data"].as_array().cloned().unwrap_or_default();
                !listed.is_empty() && listed.iter().all(|it| it["id"] != json!(live.message))
            }
            Reach::Reads => matches!(answer.status, 200 | 201),
            Reach::Hidden => answer.status == 404,
            Reach::Refused => {
                let words = answer.body["message"].as_str().unwrap_or_default();
                (answer.status, answer.code()) == (403, "FORBIDDEN") && words.contains("test key")
            }
        };
        check(&operation, &answer, holds);
    }
    for operation in Operation::all(&server, &own).await {
        if reach(&operation) == Some(Reach::TestMessages) {
            let answer = operation.with(&server, &test).await;
            check(&operation, &answer, !matches!(answer.status, 401 | 403 | 404));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(state(&server, &account).await, before, "nothing of the live mail has changed");
}

#[tokio::test]
async fn what_a_test_key_sends_again_stays_in_the_sandbox_and_costs_nothing() {
    let server = Server::dev();
    let (account, test) = account(&server).await;
    let balance = server.balance(&account.id);
    let first = server.send(&test, &message("own@example.com")).await.message_id();
    let again =
        server.post(&format!("/v1/messages/{first}/resend"), &test, &Value::Null, &[]).await;
    assert_eq!(again.status, 201, "{}", again.body);
    assert_eq!(server.balance(&account.id), balance);
    let routes = "SELECT DISTINCT route FROM messages WHERE recipient = 'own@example.com'";
    assert_eq!(Database::of(&server).await.texts(routes).await, ["sandbox"]);
}

#[tokio::test]
async fn no_command_makes_a_test_key_for_operators() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let key = ["key", "create", "--account", account, "--test", "--scope", "operator"];
    let said = server.cli_fails(&key);
    assert!(said.contains("a test key cannot have the scope operator"), "{said}");
}

#[tokio::test]
async fn a_refusal_names_the_scope_that_is_missing_and_those_that_are_there() {
    let server = Server::dev();
    let account = server.open_account("free", 1);
    let (_, sender) = server.make_key(&account.id, &[]);
    let (_, admin) = server.make_key(&account.id, &["--scope", "admin"]);
    let get = async |path: &str, key: &str| {
        let request = server.request(Method::GET, path).header("x-api-key", key);
        server.answer(request).await
    };
    let cases = [
        (get("/v1/messages", &sender).await, "scope admin", "its scopes: send"),
        (get("/v1/plugins", &admin).await, "scope operator", "its scopes: admin"),
        (server.send(&admin, &message("a@example.com")).await, "scope send", "its scopes: admin"),
    ];
    for (answer, wanted, has) in cases {
        answer.assert_refused(403, "FORBIDDEN");
        let words = answer.body["message"].as_str().unwrap_or_default();
        assert!(words.contains(wanted) && words.contains(has), "{words}");
    }
}

/// What a live key of the account sees, without what a test send changes.
async fn state(server: &Server, account: &Account) -> Value {
    let get = async |path: &str| {
        let request = server.request(Method::GET, path).header("x-api-key", &account.key);
        let answer = server.answer(request).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    };
    json!([
        get("/v1/messages?to=ada@example.com&template=verification-code").await["data"]
            .as_array()
            .and_then(|it| it.last().cloned()),
        webhooks(&get("/v1/webhooks").await),
        webhooks(&get("/v1/webhooks?owner=server").await),
        get("/v1/domains").await,
        get("/v1/suppressions").await,
        server.balance(&account.id),
    ])
}

/// What somebody has set of webhooks, without what comes of their deliveries.
fn webhooks(list: &Value) -> Vec<Value> {
    let set = |it: &Value| json!([it["id"], it["url"], it["description"], it["types"]]);
    list["data"].as_array().into_iter().flatten().map(set).collect()
}
