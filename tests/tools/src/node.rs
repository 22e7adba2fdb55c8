//! Packages of npm that tests use.

use std::path::PathBuf;
use std::process::Command;

use crate::{Need, install_once, registry_failed, run, tools};

/// A folder in which the packages are installed that `lock` pins. None where they cannot be had here;
/// then `unproven` is noted as what was not tested.
///
/// # Panics
/// They cannot be had, and `CI` is set.
#[must_use]
pub fn node_packages(name: &str, package: &str, lock: &str, unproven: &str) -> Option<PathBuf> {
    if !Need::Node.is_met(unproven) {
        return None;
    }
    let folder = tools().join(name);
    let installed = install_once(&folder, lock, || {
        for (name, text) in [("package.json", package), ("package-lock.json", lock)] {
            std::fs::write(folder.join(name), text).expect("a file is written");
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
        run(npm.current_dir(&folder))
    });
    match installed {
        Ok(()) => Some(folder),
        Err(reason) => {
            registry_failed(unproven, &reason);
            None
        }
    }
}
