//! Webhooks, from what happens in the server to an endpoint that checks what it is sent: with the
//! official libraries, under load, over kills, and with endpoints as bad as real ones.

mod api;
mod events;
mod flaky;
mod private_addresses;
mod libraries;
mod retries;

use std::time::Duration;

use serde_json::Value;
use waxwing_tests::{Posted, Receiver, Server, until_async};

const BOUND: Duration = Duration::from_mins(1);

/// The events of a type, in the order in which they came.
fn of_type<'a>(posted: &'a [Posted], name: &str) -> Vec<&'a Posted> {
    posted.iter().filter(|it| it.event()["type"] == name).collect()
}

/// Waits until a webhook has so many deliveries that pass a query, as `?state=failed`.
async fn until_deliveries(server: &Server, id: &str, query: &str, count: usize) -> Vec<Value> {
    let ask = || async move {
        let all = server.deliveries(server.key(), id, query).await;
        (all.len() == count).then_some(all)
    };
    until_async(&format!("{count} deliveries {query}"), BOUND, ask).await
}

/// A server that posts to endpoints on this machine, and one that takes everything.
async fn lab() -> (Receiver, Server) {
    (Receiver::start().await, Server::start(waxwing_tests::Launch::posting_here()))
}
