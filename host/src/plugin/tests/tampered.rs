//! Files that only the server writes, changed by somebody else.

use std::path::PathBuf;

use wasmtime::component::Component;

use super::fixture::{PLAN, PluginHost, TestDirs};
use crate::plugin::promotion::builtin;
use crate::plugin::runtime::cache::CompiledCache;
use crate::plugin::runtime::engine::PluginEngine;

/// The kept code, or code that is made now and kept.
fn compiled(
    cache: &CompiledCache,
    engine: &PluginEngine,
    wasm: &[u8],
    digest: &str,
) -> wasmtime::Result<Component> {
    match cache.load(engine, digest) {
        Some(kept) => Ok(kept),
        None => cache.keep(engine, digest, &engine.compile(wasm)?),
    }
}

#[tokio::test]
async fn compiled_code_that_was_tampered_with_is_compiled_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = PluginEngine::start().expect("the engine starts");
    let compile = |secret: &[u8]| {
        let cache = CompiledCache::open(directory.path(), secret);
        compiled(&cache, &engine, builtin::PLAN_POLICY, "sha256:test").is_ok()
    };
    assert!(compile(b"one"));
    let files = || std::fs::read_dir(directory.path()).expect("readable");
    let file = files().next().expect("one file").expect("readable").path();
    let mut bytes = std::fs::read(&file).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, &bytes).expect("writable");
    assert!(compile(b"one"));
    let mended = std::fs::read(&file).expect("readable");
    assert_ne!(mended, bytes, "the damaged file was written anew");
    assert!(compile(b"two"), "code of another server is not run");
    assert_ne!(std::fs::read(&file).expect("readable"), mended);
}

#[tokio::test]
async fn compiled_code_does_not_run_under_another_components_name() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = PluginEngine::start().expect("the engine starts");
    let cache = CompiledCache::open(directory.path(), b"one");
    let compile = |wasm: &[u8], digest: &str| compiled(&cache, &engine, wasm, digest).is_ok();
    let file = |name: &str| {
        let files = std::fs::read_dir(directory.path()).expect("readable");
        let mut paths = files.map(|file| file.expect("readable").path());
        let named = |path: &PathBuf| path.to_string_lossy().contains(name);
        paths.find(named).expect("a file of that name")
    };
    assert!(compile(builtin::PLAN_POLICY, "sha256:cheap"));
    assert!(compile(builtin::DOMAIN_POLICY, "sha256:strict"));
    let foreign = std::fs::read(file("cheap")).expect("readable");
    std::fs::write(file("strict"), &foreign).expect("writable");
    assert!(compile(builtin::DOMAIN_POLICY, "sha256:strict"));
    assert_ne!(std::fs::read(file("strict")).expect("readable"), foreign, "it was compiled anew");
}

/// Whoever can write among the plugins' files may not choose what the next start runs.
#[tokio::test]
async fn a_kept_component_that_was_exchanged_is_not_run() {
    let dirs = TestDirs::new();
    let (good, other) =
        (waxwing_guests::component("price-one"), waxwing_guests::component("price-two"));
    dirs.put("plan-policy.wasm", &good);
    let host = PluginHost::start(&dirs).await;
    host.live(PLAN, "price-one").await;
    host.stop().await;
    std::fs::write(dirs.stored_component(&good), &other).expect("exchanged");
    dirs.put("plan-policy.wasm", waxwing_guests::truncated(&good, 1_000));
    let host = PluginHost::start(&dirs).await;
    host.refused(PLAN, "damaged").await;
    assert!(host.view(PLAN).is_builtin, "neither the exchanged nor the damaged component runs");
    dirs.put("plan-policy.wasm", &good);
    host.live(PLAN, "price-one").await;
    let mended = std::fs::read(dirs.stored_component(&good)).expect("kept");
    assert_eq!(mended, good, "the exchanged bytes are replaced");
}

#[cfg(unix)]
#[tokio::test]
async fn what_the_server_keeps_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    for directory in [dirs.state(), dirs.state().join("components")] {
        let mode = std::fs::metadata(&directory).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{}", directory.display());
    }
    host.stop().await;
}
