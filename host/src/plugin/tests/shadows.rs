//! A new plugin in the shadow of the live one: its answers are compared and counted, and no caller
//! waits for it.

use std::sync::{Arc, Weak};

use super::fixture::{PLAN, PluginHost, RENDERER, TestDirs, candidate, marked};
use super::{ANYBODY, dear_ada, plugins};
use crate::plugin::promotion::shadow::Shadow;
use crate::plugin::records::{Call, Input, answer};
use crate::plugin::runtime::limits::Limits;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::status::SlotStatus;
use crate::plugin::slots::supervisor::Order;

fn shadow_of(view: &SlotStatus) -> Option<Arc<Shadow>> {
    view.candidate.as_ref()?.shadow.clone()
}

async fn in_the_shadow(host: &PluginHost, slot: &str) -> Arc<Shadow> {
    host.until(slot, "a candidate is in the shadow", shadow_of).await
}

#[tokio::test]
async fn a_candidate_becomes_live_after_its_calls_in_the_shadow() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let one = waxwing_guests::component("price-one");
    dirs.put("plan-policy.wasm", &one);
    let first = host.live(PLAN, "price-one").await;
    dirs.put("plan-policy.toml", "[activation]\nshadow_calls = 3\n");
    dirs.put("plan-policy.wasm", marked(&one, "another build"));
    let shadow = in_the_shadow(&host, PLAN).await;
    for _ in 0..3 {
        assert_eq!(host.reason().await, "price one", "the live plugin answers");
    }
    let is_other = |view: &SlotStatus| {
        let active = view.active.clone()?;
        (active.identity().digest != first.identity().digest).then_some(())
    };
    host.until(PLAN, "the other build is live", is_other).await;
    let report = shadow.report();
    assert_eq!((report.compared, report.different, report.failed, report.dropped), (3, 0, 0, 0));
}

#[tokio::test]
async fn a_candidate_that_answers_every_call_otherwise_waits_for_the_operator() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    dirs.put("plan-policy.toml", "[activation]\nshadow_calls = 3\n");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let shadow = in_the_shadow(&host, PLAN).await;
    for _ in 0..3 {
        assert_eq!(host.reason().await, "price one", "the live plugin answers");
    }
    let waits = |view: &SlotStatus| {
        let candidate = view.candidate.as_ref()?;
        (candidate.stage == Stage::Waiting).then(|| candidate.waits.clone()).flatten()
    };
    let why = host.until(PLAN, "it waits", waits).await;
    assert_eq!(why, "all 3 shadow calls were answered differently from now");
    let report = shadow.report();
    assert_eq!((report.compared, report.different, report.failed, report.dropped), (3, 3, 0, 0));
    assert_eq!(report.differences[0].lines[0], "decisions[0].allow.credits: 1 -> 2");
    assert_eq!((report.groups.len(), report.groups[0].calls), (1, 3));
    host.order(PLAN, Order::Activate).await.expect("the operator may");
    host.live(PLAN, "price-two").await;
    let kept = host.view(PLAN).active_report().expect("active").shadow.expect("it had a shadow");
    assert_eq!(kept.different, 3, "what was seen is kept: {kept:#?}");
}

#[tokio::test]
async fn the_operator_sees_the_differences_and_decides() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    dirs.put("plan-policy.toml", "[activation]\nimpact = 'ask'\n");
    dirs.put("plan-policy.wasm", waxwing_guests::component("panic-on-poison"));
    let stage =
        |stage| move |view: &SlotStatus| (view.candidate.as_ref()?.stage == stage).then_some(());
    host.until(PLAN, "it waits", stage(Stage::Waiting)).await;
    host.order(PLAN, Order::Shadow { calls: 2 }).await.expect("a candidate waits");
    host.until(PLAN, "it is in the shadow", stage(Stage::Shadow)).await;
    host.check(&ANYBODY, "welcome").await.result.expect("price-one answers");
    host.check(&ANYBODY, "poison").await.result.expect("price-one answers");
    let both = |view: &SlotStatus| {
        let report = shadow_of(view)?.report();
        (report.compared == 2).then_some(report)
    };
    let report = host.until(PLAN, "both were compared", both).await;
    assert_eq!((report.different, report.failed), (2, 1));
    host.until(PLAN, "it waits again", stage(Stage::Waiting)).await;
    let active = host.view(PLAN).active.expect("price-one");
    assert_eq!(active.identity().name, "price-one");
    assert_eq!(host.view(PLAN).quarantined, [], "a trap in the shadow rolls nothing back");
}

#[tokio::test]
async fn no_caller_waits_for_a_slow_candidate() {
    const CALLS: u32 = 12;
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("visible-a"));
    host.live(RENDERER, "visible-a").await;
    let turns = 10_000_000;
    let config = format!(
        "[activation]\nimpact = 100\nshadow_calls = {CALLS}\n[settings]\nturns = {turns}\n"
    );
    dirs.put("liquid-renderer.toml", config);
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("slow-render"));
    let shadow = in_the_shadow(&host, RENDERER).await;
    for _ in 0..CALLS {
        assert_eq!(dear_ada(&host.plugins).await, ["[A] Hi Ada", "[A] Dear Ada"]);
    }
    let compared = shadow.report().compared;
    assert!(compared < CALLS / 2, "all are answered, and the candidate has answered {compared}");
    host.live(RENDERER, "slow-render").await;
    assert_eq!(shadow.report().compared, CALLS);
}

#[tokio::test]
async fn calls_that_a_slow_candidate_does_not_see_are_counted() {
    let plugins = plugins(Limits::default()).await;
    let two = candidate(PLAN, Some(waxwing_guests::component("price-two")), "");
    let two = plugins.try_out(&two).await.expect("validated");
    let (shadow, mut calls) = Shadow::new(two, 1_000);
    let call = Call {
        context: plugins.context("call".to_owned()),
        settings: None,
        input: Input::Plan { who: super::fixture::account("acc_1", "free"), uses: Vec::new() },
    };
    let no_decisions = answer::decisions(&Ok(Vec::new()));
    for _ in 0..300 {
        shadow.offer(call.clone(), no_decisions.clone());
    }
    assert_eq!(shadow.report().dropped, 44, "256 wait");
    for _ in 0..256 {
        assert!(calls.next().await);
    }
    let report = shadow.report();
    assert_eq!((report.compared, report.different, report.dropped), (256, 0, 44));
    assert!(!shadow.is_done(), "those that were dropped do not count");
}

#[tokio::test]
async fn a_candidate_that_is_superseded_in_the_shadow_is_let_go() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    dirs.put("plan-policy.toml", "[activation]\nshadow_calls = 1000\n");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let shadow: Weak<Shadow> = Arc::downgrade(&in_the_shadow(&host, PLAN).await);
    dirs.remove("plan-policy.toml");
    host.live(PLAN, "price-two").await;
    let let_go = |_: &SlotStatus| (shadow.strong_count() == 0).then_some(());
    host.until(PLAN, "the shadow ends", let_go).await;
}
