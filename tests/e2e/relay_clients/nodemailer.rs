//! nodemailer, by far the most used client of Node.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use waxwing_tools::node_packages;

use super::client::{Client, Composition, Endpoint, Letter, Utf8};
use super::python::{at, job};
use super::run::{Said, run};

const SCRIPT: &str = include_str!("nodemailer.mjs");

pub const NODEMAILER: Client = Client {
    name: "nodemailer",
    usable: |unproven| folder(unproven).is_some(),
    send,
    compose: Some(compose),
    send_each: Some(send_each),
    denied: "EAUTH",
    distrusts: "unable to verify the first certificate",
    utf8: Utf8::Spoken,
    hops: 1,
};

fn send(endpoint: &Endpoint, letter: &Letter) -> Said {
    node(endpoint, json!({"from": letter.from, "envelopes": [&letter.to]}), &letter.raw)
}

fn send_each(endpoint: &Endpoint, letter: &Letter) -> Said {
    let to: Vec<[&String; 1]> = letter.to.iter().map(|to| [to]).collect();
    node(endpoint, json!({"from": letter.from, "envelopes": to}), &letter.raw)
}

fn compose(endpoint: &Endpoint, composition: &Composition) -> Said {
    node(endpoint, job(composition), &composition.file)
}

fn node(endpoint: &Endpoint, job: Value, raw: &[u8]) -> Said {
    let mut command = Command::new("node");
    let folder = folder("nodemailer").expect("the test asked for it first");
    command.current_dir(folder).env_remove("NODE_OPTIONS");
    command.args(["--input-type=module", "--eval", SCRIPT, &at(endpoint, job)]);
    run(&mut command, raw)
}

/// Where the package is installed.
fn folder(unproven: &str) -> Option<PathBuf> {
    let (package, lock) = (include_str!("package.json"), include_str!("package-lock.json"));
    node_packages("relay-clients", package, lock, unproven)
}
