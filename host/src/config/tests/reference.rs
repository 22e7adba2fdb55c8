//! `host/CONFIGURATION.md` is made of the doc comments, the defaults and the rules of the code.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use super::Config;
use crate::generated_docs::assert_up_to_date;

const INTRODUCTION: &str = "\
# Configuration

One TOML file: `waxwing serve --config waxwing.toml`. A key has a default unless it is required, and every
key can come from the environment: `WAXWING_SMTP__MESSAGE_BYTES=1048576`, with lists as TOML (`'[\"10.0.0.0/8\"]'`).
`waxwing check --config waxwing.toml` names every fault before a start. On SIGHUP the server reads the file
again and applies the keys that are marked **reload**, the files of passwords, and the certificate; the other keys
take effect after a restart.

This file is written by `WAXWING_WRITE=1 cargo test --workspace --lib config::tests::reference`.
";

/// A key with its doc comment.
struct Key {
    name: String,
    text: String,
    is_required: bool,
}

#[test]
fn the_reference_is_what_the_code_says() {
    assert_up_to_date("CONFIGURATION.md", &reference(), "config::tests::reference");
}

fn reference() -> String {
    let source = source();
    let defaults = toml::Table::try_from(Config::default()).expect("the defaults are TOML");
    let mut text = INTRODUCTION.to_owned();
    for section in keys(&source, "Config") {
        let structure = capitalised(&section.name);
        put(&mut text, &format!("\n## `[{}]`\n\n{}\n", section.name, section.text));
        let defaults = defaults.get(&section.name).and_then(toml::Value::as_table);
        put(&mut text, "\n| key | default | meaning |\n|---|---|---|\n");
        for key in keys(&source, &structure) {
            let path = format!("{}.{}", section.name, key.name);
            let default = match defaults.and_then(|it| it.get(&key.name)) {
                Some(value) => format!("`{value}`"),
                None => "none".to_owned(),
            };
            let notes = notes(&source, &path);
            put(&mut text, &format!("| `{}` | {default} | {}{notes} |\n", key.name, key.text));
        }
        let tables: &[(&str, &str)] = match section.name.as_str() {
            "delivery" => &[
                ("[[delivery.smarthosts]]", "Smarthost"),
                ("[[delivery.rules]]", "Rule"),
                ("[[delivery.destinations]]", "Destination"),
            ],
            "plugins" => &[(
                "[plugins.limits.renderer]`, `[plugins.limits.plan]`, `[plugins.limits.domain]",
                "CallLimits",
            )],
            _ => &[],
        };
        for (name, structure) in tables {
            put(&mut text, &format!("\n### `{name}`\n\n| key | meaning |\n|---|---|\n"));
            for key in keys(&source, structure) {
                let note = match *structure {
                    "CallLimits" => limit_defaults(&key.name),
                    _ if key.is_required => " Required.".to_owned(),
                    _ => String::new(),
                };
                put(&mut text, &format!("| `{}` | {}{note} |\n", key.name, key.text));
            }
        }
    }
    text
}

/// What a limit of plugin calls is where nothing is set, by kind of plugin.
fn limit_defaults(key: &str) -> String {
    let limits = Config::default().plugins.limits;
    let limits = toml::Table::try_from(limits).expect("limits are TOML");
    let [renderer, plan, domain] = ["renderer", "plan", "domain"].map(|kind| &limits[kind][key]);
    format!(
        " Default: {renderer} for renderers, {plan} for plan policies, {domain} for domain policies."
    )
}

/// The values that a key may have, and whether a running server takes another one.
fn notes(source: &str, path: &str) -> String {
    let mut notes = String::new();
    let rule = source.split('"').find_map(|text| text.strip_prefix(&format!("{path}: ")));
    let is_range =
        |it: &&str| it.starts_with(|c: char| c.is_ascii_digit()) || it.starts_with("at ");
    if let Some(rule) = rule.filter(is_range) {
        put(&mut notes, &format!(" Values: {rule}."));
    }
    let section = path.split('.').next().unwrap_or_default();
    let is_taken = |of: &str| source.contains(&format!(": new.{of},"));
    if is_taken(path) || is_taken(section) {
        notes.push_str(" **reload**");
    }
    notes
}

/// The public fields of a structure, in the code's order.
fn keys(source: &str, structure: &str) -> Vec<Key> {
    let begin = format!("\npub struct {structure} {{\n");
    let (_, body) = source.split_once(&begin).unwrap_or_else(|| panic!("no struct {structure}"));
    let (body, _) = body.split_once("\n}\n").expect("a struct ends");
    let (mut keys, mut text, mut has_default) = (Vec::new(), String::new(), false);
    for line in body.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            text.push_str(words);
        } else if line.starts_with("#[serde(default") {
            has_default = true;
        } else if let Some((name, kind)) =
            line.strip_prefix("pub ").and_then(|it| it.split_once(": "))
        {
            let is_required = !has_default && !kind.starts_with("Option<");
            let text = std::mem::take(&mut text).trim().replace('|', "\\|");
            keys.push(Key { name: name.to_owned(), text, is_required });
            has_default = false;
        }
    }
    keys
}

/// All sources that configuration stands in, one after the other.
fn source() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.join("config"), root.join("plugin")];
    let mut files: Vec<PathBuf> = vec![root.join("config.rs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files.iter().map(|it| fs::read_to_string(it).expect("a source")).collect()
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|it| it.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn put(text: &mut String, more: &str) {
    text.write_str(more).expect("a String takes all");
}
