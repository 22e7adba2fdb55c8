//! Rust: cargo for `wasm32-wasip2`, which makes components by itself.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::component_file::{finish, unfinished};
use super::error::BuildError;
use super::tool::Tool;
use crate::cli::plugin::scaffold::project::Project;

const TARGET: &str = "wasm32-wasip2";

const CARGO: Tool = Tool {
    name: "cargo",
    needed_for: "it compiles Rust projects",
    get: "Install Rust with rustup (https://rustup.rs), or with your system's packages.",
    advice: None,
};

const RUSTC: Tool = Tool { name: "rustc", ..CARGO };

const RUSTUP: Tool = Tool {
    name: "rustup",
    needed_for: "this toolchain has no standard library for wasm32-wasip2, and rustup adds it",
    get: "Install rustup (https://rustup.rs), or the target with the tool that installed Rust.",
    advice: Some("It needs the network once, to fetch the standard library for wasm32-wasip2."),
};

/// Builds the release profile and copies the component out of cargo's target directory.
pub fn build(project: &Project) -> Result<(), BuildError> {
    add_target_if_missing(&project.dir)?;
    let messages = CARGO.capture(
        &project.dir,
        &["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"],
    )?;
    let manifest = project.dir.join("Cargo.toml");
    let manifest = fs::canonicalize(&manifest).map_err(BuildError::file(&manifest))?;
    let Some(artifact) = messages.lines().find_map(|line| component(line, &manifest)) else {
        let wanted = "cargo named no `.wasm` file of this package; Cargo.toml needs `[lib]` with \
                      `crate-type = [\"cdylib\"]`";
        return Err(BuildError::NoComponent { wanted: wanted.to_owned() });
    };
    let unfinished = unfinished(project)?;
    fs::copy(&artifact, &unfinished).map_err(BuildError::file(&artifact))?;
    finish(project, &unfinished)
}

/// rustup does not fetch a missing target by itself where its automatic installation is off.
fn add_target_if_missing(dir: &Path) -> Result<(), BuildError> {
    let library = RUSTC.capture(dir, &["--print", "target-libdir", "--target", TARGET])?;
    if Path::new(library.trim()).is_dir() {
        return Ok(());
    }
    RUSTUP.run(dir, &["target", "add", TARGET])
}

/// The component that a line of cargo's messages names, if it is of the package with that manifest.
fn component(line: &str, manifest: &Path) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let own = message["manifest_path"].as_str().is_some_and(|it| Path::new(it) == manifest);
    if message["reason"] != "compiler-artifact" || !own {
        return None;
    }
    let files =
        message["filenames"].as_array()?.iter().filter_map(Value::as_str).map(PathBuf::from);
    files.into_iter().find(|it| it.extension().is_some_and(|it| it == "wasm"))
}
