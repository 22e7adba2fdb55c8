//! The plugin platform on a real server: what operators change while it sends, and what they must
//! not be able to break by it.

mod activation;
mod bindings;
mod blame;
mod compiling;
mod crash;
mod decisions;
mod endurance;
mod in_flight;
mod load;
mod measure;
mod metrics;
mod reload;
mod rollback;
mod security;
mod signatures;

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use waxwing_tests::{Answer, Server, until_async};

use crate::fixture::{Template, publish};

/// The slots that replace built-in plugins.
/// Why a test of what follows from a removed file is not run with nodes.
const FILES_OF_ONE_SERVER: &str =
    "nodes keep what was installed when a file is removed from the folder of one of them";
const PLAN: &str = "plan-policy";
const RENDERER: &str = "liquid-renderer";
/// What nobody waits for is there in a moment.
const SOON: Duration = Duration::from_secs(15);

/// A component, with the digest by which the server knows it.
#[derive(Debug, Clone)]
struct Component {
    bytes: Vec<u8>,
    digest: String,
}

impl Component {
    fn guest(name: &str) -> Self {
        Self::of(waxwing_guests::component(name))
    }

    fn of(bytes: Vec<u8>) -> Self {
        let digest = Sha256::digest(&bytes).iter().fold("sha256:".to_owned(), |text, byte| {
            let (high, low) = (byte >> 4, byte & 0xf);
            text + &format!("{high:x}{low:x}")
        });
        Self { bytes, digest }
    }

    /// The same component with a section that means nothing, so that its digest is another one.
    fn marked(&self, mark: &str) -> Self {
        let length = u8::try_from(mark.len()).expect("a short mark");
        Self::of([&self.bytes, &[0, length + 1, length][..], mark.as_bytes()].concat())
    }
}

/// A server whose development account has the template `note`, which any renderer here can render.
fn server() -> Server {
    with_note(Server::dev())
}

fn with_note(server: Server) -> Server {
    publish_note(&server, server.dev_output("accountId"), "note");
    server
}

fn publish_note(server: &Server, account: &str, slug: &str) {
    let text = Some("Number {{ n }}.");
    let template = Template { subject: "Note {{ n }}", text, ..Template::default() };
    drop(publish(server, account, slug, &template, &[]));
}

fn note(n: usize) -> Value {
    note_to(n, &format!("n{n}@example.com"))
}

fn note_to(n: usize, to: &str) -> Value {
    json!({"to": to, "type": "EMAIL", "template": "note", "data": {"n": n}})
}

/// What was decided of a message or a refusal.
async fn decision(server: &Server, id: &str) -> Value {
    server.look(&format!("/v1/decisions/{id}")).await
}

/// What one kind of plugin had to do with a decision.
fn of_kind<'a>(decision: &'a Value, kind: &str) -> &'a Value {
    let plugins = decision["plugins"].as_array().expect("a decision lists plugins");
    plugins.iter().find(|it| it["kind"] == kind).unwrap_or(&Value::Null)
}

/// Sends a note that must be accepted; answers its decision.
async fn sent(server: &Server, n: usize) -> Value {
    let id = server.send(server.key(), &note(n)).await.message_id();
    decision(server, &id).await
}

/// The reason of the plan policy for a good send now.
async fn reason(server: &Server) -> String {
    let decision = sent(server, 0).await;
    of_kind(&decision, "plan")["reason"].as_str().expect("a reason").to_owned()
}

/// The decision that a refusal names.
async fn refused(server: &Server, answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{}", answer.body);
    let id = answer.body["decisionId"].as_str().expect("a refusal names its decision");
    let path = format!("/v1/decisions/{id}");
    let ask = || async {
        let answer = server.operate(Method::GET, &path, Vec::new()).await;
        (answer.status == 200).then_some(answer.body)
    };
    until_async("the refusal is recorded", SOON, ask).await
}
