//! Starts: from what was last known to be good, whatever happened to the files in the meantime.

use super::fixture::{PLAN, PluginHost, TestDirs, marked};

/// The directories of a server where `price-one` ran, then `price-two`, and that was stopped.
async fn after_two() -> (TestDirs, [Vec<u8>; 2]) {
    let dirs = TestDirs::new();
    let components =
        [waxwing_guests::component("price-one"), waxwing_guests::component("price-two")];
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", &components[0]);
    host.live(PLAN, "price-one").await;
    dirs.put("plan-policy.wasm", &components[1]);
    host.live(PLAN, "price-two").await;
    host.stop().await;
    (dirs, components)
}

#[tokio::test]
async fn a_broken_file_does_not_stop_what_was_known_to_be_good() {
    let (dirs, [one, _]) = after_two().await;
    dirs.put("plan-policy.wasm", waxwing_guests::truncated(&one, 10_000));
    let host = PluginHost::start(&dirs).await;
    assert_eq!(host.reason().await, "price two", "from the first moment on");
    host.refused(PLAN, "damaged").await;
    assert_eq!(host.reason().await, "price two");
}

#[tokio::test]
async fn a_file_changed_while_the_server_was_off_is_proven_and_becomes_live() {
    let (dirs, [one, _]) = after_two().await;
    dirs.put("plan-policy.wasm", marked(&one, "while it was off"));
    let host = PluginHost::start(&dirs).await;
    assert_eq!(host.reason().await, "price two", "until the new one is validated");
    host.live(PLAN, "price-one").await;
    assert_eq!(host.reason().await, "price one");
}

#[tokio::test]
async fn the_same_files_are_not_loaded_again() {
    let (dirs, _) = after_two().await;
    let host = PluginHost::start(&dirs).await;
    let live = host.live(PLAN, "price-two").await;
    assert_eq!(host.reason().await, "price two");
    dirs.put("domain-policy.wasm", waxwing_guests::component("strict-domain"));
    host.live("domain-policy", "strict-domain").await;
    assert_eq!(host.reason().await, "price two");
    assert_eq!(live.stats().calls(), 2, "it is the generation of the start");
    let previous = host.view(PLAN).previous.expect("price-one");
    assert_ne!(previous.digest.as_deref(), Some(live.identity().digest.as_str()));
}

#[tokio::test]
async fn a_component_whose_bytes_are_lost_gives_way_to_the_one_before_it() {
    let (dirs, [_, two]) = after_two().await;
    std::fs::remove_file(dirs.stored_component(&two)).expect("it was kept");
    dirs.put("plan-policy.wasm", "broken too");
    let host = PluginHost::start(&dirs).await;
    host.refused(PLAN, "not WebAssembly").await;
    assert_eq!(host.reason().await, "price one");
    dirs.put("plan-policy.wasm", &two);
    host.live(PLAN, "price-two").await;
}

#[tokio::test]
async fn with_all_bytes_lost_the_built_in_plugin_answers() {
    let (dirs, components) = after_two().await;
    for component in &components {
        std::fs::remove_file(dirs.stored_component(component)).expect("it was kept");
    }
    dirs.put("plan-policy.wasm", "broken too");
    let host = PluginHost::start(&dirs).await;
    host.refused(PLAN, "not WebAssembly").await;
    assert!(host.view(PLAN).is_builtin);
    dirs.put("plan-policy.wasm", &components[0]);
    host.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn a_broken_state_is_made_anew_from_the_files() {
    let (dirs, _) = after_two().await;
    for broken in ["", "{", "[]", r#"{"active": 3}"#, r#"{"active": {"digest": "sha256:../x"}}"#] {
        std::fs::write(dirs.state().join("plan-policy.json"), broken).expect("written");
        let host = PluginHost::start(&dirs).await;
        host.live(PLAN, "price-two").await;
        assert_eq!(host.reason().await, "price two", "after `{broken}`");
        host.stop().await;
    }
}

/// A crash between the writing of a file and its renaming leaves such names.
#[tokio::test]
async fn a_half_written_state_is_not_read() {
    let (dirs, _) = after_two().await;
    std::fs::write(dirs.state().join("plan-policy.4711.partial"), "{").expect("written");
    std::fs::write(dirs.state().join("components").join("ab.4711.partial"), "x").expect("written");
    let host = PluginHost::start(&dirs).await;
    assert_eq!(host.reason().await, "price two");
}

#[tokio::test]
async fn files_that_went_while_the_server_was_off_are_gone() {
    let (dirs, _) = after_two().await;
    dirs.remove("plan-policy.wasm");
    let host = PluginHost::start(&dirs).await;
    host.built_in(PLAN).await;
}
