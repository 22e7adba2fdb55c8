//! The SMTP relay, on the wire: the same journey as over HTTP, and nothing that abuses it.

mod abuse;
mod bounds;
mod certificates;
mod faults;
mod listeners;
mod put_right;
mod refusal_log;
mod same_journey;
mod whole_messages;

use serde_json::Value;
use waxwing_tests::{Port, Server, Smtp};

const FROM: &str = "hello@sandbox.test";

/// A whole message from the address that every account of the harness has.
fn whole(subject: &str, body: &str) -> String {
    format!("From: Tern <{FROM}>\r\nTo: ada@example.com\r\nSubject: {subject}\r\n\r\n{body}\r\n")
}

/// A message whose template and data are in its header.
fn filled(slug: &str, data: &Value) -> String {
    format!("From: {FROM}\r\nX-Waxwing-Template: {slug}\r\nX-Waxwing-Data: {data}\r\n\r\n")
}

/// A session of somebody with that key.
async fn logged_in(server: &Server, key: &str) -> Smtp {
    let mut client = Smtp::secured(server, Port::Implicit).await;
    client.log_in(key).await.assert(235);
    client
}
