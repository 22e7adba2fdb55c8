//! What must be seen before a new plugin is live: the impact on recorded calls.

use serde_json::json;

use super::dear_ada;
use super::platform::{Home, PLAN, Platform, RENDERER, Remembered};
use crate::plugin::config::slot::{Activation, ImpactRule};
use crate::plugin::kinds::renderer::Template;
use crate::plugin::promotion::evidence::Published;
use crate::plugin::records::Call;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::manager::{Order, OrderError};
use crate::plugin::slots::status::{CandidateStatus, SlotStatus};

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

/// A platform where `price-one` is live under that rule of activation.
async fn price_one(home: &Home, config: &str) -> Platform {
    let platform = Platform::with(home.options(), recorded()).await;
    home.put("plan-policy.toml", config);
    home.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    let waits = |view: &SlotStatus| {
        let stage = view.candidate.as_ref().map(|it| it.stage);
        (stage == Some(Stage::Waiting) || !view.is_builtin).then_some(())
    };
    platform.until(PLAN, "price-one is live or waits", waits).await;
    if platform.view(PLAN).is_builtin {
        platform.order(PLAN, Order::Activate).await.expect("it waits");
    }
    platform.live(PLAN, "price-one").await;
    platform
}

async fn waiting(platform: &Platform, plugin: &str) -> CandidateStatus {
    let waits = |view: &SlotStatus| {
        let candidate = view.candidate.clone()?;
        let is_it = candidate.name.as_deref().is_some_and(|it| it.starts_with(plugin));
        (is_it && candidate.stage == Stage::Waiting).then_some(candidate)
    };
    platform.until(PLAN, &format!("{plugin} waits"), waits).await
}

const ASK: &str = "[activation]\nimpact = 'ask'\n";

#[tokio::test]
async fn a_plugin_waits_for_the_operator_who_sees_what_would_change() {
    let home = Home::new();
    let platform = price_one(&home, ASK).await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let impact = waiting(&platform, "price-two").await.impact.expect("it was measured");
    assert_eq!((impact.compared, impact.would_change, impact.would_fail), (2, 2, 0));
    let first = &impact.differences[0];
    assert_eq!(first.call_id, "call-welcome");
    assert_eq!(first.lines[0], "decisions[0].allow.credits: 1 -> 2");
    assert_eq!(platform.reason().await, "price one");
    platform.order(PLAN, Order::Activate).await.expect("it waits");
    platform.live(PLAN, "price-two").await;
    assert_eq!(platform.reason().await, "price two");
}

#[tokio::test]
async fn a_call_that_the_new_plugin_would_not_answer_is_counted() {
    let home = Home::new();
    let platform = price_one(&home, ASK).await;
    home.put("plan-policy.wasm", waxwing_guests::component("panic-on-poison"));
    let impact = waiting(&platform, "panic-on-poison").await.impact.expect("it was measured");
    assert_eq!((impact.compared, impact.would_change, impact.would_fail), (2, 2, 1));
}

/// Other answers may be what it is for; no answer is not.
#[tokio::test]
async fn a_plugin_that_does_not_answer_a_recorded_call_waits_whatever_the_rule() {
    let home = Home::new();
    let platform = price_one(&home, "").await;
    home.put("plan-policy.wasm", waxwing_guests::component("panic-on-poison"));
    let impact = waiting(&platform, "panic-on-poison").await.impact.expect("it was measured");
    assert_eq!(impact.would_fail, 1);
    assert_eq!(platform.reason().await, "price one");
    platform.order(PLAN, Order::Activate).await.expect("the operator may");
    platform.live(PLAN, "panic-on-poison").await;
}

/// A policy may refuse more than the one before it; one that refuses everything is a mistake, most often.
#[tokio::test]
async fn a_policy_that_refuses_every_recorded_call_waits_for_the_operator() {
    let home = Home::new();
    let platform = price_one(&home, "").await;
    home.put("plan-policy.wasm", waxwing_guests::component("rude-denial"));
    let candidate = waiting(&platform, "rude-denial").await;
    let why = "all 2 recorded calls that pass now would be refused";
    assert_eq!(candidate.waits.as_deref(), Some(why));
    assert_eq!(platform.reason().await, "price one");
    platform.order(PLAN, Order::Activate).await.expect("the operator may");
    platform.live(PLAN, "rude-denial").await;
}

/// Whoever switches a slot on again means what ran in it.
#[tokio::test]
async fn a_plugin_that_waited_still_waits_after_its_slot_was_off_and_on() {
    let home = Home::new();
    let platform = price_one(&home, ASK).await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&platform, "price-two").await;
    platform.order(PLAN, Order::Disable).await.expect("switched off");
    platform.order(PLAN, Order::Activate).await.expect("switched on");
    assert_eq!(platform.reason().await, "price one");
    waiting(&platform, "price-two").await;
    assert_eq!(platform.reason().await, "price one");
}

#[tokio::test]
async fn up_to_a_number_of_changes_a_plugin_becomes_live_by_itself() {
    let home = Home::new();
    let platform = price_one(&home, "[activation]\nimpact = 1\n").await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&platform, "price-two").await;
    assert_eq!(platform.reason().await, "price one");
    home.put("plan-policy.toml", "[activation]\nimpact = 2\n");
    platform.live(PLAN, "price-two").await;
}

/// What waits is what is among the files: once it is gone from there, nobody can activate it.
#[tokio::test]
async fn a_plugin_that_waits_is_forgotten_when_the_old_file_comes_back() {
    let home = Home::new();
    let platform = price_one(&home, ASK).await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&platform, "price-two").await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    platform.live(PLAN, "price-one").await;
    let nothing = platform.order(PLAN, Order::Activate).await.expect_err("nothing waits");
    assert!(matches!(nothing, OrderError::NothingToActivate(_)), "{nothing}");
    assert_eq!(platform.reason().await, "price one");
}

/// The operator's word is for the component that they saw.
#[tokio::test]
async fn an_activation_that_came_to_nothing_is_not_kept_for_the_next_file() {
    let home = Home::new();
    let platform = price_one(&home, ASK).await;
    home.put("plan-policy.wasm", "broken");
    platform.refused(PLAN, "not WebAssembly").await;
    platform.order(PLAN, Order::Activate).await.expect("it is tried once more");
    platform.refused(PLAN, "not WebAssembly").await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    waiting(&platform, "price-two").await;
    assert_eq!(platform.reason().await, "price one");
}

#[tokio::test]
async fn an_installed_component_becomes_live_by_the_rules_that_came_with_it() {
    let home = Home::new();
    let platform = price_one(&home, "").await;
    let install = |guest: &str, impact| {
        let activation = Some(Activation { impact, shadow_calls: 0 });
        let component = waxwing_guests::component(guest).into();
        Order::Install { component, signature: None, activation }
    };
    let asks = install("price-two", ImpactRule::Ask);
    platform.order(PLAN, asks).await.expect("installed");
    waiting(&platform, "price-two").await;
    let on_disk = std::fs::read(home.directory().join("plan-policy.wasm")).expect("it is there");
    assert_eq!(on_disk, waxwing_guests::component("price-two"));
    platform.order(PLAN, Order::Activate).await.expect("it waits");
    platform.live(PLAN, "price-two").await;
    let at_once = install("price-one", ImpactRule::Auto);
    platform.order("pro-prices", at_once).await.expect("a slot of its own");
    platform.refused("pro-prices", "narrower [binding]").await;
}

fn published(slug: &str, text: &str) -> Published {
    let template = Template { slug: slug.to_owned(), ..super::text_template(text) };
    Published { template, trial_data: r#"{"name":"Ada"}"#.to_owned() }
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
    let home = Home::new();
    let templates = vec![published("good", "Dear {{ name }}"), published("bad", "POISON")];
    let evidence = Remembered { templates, ..Remembered::default() };
    let platform = Platform::remembering(home.options(), evidence).await;
    home.put("liquid-renderer.wasm", waxwing_guests::component("poison-renderer"));
    let waits = renderer("poison-renderer");
    let candidate = platform.until(RENDERER, "it waits", waits).await;
    let templates = candidate.impact.expect("it was measured").templates;
    assert_eq!((templates.checked, templates.failed), (2, 1));
    let failure = &templates.failures[0];
    assert_eq!((failure.template.as_str(), failure.account.as_str()), ("bad", "acc_1"));
    assert!(failure.reason.contains("trapped in render"), "{}", failure.reason);
    let why = candidate.waits.expect("a reason");
    assert_eq!(why, "1 published templates would not render as now");
    assert_eq!(dear_ada(&platform.plugins).await, ["Hi Ada", "Dear Ada"], "the live one renders");
    platform.order(RENDERER, Order::Activate).await.expect("the operator may");
    platform.live(RENDERER, "poison-renderer").await;
}

#[tokio::test]
async fn a_renderer_that_leaves_out_a_part_waits_for_the_operator() {
    let home = Home::new();
    let templates = vec![published("good", "Dear {{ name }}")];
    let evidence = Remembered { templates, ..Remembered::default() };
    let platform = Platform::remembering(home.options(), evidence).await;
    home.put("liquid-renderer.wasm", waxwing_guests::component("loses-parts"));
    let candidate = platform.until(RENDERER, "it waits", renderer("loses-parts")).await;
    let templates = candidate.impact.expect("it was measured").templates;
    assert_eq!(templates.failures[0].reason, "the answer has no text");
}

#[tokio::test]
async fn a_renderer_that_renders_all_published_templates_becomes_live_by_itself() {
    let home = Home::new();
    let templates = vec![published("good", "Dear {{ name }}")];
    let evidence = Remembered { templates, ..Remembered::default() };
    let platform = Platform::remembering(home.options(), evidence).await;
    home.put("liquid-renderer.wasm", waxwing_guests::component("visible-a"));
    platform.live(RENDERER, "visible-a").await;
}

#[tokio::test]
async fn equal_differences_are_counted_together() {
    let home = Home::new();
    let platform = price_one(&home, ASK).await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let impact = waiting(&platform, "price-two").await.impact.expect("it was measured");
    let group = &impact.groups[0];
    assert_eq!((impact.groups.len(), group.calls), (1, 2));
    assert_eq!(group.what, "allow for 1 -> allow for 2");
    assert_eq!(group.call_ids, ["call-welcome", "call-poison"]);
}
