//! The examples, built once for each test process.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const TARGET: &str = "wasm32-wasip2";

/// Every guest that is an example of this package.
pub const NAMES: &[&str] = &[
    "bad-schema",
    "chatty",
    "control-texts",
    "counts-calls",
    "counts-names",
    "deep-recursion",
    "endless-describe",
    "endless-loop",
    "exits",
    "fails-self-test",
    "giant-texts",
    "gives-up",
    "handle-bomb",
    "huge-answer",
    "huge-body",
    "leaks",
    "lenient-domain",
    "loses-parts",
    "memory-bomb",
    "newline-subject",
    "no-bodies",
    "panic-check",
    "panic-on-poison",
    "poison-compiler",
    "poison-renderer",
    "price-one",
    "price-overflow",
    "price-setting",
    "price-two",
    "reads-clock",
    "reads-file",
    "refuses-settings",
    "remembers-account",
    "rude-denial",
    "schema-not-json",
    "sleeps",
    "slow-render",
    "strict-domain",
    "table-bomb",
    "too-few",
    "too-many",
    "trap-compile",
    "trap-configure",
    "trap-describe",
    "trap-drop",
    "trap-self-test",
    "visible-a",
    "visible-b",
    "wrong-world",
];

/// Builds all guests, and says in which folder their components are.
///
/// A cargo of its own does it, in the target directory that the built-in plugins are built in: it
/// shares no lock with the cargo that runs the tests, and no flags that are meant for the host.
///
/// # Panics
/// They do not build.
pub fn build() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(run_cargo).clone()
}

/// The component of one guest, by the name of its example, e.g. `price-one`.
///
/// # Panics
/// There is no such guest, or it does not build.
#[must_use]
pub fn component(name: &str) -> Vec<u8> {
    assert!(NAMES.contains(&name), "there is no guest {name}");
    let file = build().join(format!("{}.wasm", name.replace('-', "_")));
    std::fs::read(&file).unwrap_or_else(|error| unreadable(&file, &error))
}

fn run_cargo() -> PathBuf {
    let target_dir = Path::new(env!("WAXWING_GUESTS_TARGET_DIR"));
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["build", "--locked", "--quiet", "--package", env!("CARGO_PKG_NAME"), "--examples"])
        .args(["--profile", "plugin", "--target", TARGET, "--target-dir"])
        .arg(target_dir);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let for_the_host = text.starts_with("CARGO_") && text != "CARGO_HOME"
            || text.starts_with("RUSTFLAGS")
            || text.starts_with("RUSTC_")
            || text == "RUSTDOCFLAGS";
        if for_the_host {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the guests do not build; the compiler's messages are above");
    target_dir.join(TARGET).join("plugin").join("examples")
}

#[expect(clippy::panic, reason = "a test without its guest has failed")]
fn unreadable(file: &Path, error: &std::io::Error) -> ! {
    panic!("{} was built and cannot be read: {error}", file.display())
}
