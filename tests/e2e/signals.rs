//! Signals while the server starts: a hang-up ends nothing, and a stop drains as soon as anybody can know of the server.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use waxwing_tests::{until, waxwing};

const SOON: Duration = Duration::from_secs(30);
// As `kill -l` numbers them.
const SIGHUP: u32 = 1;
const SIGINT: u32 = 2;
pub const SIGTERM: u32 = 15;
/// Bytes that a pipe holds, as pipe(7) has it for Linux.
pub const PIPE: usize = 65_536;

/// `waxwing dev` on free ports, which tells what it listens on to `stdout`.
fn dev(home: &Path, stdout: impl Into<Stdio>) -> Child {
    let mut dev = waxwing();
    dev.args(["dev", "--json", "--http", "127.0.0.1:0", "--inbox-smtp", "127.0.0.1:0"]);
    dev.arg("--data-dir").arg(home.join("data")).stdout(stdout).stderr(Stdio::null());
    dev.spawn().expect("the binary runs")
}

/// Waits until `child` has a handler for the signal of this number.
pub fn wait_until_caught(child: &Child, signal: u32) {
    let caught = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let caught = status.lines().find_map(|it| it.strip_prefix("SigCgt:"))?;
        let caught = u64::from_str_radix(caught.trim(), 16).ok()?;
        (caught >> (signal - 1) & 1 == 1).then_some(())
    };
    until("the signal is caught", SOON, caught);
}

pub fn kill(child: &Child, signal: &str) {
    let kill = format!("kill -{signal} {}", child.id());
    let sent = Command::new("sh").args(["-c", &kill]).status().expect("sh runs");
    assert!(sent.success(), "the server runs");
}

#[test]
fn a_hang_up_during_the_start_ends_no_server() {
    let home = tempfile::tempdir().expect("a folder");
    let mut child = dev(home.path(), Stdio::piped());
    let output = child.stdout.take().expect("it is a pipe");
    let started = std::thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map(|_| line)
    });
    // It listens to signals before it reads a line of its configuration, and after the loader has ended.
    wait_until_caught(&child, SIGHUP);
    while !started.is_finished() {
        kill(&child, "HUP");
    }
    let line = started.join().expect("no panic").expect("read");
    assert!(line.contains("\"http\""), "it listens: {line}");
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
}

#[test]
fn who_reads_that_the_server_listens_may_stop_it_at_once() {
    let home = tempfile::tempdir().expect("a folder");
    let (mut output, mut full) = std::io::pipe().expect("a pipe");
    // The server cannot tell yet what it listens on, because the pipe takes no more.
    full.write_all("\n".repeat(PIPE).as_bytes()).expect("as much as a pipe holds");
    let mut child = dev(home.path(), full);
    wait_until_caught(&child, SIGTERM);
    wait_until_caught(&child, SIGINT);
    kill(&child, "TERM");
    let mut told = String::new();
    output.read_to_string(&mut told).expect("read to its end");
    assert!(told.contains("\"http\""), "it listened: {told}");
    assert!(child.wait().expect("it ends").success(), "it drained");
}
