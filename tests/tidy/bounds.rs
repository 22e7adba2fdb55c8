//! `host/BOUNDS.md`: every bound of the server with the value that the code has, and what happens beyond it.

mod value;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::{env, fs};

use crate::sources::{assert_no_violations, rust_files, workspace};
use value::{Constant, Value};

const FILE: &str = "host/BOUNDS.md";
const INTRODUCTION: &str = "\
# Bounds

What the server takes at most: sizes, counts, times and how much runs at one time. A name such as
`limits.connections` is a key of the configuration ([CONFIGURATION.md](CONFIGURATION.md) says which values it may
have, and which a running server takes on SIGHUP), and the value is its default. What has no key is a constant of
the code, in the file that is named (below `host/src`, or `host/crates`).

From a symptom to its row: search this page for the code that the client got (421, 429, 452, 503). Over SMTP the words of
the reply say which bound it was, and [REPLIES.md](src/relay/REPLIES.md) has the cause and the remedy of each. A connection
that was refused is counted by the label `reason` of `waxwing_http_connections_refused_total` or
`waxwing_smtp_connections_refused_total`, every other refusal by the label `code` of `waxwing_refusals_total`.

This file is written by `WAXWING_WRITE=1 cargo test --workspace --test tidy bounds`: the values are those of the code.
";
/// A line for each row: its place, what it bounds, what happens beyond it, and what stands for a missing default.
const ROWS: &str = include_str!("bounds/rows.txt");
/// Keys with a number that bounds nothing.
const NO_BOUNDS: [&str; 6] = [
    "delivery.port",
    "delivery.mta_sts_port",
    "plugins.sample_every",
    "credits.low",
    "health.every_minutes",
    "health.dkim_key_days",
];
#[test]
fn the_table_of_bounds_is_what_the_code_says() {
    let (constants, keys) = (constants(), keys());
    let mut broken = Vec::new();
    let text = table(&constants, &keys, &mut broken);
    assert_no_violations(
        &broken,
        "bounds/rows.txt names what the code does not have, or lacks a bound",
    );
    let named: BTreeSet<&str> = rows().filter_map(|row| row.split(" | ").next()).collect();
    let is_missing = |key: &&Key| {
        let name = key.name.as_str();
        key.value.is_some() && !named.contains(name) && !NO_BOUNDS.contains(&name)
    };
    let missing: Vec<String> = keys.iter().filter(is_missing).map(|key| key.name.clone()).collect();
    assert_no_violations(&missing, "keys with a number that bounds/rows.txt does not name");
    let path = workspace().join(FILE);
    if env::var_os("WAXWING_WRITE").is_some() {
        fs::write(&path, &text).expect("the document can be written");
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|it| it == text),
        "{FILE} is out of date. To write it anew:\n  \
         WAXWING_WRITE=1 cargo test --workspace --test tidy bounds",
    );
}

#[test]
fn a_bound_that_the_code_does_not_have_is_noticed() {
    let mut broken = Vec::new();
    drop(table(&[], &[], &mut broken));
    assert_eq!(broken.len(), rows().count());
}

/// A key of the configuration, with its default where that is a number.
struct Key {
    name: String,
    value: Option<Value>,
}

fn rows() -> impl Iterator<Item = &'static str> {
    ROWS.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn table(constants: &[Constant], keys: &[Key], broken: &mut Vec<String>) -> String {
    let (mut text, mut named) = (INTRODUCTION.to_owned(), BTreeSet::new());
    for line in ROWS.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            put(&mut text, &format!("\n## {title}\n\n"));
            put(&mut text, "| what | bound | where | beyond it |\n|---|---|---|---|\n");
            continue;
        }
        let columns: Vec<&str> = line.split(" | ").collect();
        let [place, what, beyond, ..] = columns[..] else { continue };
        if line.starts_with('#') {
            continue;
        }
        let (value, place) = match place.split_once(' ') {
            None => {
                let key = keys.iter().find(|key| key.name == place);
                let otherwise = columns.get(3).copied().unwrap_or("none");
                let value = |key: &Key| key.value.map_or(otherwise.to_owned(), |it| it.to_string());
                (key.map(value), place)
            }
            Some((file, name)) => {
                named.insert((file, name));
                let is_it = |it: &&Constant| it.file == file && it.name == name;
                let words = columns.get(3).copied().unwrap_or("{}");
                let value = |it: &Constant| words.replace("{}", &it.value.to_string());
                (constants.iter().find(is_it).map(value), file)
            }
        };
        match value {
            Some(value) => {
                put(&mut text, &format!("| {what} | {value} | `{place}` | {beyond} |\n"));
            }
            None => broken.push(line.to_owned()),
        }
    }
    let is_missing = |it: &&Constant| {
        it.name.starts_with("MAX_") && !named.contains(&(it.file.as_str(), it.name.as_str()))
    };
    for Constant { file, name, .. } in constants.iter().filter(is_missing) {
        broken.push(format!("{file} {name}: give it a row"));
    }
    text
}

/// The constants of the host and its crates that are numbers or times, outside of tests and of the command line.
fn constants() -> Vec<Constant> {
    let mut constants = Vec::new();
    for (root, prefix) in [("host/src", ""), ("host/crates", "crates/")] {
        let root = workspace().join(root);
        let mut files = rust_files(&root);
        files.sort();
        for file in files {
            let name = file.strip_prefix(&root).expect("a file below it").display().to_string();
            let is_test = name.contains("/tests") || name.ends_with("exercise.rs");
            if !is_test && !name.starts_with("cli") {
                let source = fs::read_to_string(&file).expect("a source is readable");
                constants.extend(value::constants(&format!("{prefix}{name}"), &source));
            }
        }
    }
    assert!(constants.len() > 300, "the constants are found");
    constants
}

/// The keys of the configuration, as CONFIGURATION.md has them.
fn keys() -> Vec<Key> {
    let reference = workspace().join("host/CONFIGURATION.md");
    let text = fs::read_to_string(reference).expect("the reference is readable");
    let (mut keys, mut section) = (Vec::new(), String::new());
    for line in text.lines() {
        if let Some(title) = line.strip_prefix('#') {
            let name = title.trim_start_matches('#').trim().strip_prefix("`[");
            section =
                name.and_then(|it| it.strip_suffix("]`")).map_or_else(String::new, str::to_owned);
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        let key = cells.first().and_then(|it| it.strip_prefix("| `")?.strip_suffix('`'));
        // Tables of a kind, such as `[[delivery.rules]]`, have no defaults.
        if let (Some(key), [_, default, _]) = (key, &cells[..])
            && !section.is_empty()
            && !section.starts_with('[')
        {
            let name = format!("{section}.{key}");
            let number = default.trim_matches('`').parse().ok();
            keys.push(Key { value: number.map(|it| Value::of_key(&name, it)), name });
        }
    }
    assert!(keys.len() > 60, "the keys are found");
    keys
}

fn put(text: &mut String, more: &str) {
    text.write_str(more).expect("a String takes all");
}
