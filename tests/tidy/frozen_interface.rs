//! Released tracks of the plugin interface do not change: components that were built for them would
//! stop to link. Nor do the compiled plugins that prove it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::sources::{assert_no_violations, workspace};

/// Released folders, what their frozen files end in, and what to do instead of changing one.
const RELEASED: [(&str, &str, &str); 2] = [
    (
        "wit/v0",
        "wit",
        "This track of the interface is released, and its files are frozen, comments too. Undo the \
         change. To give plugins more, use an `extra` list, a new interface in a new file, or a new \
         track: README.md says when which. A file that is new in a release goes into SHA256SUMS",
    ),
    (
        "tests/fixtures/plugins/v0",
        "wasm",
        "These components stand for the plugins that operators have, and are never built again. Undo \
         the change, and mend the host if one of them does not run",
    ),
];

#[test]
fn what_is_released_does_not_change() {
    for (folder, ending, advice) in RELEASED {
        let path = workspace().join(folder);
        let list = fs::read_to_string(path.join("SHA256SUMS")).expect("the list is readable");
        let found = sums(&path, ending);
        assert!(!found.is_empty(), "{folder} has no .{ending}");
        assert_no_violations(&changes(&listed(&list), &found), &format!("{folder}: {advice}"));
    }
}

#[test]
fn every_kind_of_change_is_noticed() {
    let files = |all: &[(&str, &str)]| {
        all.iter().map(|(name, sum)| ((*name).to_owned(), (*sum).to_owned())).collect()
    };
    let frozen = files(&[("a.wit", "1"), ("b.wit", "2"), ("c.wit", "3")]);
    let found = files(&[("a.wit", "1"), ("b.wit", "9"), ("d.wit", "4")]);
    let changes = changes(&frozen, &found);
    assert_eq!(changes, ["b.wit changed", "c.wit is gone", "d.wit is not in SHA256SUMS"]);
}

#[test]
fn the_list_is_that_of_sha256sum() {
    for (folder, ..) in RELEASED {
        let list = workspace().join(folder).join("SHA256SUMS");
        let list = fs::read_to_string(list).expect("the list is readable");
        let lines = list.lines().count();
        assert_eq!(listed(&list).len(), lines, "{folder}: every line is a sum, and no file twice");
    }
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(sum(b""), empty);
}

type Sums = BTreeMap<String, String>;

fn changes(frozen: &Sums, found: &Sums) -> Vec<String> {
    let changed = frozen.iter().filter_map(|(name, sum)| match found.get(name) {
        Some(now) if now == sum => None,
        Some(_) => Some(format!("{name} changed")),
        None => Some(format!("{name} is gone")),
    });
    let unlisted = found.keys().filter(|name| !frozen.contains_key(*name));
    changed.chain(unlisted.map(|name| format!("{name} is not in SHA256SUMS"))).collect()
}

/// Lines of `sha256sum`: the sum, two spaces, the name.
fn listed(list: &str) -> Sums {
    let line = |it: &str| it.split_once("  ").map(|(sum, name)| (name.to_owned(), sum.to_owned()));
    list.lines().filter_map(line).collect()
}

fn sums(folder: &Path, ending: &str) -> Sums {
    let entries = fs::read_dir(folder).expect("the folder is readable").flatten();
    let files =
        entries.map(|it| it.path()).filter(|it| it.extension().is_some_and(|it| it == ending));
    files
        .map(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (name, sum(&fs::read(&path).expect("the file is readable")))
        })
        .collect()
}

fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes everything");
        hex
    })
}
