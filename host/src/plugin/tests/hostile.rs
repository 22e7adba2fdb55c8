//! Templates that loop, grow or flood; components that ask for too much.

use super::*;
use crate::plugin::bindings::plan::PlanRestriction;
use crate::plugin::cache::CompiledCache;
use crate::plugin::engine::PluginEngine;
use crate::plugin::generation::{Generation, Loader};

fn failure(result: Result<Vec<Body>, RenderFailure>) -> CallFailure {
    match result {
        Err(RenderFailure::Plugin(failure)) => failure,
        other => panic!("the plugin should have failed, and: {other:?}"),
    }
}

#[tokio::test]
async fn an_endless_loop_is_stopped_and_names_its_setting() {
    let plugins = plugins(Limits::default()).await;
    let endless = "{% for a in (1..1000000) %}{% for b in (1..1000000) %}{% endfor %}{% endfor %}";
    let failure = failure(render(&plugins, endless, r#"{"name":"Ada"}"#).await);
    assert!(matches!(failure, CallFailure::Time { .. }), "{failure}");
    let text = failure.to_string();
    assert!(text.contains("plugins.limits.renderer.call_ms is 100 ms"), "{text}");
    still_renders(&plugins).await;
}

#[tokio::test]
async fn a_looping_template_does_not_hold_up_other_tasks() {
    let plugins = plugins(Limits::default()).await;
    let endless = "{% for a in (1..1000000) %}{% for b in (1..1000000) %}{% endfor %}{% endfor %}";
    let ended = std::cell::Cell::new(false);
    // One thread runs this test: the other future can only move on where the guest yields.
    let (looped, ended_first) = tokio::join!(
        async {
            let looped = render(&plugins, endless, r#"{"name":"Ada"}"#).await;
            ended.set(true);
            looped
        },
        async {
            for _ in 0..5 {
                tokio::task::yield_now().await;
            }
            ended.get()
        }
    );
    assert!(looped.is_err());
    assert!(!ended_first, "the other task came to its end while the template was looping");
}

#[tokio::test]
async fn a_memory_bomb_is_stopped_and_names_its_setting() {
    let mut limits = Limits::default();
    limits.renderer.memory_bytes = 8 << 20;
    limits.renderer.call_ms = 5_000;
    let plugins = plugins(limits).await;
    let bomb = "{% assign x = 'aaaaaaaaaaaaaaaa' %}{% for i in (1..40) %}\
                {% assign x = x | append: x %}{% endfor %}{{ x }}";
    let failure = failure(render(&plugins, bomb, r#"{"name":"Ada"}"#).await);
    assert!(matches!(failure, CallFailure::Memory { .. }), "{failure}");
    assert!(failure.to_string().contains("plugins.limits.renderer.memory_bytes is 8388608 bytes"));
    still_renders(&plugins).await;
}

#[tokio::test]
async fn a_flood_of_output_is_stopped_and_names_its_setting() {
    let mut limits = Limits::default();
    limits.renderer.output_bytes = 64 << 10;
    let plugins = plugins(limits).await;
    let flood = "{% for i in (1..10000) %}0123456789{% endfor %}";
    let failure = failure(render(&plugins, flood, r#"{"name":"Ada"}"#).await);
    assert!(matches!(failure, CallFailure::Output { .. }), "{failure}");
    assert!(failure.to_string().contains("plugins.limits.renderer.output_bytes is 65536 bytes"));
    still_renders(&plugins).await;
}

fn loader() -> Loader {
    let engine = PluginEngine::start().expect("the engine starts");
    let cache = CompiledCache::open(&cache(), b"tests");
    Loader::new(engine, cache, Clock::manual(NOW)).expect("the host links")
}

async fn load(wasm: &'static [u8]) -> Result<Generation<PlanRestriction>, LoadError> {
    loader().load(wasm, Limits::default().plan, "{}").await
}

fn assembled(text: &str) -> &'static [u8] {
    wat::parse_str(text).expect("the test's component is valid").leak()
}

#[tokio::test]
async fn a_component_that_wants_files_is_refused_by_name() {
    let wants = assembled(r#"(component (import "wasi:filesystem/preopens@0.2.6" (instance)))"#);
    let error = load(wants).await.expect_err("refused");
    assert!(matches!(error, LoadError::ForbiddenImport { .. }), "{error}");
    assert!(error.to_string().contains("wasi:filesystem/preopens@0.2.6"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_kind_is_refused() {
    let error = load(builtin::DOMAIN_POLICY).await.expect_err("refused");
    assert!(matches!(error, LoadError::WrongKind { found: Kind::Domain, .. }), "{error}");
}

#[tokio::test]
async fn what_is_no_plugin_is_refused() {
    let error = load(assembled("(component)")).await.expect_err("refused");
    assert!(matches!(error, LoadError::NoKind { .. }), "{error}");
    let module = assembled("(module)");
    assert!(matches!(load(module).await, Err(LoadError::Compile(_))));
    assert!(matches!(load(b"\0asm").await, Err(LoadError::Compile(_))));
}

#[tokio::test]
async fn settings_that_a_plugin_does_not_know_are_refused_at_load() {
    let settings = r#"{"plans":[{"name":"free"},{"name":"free"}]}"#;
    let loaded: Result<Generation<PlanRestriction>, LoadError> =
        loader().load(builtin::PLAN_POLICY, Limits::default().plan, settings).await;
    let error = loaded.expect_err("a plan stands twice");
    assert!(matches!(error, LoadError::Settings { .. }), "{error}");
}

#[tokio::test]
async fn compiled_code_that_was_tampered_with_is_compiled_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let engine = PluginEngine::start().expect("the engine starts");
    let compile = |secret: &[u8]| {
        let cache = CompiledCache::open(directory.path(), secret);
        cache.component(engine.wasmtime(), builtin::PLAN_POLICY, "sha256:test").is_ok()
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
