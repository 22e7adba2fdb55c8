//! The source files of the host and its crates, without comments and without tests.

use std::fs;
use std::path::{Path, PathBuf};

/// One source file.
pub struct Source {
    /// Relative to `host/src`, or `crates/…` for the crates; with forward slashes.
    pub path: String,
    /// Its lines of code, with their numbers from 1.
    pub lines: Vec<(usize, String)>,
    /// All of its lines, tests and comments included.
    pub length: usize,
}

/// The folder of the workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All source files of the host.
pub fn host() -> Vec<Source> {
    let sources = sources(&workspace().join("host/src"));
    assert!(sources.len() > 50, "the host has more files than {}", sources.len());
    sources
}

/// All source files of the host and of the crates that it is made of; the paths of the latter begin with `crates/`.
pub fn host_and_crates() -> Vec<Source> {
    let mut all = host();
    let crates = sources(&workspace().join("host/crates"));
    assert!(!crates.is_empty(), "host/crates has source files");
    all.extend(crates.into_iter().map(|it| Source { path: format!("crates/{}", it.path), ..it }));
    all
}

/// All source files below a folder.
pub fn sources(root: &Path) -> Vec<Source> {
    let mut files = rust_files(root);
    files.sort();
    files.iter().map(|file| read(root, file)).collect()
}

/// Panics with every violation of a rule.
pub fn assert_no_violations(broken: &[String], rule: &str) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
}

/// All Rust files below a folder.
pub fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    walk(folder, &mut files);
    files
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn read(root: &Path, file: &Path) -> Source {
    let text =
        fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let path = file.strip_prefix(root).unwrap_or(file).display().to_string();
    let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    // Only an inline test module ends the code: `#[cfg(test)] mod tests;` may stand among the imports.
    let begins_tests = |pair: &[&str]| matches!(pair, [first, next] if first.starts_with("#[cfg(test)]") && !next.ends_with(';'));
    let end = lines.windows(2).position(begins_tests).unwrap_or(lines.len());
    let code = lines
        .iter()
        .enumerate()
        .map(|(index, line)| (index + 1, *line))
        .take(if is_test { 0 } else { end })
        .filter(|(_, line)| !line.starts_with("//"))
        .map(|(number, line)| (number, line.to_owned()))
        .collect();
    Source { path, lines: code, length: lines.len() }
}
