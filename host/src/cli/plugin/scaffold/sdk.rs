//! The Rust SDK as a copy in `vendor/`, because it is in no registry: its manifests stand alone, with
//! the values that they take from this workspace.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use toml::{Table, Value};

use super::files::{Files, each};
use super::lock;

static SDK: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../plugin-sdk");
static WORKSPACE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"));
static TOOLCHAIN: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../rust-toolchain.toml"));

const VENDORED: &str = "vendor/waxwing-plugin";
/// The SDK's folder in this workspace.
const HOME: &str = "plugin-sdk/";
const DEPENDENCIES: [&str; 2] = ["dependencies", "build-dependencies"];
/// Folders that a user of the SDK does not need.
const LEFT_OUT_FOLDERS: [&str; 3] = ["tests", "examples", "benches"];
/// What manifests say of them, and what only holds in this workspace.
const LEFT_OUT_SECTIONS: [&str; 5] = ["lints", "dev-dependencies", "test", "example", "bench"];

/// Why the SDK cannot be written out.
#[derive(Debug, thiserror::Error)]
pub enum SdkError {
    /// A manifest or the lock file is not TOML.
    #[error(
        "{file} of the SDK in this program is not valid, which is a defect of its build: {source}"
    )]
    Malformed {
        file: String,
        /// Where and why.
        source: toml::de::Error,
    },
    /// A manifest takes a value that the workspace does not have.
    #[error(
        "the SDK in this program wants `{key}` of a workspace that does not have it, which is a \
         defect of its build"
    )]
    NotInWorkspace { key: String },
}

/// The version of Rust that the SDK was built with.
pub fn toolchain() -> &'static str {
    TOOLCHAIN
        .lines()
        .find_map(|line| line.strip_prefix("channel = "))
        .map_or("stable", |it| it.trim().trim_matches('"'))
}

/// The SDK's files below a project, and a lock file with the versions that it was tested with.
///
/// # Errors
/// What is embedded does not hold together.
pub fn files() -> Result<Files, SdkError> {
    let workspace = parse(WORKSPACE, "the workspace's Cargo.toml")?;
    let mut files = Files::new();
    let mut crates = Vec::new();
    let mut embedded = Vec::new();
    each(&SDK, &mut |path, file| embedded.push((path, file)));
    for (path, file) in embedded {
        if LEFT_OUT_FOLDERS.iter().any(|it| path.starts_with(it)) {
            continue;
        }
        let content = if path.ends_with("Cargo.toml") {
            let text = String::from_utf8_lossy(file.contents());
            let manifest = standalone(&text, &path, &workspace)?;
            crates.extend(name(&manifest));
            manifest.to_string().into_bytes()
        } else {
            file.contents().to_vec()
        };
        files.insert(Path::new(VENDORED).join(path), content);
    }
    let lock = lock::reachable(&crates).map_err(malformed("Cargo.lock"))?;
    files.insert("Cargo.lock".into(), lock.into_bytes());
    Ok(files)
}

/// A manifest whose `workspace = true` are replaced by what the workspace says.
fn standalone(text: &str, path: &Path, workspace: &Table) -> Result<Table, SdkError> {
    let mut manifest = parse(text, &path.display().to_string())?;
    let shared = |section: &str| workspace.get("workspace").and_then(|it| it.get(section)).cloned();
    manifest.retain(|key, _| !LEFT_OUT_SECTIONS.contains(&key));
    let package = shared("package").unwrap_or(Value::Boolean(false));
    if let Some(Value::Table(own)) = manifest.get_mut("package") {
        for (key, value) in own {
            if inherits(value) {
                *value = package.get(key).cloned().ok_or_else(|| missing("package", key))?;
            }
        }
    }
    let dependencies = shared("dependencies").unwrap_or(Value::Boolean(false));
    inherit(&mut manifest, &dependencies, path)?;
    if let Some(Value::Table(targets)) = manifest.get_mut("target") {
        for target in targets.iter_mut().filter_map(|(_, it)| it.as_table_mut()) {
            inherit(target, &dependencies, path)?;
        }
    }
    Ok(manifest)
}

/// Replaces the workspace's dependencies in the sections of a manifest, or of one target in it.
fn inherit(manifest: &mut Table, shared: &Value, path: &Path) -> Result<(), SdkError> {
    for section in DEPENDENCIES {
        let Some(Value::Table(section)) = manifest.get_mut(section) else { continue };
        for (name, own) in section.iter_mut().filter(|(_, own)| inherits(own)) {
            let base = shared.get(name).ok_or_else(|| missing("dependencies", name))?;
            *own = merged(base, own, path);
        }
    }
    Ok(())
}

/// The workspace's dependency with what a crate adds to it.
fn merged(base: &Value, own: &Value, manifest: &Path) -> Value {
    let version = || Table::from_iter([("version".to_owned(), base.clone())]);
    let mut merged = base.as_table().cloned().unwrap_or_else(version);
    if let Some(Value::String(path)) = merged.get_mut("path")
        && let Some(below) = path.strip_prefix(HOME)
    {
        let up = manifest.components().count().saturating_sub(1);
        *path = PathBuf::from("../".repeat(up)).join(below).display().to_string();
    }
    for (key, value) in own.as_table().into_iter().flatten() {
        match (key.as_str(), merged.get_mut(key), value) {
            ("workspace", ..) => {}
            ("features", Some(Value::Array(have)), Value::Array(more)) => have.extend(more.clone()),
            _ => {
                merged.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Table(merged)
}

fn inherits(value: &Value) -> bool {
    value.get("workspace").and_then(Value::as_bool) == Some(true)
}

fn name(manifest: &Table) -> Option<String> {
    Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
}

fn missing(section: &str, key: &str) -> SdkError {
    SdkError::NotInWorkspace { key: format!("{section}.{key}") }
}

pub(super) fn parse(text: &str, file: &str) -> Result<Table, SdkError> {
    text.parse().map_err(malformed(file))
}

fn malformed(file: &str) -> impl Fn(toml::de::Error) -> SdkError + use<'_> {
    move |source| SdkError::Malformed { file: file.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_manifest_takes_anything_from_a_workspace() {
        let files = files().unwrap();
        for (path, content) in files.into_iter().filter(|(it, _)| it.ends_with("Cargo.toml")) {
            let text = String::from_utf8(content).unwrap();
            assert!(!text.contains("workspace"), "{}:\n{text}", path.display());
            assert!(text.contains("edition = \"2024\""), "{}:\n{text}", path.display());
        }
    }

    #[test]
    fn a_crate_adds_features_to_the_workspaces_dependency() {
        let workspace: Table = "[workspace.package]\nversion = \"1.2.3\"\n\
             [workspace.dependencies]\nserde = { version = \"1\", features = [\"derive\"] }\n\
             toml = \"1.2\"\nown = { path = \"plugin-sdk/worlds/own\" }\n"
            .parse()
            .unwrap();
        let manifest = "[package]\nname = \"x\"\nversion.workspace = true\n\
             [target.wasm32-wasip2.dependencies]\ntoml.workspace = true\n\
             [dependencies]\nserde = { workspace = true, features = [\"rc\"], optional = true }\n\
             own.workspace = true\n";
        let made = standalone(manifest, Path::new("worlds/x/Cargo.toml"), &workspace).unwrap();
        let expected: Table = "[package]\nname = \"x\"\nversion = \"1.2.3\"\n\
             [target.wasm32-wasip2.dependencies]\ntoml = { version = \"1.2\" }\n\
             [dependencies]\nown = { path = \"../../worlds/own\" }\n\
             serde = { version = \"1\", features = [\"derive\", \"rc\"], optional = true }\n"
            .parse()
            .unwrap();
        assert_eq!(made, expected);
    }

    #[test]
    fn what_the_workspace_does_not_have_is_named() {
        let workspace = Table::new();
        let manifest = "[dependencies]\nserde.workspace = true\n";
        let error = standalone(manifest, Path::new("Cargo.toml"), &workspace).unwrap_err();
        assert!(error.to_string().contains("`dependencies.serde`"), "{error}");
    }
}
