//! What a document leads to is there: files, headings of them, and the modules that it names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use waxwing_tests::{Document, documents};

use crate::sources::{assert_no_violations, rust_files, workspace};

/// Documents that `waxwing plugin new` writes: their links hold in the project that it makes.
const OF_PROJECTS: &str = "host/scaffold/languages/";
/// Folders whose modules documents name.
const HOMES: [&str; 4] = ["host/src", "host/crates", "plugins", "tests"];
/// First parts of what looks like a module and is the outcome of a build.
const NO_MODULES: [&str; 2] = ["build", "target"];
/// Where a path in backticks may begin, besides the document's own folder.
const ROOTS: [&str; 4] = ["", "host", "host/src", "tests"];

#[test]
fn every_link_of_every_document_leads_somewhere() {
    let documents = documents();
    assert!(documents.len() > 50, "the documents are found");
    let broken: Vec<String> = documents.iter().flat_map(broken_links).collect();
    assert_no_violations(&broken, "links that lead nowhere");
}

#[test]
fn every_decision_is_in_the_index_of_the_architecture() {
    let index = fs::read_to_string(workspace().join("host/ARCHITECTURE.md")).expect("a document");
    let files = fs::read_dir(workspace().join("host/decisions")).expect("a folder");
    let names: BTreeSet<String> = files
        .map(|file| file.expect("an entry").file_name().display().to_string())
        .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    assert!(names.len() > 50, "the decisions are found");
    let is_missing = |name: &&String| !index.contains(&format!("](decisions/{name})"));
    let missing: Vec<String> = names.iter().filter(is_missing).cloned().collect();
    assert_no_violations(&missing, "host/ARCHITECTURE.md does not list these decisions");
}

#[test]
fn a_link_that_leads_nowhere_is_noticed() {
    let text = "# One, *two* & `three_3`\n[a](#one-two--three_3) [b](README.md#start) ![c](nowhere.png)\n\
                [d](#four) [e](README.md#nowhere) [f](https://example.com/x)\n```\n[g](nowhere)\n```\n";
    let document = Document { path: "x.md".to_owned(), text: text.to_owned() };
    assert_eq!(
        broken_links(&document),
        ["x.md: nowhere.png", "x.md: #four", "x.md: README.md#nowhere"]
    );
}

#[test]
fn every_file_and_module_that_a_document_names_exists() {
    let modules = modules();
    let broken: Vec<String> =
        documents().iter().flat_map(|document| unknown_paths(document, &modules)).collect();
    assert_no_violations(&broken, "documents name files or modules that are not there");
}

#[test]
fn a_name_of_nothing_is_noticed() {
    let text = "`journey/commit/decide` `commit/decide` `api/body.rs` `THREATS.md` `1/2` `target/release`\n\n\
                `journey/nowhere` `decisions/9999-x.md`\n";
    let document = Document { path: "host/X.md".to_owned(), text: text.to_owned() };
    let expected = ["host/X.md: journey/nowhere", "host/X.md: decisions/9999-x.md"];
    assert_eq!(unknown_paths(&document, &modules()), expected);
}

fn broken_links(document: &Document) -> Vec<String> {
    let link = Regex::new(r"\]\(([^)\s]+)\)").expect("a pattern");
    let text = prose(&document.text);
    let targets = link.captures_iter(&text).map(|found| found[1].to_owned());
    let is_ours = |it: &String| !it.contains("://") && !it.starts_with("mailto:");
    targets
        .filter(is_ours)
        .filter(|target| !leads_somewhere(document, target))
        .map(|target| format!("{}: {target}", document.path))
        .collect()
}

fn leads_somewhere(document: &Document, target: &str) -> bool {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let text = if path.is_empty() {
        Some(document.text.clone())
    } else {
        let file = if document.path.starts_with(OF_PROJECTS) {
            workspace().join(path.trim_start_matches("vendor/"))
        } else {
            workspace().join(&document.path).with_file_name("").join(path)
        };
        if !file.exists() {
            return false;
        }
        fs::read_to_string(file).ok()
    };
    anchor.is_empty() || text.is_some_and(|it| anchors(&it).contains(anchor))
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, '-' | '_' | ' ');
    let anchor = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        title.chars().filter(is_kept).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// A document without its fenced blocks.
fn prose(text: &str) -> String {
    let mut is_block = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_block ^= is_fence;
        !is_block && !is_fence
    });
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// Names in backticks that look like a path of this repository and are none. Of a module the end of its path is
/// enough: `commit/decide` is `host/src/journey/commit/decide.rs`.
fn unknown_paths(document: &Document, modules: &BTreeSet<String>) -> Vec<String> {
    let markdown = Regex::new(r"^[\w./-]+\.md$").expect("a pattern");
    let module = Regex::new(r"^[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)+(\.rs)?$").expect("a pattern");
    let parts: BTreeSet<&str> = modules.iter().flat_map(|it| it.split('/')).collect();
    let is_module = |name: &str| {
        let end = format!("/{name}");
        modules.iter().any(|it| it == name || it.ends_with(&end))
    };
    let is_unknown = |name: &String| {
        let first = name.split('/').next().unwrap_or_default();
        let is_path =
            module.is_match(name) && parts.contains(first) && !NO_MODULES.contains(&first);
        let is_claim = is_path && !is_module(name.trim_end_matches(".rs"));
        (is_claim || markdown.is_match(name)) && !exists(&document.path, name)
    };
    let named = document.quotations().into_iter().filter(is_unknown);
    named.map(|name| format!("{}: {name}", document.path)).collect()
}

fn exists(document: &str, name: &str) -> bool {
    let own = Path::new(document).parent().unwrap_or(Path::new("")).join(name);
    let roots = ROOTS.iter().map(|root| workspace().join(root).join(name));
    roots.chain([workspace().join(own)]).any(|it| it.exists())
}

/// The modules and folders of [`HOMES`], as in `journey/commit/decide`.
fn modules() -> BTreeSet<String> {
    let mut modules = BTreeSet::new();
    for root in HOMES.map(|home| workspace().join(home)) {
        for file in rust_files(&root) {
            let module =
                file.strip_prefix(&root).expect("a file of this folder").with_extension("");
            let mut name = PathBuf::new();
            for part in module.components() {
                name.push(part);
                modules.insert(name.display().to_string());
            }
        }
    }
    modules
}
