//! The files of a project in memory, and those of the folders in this program.

use std::collections::BTreeMap;
use std::path::PathBuf;

use include_dir::{Dir, File};

/// The content of files by their paths below a project's folder.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// Calls `seen` with every file below `dir`, and its path from there.
pub fn each<'a>(dir: &'a Dir<'a>, seen: &mut impl FnMut(PathBuf, &'a File<'a>)) {
    fn walk<'a>(root: &'a Dir<'a>, dir: &'a Dir<'a>, seen: &mut impl FnMut(PathBuf, &'a File<'a>)) {
        for file in dir.files() {
            let path = file.path().strip_prefix(root.path()).unwrap_or(file.path());
            seen(path.to_path_buf(), file);
        }
        for below in dir.dirs() {
            walk(root, below, seen);
        }
    }
    walk(dir, dir, seen);
}
