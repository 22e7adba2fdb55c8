//! Compilation is bounded: in memory, in time, and by what comes after it.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::Value;
use waxwing_tests::{Launch, Server, until};

use super::{Component, PLAN, SOON, reason, with_note};

/// The children of a server that compile.
fn compilers(server: &Server) -> Vec<u32> {
    let server = server.process_id().expect("it runs");
    let processes = fs::read_dir("/proc").expect("Linux shows processes");
    let ids = processes.filter_map(|it| it.ok()?.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|id| {
        let read =
            |file: &str| fs::read_to_string(format!("/proc/{id}/{file}")).unwrap_or_default();
        let parent = read("stat").rsplit(") ").next().and_then(|it| {
            let mut fields = it.split(' ');
            (fields.next()? != "Z").then(|| fields.next()?.parse::<u32>().ok()).flatten()
        });
        parent == Some(server) && read("cmdline").contains("compile-plugin")
    })
    .collect()
}

fn is_there(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|it| !it.is_empty() && !it.starts_with('Z'))
}

/// Waits until a component that takes very long is being compiled; answers the child.
fn a_compiler(server: &Server) -> u32 {
    until("a child compiles", SOON, || compilers(server).first().copied())
}

/// Two minutes of work for one core, in half a gigabyte.
fn endless() -> Component {
    Component::of(waxwing_guests::many_blocks(100_000))
}

fn limited(key: &str, value: &str) -> Server {
    with_note(Server::start(Launch::dev().with("plugins", key, value)))
}

#[tokio::test]
async fn a_component_that_takes_too_much_memory_is_refused_with_the_setting() {
    let server = limited("compile_memory_bytes", "134217728");
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.place("plan-policy.wasm", waxwing_guests::many_blocks(100_000));
    let words = server.rejected(PLAN, "more memory than it may").await;
    assert!(words.contains("plugins.compile_memory_bytes is 134217728"), "{words}");
    assert_eq!(reason(&server).await, "price one");
    let two = Component::guest("price-two");
    server.swap(PLAN, &two.bytes, &two.digest).await;
}

#[tokio::test]
async fn a_component_that_takes_too_much_time_is_refused_with_the_setting() {
    let server = limited("compile_seconds", "1");
    server.place("plan-policy.wasm", &endless().bytes);
    // On a busy machine the deadline comes before the CPU time is used up. Both name the setting.
    let words = server.rejected(PLAN, "plugins.compile_seconds").await;
    let both = ["plugins.compile_seconds is 1;", "plugins.compile_seconds, which is 1)"];
    assert!(both.iter().any(|it| words.contains(it)), "{words}");
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    assert_eq!(reason(&server).await, "price one");
}

#[tokio::test]
async fn a_newer_file_ends_the_compilation_of_the_one_before_it() {
    let server = limited("compile_seconds", "3600");
    server.place("plan-policy.wasm", &endless().bytes);
    let child = a_compiler(&server);
    // Another slot does not wait for it.
    let strict = Component::guest("strict-domain");
    server.swap("domain-policy", &strict.bytes, &strict.digest).await;
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    until("the child is gone", SOON, || (!is_there(child)).then_some(()));
    assert_eq!(reason(&server).await, "price one");
}

#[tokio::test]
async fn a_server_that_stops_ends_what_compiles() {
    let mut server = limited("compile_seconds", "3600");
    server.place("plan-policy.wasm", &endless().bytes);
    let child = a_compiler(&server);
    assert!(server.terminate().success());
    until("the child is gone", SOON, || (!is_there(child)).then_some(()));
}

#[tokio::test]
async fn a_server_that_is_killed_leaves_no_compiler_behind() {
    let mut server = limited("compile_seconds", "3600");
    server.place("plan-policy.wasm", &endless().bytes);
    let child = a_compiler(&server);
    server.kill9();
    until("the child is gone", SOON, || (!is_there(child)).then_some(()));
}

/// The same bounds, without a server.
#[test]
fn the_command_line_compiles_within_the_same_bounds() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("blocks.wasm");
    fs::write(&file, waxwing_guests::many_blocks(100_000)).expect("written");
    // Which allocation fails differs with the limit, and with it how the compiler ends: by an abort of
    // the standard library or by a panic of Cranelift.
    let commands = ["check", "bench", "inspect", "check", "check", "check"];
    for (command, mebibytes) in commands.into_iter().zip([128, 128, 128, 64, 80, 160]) {
        let limit = (mebibytes << 20_u64).to_string();
        let output = std::process::Command::new(waxwing_tests::binary())
            .args(["plugin", command, "--json"])
            .arg(&file)
            .env("WAXWING_PLUGINS__COMPILE_MEMORY_BYTES", &limit)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{command}");
        let words = format!("plugins.compile_memory_bytes is {limit}");
        assert!(said.contains(&words), "{command}: {said}");
    }
}

#[tokio::test]
async fn new_names_of_a_counter_are_bounded_and_the_first_over_is_named_once() {
    let server = super::server();
    let guest = Component::guest("counts-names");
    server.swap(PLAN, &guest.bytes, &guest.digest).await;
    for n in 0..5 {
        super::sent(&server, n).await;
    }
    let page = server.request(reqwest::Method::GET, "/metrics").send().await.expect("answered");
    let page = page.text().await.expect("a text");
    let series = page.lines().filter(|it| it.starts_with("waxwing_plugin_count_total{")).count();
    assert_eq!(series, 100, "of five calls, each with 300 new names");
    assert!(page.contains("metric=\"uses_checked\",plan_name=\"pro "), "{page}");
    let dropped = page.lines().find(|it| it.starts_with("waxwing_plugin_count_dropped_total"));
    assert_eq!(dropped, Some("waxwing_plugin_count_dropped_total{slot=\"plan-policy\"} 1401"));
    let warnings = server.log().matches("plugin exceeds the limit of counter series").count();
    assert_eq!(warnings, 1);
    let view: Value = server.slot(PLAN).await;
    assert_eq!(view["active"]["trapped"], 0, "it goes on: {view:#}");
}
