//! Templates that loop, grow or flood, in the built-in renderer; and files that are no plugins.

use std::time::Duration;

use super::fixture::candidate;
use super::{plugins, render, still_renders};
use crate::plugin::Plugins;
use crate::plugin::kinds::renderer::Body;
use crate::plugin::promotion::builtin;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::runtime::error::{CallFailure, ComponentError};
use crate::plugin::runtime::inspect::InspectError;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::slots::table::Unrendered;

fn failure(result: Result<Result<Vec<Body>, Unrendered>, CallFailure>) -> CallFailure {
    match result {
        Ok(Err(Unrendered::TooMuchWork(_, failure))) => failure,
        other => panic!("the plugin should have come to a limit: {other:?}"),
    }
}

/// CPU time of this thread, on which the guests of a test run.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).expect("it counts from the thread's begin")
}

#[tokio::test]
async fn an_endless_loop_is_stopped_and_names_its_setting() {
    let plugins = plugins(Limits::default()).await;
    let endless = "{% for a in (1..1000000) %}{% for b in (1..1000000) %}{% endfor %}{% endfor %}";
    // No guest has run for a while, and the ticker sleeps.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let before = thread_cpu();
    let failure = failure(render(&plugins, endless, r#"{"name":"Ada"}"#).await);
    let took = thread_cpu().saturating_sub(before);
    assert!(took < Duration::from_secs(1), "it was stopped by a tick of its own, after {took:?}");
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
    failure(looped);
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

async fn load(plugins: &Plugins, wasm: &[u8]) -> LoadError {
    let candidate = candidate("plan-policy", Some(wasm.to_vec()), "");
    plugins.try_out(&candidate).await.expect_err("refused")
}

fn assembled(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the test's component is valid")
}

#[tokio::test]
async fn a_component_that_wants_files_is_refused_by_name() {
    let plugins = plugins(Limits::default()).await;
    let wants = assembled(r#"(component (import "wasi:filesystem/preopens@0.2.6" (instance)))"#);
    let error = load(&plugins, &wants).await;
    assert!(
        matches!(
            error,
            LoadError::Component(ComponentError::Inspect(InspectError::ForbiddenImport { .. }))
        ),
        "{error}"
    );
    assert!(error.to_string().contains("wasi:filesystem/preopens@0.2.6"), "{error}");
}

#[tokio::test]
async fn a_component_of_another_kind_is_refused() {
    let plugins = plugins(Limits::default()).await;
    let error = load(&plugins, builtin::DOMAIN_POLICY).await;
    assert!(matches!(error, LoadError::WrongKind { found: Kind::Domain, .. }), "{error}");
}

#[tokio::test]
async fn what_is_no_plugin_is_refused() {
    let plugins = plugins(Limits::default()).await;
    let error = load(&plugins, &assembled("(component)")).await;
    assert!(
        matches!(error, LoadError::Component(ComponentError::Inspect(InspectError::NoKind { .. }))),
        "{error}"
    );
    assert!(matches!(
        load(&plugins, &assembled("(module)")).await,
        LoadError::Component(ComponentError::Inspect(InspectError::CoreModule))
    ));
    assert!(matches!(
        load(&plugins, b"\0asm").await,
        LoadError::Component(ComponentError::Inspect(InspectError::NotWasm { bytes: 4 }))
    ));
    assert!(matches!(
        load(&plugins, b"").await,
        LoadError::Component(ComponentError::Inspect(InspectError::NotWasm { bytes: 0 }))
    ));
    let text = load(&plugins, b"<html>404</html>").await.to_string();
    assert!(text.starts_with("the file is not WebAssembly: it has 16 bytes"), "{text}");
    still_renders(&plugins).await;
}

#[tokio::test]
async fn settings_that_a_plugin_does_not_know_are_refused_at_load() {
    let plugins = plugins(Limits::default()).await;
    let twice = "[settings]\nplans = [{ name = 'free' }, { name = 'free' }]";
    let error = plugins.try_out(&candidate("plan-policy", None, twice)).await.expect_err("twice");
    assert!(matches!(error, LoadError::Component(ComponentError::Settings { .. })), "{error}");
}
