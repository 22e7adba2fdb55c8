//! Messages as their sender sees them: lists, files, what is canceled, what is sent once more.

mod access;
mod cancel;
mod list;
mod raw;
mod resend;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Account, Answer, Server, from_now, until_async};

use crate::fixture::{Database, change, message, with};

/// An account with credits and a key that may send and manage.
fn holder(server: &Server, credits: u32) -> Account {
    let account = server.open_account("pro", credits);
    let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
    Account { key_id, key, ..account }
}

/// A request below `/v1/messages`, as `/msg_…/cancel` or `?limit=1`.
async fn ask(server: &Server, method: Method, key: &str, below: &str) -> Answer {
    let request = server.request(method, &format!("/v1/messages{below}"));
    server.answer(request.header("x-api-key", key)).await
}

async fn get(server: &Server, key: &str, below: &str) -> Value {
    let answer = ask(server, Method::GET, key, below).await;
    assert_eq!(answer.status, 200, "{below}: {}", answer.body);
    answer.body
}

async fn post(server: &Server, key: &str, below: &str) -> Answer {
    ask(server, Method::POST, key, below).await
}

/// Sends a message that waits until tomorrow.
pub async fn send_tomorrow(server: &Server, key: &str, to: &str) -> String {
    let tomorrow = json!(from_now(Duration::from_hours(24)));
    let answer = server.send(key, &with(message(to), "sendAt", tomorrow)).await;
    assert_eq!(answer.body["state"], "scheduled", "{}", answer.body);
    answer.message_id()
}

/// Waits until a message is in a state.
pub async fn until_state(server: &Server, key: &str, id: &str, state: &str) -> Value {
    let seen = || async {
        let file = get(server, key, &format!("/{id}")).await;
        (file["state"] == state).then_some(file)
    };
    until_async(&format!("{id} is {state}"), Duration::from_secs(30), seen).await
}

fn types(events: &Value) -> Vec<&str> {
    let events = events.as_array().expect("events");
    events.iter().filter_map(|it| it["type"].as_str()).collect()
}

fn ids(page: &Value) -> Vec<&str> {
    let data = page["data"].as_array().expect("a list");
    data.iter().filter_map(|it| it["id"].as_str()).collect()
}
