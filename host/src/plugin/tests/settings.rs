//! Settings: they have revisions, a fault in them is refused with its place, and they roll back.

use serde_json::Map;

use super::ANYBODY;
use super::fixture::{BUILT_IN, PLAN, PluginHost, TestDirs};
use crate::plugin::kinds::plan::Verdict;
use crate::plugin::slots::status::SlotStatus;
use crate::plugin::slots::supervisor::{Order, OrderError};

async fn revision(host: &PluginHost, revision: u32) {
    let live = |view: &SlotStatus| {
        let identity = view.active.as_ref()?.identity();
        (identity.settings_revision == revision && view.candidate.is_none()).then_some(())
    };
    host.until(PLAN, &format!("revision {revision} is live"), live).await;
}

fn price(price: u32) -> String {
    format!("[settings]\nprice = {price}\n")
}

#[tokio::test]
async fn a_change_of_settings_is_live_under_its_revision() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.toml", price(3));
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    let first = host.live(PLAN, "price-setting").await;
    assert_eq!((host.reason().await.as_str(), first.identity().settings_revision), ("price 3", 1));
    dirs.put("plan-policy.toml", price(5));
    revision(&host, 2).await;
    assert_eq!(host.reason().await, "price 5");
    // The same settings are the same revision, whatever else stands in the file.
    dirs.put("plan-policy.toml", format!("# as it was\n{}", price(3)));
    revision(&host, 1).await;
    assert_eq!(host.reason().await, "price 3");
}

#[tokio::test]
async fn a_fault_in_the_settings_is_refused_with_its_place() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.toml", price(3));
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    host.live(PLAN, "price-setting").await;
    dirs.put("plan-policy.toml", price(1_000));
    let why = host.refused(PLAN, "settings/price").await;
    assert_eq!(
        why,
        "the plugin price-setting refused its settings: settings/price: value is greater than \
         the maximum of 100"
    );
    assert_eq!(host.reason().await, "price 3");
    dirs.put("plan-policy.toml", "[settings]\nprice = 'much'\ncolour = 'red'\n");
    let why = host.refused(PLAN, "colour").await;
    assert!(why.contains("settings/price: value is not of type \"integer\""), "{why}");
    dirs.put("plan-policy.toml", "[settings]\nprice = = 3\n");
    let why = host.refused(PLAN, "plan-policy.toml").await;
    assert!(why.contains("line 2, column 9"), "{why}");
    assert_eq!(host.reason().await, "price 3");
    dirs.put("plan-policy.toml", price(4));
    revision(&host, 4).await;
    assert_eq!(host.reason().await, "price 4");
}

#[tokio::test]
async fn settings_roll_back_and_only_they_are_in_quarantine() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.toml", price(3));
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    host.live(PLAN, "price-setting").await;
    dirs.put("plan-policy.toml", price(5));
    revision(&host, 2).await;
    host.order(PLAN, Order::RollBack).await.expect("rolled back");
    revision(&host, 1).await;
    assert_eq!(host.reason().await, "price 3");
    dirs.put("plan-policy.toml", format!("# once more\n{}", price(5)));
    let why = host.refused(PLAN, "quarantine").await;
    assert!(why.contains("the operator rolled it back"), "{why}");
    assert!(why.contains("`waxwing plugin activate plan-policy`"), "{why}");
    dirs.put("plan-policy.toml", price(7));
    revision(&host, 3).await;
    assert_eq!(host.reason().await, "price 7");
}

#[tokio::test]
async fn of_two_forms_at_once_the_first_one_sets_the_settings() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.toml", price(3));
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    host.live(PLAN, "price-setting").await;
    let seen = host.view(PLAN).mark();
    let configure = |price: u32| {
        let settings = Map::from_iter([("price".to_owned(), price.into())]);
        host.order_on(PLAN, Order::Configure { settings }, &seen)
    };
    let (first, second) = tokio::join!(configure(5), configure(7));
    first.expect("written");
    let is_refused =
        matches!(second, Err(OrderError::SettingsBeingProven(_) | OrderError::Changed(_)));
    assert!(is_refused, "{second:?}");
    revision(&host, 2).await;
    assert_eq!(host.reason().await, "price 5");
    let late = configure(7).await;
    assert!(matches!(late, Err(OrderError::Changed(_))), "{late:?}");
}

#[tokio::test]
async fn a_form_that_did_not_show_what_waits_neither_replaces_nor_activates_it() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.toml", format!("{}[activation]\nimpact = 'ask'\n", price(3)));
    let before = host.view(PLAN).mark();
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    let waits = |view: &SlotStatus| view.candidate.as_ref()?.waits.clone();
    host.until(PLAN, "the component waits", waits).await;
    let shown = host.view(PLAN).mark();
    assert_ne!(before, shown);
    let orders =
        [Order::Configure { settings: Map::new() }, Order::Activate, Order::Shadow { calls: 1 }];
    for order in orders {
        let refused = host.order_on(PLAN, order, &before).await;
        assert!(matches!(refused, Err(OrderError::Changed(_))), "{refused:?}");
    }
    assert_eq!(host.view(PLAN).mark(), shown, "it waits as before");
    host.order_on(PLAN, Order::Activate, &shown).await.expect("whoever has seen it may");
    host.live(PLAN, "price-setting").await;
}

#[tokio::test]
async fn the_built_in_plugin_takes_settings_without_a_component() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.toml", "[settings]\nplanz = []\n");
    let why = host.refused(PLAN, "planz").await;
    assert!(
        why.starts_with("the plugin waxwing-plan-policy refused its settings: settings: "),
        "{why}"
    );
    dirs.put(
        "plan-policy.toml",
        "[settings]\nplans = [{ name = 'free', creditsPerRecipient = 7 }]\n",
    );
    host.live(PLAN, BUILT_IN).await;
    let verdicts = host.check(&ANYBODY, "welcome").await.result.expect("decided");
    assert!(matches!(&verdicts[..], [Verdict::Allow(charge)] if charge.credits == 7));
}

#[tokio::test]
async fn a_slot_of_its_own_name_must_say_its_kind_where_it_has_no_component() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("pro-prices.toml", "[binding]\nplan = 'pro'\n");
    let why = host.refused("pro-prices", "names no kind").await;
    assert!(why.starts_with("there is no pro-prices.wasm, and pro-prices.toml names no kind"));
    dirs.put("pro-prices.toml", "kind = 'plan'\n[binding]\nplan = 'pro'\n");
    host.live("pro-prices", BUILT_IN).await;
}
