//! nodemailer, by far the most used client of Node. It is installed once, in the target directory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::client::{Client, Composition, Door, Letter, Utf8};
use super::python::{at, job};
use super::run::{Said, run, works};

const SCRIPT: &str = include_str!("nodemailer.mjs");
const PACKAGE: [(&str, &str); 2] = [
    ("package.json", include_str!("package.json")),
    ("package-lock.json", include_str!("package-lock.json")),
];

pub const NODEMAILER: Client = Client {
    name: "nodemailer",
    missing,
    send,
    compose: Some(compose),
    send_each: Some(send_each),
    denied: "EAUTH",
    distrusts: "unable to verify the first certificate",
    utf8: Utf8::Spoken,
    hops: 1,
};

fn missing() -> Option<String> {
    static INSTALLED: OnceLock<Option<String>> = OnceLock::new();
    INSTALLED.get_or_init(install).clone()
}

fn send(door: &Door, letter: &Letter) -> Said {
    node(door, json!({"from": letter.from, "envelopes": [&letter.to]}), &letter.raw)
}

fn send_each(door: &Door, letter: &Letter) -> Said {
    let to: Vec<[&String; 1]> = letter.to.iter().map(|to| [to]).collect();
    node(door, json!({"from": letter.from, "envelopes": to}), &letter.raw)
}

fn compose(door: &Door, composition: &Composition) -> Said {
    node(door, job(composition), &composition.file)
}

fn node(door: &Door, job: Value, raw: &[u8]) -> Said {
    let mut command = Command::new("node");
    command.current_dir(folder()).env_remove("NODE_OPTIONS");
    command.args(["--input-type=module", "--eval", SCRIPT, &at(door, job)]);
    run(&mut command, raw)
}

/// Installs what the lock file names, where that is not there yet; answers why it could not.
fn install() -> Option<String> {
    for program in ["node", "npm"] {
        if !works(&[program, "--version"]) {
            return Some(format!("{program} is not installed"));
        }
    }
    let folder = folder();
    fs::create_dir_all(&folder).expect("a folder");
    // Two runs of the tests must not install into one folder at a time.
    let lock = File::create(folder.join("lock")).expect("a file");
    lock.lock().expect("the folder is ours after a while");
    let done = folder.join("done");
    if fs::read_to_string(&done).is_ok_and(|of| of == PACKAGE[1].1) {
        return None;
    }
    for (name, text) in PACKAGE {
        fs::write(folder.join(name), text).expect("a file is written");
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(&folder);
    let said = run(&mut npm, b"");
    if !said.ok {
        return Some(format!("npm cannot install it: {}", said.text));
    }
    fs::write(done, PACKAGE[1].1).expect("a file is written");
    None
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("relay-clients")
}
