//! Accounts, keys, credits, teams and the queue over HTTP: who may do what with whose.

mod accounts;
mod acts;
mod audit;
mod credits;
mod deletion;
mod keys;
mod names;
mod queue;
mod team;
mod users;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Account, Answer, Server};

/// The server's operator, whose account is none of those that a test is about.
fn operator(server: &Server) -> String {
    let account = server.open_account("pro", 0);
    server.make_key(&account.id, &["--scope", "operator"]).1
}

/// An account whose key sends and manages it.
fn holder(server: &Server) -> Account {
    let account = server.open_account("pro", 100);
    let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    Account { key_id, key, ..account }
}

async fn post(server: &Server, key: &str, path: &str, body: Value) -> Answer {
    server.post(path, key, &body, &[]).await
}

async fn delete(server: &Server, key: &str, path: &str) -> Answer {
    server.answer(server.request(Method::DELETE, path).header("x-api-key", key)).await
}

/// The status of a page that takes no key.
async fn status_of(server: &Server, path: &str) -> u16 {
    let answer = server.request(Method::GET, path).send().await.expect("an answer");
    answer.status().as_u16()
}

async fn patch(server: &Server, key: &str, path: &str, body: Value) -> Answer {
    let request = server.request(Method::PATCH, path).header("x-api-key", key).json(&body);
    server.answer(request).await
}

/// All pages of a list, each with at most `limit`.
async fn pages(server: &Server, key: &str, path: &str, limit: usize) -> Vec<Vec<Value>> {
    let (mut pages, mut after) = (Vec::new(), String::new());
    loop {
        let sign = if path.contains('?') { '&' } else { '?' };
        let page = server.get_as(key, &format!("{path}{sign}limit={limit}{after}")).await;
        assert_eq!(page.status, 200, "{}", page.body);
        let data = page.body["data"].as_array().expect("data").clone();
        assert!(data.len() <= limit);
        pages.push(data);
        let next = page.body["next"].as_str();
        assert_eq!(page.body["hasMore"], json!(next.is_some()), "{}", page.body);
        let Some(next) = next else { return pages };
        after = format!("&after={next}");
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
