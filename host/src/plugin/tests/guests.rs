//! Guests that are live, and then break in a call, flood or are rude: the call fails with its
//! cause, and the next good one is right.

use std::sync::Arc;

use super::fixture::{BUILT_IN, PLAN, RENDERER, account, candidate, reason, use_of};
use super::{ANYBODY, dear_ada, plugins, render};
use crate::plugin::Plugins;
use crate::plugin::kinds::plan::{UseRequest, Verdict};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::slots::table::Called;

/// A plugin host where a guest answers the calls of its kind.
pub async fn live(guest: &str, slot: &str, config: &str) -> Arc<Plugins> {
    let plugins = plugins(Limits::default()).await;
    put_live(&plugins, waxwing_guests::component(guest), slot, config).await;
    plugins
}

pub async fn put_live(plugins: &Plugins, component: Vec<u8>, slot: &str, config: &str) {
    let validated = plugins.try_out(&candidate(slot, Some(component), config)).await;
    plugins.set_table(vec![validated.expect("it does harm only later")], Vec::new());
}

pub async fn check(plugins: &Plugins, uses: &[UseRequest]) -> Called<Vec<Verdict>> {
    let (context, who) = (plugins.context("call-1".to_owned()), account("acc_1", "free"));
    plugins.table().check(&ANYBODY, &context, &who, uses).await
}

#[tokio::test]
async fn a_trap_fails_the_call_and_shows_the_plugins_output() {
    let plugins = live("panic-on-poison", PLAN, "").await;
    let failure = check(&plugins, &[use_of("poison")]).await;
    let text = failure.result.expect_err("a panic").to_string();
    assert!(text.starts_with("the plugin panic-on-poison trapped in check: wasm trap"), "{text}");
    assert!(text.contains("panic-on-poison.rs:25:13: poisoned by the template"), "{text}");
    assert_eq!(failure.decision.verdict, "failed");
    assert_eq!(failure.decision.reason, Some(text));
    assert_eq!(reason(&check(&plugins, &[use_of("welcome")]).await), "panic-on-poison");
}

#[tokio::test]
async fn a_failure_goes_to_the_built_in_policy_where_the_operator_says_so() {
    let plugins = live("panic-on-poison", PLAN, "on_failure = 'builtin'").await;
    let called = check(&plugins, &[use_of("poison")]).await;
    assert!(matches!(called.result.as_deref(), Ok([Verdict::Allow(it)]) if it.credits == 1));
    assert_eq!(called.decision.identity.name, BUILT_IN);
    let called = check(&plugins, &[use_of("welcome")]).await;
    assert_eq!(called.decision.identity.name, "panic-on-poison");
}

#[tokio::test]
async fn a_renderer_that_traps_on_one_template_renders_all_others() {
    let plugins = live("poison-renderer", RENDERER, "").await;
    let failure = render(&plugins, "POISON", "{}").await.expect_err("a panic");
    assert!(matches!(failure, CallFailure::Trapped { call: "render", .. }), "{failure}");
    assert!(failure.to_string().contains("poisoned by the template"), "{failure}");
    let expected = ["[poison-renderer] Hi Ada", "[poison-renderer] Dear Ada"];
    assert_eq!(dear_ada(&plugins).await, expected);
}

#[tokio::test]
async fn a_slow_renderer_is_stopped_at_the_limit_of_its_slot() {
    let slow = "[limits]\ncall_ms = 20\n[settings]\nturns = 1000";
    let plugins = live("slow-render", RENDERER, slow).await;
    assert_eq!(dear_ada(&plugins).await, ["[slow] Hi Ada", "[slow] Dear Ada"]);
    let endless = "[limits]\ncall_ms = 20\n[settings]\nturns = 4000000000";
    let endless = candidate(RENDERER, Some(waxwing_guests::component("slow-render")), endless);
    let text = plugins.try_out(&endless).await.expect_err("too slow").to_string();
    assert!(
        text.ends_with("used up its time in render: plugins.limits.renderer.call_ms is 20 ms"),
        "{text}"
    );
    assert_eq!(dear_ada(&plugins).await, ["[slow] Hi Ada", "[slow] Dear Ada"]);
}

/// 256 KiB are lost with each template: its instance goes when its memory is full, not the server.
#[tokio::test]
async fn a_renderer_that_leaks_gets_a_fresh_instance_when_its_memory_is_full() {
    let plugins = live("leaks", RENDERER, "").await;
    // 64 MiB hold some 250 templates. What they left there is not the fault of the next one.
    for _ in 0..600 {
        assert_eq!(dear_ada(&plugins).await, ["[leaks] Hi Ada", "[leaks] Dear Ada"]);
    }
}

#[tokio::test]
async fn a_table_of_functions_is_bounded_in_a_live_plugin_too() {
    let plugins = plugins(Limits::default()).await;
    put_live(&plugins, waxwing_guests::table_bomb(), PLAN, "[limits]\ncall_ms = 2000\n").await;
    let grown = reason(&check(&plugins, &[use_of("welcome")]).await);
    let times = grown.strip_prefix("the table grew ").and_then(|it| it.split(' ').next());
    let times: u32 = times.and_then(|it| it.parse().ok()).expect(&grown);
    assert!((1..=100).contains(&times), "100,000 elements at most: {grown}");
}

#[tokio::test]
async fn a_rude_denial_comes_out_on_one_line_and_short() {
    let plugins = live("rude-denial", PLAN, "").await;
    let called = check(&plugins, &[use_of("welcome")]).await;
    let verdicts = called.result.expect("decided");
    let [Verdict::Deny(denial)] = verdicts.as_slice() else { panic!("denied: {verdicts:?}") };
    let texts = [&denial.code, &denial.message, denial.required_plan.as_ref().expect("a plan")];
    for text in texts {
        assert!(!text.chars().any(char::is_control), "{text:?}");
        assert!(text.chars().count() <= 1_024, "{} characters", text.chars().count());
    }
    let recorded = called.decision.reason.expect("a reason");
    assert!(!recorded.chars().any(char::is_control) && recorded.len() < 5_000, "{recorded:?}");
}
