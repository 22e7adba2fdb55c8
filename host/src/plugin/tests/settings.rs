//! Settings: they have revisions, a fault in them is refused with its place, and they roll back.

use super::ANYBODY;
use super::platform::{BUILT_IN, Home, PLAN, Platform};
use crate::plugin::kinds::plan::Verdict;
use crate::plugin::slots::manager::Order;
use crate::plugin::slots::status::SlotStatus;

async fn revision(platform: &Platform, revision: u32) {
    let live = |view: &SlotStatus| {
        let identity = view.active.as_ref()?.identity();
        (identity.settings_revision == revision && view.candidate.is_none()).then_some(())
    };
    platform.until(PLAN, &format!("revision {revision} is live"), live).await;
}

fn price(price: u32) -> String {
    format!("[settings]\nprice = {price}\n")
}

#[tokio::test]
async fn a_change_of_settings_is_live_under_its_revision() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("plan-policy.toml", price(3));
    home.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    let first = platform.live(PLAN, "price-setting").await;
    assert_eq!(
        (platform.reason().await.as_str(), first.identity().settings_revision),
        ("price 3", 1)
    );
    home.put("plan-policy.toml", price(5));
    revision(&platform, 2).await;
    assert_eq!(platform.reason().await, "price 5");
    // The same settings are the same revision, whatever else stands in the file.
    home.put("plan-policy.toml", format!("# as it was\n{}", price(3)));
    revision(&platform, 1).await;
    assert_eq!(platform.reason().await, "price 3");
}

#[tokio::test]
async fn a_fault_in_the_settings_is_refused_with_its_place() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("plan-policy.toml", price(3));
    home.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    platform.live(PLAN, "price-setting").await;
    home.put("plan-policy.toml", price(1_000));
    let why = platform.refused(PLAN, "settings/price").await;
    assert_eq!(
        why,
        "the plugin price-setting refused its settings: settings/price: value is greater than \
         the maximum of 100"
    );
    assert_eq!(platform.reason().await, "price 3");
    home.put("plan-policy.toml", "[settings]\nprice = 'much'\ncolour = 'red'\n");
    let why = platform.refused(PLAN, "colour").await;
    assert!(why.contains("settings/price: value is not of type \"integer\""), "{why}");
    home.put("plan-policy.toml", "[settings]\nprice = = 3\n");
    let why = platform.refused(PLAN, "plan-policy.toml").await;
    assert!(why.contains("line 2, column 9"), "{why}");
    assert_eq!(platform.reason().await, "price 3");
    home.put("plan-policy.toml", price(4));
    revision(&platform, 4).await;
    assert_eq!(platform.reason().await, "price 4");
}

#[tokio::test]
async fn settings_roll_back_and_only_they_are_in_quarantine() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("plan-policy.toml", price(3));
    home.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    platform.live(PLAN, "price-setting").await;
    home.put("plan-policy.toml", price(5));
    revision(&platform, 2).await;
    platform.order(PLAN, Order::RollBack).await.expect("rolled back");
    revision(&platform, 1).await;
    assert_eq!(platform.reason().await, "price 3");
    home.put("plan-policy.toml", format!("# once more\n{}", price(5)));
    let why = platform.refused(PLAN, "quarantine").await;
    assert!(why.contains("the operator rolled it back"), "{why}");
    assert!(why.contains("`waxwing plugin activate plan-policy`"), "{why}");
    home.put("plan-policy.toml", price(7));
    revision(&platform, 3).await;
    assert_eq!(platform.reason().await, "price 7");
}

#[tokio::test]
async fn the_built_in_plugin_takes_settings_without_a_component() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("plan-policy.toml", "[settings]\nplanz = []\n");
    let why = platform.refused(PLAN, "planz").await;
    assert!(
        why.starts_with("the plugin waxwing-plan-policy refused its settings: settings: "),
        "{why}"
    );
    home.put(
        "plan-policy.toml",
        "[settings]\nplans = [{ name = 'free', creditsPerRecipient = 7 }]\n",
    );
    platform.live(PLAN, BUILT_IN).await;
    let verdicts = platform.check(&ANYBODY, "welcome").await.result.expect("decided");
    assert!(matches!(&verdicts[..], [Verdict::Allow(charge)] if charge.credits == 7));
}

#[tokio::test]
async fn a_slot_of_its_own_name_must_say_its_kind_where_it_has_no_component() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("pro-prices.toml", "[binding]\nplan = 'pro'\n");
    let why = platform.refused("pro-prices", "names no kind").await;
    assert!(why.starts_with("there is no pro-prices.wasm, and pro-prices.toml names no kind"));
    home.put("pro-prices.toml", "kind = 'plan'\n[binding]\nplan = 'pro'\n");
    platform.live("pro-prices", BUILT_IN).await;
}
