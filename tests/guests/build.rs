//! Says where the guests are built: in the target directory of the build that this is part of.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let directory = target_dir(&out).join("plugins");
    println!("cargo::rustc-env=WAXWING_GUESTS_TARGET_DIR={}", directory.display());
}

/// `OUT_DIR` is `<target>/<profile>/build/<crate>-<hash>/out`, with a target triple before the
/// profile where one was asked for.
fn target_dir(out: &Path) -> PathBuf {
    let directory = out.ancestors().nth(4).unwrap_or(out);
    let triple = env::var_os("TARGET");
    let is_triple = directory.file_name() == triple.as_deref();
    if is_triple { directory.join("..") } else { directory.to_owned() }
}
