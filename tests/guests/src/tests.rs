//! The test plugins (guests) build, and those patched at byte level are broken where they claim.

use crate::*;

const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

fn has(component: &[u8], text: &str) -> bool {
    component.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn every_example_is_listed_and_is_a_component() {
    let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples"));
    let mut examples: Vec<String> = files
        .expect("the examples are here")
        .map(|file| file.expect("readable").path())
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .collect();
    examples.sort();
    assert_eq!(examples, NAMES);
    for name in NAMES {
        assert!(component(name).starts_with(COMPONENT), "{name} is no component");
    }
}

#[test]
fn guests_import_what_they_are_here_to_use() {
    assert!(has(&component("reads-file"), "wasi:filesystem/types@"));
    assert!(has(&component("reads-clock"), "wasi:clocks/wall-clock@"));
    assert!(has(&component("reads-clock"), "wasi:random/"));
    assert!(has(&component("sleeps"), "wasi:clocks/monotonic-clock@"));
    assert!(!has(&component("price-one"), "wasi:clocks/"));
    assert!(!has(&component("wrong-world"), "waxwing:plugin/"));
}

#[test]
fn damage_is_where_it_was_asked_for() {
    let good = component("price-one");
    assert_eq!(truncated(&good, 100), good[..100]);
    let flipped = flipped(&good, 8 * 200 + 3);
    let changed: Vec<usize> = (0..good.len()).filter(|at| flipped[*at] != good[*at]).collect();
    assert_eq!(changed, [200]);
    assert_eq!(flipped[200] ^ good[200], 1 << 3);
}

#[test]
fn a_newer_guest_has_only_newer_interfaces() {
    let newer = newer();
    assert_eq!(newer.len(), component("price-one").len());
    assert!(has(&newer, "waxwing:plugin/plan-policy@0.2.0"));
    assert!(!has(&newer, "waxwing:plugin/plan-policy@0.1.0"));
    assert!(!has(&newer, "waxwing:plugin/plugin@0.1.0"));
}

#[test]
fn grown_guests_have_one_module_more() {
    let good = component("price-one");
    for grown in [big_slow(10), many_blocks(10), endless_start(), greedy_start(65_536)] {
        assert!(grown.starts_with(&good));
        assert!(has(&grown[good.len()..], "\0asm"));
    }
    assert!(big_slow(1_000).len() > big_slow(10).len() + 100_000);
}

#[test]
fn the_table_bomb_grows_a_table() {
    let (before, bomb) = (component("table-bomb"), table_bomb());
    assert_eq!(before.len(), bomb.len());
    assert_ne!(before, bomb);
}
