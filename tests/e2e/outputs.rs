//! Standard output and standard error that take nothing, as on a full disk or where nobody reads: what was changed is
//! audited, what is wrong is told by the exit code, and a server goes on.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use waxwing_tests::{Launch, Server, http_client, until, waxwing};

use crate::signals::{PIPE, SIGTERM, kill, wait_until_caught};

/// A first start compiles its plugins.
const START: Duration = Duration::from_mins(2);
const SOON: Duration = Duration::from_secs(30);

/// An output on a full disk.
fn full() -> Stdio {
    File::options().write(true).open("/dev/full").expect("there").into()
}

/// A pipe whose reader has gone.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

fn run(server: &Server, arguments: &[&str], stdout: Stdio) -> Output {
    let mut command = waxwing();
    command.envs(server.environment()).args(arguments).stdin(Stdio::null()).stdout(stdout);
    command.stderr(Stdio::piped());
    command.spawn().and_then(Child::wait_with_output).expect("the binary runs")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How many keys were made, as the audit log of an account has it.
async fn keys_made(server: &Server, account: &str) -> usize {
    let log = server.get_as(server.key(), &format!("/v1/audit?account={account}&limit=50")).await;
    let entries = log.body["data"].as_array().expect("entries").clone();
    entries.iter().filter(|it| it["action"] == "create_key").count()
}

#[tokio::test]
async fn a_change_whose_answer_cannot_be_written_is_audited() {
    let server = Server::dev();
    let account = server.open_account("pro", 0).id;
    let data = server.data_dir().display().to_string();
    let create = ["key", "create", "--account", &account, "--data-dir", &data];
    let before = keys_made(&server, &account).await;
    let output = run(&server, &create, full());
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("could not be written to standard output"), "{said}");
    assert_eq!(keys_made(&server, &account).await, before + 1, "it stands in the audit log");
    let output = run(&server, &create, closed());
    assert!(output.status.success(), "a reader that has seen enough: {}", errors(&output));
    assert_eq!(keys_made(&server, &account).await, before + 2, "that one too");
}

#[test]
fn a_check_whose_answer_cannot_be_written_does_not_panic() {
    let server = Server::start(Launch::serve(""));
    let file = server.scratch("waxwing.toml").display().to_string();
    let check = ["check", "--config", &file];
    let seen = run(&server, &check, Stdio::piped());
    assert!(seen.status.success(), "{}", errors(&seen));
    let (output, gone) = (run(&server, &check, full()), run(&server, &check, closed()));
    let said = errors(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("could not be written to standard output"), "{said}");
    assert_eq!(gone.status.code(), Some(0), "{}", errors(&gone));
}

#[test]
fn a_doctor_that_nobody_hears_still_tells_scripts_what_fails() {
    let mut server = Server::dev();
    server.kill9();
    let data = server.data_dir().display().to_string();
    for stdout in [full(), closed()] {
        let output = run(&server, &["doctor", "--data-dir", &data], stdout);
        let said = errors(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("failing: ") && said.contains("listeners"), "{said}");
    }
}

#[test]
fn a_server_without_an_operator_starts_where_its_log_is_on_a_full_disk() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("waxwing.toml");
    let toml = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[store]\ndata_dir = {:?}\n[smtp]\nenabled = false\n\
         [inbox]\nsmtp_listen = \"127.0.0.1:0\"\n",
        home.path().join("data")
    );
    fs::write(&file, toml).expect("written");
    let mut command = waxwing();
    command.args(["serve", "--config"]).arg(&file).stdout(Stdio::null()).stderr(full());
    let mut server = command.spawn().expect("the binary runs");
    // It listens to this signal before it prints the link for the first operator.
    wait_until_caught(&server, SIGTERM);
    kill(&server, "TERM");
    let ended = || server.try_wait().expect("it can be watched");
    assert!(until("it ends", START, ended).success(), "it drained");
}

#[tokio::test]
async fn a_log_that_nobody_reads_holds_up_no_request_and_no_stop() {
    let home = tempfile::tempdir().expect("a folder");
    let (unread, mut filled) = std::io::pipe().expect("a pipe");
    let mut command = waxwing();
    command.args(["dev", "--json", "--http", "127.0.0.1:0", "--inbox-smtp", "127.0.0.1:0"]);
    command.arg("--data-dir").arg(home.path().join("data"));
    command.stdout(Stdio::piped()).stderr(filled.try_clone().expect("a second end"));
    filled.write_all("\n".repeat(PIPE).as_bytes()).expect("as much as a pipe holds");
    let mut server = command.spawn().expect("the binary runs");
    drop((command, filled));
    let mut line = String::new();
    let output = server.stdout.take().expect("it is a pipe");
    BufReader::new(output).read_line(&mut line).expect("it listens");
    let told: Value = serde_json::from_str(&line).expect("a line of JSON");
    let http = told["http"].as_str().expect("an address");
    for _ in 0..50 {
        // A line of the log each.
        let asked = http_client().get(format!("{http}/v1/messages")).timeout(SOON).send().await;
        assert!(asked.expect("an answer").status().is_client_error(), "no key was shown");
    }
    kill(&server, "TERM");
    let ended = || server.try_wait().expect("it can be watched");
    assert!(until("it ends", SOON, ended).success(), "it drained");
    drop(unread);
}
