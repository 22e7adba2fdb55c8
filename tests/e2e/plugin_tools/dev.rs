//! `plugin dev` beside a server that runs. A stand-in for cargo hands over a finished component,
//! the one that `src/lib.rs` names: what is tested is what becomes of a build, not the compiler.
#![cfg(unix)]

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_tests::{Server, until_async};

use super::Desk;
use crate::fixture::message;

const PATIENCE: Duration = Duration::from_mins(1);
const CARGO: &str = r#"#!/bin/sh
made="$PWD/guests/$(cat src/lib.rs).wasm"
test -f "$made" || { echo "error: no such guest" >&2; exit 101; }
echo "{\"reason\":\"compiler-artifact\",\"manifest_path\":\"$PWD/Cargo.toml\",\"filenames\":[\"$made\"]}"
"#;

/// A project that the stand-in builds.
fn project(desk: &Desk) {
    desk.put("prices/waxwing-plugin.toml", PROJECT);
    desk.put("prices/Cargo.toml", "[package]\nname = \"prices\"\n");
    desk.put("prices/src/lib.rs", "price-one");
    for guest in ["price-one", "price-two", "panic-check"] {
        desk.put(&format!("prices/guests/{guest}.wasm"), waxwing_guests::component(guest));
    }
    desk.put("bin/cargo", CARGO);
    // Says where a target's library is, as the real one does.
    desk.put("bin/rustc", "#!/bin/sh\npwd\n");
    for tool in ["bin/cargo", "bin/rustc"] {
        fs::set_permissions(desk.path(tool), fs::Permissions::from_mode(0o755))
            .expect("executable");
    }
}

const PROJECT: &str =
    "name = \"prices\"\nkind = \"plan\"\nlang = \"rust\"\ncomponent = \"build/prices.wasm\"\n";

fn with_stand_in(desk: &Desk, mut command: Command) -> Command {
    let mut path = OsString::from(desk.path("bin"));
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    command.env("PATH", path);
    command
}

/// `plugin dev` that runs; killed when it is dropped.
struct Loop {
    child: Child,
    rounds: Receiver<Value>,
}

impl Loop {
    fn start(desk: &Desk, data_dir: &Path) -> Self {
        let data_dir = data_dir.to_str().expect("UTF-8");
        let arguments = ["dev", "prices", "--data-dir", data_dir, "--json"];
        let mut command = with_stand_in(desk, desk.command(&arguments));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, rounds) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                drop(sender.send(serde_json::from_str(&line).expect("a line of JSON")));
            }
        });
        Self { child, rounds }
    }

    fn round(&self) -> Value {
        self.rounds.recv_timeout(PATIENCE).expect("a round ends")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // It may have ended already; then there is nothing to kill.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a message to one recipient costs now.
async fn price(server: &Server) -> i64 {
    let balance = || async {
        let answer = server.send(server.key(), &message("a@example.com")).await;
        answer.body["creditsRemaining"].as_i64().expect("a balance")
    };
    let before = balance().await;
    before - balance().await
}

async fn costs(server: &Server, credits: i64) {
    let asked = || async move { (price(server).await == credits).then_some(()) };
    until_async("the price of a message changes", PATIENCE, asked).await;
}

#[tokio::test]
async fn a_save_changes_what_the_server_charges_and_a_broken_one_does_not() {
    let server = Server::dev();
    let desk = Desk::new();
    project(&desk);
    let dev = Loop::start(&desk, &server.data_dir());
    let first = dev.round();
    assert_eq!((&first["ok"], &first["placed"]), (&json!(true), &json!(true)), "{first}");
    costs(&server, 1).await;

    desk.put("prices/src/lib.rs", "price-two");
    let second = dev.round();
    assert_eq!(second["placed"], true, "{second}");
    assert_ne!(second["digest"], first["digest"]);
    costs(&server, 2).await;

    for (broken, words) in [("does-not-compile", "failed"), ("panic-check", "trapped in check")] {
        desk.put("prices/src/lib.rs", broken);
        let round = dev.round();
        assert_eq!(round["ok"], false, "{round}");
        assert!(round["reason"].as_str().is_some_and(|it| it.contains(words)), "{round}");
        assert_eq!(price(&server).await, 2, "the active version stays in service");
    }

    // A case is a part of the project: it is tried at once, and the same component stays.
    desk.put("prices/src/lib.rs", "price-two");
    let again = dev.round();
    assert_eq!((&again["ok"], &again["placed"]), (&json!(true), &json!(false)), "{again}");
    desk.put("prices/cases/free/expected.json", r#"{"decisions": []}"#);
    desk.put("prices/cases/free/input.json", r#"{"uses": [{"recipients": 1}]}"#);
    let held = dev.round();
    assert!(held["reason"].as_str().is_some_and(|it| it.contains("the case `free`")), "{held}");
    assert_eq!(price(&server).await, 2);
}

#[test]
fn one_round_can_be_asked_for_and_its_exit_code_tells() {
    let desk = Desk::new();
    project(&desk);
    let once = |arguments: &[&str]| {
        let all = [&["dev", "prices", "--once", "--json"], arguments].concat();
        let output = with_stand_in(&desk, desk.command(&all)).output().expect("it runs");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        (output.status.success(), said, serde_json::from_slice(&output.stdout).unwrap_or_default())
    };
    let (_, said, _): (bool, String, Value) = once(&[]);
    assert!(said.contains("waxwing-data") && said.contains("--data-dir"), "{said}");
    let into = ["--plugins-dir", "plugins", "--slot", "pro-prices"];
    let (ok, said, round) = once(&into);
    assert!(ok && round["ok"] == true, "{said}");
    let there = fs::read(desk.path("plugins/pro-prices.wasm")).expect("in its place");
    assert!(there == waxwing_guests::component("price-one"));
    desk.put("prices/src/lib.rs", "nothing");
    let (ok, said, round) = once(&into);
    assert!(!ok && said.contains("was not placed") && round["ok"] == false, "{said}");
    assert!(fs::read(desk.path("plugins/pro-prices.wasm")).expect("it stays") == there);
    let names: Vec<_> = fs::read_dir(desk.path("plugins")).expect("a folder").collect();
    assert_eq!(names.len(), 1, "no partial file stays");
}
