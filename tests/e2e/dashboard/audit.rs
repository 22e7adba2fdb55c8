//! Every change is written down, whoever makes it and wherever.

use reqwest::Method;
use serde_json::json;
use waxwing_tests::Server;

use super::Browser;
use crate::fixture::Database;

#[tokio::test]
async fn a_change_is_written_down_with_who_what_and_where_from() {
    let server = Server::dev();
    let account = server.dev_account();
    let mut browser = Browser::of_dev(&server).await;
    browser.submit("/app/keys", &[("name", "By page"), ("scope", "send")]).await;
    let made = server.post("/v1/keys", &account.key, &json!({"name": "By key"}), &[]).await;
    let by_key = made.body["id"].as_str().expect("a key").to_owned();
    let by_command = server.make_key(&account.id, &["--name", "By command"]).0;
    drop(server.cli(&["key", "deactivate", &by_command]));
    // What only looks, or is refused, leaves nothing.
    server.get_as(&account.key, "/v1/keys").await;
    server.post("/v1/keys", &account.key, &json!({"name": ""}), &[]).await;
    drop(server.cli(&["key", "list", "--account", &account.id]));
    let export = server.request(Method::GET, "/v1/template-archive");
    let export = export.header("x-api-key", &account.key).send().await.expect("an answer");
    let check = server.request(Method::POST, "/v1/template-archive?goal=check");
    let check = check.header("x-api-key", &account.key).header("content-type", "application/zip");
    let checked = server.answer(check.body(export.bytes().await.expect("a zip file"))).await;
    assert_eq!(checked.status, 200, "{}", checked.body);

    let rows = rows(&server).await;
    let found = |actor: &str, action: &str, subject: &str| {
        rows.iter().filter(|it| it.0 == actor && it.1 == action && it.2.contains(subject)).count()
    };
    assert_eq!(found("user", "log_in", "ses_"), 1, "{rows:?}");
    assert_eq!(found("user", "create_key", "key_"), 1, "{rows:?}");
    assert_eq!(found("key", "create_key", &by_key), 1, "{rows:?}");
    assert_eq!(found("command-line", "create_key", &by_command), 1, "{rows:?}");
    assert_eq!(found("command-line", "deactivate_key", &by_command), 1, "{rows:?}");
    assert_eq!(rows.len(), 5, "{rows:?}");
    let of_network: Vec<Option<&str>> = rows.iter().map(|it| it.3.as_deref()).collect();
    assert_eq!(of_network.iter().filter(|it| **it == Some("127.0.0.1")).count(), 3, "{rows:?}");
    // The server's page names the account, and says of which identifier that is.
    let page = browser.get("/ops/audit").await;
    let named = format!("title=\"{}\">Development</a>", account.id);
    assert!(page.html.contains(&named) && page.html.contains("this machine"), "{}", page.html);
}

#[tokio::test]
async fn the_audit_log_can_neither_be_rewritten_nor_erased() {
    let server = Server::dev();
    drop(Browser::of_dev(&server).await);
    let database = Database::changing(&server).await;
    for statement in ["UPDATE audit SET action = 'x'", "DELETE FROM audit"] {
        let refused = database.change(statement).await.expect_err("refused");
        assert!(refused.to_string().contains("append-only"), "{refused}");
    }
}

pub type Row = (String, String, String, Option<String>);

pub async fn rows(server: &Server) -> Vec<Row> {
    let all = "SELECT actor || '|' || action || '|' || coalesce(ip, '') || '|'
                      || coalesce(subject, '') FROM audit ORDER BY id";
    let read = |row: &String| {
        let parts: Vec<String> = row.splitn(4, '|').map(str::to_owned).collect();
        let [actor, action, ip, subject]: [String; 4] = parts.try_into().expect("four parts");
        (actor, action, subject, (!ip.is_empty()).then_some(ip))
    };
    Database::of(server).await.texts(all).await.iter().map(read).collect()
}
