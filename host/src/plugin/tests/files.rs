//! Files that change under a running server: each way of replacing one is seen, and a bad file
//! changes nothing.

use std::path::Path;

use super::fixture::{PLAN, PluginHost, RENDERER, TestDirs, account, marked, reason, use_of};
use super::{ANYBODY, dear_ada};
use crate::plugin::Options;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::status::SlotStatus;

#[tokio::test]
async fn a_renamed_a_copied_and_a_linked_file_become_live() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let (one, two) =
        (waxwing_guests::component("price-one"), waxwing_guests::component("price-two"));
    dirs.put("plan-policy.wasm", &one);
    let first = host.live(PLAN, "price-one").await;
    assert_eq!(host.reason().await, "price one");

    // A copy over the file: the same inode, opened, cut to nothing and written.
    std::fs::write(dirs.directory().join("plan-policy.wasm"), &two).expect("copied over");
    host.live(PLAN, "price-two").await;
    assert_eq!(host.reason().await, "price two");
    let previous = host.view(PLAN).previous.expect("the one before it");
    assert_eq!(previous.digest.as_deref(), Some(first.identity().digest.as_str()));

    // A link that is exchanged in one step, as by `ln -s` and `mv -T`.
    let releases = dirs.directory().join("releases");
    std::fs::create_dir(&releases).expect("made");
    std::fs::write(releases.join("one"), &one).expect("written");
    std::fs::write(releases.join("two"), &two).expect("written");
    link(&releases.join("one"), &dirs);
    host.live(PLAN, "price-one").await;
    link(&releases.join("two"), &dirs);
    host.live(PLAN, "price-two").await;
    assert_eq!(host.reason().await, "price two");
}

#[cfg(unix)]
fn link(to: &Path, dirs: &TestDirs) {
    let new = dirs.directory().join("new-link");
    std::os::unix::fs::symlink(to, &new).expect("linked");
    std::fs::rename(new, dirs.directory().join("plan-policy.wasm")).expect("exchanged");
}

#[cfg(not(unix))]
fn link(to: &Path, dirs: &TestDirs) {
    dirs.put("plan-policy.wasm", std::fs::read(to).expect("readable"));
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_the_next_good_one_clears_it() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let one = waxwing_guests::component("price-one");
    dirs.put("plan-policy.wasm", &one);
    let live = host.live(PLAN, "price-one").await;
    assert_eq!(host.reason().await, "price one");

    dirs.put("plan-policy.wasm", "half a file");
    let why = host.refused(PLAN, "not WebAssembly").await;
    assert!(why.starts_with("the file is not WebAssembly: it has 11 bytes"), "{why}");
    let view = host.view(PLAN);
    assert_eq!(view.active.as_ref().map(|it| it.stats().calls()), Some(1), "it was never replaced");
    assert!(view.brief(live.slot()).rejected, "health shows it");
    assert_eq!(view.candidate.expect("it is shown").stage, Stage::Inspecting);
    assert_eq!(host.reason().await, "price one");

    // The same digest again: nothing is loaded, and the fault is gone.
    dirs.put("plan-policy.wasm", &one);
    let same = host.live(PLAN, "price-one").await;
    assert_eq!(same.stats().calls(), 2, "the generation of before answers on");
    assert_eq!(host.view(PLAN).previous, None);

    dirs.put("plan-policy.wasm", waxwing_guests::component("panic-check"));
    let why = host.refused(PLAN, "panic-check always panics").await;
    assert_eq!(host.view(PLAN).candidate.expect("shown").stage, Stage::Testing, "{why}");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    host.live(PLAN, "price-two").await;
}

#[tokio::test]
async fn files_that_go_leave_their_calls_to_the_built_in_plugin() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("visible-a"));
    host.live(RENDERER, "visible-a").await;
    assert_eq!(dear_ada(&host.plugins).await, ["[A] Hi Ada", "[A] Dear Ada"]);
    dirs.remove("liquid-renderer.wasm");
    host.built_in(RENDERER).await;
    assert_eq!(dear_ada(&host.plugins).await, ["Hi Ada", "Dear Ada"]);
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("visible-b"));
    host.live(RENDERER, "visible-b").await;
    assert_eq!(dear_ada(&host.plugins).await, ["[B] Hi Ada", "[B] Dear Ada"]);
}

/// A message holds one table from its start to its end.
#[tokio::test]
async fn a_swap_changes_nothing_for_a_message_that_has_begun() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    let begun = host.plugins.table();
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    host.live(PLAN, "price-two").await;
    let (context, who) = (host.plugins.context("begun".to_owned()), account("acc_1", "free"));
    let uses = [use_of("welcome")];
    assert_eq!(reason(&begun.check(&ANYBODY, &context, &who, &uses).await), "price one");
    assert_eq!(host.reason().await, "price two");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_with_the_setting_and_its_value() {
    let dirs = TestDirs::new();
    let options = Options { max_component_bytes: 60_000, ..dirs.options() };
    let host = PluginHost::start_with_calls(options, Vec::new()).await;
    let large = waxwing_guests::component("wrong-world").repeat(10);
    dirs.put("plan-policy.wasm", &large);
    let why = host.refused(PLAN, "max_component_bytes").await;
    let expected = "is too large: plugins.max_component_bytes is 60000; raise it if the component \
                    must be so large (Python's are about 18 MB and need 33554432)";
    assert!(why.ends_with(expected), "{why}");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn files_that_are_no_slots_are_left_alone() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("My Plugin.wasm", "no name of a slot");
    dirs.put("notes.txt", "no plugin");
    dirs.put(".plan-policy.wasm.partial", "not whole yet");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    assert_eq!(host.plugins.statuses().slots().len(), 4, "the slots of the built-in plugins");
}

#[tokio::test]
async fn what_is_no_file_is_refused_and_forgotten_once_it_is_gone() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let folder = dirs.directory().join("plan-policy.wasm");
    std::fs::create_dir(&folder).expect("made");
    host.refused(PLAN, "not a regular file").await;
    std::fs::remove_dir(&folder).expect("removed");
    let cleared = |view: &SlotStatus| view.candidate.is_none().then_some(());
    host.until(PLAN, "nothing is refused any more", cleared).await;
}

#[tokio::test]
async fn a_directory_that_is_removed_and_made_again_is_looked_at_again() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    std::fs::remove_dir_all(dirs.directory()).expect("removed");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    host.live(PLAN, "price-two").await;
}

/// While a big component is compiled, a newer file comes: the older never becomes live.
#[tokio::test]
async fn a_newer_file_supersedes_one_that_is_still_compiled() {
    let dirs = TestDirs::new();
    let compiled = tempfile::tempdir().expect("a directory");
    let options = Options { compiled: compiled.path().to_owned(), ..dirs.options() };
    let host = PluginHost::start_with_calls(options, Vec::new()).await;
    dirs.put("plan-policy.wasm", waxwing_guests::big_slow(2_000));
    let compiling =
        |view: &SlotStatus| (view.candidate.as_ref()?.stage == Stage::Compiling).then_some(());
    host.until(PLAN, "it is compiled", compiling).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let two = host.live(PLAN, "price-two").await;
    dirs.put("plan-policy.wasm", marked(&waxwing_guests::component("price-one"), "next"));
    host.live(PLAN, "price-one").await;
    let previous = host.view(PLAN).previous.expect("price-two");
    assert_eq!(previous.digest.as_deref(), Some(two.identity().digest.as_str()));
}
