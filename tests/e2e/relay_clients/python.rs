//! Python's smtplib, and its `email` for messages of its own.

use std::process::Command;

use serde_json::{Value, json};

use waxwing_tools::Need;

use super::client::{Client, Composition, Door, Letter, Port, Utf8};
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

fn send(door: &Door, letter: &Letter) -> Said {
    let to = [&letter.to];
    let job = json!({"from": letter.from, "envelopes": to, "utf8": letter.is_utf8()});
    python(door, job, &letter.raw)
}

fn send_each(door: &Door, letter: &Letter) -> Said {
    let to: Vec<[&String; 1]> = letter.to.iter().map(|to| [to]).collect();
    let job = json!({"from": letter.from, "envelopes": to, "utf8": letter.is_utf8()});
    python(door, job, &letter.raw)
}

fn compose(door: &Door, composition: &Composition) -> Said {
    python(door, job(composition), &composition.file)
}

/// A composition as a script reads it, but for the file, which is its input.
pub fn job(composition: &Composition) -> Value {
    let Composition { from, to, subject, text, filename, file: _ } = composition;
    let parts =
        json!({"from": from, "to": to, "subject": subject, "text": text, "filename": filename});
    json!({ "compose": parts })
}

/// A script's job with what it has to know of the port.
pub fn at(door: &Door, mut job: Value) -> String {
    job["host"] = json!(door.host);
    job["port"] = json!(door.number.parse::<u16>().expect("a port is a number"));
    job["implicit"] = json!(door.port == Port::Tls);
    job["mechanism"] = json!(door.port.mechanism());
    job["ca"] = json!(door.ca());
    job["key"] = json!(door.key);
    job.to_string()
}

fn python(door: &Door, job: Value, raw: &[u8]) -> Said {
    run(Command::new("python3").args(["-c", SCRIPT, &at(door, job)]), raw)
}
