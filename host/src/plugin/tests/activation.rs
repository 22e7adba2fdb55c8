//! What must be seen before a new plugin is live: the impact on recorded calls.

use serde_json::json;

use super::dear_ada;
use super::fixture::{PLAN, PluginHost, RENDERER, TestDirs, TestEvidence};
use crate::plugin::config::slot::{Activation, ImpactRule};
use crate::plugin::kinds::renderer::Template;
use crate::plugin::promotion::evidence::Published;
use crate::plugin::records::{Call, Input};
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::status::{CandidateStatus, SlotStatus};
use crate::plugin::slots::supervisor::{Order, OrderError};

/// Two recorded calls: a good send, and one with the template `poison`.
fn recorded() -> Vec<Call> {
    ["welcome", "poison"].map(recorded_call).to_vec()
}

fn recorded_call(template: &str) -> Call {
    let input = json!({
        "callId": format!("call-{template}"),
        "account": {"id": "acc_1", "plan": "free"},
        "uses": [{"templateSlug": template, "recipients": 1}],
    });
    Call::from_json(Kind::Plan, &input).expect("a call")
}

/// A plugin host where `price-one` is live under that rule of activation.
async fn price_one(dirs: &TestDirs, config: &str) -> PluginHost {
    let host = PluginHost::start_with_calls(dirs.options(), recorded()).await;
    dirs.put("plan-policy.toml", config);
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    let waits = |view: &SlotStatus| {
        let stage = view.candidate.as_ref().map(|it| it.stage);
        (stage == Some(Stage::Waiting) || !view.is_builtin).then_some(())
    };
    host.until(PLAN, "price-one is live or waits", waits).await;
    if host.view(PLAN).is_builtin {
        host.order(PLAN, Order::Activate).await.expect("it waits");
    }
    host.live(PLAN, "price-one").await;
    host
}

async fn waiting(host: &PluginHost, plugin: &str) -> CandidateStatus {
    let waits = |view: &SlotStatus| {
        let candidate = view.candidate.clone()?;
        let is_it = candidate.name.as_deref().is_some_and(|it| it.starts_with(plugin));
        (is_it && candidate.stage == Stage::Waiting).then_some(candidate)
    };
    host.until(PLAN, &format!("{plugin} waits"), waits).await
}

const ASK: &str = "[activation]\nimpact = 'ask'\n";

#[tokio::test]
async fn a_plugin_waits_for_the_operator_who_sees_what_would_change() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, ASK).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let impact = waiting(&host, "price-two").await.impact.expect("it was measured");
    assert_eq!((impact.compared, impact.would_change, impact.would_fail), (2, 2, 0));
    let first = &impact.differences[0];
    assert_eq!(first.call_id, "call-welcome");
    assert_eq!(first.lines[0], "decisions[0].allow.credits: 1 -> 2");
    assert_eq!(host.reason().await, "price one");
    host.order(PLAN, Order::Activate).await.expect("it waits");
    host.live(PLAN, "price-two").await;
    assert_eq!(host.reason().await, "price two");
}

#[tokio::test]
async fn a_call_that_the_new_plugin_would_not_answer_is_counted() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, ASK).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("panic-on-poison"));
    let impact = waiting(&host, "panic-on-poison").await.impact.expect("it was measured");
    assert_eq!((impact.compared, impact.would_change, impact.would_fail), (2, 2, 1));
}

/// Other answers may be what it is for; no answer is not.
#[tokio::test]
async fn a_plugin_that_does_not_answer_a_recorded_call_waits_whatever_the_rule() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, "").await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("panic-on-poison"));
    let impact = waiting(&host, "panic-on-poison").await.impact.expect("it was measured");
    assert_eq!(impact.would_fail, 1);
    assert_eq!(host.reason().await, "price one");
    host.order(PLAN, Order::Activate).await.expect("the operator may");
    host.live(PLAN, "panic-on-poison").await;
}

/// A policy may refuse more than the one before it; one that refuses everything is a mistake, most often.
#[tokio::test]
async fn a_policy_that_refuses_every_recorded_call_waits_for_the_operator() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, "").await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("rude-denial"));
    let candidate = waiting(&host, "rude-denial").await;
    let why = "all 2 recorded calls that pass now would be refused";
    assert_eq!(candidate.waits.as_deref(), Some(why));
    assert_eq!(host.reason().await, "price one");
    host.order(PLAN, Order::Activate).await.expect("the operator may");
    host.live(PLAN, "rude-denial").await;
}

/// Whoever switches a slot on again means what ran in it.
#[tokio::test]
async fn a_plugin_that_waited_still_waits_after_its_slot_was_off_and_on() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, ASK).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&host, "price-two").await;
    host.order(PLAN, Order::Disable).await.expect("switched off");
    host.order(PLAN, Order::Activate).await.expect("switched on");
    assert_eq!(host.reason().await, "price one");
    waiting(&host, "price-two").await;
    assert_eq!(host.reason().await, "price one");
}

#[tokio::test]
async fn up_to_a_number_of_changes_a_plugin_becomes_live_by_itself() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, "[activation]\nimpact = 1\n").await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&host, "price-two").await;
    assert_eq!(host.reason().await, "price one");
    dirs.put("plan-policy.toml", "[activation]\nimpact = 2\n");
    host.live(PLAN, "price-two").await;
}

/// What waits is what is among the files: once it is gone from there, nobody can activate it.
#[tokio::test]
async fn a_plugin_that_waits_is_forgotten_when_the_old_file_comes_back() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, ASK).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&host, "price-two").await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    let nothing = host.order(PLAN, Order::Activate).await.expect_err("nothing waits");
    assert!(matches!(nothing, OrderError::NothingToActivate(_)), "{nothing}");
    assert_eq!(host.reason().await, "price one");
}

/// The operator's word is for the component that they saw.
#[tokio::test]
async fn an_activation_that_came_to_nothing_is_not_kept_for_the_next_file() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, ASK).await;
    dirs.put("plan-policy.wasm", "broken");
    host.refused(PLAN, "not WebAssembly").await;
    host.order(PLAN, Order::Activate).await.expect("it is tried once more");
    host.refused(PLAN, "not WebAssembly").await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&host, "price-two").await;
    assert_eq!(host.reason().await, "price one");
}

#[tokio::test]
async fn an_installed_component_becomes_live_by_the_rules_that_came_with_it() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, "").await;
    let install = |guest: &str, impact| {
        let activation = Some(Activation { impact, shadow_calls: 0 });
        let component = waxwing_guests::component(guest).into();
        Order::Install { component, signature: None, activation }
    };
    let asks = install("price-two", ImpactRule::Ask);
    host.order(PLAN, asks).await.expect("installed");
    waiting(&host, "price-two").await;
    let on_disk = std::fs::read(dirs.directory().join("plan-policy.wasm")).expect("it is there");
    assert_eq!(on_disk, waxwing_guests::component("price-two"));
    host.order(PLAN, Order::Activate).await.expect("it waits");
    host.live(PLAN, "price-two").await;
    let at_once = install("price-one", ImpactRule::Auto);
    host.order("pro-prices", at_once).await.expect("a slot of its own");
    host.refused("pro-prices", "narrower [binding]").await;
}

fn published(slug: &str, text: &str) -> Published {
    let template = Template { slug: slug.to_owned(), ..super::text_template(text) };
    let data = r#"{"name":"Ada"}"#.to_owned();
    Published { slug: slug.to_owned(), revision: 1, input: Input::Render { template, data } }
}

fn renderer(name: &'static str) -> impl Fn(&SlotStatus) -> Option<CandidateStatus> {
    move |view| {
        let candidate = view.candidate.clone()?;
        let is_it = candidate.name.as_deref().is_some_and(|it| it.starts_with(name));
        (is_it && candidate.stage == Stage::Waiting).then_some(candidate)
    }
}

#[tokio::test]
async fn a_renderer_that_breaks_a_published_template_waits_for_the_operator() {
    let dirs = TestDirs::new();
    let templates = vec![published("good", "Dear {{ name }}"), published("bad", "POISON")];
    let evidence = TestEvidence { templates, ..TestEvidence::default() };
    let host = PluginHost::start_with_evidence(dirs.options(), evidence).await;
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("poison-renderer"));
    let waits = renderer("poison-renderer");
    let candidate = host.until(RENDERER, "it waits", waits).await;
    let templates = candidate.impact.expect("it was measured").templates;
    assert_eq!((templates.checked, templates.failed), (2, 1));
    let failure = &templates.failures[0];
    assert_eq!((failure.template.as_str(), failure.account.as_str()), ("bad", "acc_1"));
    assert!(failure.reason.contains("trapped in render"), "{}", failure.reason);
    let why = candidate.waits.expect("a reason");
    assert_eq!(why, "1 published template would not be served as now");
    assert_eq!(dear_ada(&host.plugins).await, ["Hi Ada", "Dear Ada"], "the live one renders");
    host.order(RENDERER, Order::Activate).await.expect("the operator may");
    host.live(RENDERER, "poison-renderer").await;
}

#[tokio::test]
async fn a_renderer_that_leaves_out_a_part_waits_for_the_operator() {
    let dirs = TestDirs::new();
    let templates = vec![published("good", "Dear {{ name }}")];
    let evidence = TestEvidence { templates, ..TestEvidence::default() };
    let host = PluginHost::start_with_evidence(dirs.options(), evidence).await;
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("loses-parts"));
    let candidate = host.until(RENDERER, "it waits", renderer("loses-parts")).await;
    let templates = candidate.impact.expect("it was measured").templates;
    assert_eq!(templates.failures[0].reason, "the answer has no text");
}

#[tokio::test]
async fn a_renderer_that_renders_all_published_templates_becomes_live_by_itself() {
    let dirs = TestDirs::new();
    let templates = vec![published("good", "Dear {{ name }}")];
    let evidence = TestEvidence { templates, ..TestEvidence::default() };
    let host = PluginHost::start_with_evidence(dirs.options(), evidence).await;
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("visible-a"));
    host.live(RENDERER, "visible-a").await;
}

#[tokio::test]
async fn equal_differences_are_counted_together() {
    let dirs = TestDirs::new();
    let host = price_one(&dirs, ASK).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let impact = waiting(&host, "price-two").await.impact.expect("it was measured");
    let group = &impact.groups[0];
    assert_eq!((impact.groups.len(), group.calls), (1, 2));
    assert_eq!(group.what, "allow for 1 -> allow for 2");
    assert_eq!(group.call_ids, ["call-welcome", "call-poison"]);
}
