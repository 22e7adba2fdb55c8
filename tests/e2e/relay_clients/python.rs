//! Python's smtplib, and its `email` for messages of its own.

use std::process::Command;

use serde_json::{Value, json};

use waxwing_tools::Need;

use super::client::{Client, Composition, Endpoint, Letter, Port, Utf8};
use super::run::{Said, run};

const SCRIPT: &str = include_str!("smtplib.py");

pub const PYTHON: Client = Client {
    name: "Python's smtplib",
    usable: |unproven| Need::Python.is_met(unproven),
    send,
    compose: Some(compose),
    send_each: Some(send_each),
    denied: "SMTPAuthenticationError",
    distrusts: "CERTIFICATE_VERIFY_FAILED",
    utf8: Utf8::Spoken,
    hops: 1,
};

fn send(endpoint: &Endpoint, letter: &Letter) -> Said {
    let to = [&letter.to];
    let job = json!({"from": letter.from, "envelopes": to, "utf8": letter.is_utf8()});
    python(endpoint, job, &letter.raw)
}

fn send_each(endpoint: &Endpoint, letter: &Letter) -> Said {
    let to: Vec<[&String; 1]> = letter.to.iter().map(|to| [to]).collect();
    let job = json!({"from": letter.from, "envelopes": to, "utf8": letter.is_utf8()});
    python(endpoint, job, &letter.raw)
}

fn compose(endpoint: &Endpoint, composition: &Composition) -> Said {
    python(endpoint, job(composition), &composition.file)
}

/// A composition as a script reads it, but for the file, which is its input.
pub fn job(composition: &Composition) -> Value {
    let Composition { from, to, subject, text, filename, file: _ } = composition;
    let parts =
        json!({"from": from, "to": to, "subject": subject, "text": text, "filename": filename});
    json!({ "compose": parts })
}

/// A script's job with what it has to know of the port.
pub fn at(endpoint: &Endpoint, mut job: Value) -> String {
    job["host"] = json!(endpoint.host);
    job["port"] = json!(endpoint.number.parse::<u16>().expect("a port is a number"));
    job["implicit"] = json!(endpoint.port == Port::Tls);
    job["mechanism"] = json!(endpoint.port.mechanism());
    job["ca"] = json!(endpoint.ca());
    job["key"] = json!(endpoint.key);
    job.to_string()
}

fn python(endpoint: &Endpoint, job: Value, raw: &[u8]) -> Said {
    run(Command::new("python3").args(["-c", SCRIPT, &at(endpoint, job)]), raw)
}
