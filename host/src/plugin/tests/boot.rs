//! Starts: from what was last known to be good, whatever happened to the files in the meantime.

use super::platform::{Home, PLAN, Platform, marked};

/// A home where `price-one` ran, then `price-two`, and the server was stopped.
async fn after_two() -> (Home, [Vec<u8>; 2]) {
    let home = Home::new();
    let components =
        [waxwing_guests::component("price-one"), waxwing_guests::component("price-two")];
    let platform = Platform::start(&home).await;
    home.put("plan-policy.wasm", &components[0]);
    platform.live(PLAN, "price-one").await;
    home.put("plan-policy.wasm", &components[1]);
    platform.live(PLAN, "price-two").await;
    platform.stop().await;
    (home, components)
}

#[tokio::test]
async fn a_broken_file_does_not_stop_what_was_known_to_be_good() {
    let (home, [one, _]) = after_two().await;
    home.put("plan-policy.wasm", waxwing_guests::truncated(&one, 10_000));
    let platform = Platform::start(&home).await;
    assert_eq!(platform.reason().await, "price two", "from the first moment on");
    platform.refused(PLAN, "damaged").await;
    assert_eq!(platform.reason().await, "price two");
}

#[tokio::test]
async fn a_file_that_was_changed_while_the_server_was_off_is_proven_and_becomes_live() {
    let (home, [one, _]) = after_two().await;
    home.put("plan-policy.wasm", marked(&one, "while it was off"));
    let platform = Platform::start(&home).await;
    assert_eq!(platform.reason().await, "price two", "until the new one is proven");
    platform.live(PLAN, "price-one").await;
    assert_eq!(platform.reason().await, "price one");
}

#[tokio::test]
async fn the_same_files_are_not_loaded_again() {
    let (home, _) = after_two().await;
    let platform = Platform::start(&home).await;
    let live = platform.live(PLAN, "price-two").await;
    assert_eq!(platform.reason().await, "price two");
    home.put("domain-policy.wasm", waxwing_guests::component("strict-domain"));
    platform.live("domain-policy", "strict-domain").await;
    assert_eq!(platform.reason().await, "price two");
    assert_eq!(live.stats().calls(), 2, "it is the generation of the start");
    let previous = platform.view(PLAN).previous.expect("price-one");
    assert_ne!(previous.digest.as_deref(), Some(live.identity().digest.as_str()));
}

#[tokio::test]
async fn a_component_whose_bytes_are_lost_gives_way_to_the_one_before_it() {
    let (home, [_, two]) = after_two().await;
    std::fs::remove_file(home.kept(&two)).expect("it was kept");
    home.put("plan-policy.wasm", "broken too");
    let platform = Platform::start(&home).await;
    platform.refused(PLAN, "not WebAssembly").await;
    assert_eq!(platform.reason().await, "price one");
    home.put("plan-policy.wasm", &two);
    platform.live(PLAN, "price-two").await;
}

#[tokio::test]
async fn with_all_bytes_lost_the_built_in_plugin_answers() {
    let (home, components) = after_two().await;
    for component in &components {
        std::fs::remove_file(home.kept(component)).expect("it was kept");
    }
    home.put("plan-policy.wasm", "broken too");
    let platform = Platform::start(&home).await;
    platform.refused(PLAN, "not WebAssembly").await;
    assert!(platform.view(PLAN).is_builtin);
    home.put("plan-policy.wasm", &components[0]);
    platform.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn a_broken_state_is_made_anew_from_the_files() {
    let (home, _) = after_two().await;
    for broken in ["", "{", "[]", r#"{"active": 3}"#, r#"{"active": {"digest": "sha256:../x"}}"#] {
        std::fs::write(home.state().join("plan-policy.json"), broken).expect("written");
        let platform = Platform::start(&home).await;
        platform.live(PLAN, "price-two").await;
        assert_eq!(platform.reason().await, "price two", "after `{broken}`");
        platform.stop().await;
    }
}

/// A crash between the writing of a file and its renaming leaves such names.
#[tokio::test]
async fn a_half_written_state_is_not_read() {
    let (home, _) = after_two().await;
    std::fs::write(home.state().join("plan-policy.4711.partial"), "{").expect("written");
    std::fs::write(home.state().join("components").join("ab.4711.partial"), "x").expect("written");
    let platform = Platform::start(&home).await;
    assert_eq!(platform.reason().await, "price two");
}

#[tokio::test]
async fn files_that_went_while_the_server_was_off_are_gone() {
    let (home, _) = after_two().await;
    home.remove("plan-policy.wasm");
    let platform = Platform::start(&home).await;
    platform.built_in(PLAN).await;
}
