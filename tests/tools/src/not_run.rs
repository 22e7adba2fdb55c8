//! What was not tested in a run, and what it lacked.
//!
//! A run is all that one cargo starts: notes lie in a folder named after the parent process, one file a
//! note, because test programs may run at the same time.

use std::fs;
use std::path::PathBuf;

use crate::{say, tools};

/// Something that was not tested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unmet {
    /// What would have been proven.
    pub unproven: String,
    /// Why that was not possible.
    pub reason: String,
    /// The Debian packages that are missing.
    pub packages: Vec<String>,
}

/// Notes and says that something was not tested.
///
/// # Panics
/// `CI` is set: there everything is tested.
pub fn note(unmet: &Unmet) {
    let Unmet { unproven, reason, packages } = unmet;
    assert!(
        std::env::var_os("CI").is_none(),
        "{reason}, and CI has to test {unproven} (Debian packages: {})",
        packages.join(" ")
    );
    say(&format!("\n*** NOT RUN: {unproven}, because {reason}\n\n"));
    let folder = of_this_run();
    fs::create_dir_all(&folder).expect("a folder below the target directory");
    let name: String =
        unproven.chars().map(|it| if it.is_alphanumeric() { it } else { '-' }).collect();
    let text = format!("{unproven}\n{}\n{}", reason.replace('\n', " "), packages.join(" "));
    fs::write(folder.join(name), text).expect("a note is written");
}

/// What was noted in this run, once each; the notes are gone afterwards.
///
/// # Panics
/// The notes cannot be removed.
#[must_use]
pub fn noted() -> Vec<Unmet> {
    let folder = of_this_run();
    let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
    let mut all: Vec<Unmet> = entries
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path()).ok())
        .filter_map(|text| read(&text))
        .collect();
    all.sort();
    fs::remove_dir_all(&folder).expect("the notes are ours");
    all
}

fn read(text: &str) -> Option<Unmet> {
    let mut lines = text.lines();
    let (unproven, reason) = (lines.next()?.to_owned(), lines.next()?.to_owned());
    let packages = lines.next().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    Some(Unmet { unproven, reason, packages })
}

fn of_this_run() -> PathBuf {
    tools().join("not-run").join(std::os::unix::process::parent_id().to_string())
}
