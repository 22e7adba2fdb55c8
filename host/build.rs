//! Builds the built-in plugins for `wasm32-wasip2` and tells the host where they are.
//!
//! The guests are built by a cargo of their own in a target directory of their own: the two builds
//! share no lock, and flags that are meant for the host do not reach the guests.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

const TARGET: &str = "wasm32-wasip2";
const PLUGINS: [&str; 4] = ["liquid-renderer", "domain-policy", "plan-policy", "mjml-compiler"];

fn main() {
    let workspace = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("..");
    for watched in
        ["plugins", "plugin-sdk", "wit", "Cargo.lock", "templates", "migrations", "host/scaffold"]
    {
        println!("cargo::rerun-if-changed={}", workspace.join(watched).display());
    }
    add_target_if_missing(&workspace);
    let built = build(&workspace);
    for plugin in PLUGINS {
        let crate_name = format!("waxwing_{}", plugin.replace('-', "_"));
        let file = built.join(format!("{crate_name}.wasm"));
        println!("cargo::rustc-env={}={}", crate_name.to_uppercase(), file.display());
    }
}

/// rustup does not fetch a missing target by itself where its automatic installation is off.
fn add_target_if_missing(workspace: &Path) {
    let installed = Command::new(variable("RUSTC"))
        .args(["--print", "target-libdir", "--target", TARGET])
        .output()
        .ok()
        .filter(|output| output.status.success())
        .is_some_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir());
    if installed {
        return;
    }
    let added = Command::new("rustup")
        .args(["target", "add", TARGET])
        .current_dir(workspace)
        .status()
        .is_ok_and(|status| status.success());
    if !added {
        fail(&format!(
            "the plugins are built for {TARGET}, and this toolchain has no standard library for \
             it. `rustup target add {TARGET}` did not work; run it where the network is, or \
             install the target with the toolchain, and build again."
        ));
    }
}

fn build(workspace: &Path) -> PathBuf {
    let target_dir = target_dir().join("plugins");
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(workspace).args(["build", "--locked", "--profile", "plugin"]);
    cargo.args(["--target", TARGET, "--target-dir"]).arg(&target_dir);
    for plugin in PLUGINS {
        cargo.args(["--package", &format!("waxwing-{plugin}")]);
    }
    for (name, _) in env::vars() {
        let for_the_host = name.starts_with("CARGO_") && name != "CARGO_HOME"
            || name.starts_with("RUSTFLAGS")
            || name.starts_with("RUSTC_")
            || name == "RUSTDOCFLAGS";
        if for_the_host {
            cargo.env_remove(name);
        }
    }
    match cargo.status() {
        Ok(status) if status.success() => target_dir.join(TARGET).join("plugin"),
        Ok(_) => fail("the built-in plugins do not build; the compiler's messages are above"),
        Err(error) => fail(&format!("cargo could not be started for the plugins: {error}")),
    }
}

/// `OUT_DIR` is `<target>/<profile>/build/<crate>-<hash>/out`, with a target triple before the
/// profile where one was asked for.
fn target_dir() -> PathBuf {
    let out = PathBuf::from(variable("OUT_DIR"));
    let mut ancestors = out.ancestors().skip(4);
    let directory = ancestors.next().map_or_else(|| out.clone(), Path::to_path_buf);
    let is_triple = directory.file_name().is_some_and(|name| name == variable("TARGET").as_str());
    if is_triple { directory.join("..") } else { directory }
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| fail(&format!("cargo did not set {name}")))
}

fn fail(message: &str) -> ! {
    println!("cargo::error={message}");
    exit(1)
}
