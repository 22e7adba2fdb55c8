//! Memory stays flat: after many traps, and after many reloads.
//!
//! What a process holds can be measured only where nothing else runs in it, so each test here runs
//! itself once more, alone.

use std::process::Command;

use super::fixture::{PLAN, PluginHost, TestDirs, account, candidate, use_of};
use super::{ANYBODY, plugins};
use crate::plugin::runtime::limits::Limits;

const ALONE: &str = "WAXWING_TEST_RUNS_ALONE";
const MIB: usize = 1 << 20;
const PAGE: usize = 4 << 10;

/// Whether this is the process that runs one test alone; if not, such a process is run.
fn runs_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let name = format!("plugin::tests::memory::{test}");
    let executable = std::env::current_exe().expect("a test has a file");
    let mut alone = Command::new(executable);
    alone.args([&name, "--exact", "--nocapture"]).env(ALONE, "1");
    let output = alone.output().expect("a test starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let wrote = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{wrote}");
    assert!(said.contains("1 passed"), "{name} is the name of the test: {said}");
    false
}

/// What the process holds, in bytes; nothing where the system does not say.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * PAGE
}

fn is_flat(before: usize, after: usize, bound: usize) {
    let grown = after.saturating_sub(before);
    assert!(grown < bound, "it grew by {grown} bytes from {before}, and {bound} are noise");
}

#[tokio::test]
async fn traps_leave_no_memory_behind() {
    if !runs_alone("traps_leave_no_memory_behind") {
        return;
    }
    let plugins = plugins(Limits::default()).await;
    let guest = candidate(PLAN, Some(waxwing_guests::component("panic-on-poison")), "");
    plugins.set_table(vec![plugins.try_out(&guest).await.expect("validated")], Vec::new());
    let (context, who) = (plugins.context("test".to_owned()), account("acc_1", "free"));
    let trap = async |times| {
        for _ in 0..times {
            let (table, uses) = (plugins.table(), [use_of("poison")]);
            let called = table.check(&ANYBODY, &context, &who, &uses).await;
            called.result.expect_err("a panic");
        }
    };
    trap(300).await;
    let before = resident();
    trap(3_000).await;
    is_flat(before, resident(), 8 * MIB);
}

#[tokio::test]
async fn reloads_leave_no_memory_behind() {
    if !runs_alone("reloads_leave_no_memory_behind") {
        return;
    }
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let guests = ["price-one", "price-two"].map(|it| (it, waxwing_guests::component(it)));
    let reload = async |times| {
        for _ in 0..times {
            for (name, component) in &guests {
                dirs.put("plan-policy.wasm", component);
                host.live(PLAN, name).await;
                host.reason().await;
            }
        }
    };
    reload(10).await;
    let before = resident();
    reload(50).await;
    is_flat(before, resident(), 16 * MIB);
}
