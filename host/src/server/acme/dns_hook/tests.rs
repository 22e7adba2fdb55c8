use std::fs;
use std::path::PathBuf;
use std::process;

use tempfile::TempDir;

use super::*;

/// Longer than any test, and shorter than [`HOOK_TIME`].
const SOON: Duration = Duration::from_mins(1);

/// A program with this script, in a directory in which it can note what it does.
fn program(script: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a directory");
    let [text, program] = ["text", "program"].map(|it| folder.path().join(it));
    fs::write(&text, format!("#!/bin/sh\ncd '{}'\n{script}\n", folder.path().display()))
        .expect("written");
    // By another process: nobody runs a program that a thread of this one may still have open.
    let placed = process::Command::new("install").arg("-m755").arg(text).arg(&program).status();
    assert!(placed.expect("install runs").success());
    (folder, program)
}

fn record() -> TxtRecord {
    TxtRecord { name: "_acme-challenge.mail.example.net".to_owned(), value: "v".to_owned() }
}

/// Waits until the process whose number stands in the file `pid` has ended; nobody may have taken note of it.
async fn ended_in(folder: &TempDir) {
    let pid = noted_in(folder).await;
    let is_over = || fs::read(format!("/proc/{pid}/cmdline")).map_or(true, |it| it.is_empty());
    until("it has ended", is_over).await;
}

async fn noted_in(folder: &TempDir) -> String {
    let note = || fs::read_to_string(folder.path().join("pid")).unwrap_or_default();
    until("a process is noted", || note().ends_with('\n')).await;
    note().trim().to_owned()
}

async fn until(what: &str, is_so: impl Fn() -> bool) {
    let seen = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, seen).await.expect(what);
}

#[tokio::test]
async fn a_program_has_ended_when_it_has_and_leaves_nothing_running() {
    let (folder, program) = program("sleep 300 & echo $! >pid; exit 0");
    let record = record();
    let run = run(&program, Action::Present, &record);
    tokio::time::timeout(SOON, run).await.expect("nobody waits for the other").expect("it is well");
    ended_in(&folder).await;
}

#[tokio::test]
async fn a_process_that_left_the_group_holds_nobody_up() {
    let (folder, program) = program(
        "setsid sh -c 'echo $$ >pid; exec sleep 300' &
         while [ ! -s pid ]; do sleep 0.01; done
         echo no >&2; exit 1",
    );
    let record = record();
    let run = run(&program, Action::Present, &record);
    let failure = tokio::time::timeout(SOON, run).await.expect("nobody waits for it");
    let failure = failure.expect_err("it fails").to_string();
    assert!(failure.ends_with("exit status: 1: no"), "{failure}");
    let pid = noted_in(&folder).await;
    drop(process::Command::new("kill").arg(pid).status());
}

#[tokio::test]
async fn a_program_that_nobody_waits_for_any_more_ends_as_a_whole() {
    let (folder, program) = program("sleep 300 & echo $! >pid; wait");
    let record = record();
    let run = run(&program, Action::Present, &record);
    tokio::select! {
        ended = run => unreachable!("{ended:?}"),
        _ = noted_in(&folder) => {}
    }
    ended_in(&folder).await;
}

#[tokio::test]
async fn of_a_long_complaint_the_beginning_is_kept() {
    let (_folder, program) =
        program("yes complaint | head -c 3000000 >&2; yes | head -c 3000000; exit 1");
    let mut command = Command::new(&program);
    command.arg("present");
    let (status, said) = ended(command).await.expect("it runs");
    assert_eq!((status.code(), said.len()), (Some(1), MAX_SAID_BYTES));
    let failure = run(&program, Action::Present, &record()).await.expect_err("it fails");
    assert!(failure.to_string().contains("exit status: 1: complaint\ncomplaint"), "{failure}");
}
