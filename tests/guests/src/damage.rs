//! What happens to a component on its way: cut off, changed, or built for another server.

use crate::component;

/// The first `keep` bytes.
#[must_use]
pub fn truncated(component: &[u8], keep: usize) -> Vec<u8> {
    component.iter().take(keep).copied().collect()
}

/// The same with one bit flipped, counted from the start of the file and around its end.
///
/// Most flips break the file; some change only what it answers.
///
/// # Panics
/// There is no bit to flip.
#[must_use]
pub fn flipped(component: &[u8], bit: usize) -> Vec<u8> {
    assert!(!component.is_empty(), "an empty file has no bits");
    let mut flipped = component.to_vec();
    flipped[(bit / 8) % component.len()] ^= 1 << (bit % 8);
    flipped
}

/// The same, built against another version of Waxwing's interfaces, e.g. `0.1.1`.
///
/// # Panics
/// The version is not as long as `0.1.0`, or the component has no interface of Waxwing.
#[must_use]
pub fn at_version(component: &[u8], version: &str) -> Vec<u8> {
    const VERSION: &str = "0.1.0";
    assert_eq!(
        version.len(),
        VERSION.len(),
        "a name of another length does not fit into its place"
    );
    let mut patched = component.to_vec();
    let mut interfaces = 0;
    for start in positions(component, b"waxwing:plugin/") {
        // An interface's name is short; its version is behind the first `@`.
        let name = component.iter().skip(start).take(60);
        let Some(at) = name.clone().position(|byte| *byte == b'@') else { continue };
        let place = start + at + 1..start + at + 1 + VERSION.len();
        if component.get(place.clone()) == Some(VERSION.as_bytes()) {
            patched[place].copy_from_slice(version.as_bytes());
            interfaces += 1;
        }
    }
    assert!(interfaces > 0, "the component has no interface of Waxwing at version {VERSION}");
    patched
}

/// `price-one`, built against version 0.2 of the interfaces.
#[must_use]
pub fn newer() -> Vec<u8> {
    at_version(&component("price-one"), "0.2.0")
}

/// The guest `table-bomb`, with the instruction that Rust has no word for, and a table without the
/// bound that Rust gives it.
///
/// # Panics
/// The example does not have what is to be replaced.
#[must_use]
pub fn table_bomb() -> Vec<u8> {
    // `i32.const 0x12345678`, `memory.grow 0`; see the example.
    const MEMORY_GROW: [u8; 8] = [0x41, 0xf8, 0xac, 0xd1, 0x91, 0x01, 0x40, 0x00];
    // `ref.null func`, `i32.const 1000`, `table.grow 0`.
    const TABLE_GROW: [u8; 8] = [0xd0, 0x70, 0x41, 0xe8, 0x07, 0xfc, 0x0f, 0x00];
    // A section of five bytes with one table of functions that has a least and a greatest size.
    const TABLE: [u8; 5] = [0x04, 0x05, 0x01, 0x70, 0x01];
    let mut bomb = component("table-bomb");
    let instructions = positions(&bomb, &MEMORY_GROW);
    assert_eq!(instructions.len(), 1, "the place of `table.grow` in the guest table-bomb");
    bomb[instructions[0]..][..TABLE_GROW.len()].copy_from_slice(&TABLE_GROW);
    let section = positions(&bomb, &TABLE)[0];
    let sizes = section + 4..section + 7;
    assert_eq!(bomb[section + 5], bomb[section + 6], "the sizes of the guest's table");
    // No greatest size; the least one fills the place of both.
    let unbounded = [0x00, bomb[section + 5] | 0x80, 0x00];
    bomb[sizes].copy_from_slice(&unbounded);
    bomb
}

fn positions(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(wanted.len()).enumerate();
    windows.filter(|(_, window)| *window == wanted).map(|(start, _)| start).collect()
}
