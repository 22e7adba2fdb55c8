//! Bindings: whose calls a slot answers. The narrowest wins, and no two slots have the same one.

use super::ANYBODY;
use super::platform::{BUILT_IN, Home, PLAN, Platform, reason};
use crate::plugin::config::binding::Scope;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::manager::Order;
use crate::plugin::slots::status::SlotStatus;

#[tokio::test]
async fn the_narrowest_binding_answers() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    home.put("pro-prices.toml", "[binding]\nplan = 'pro'\n");
    home.put("pro-prices.wasm", waxwing_guests::component("price-two"));
    home.put("vip.toml", "[binding]\naccount = 'acc_vip'\n[settings]\nprice = 9\n");
    home.put("vip.wasm", waxwing_guests::component("price-setting"));
    home.put("shop.toml", "[binding]\ndomain = 'Shop.Example'\n");
    home.put("shop.wasm", waxwing_guests::component("panic-on-poison"));
    let slots = [
        (PLAN, "price-one"),
        ("pro-prices", "price-two"),
        ("vip", "price-setting"),
        ("shop", "panic-on-poison"),
    ];
    for (slot, plugin) in slots {
        platform.live(slot, plugin).await;
    }
    let shop = Some("shop.example");
    let calls = [
        (ANYBODY, "price one"),
        (Scope { plan: "pro", ..ANYBODY }, "price two"),
        (Scope { account: "acc_vip", ..ANYBODY }, "price 9"),
        (Scope { plan: "pro", account: "acc_vip", domain: None }, "price 9"),
        (Scope { plan: "pro", account: "acc_vip", domain: shop }, "panic-on-poison"),
        (Scope { domain: shop, ..ANYBODY }, "panic-on-poison"),
        (Scope { domain: Some("other.example"), ..ANYBODY }, "price one"),
    ];
    for (scope, expected) in calls {
        assert_eq!(reason(&platform.check(&scope, "welcome").await), expected, "{scope:?}");
    }

    // Without its files a slot is gone, and its calls go to a broader one.
    home.remove("pro-prices.wasm");
    home.remove("pro-prices.toml");
    platform.gone("pro-prices").await;
    let pro = Scope { plan: "pro", ..ANYBODY };
    assert_eq!(reason(&platform.check(&pro, "welcome").await), "price one");
}

#[tokio::test]
async fn a_binding_that_is_taken_is_refused_until_it_is_free() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    let pro = "[binding]\nplan = 'pro'\n";
    home.put("pro-prices.toml", pro);
    home.put("pro-prices.wasm", waxwing_guests::component("price-one"));
    platform.live("pro-prices", "price-one").await;
    home.put("other.toml", pro);
    home.put("other.wasm", waxwing_guests::component("price-two"));
    let why = platform.refused("other", "pro-prices").await;
    assert_eq!(
        why,
        "the slot pro-prices answers the calls of plan pro for this kind already; give this one a \
         narrower [binding] in its .toml, or remove the other"
    );
    let scope = Scope { plan: "pro", ..ANYBODY };
    assert_eq!(reason(&platform.check(&scope, "welcome").await), "price one");
    home.put("other.toml", "[binding]\nplan = 'business'\n");
    platform.live("other", "price-two").await;
    // Another kind may have the same binding.
    home.put("pro-domains.toml", pro);
    home.put("pro-domains.wasm", waxwing_guests::component("strict-domain"));
    platform.live("pro-domains", "strict-domain").await;
}

#[tokio::test]
async fn the_whole_server_belongs_to_the_slot_with_the_built_in_name() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("my-prices.wasm", waxwing_guests::component("price-two"));
    let why = platform.refused("my-prices", "plan-policy").await;
    assert!(why.contains("give this one a narrower [binding]"), "{why}");
    assert_eq!(platform.check(&ANYBODY, "welcome").await.decision.identity.name, BUILT_IN);
}

#[tokio::test]
async fn a_slot_that_was_in_the_way_is_live_once_the_other_is_gone() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    let pro = "[binding]\nplan = 'pro'\n";
    home.put("left.toml", pro);
    home.put("left.wasm", waxwing_guests::component("price-one"));
    platform.live("left", "price-one").await;
    home.put("right.toml", pro);
    home.put("right.wasm", waxwing_guests::component("price-two"));
    platform.refused("right", "the slot left answers").await;
    home.remove("left.wasm");
    home.remove("left.toml");
    platform.live("right", "price-two").await;
    platform.gone("left").await;
}

/// Both are proven at the same time, and neither is live when the other is looked at.
#[tokio::test]
async fn of_two_slots_that_come_at_once_one_gets_the_binding() {
    let home = Home::new();
    let pro = "[binding]\nplan = 'pro'\n";
    for (slot, guest) in [("left", "price-one"), ("right", "price-two")] {
        home.put(&format!("{slot}.toml"), pro);
        home.put(&format!("{slot}.wasm"), waxwing_guests::component(guest));
    }
    let platform = Platform::start(&home).await;
    let settled = |view: &SlotStatus| {
        let refused = view.candidate.as_ref().is_some_and(|it| it.rejected.is_some());
        (refused || view.active.is_some()).then_some(view.active.is_some())
    };
    let left = platform.until("left", "live or refused", settled).await;
    let right = platform.until("right", "live or refused", settled).await;
    assert!(left != right, "left is live: {left}, right is live: {right}");
}

/// A slot that waits holds no binding; by the time it is activated, another may have it.
#[tokio::test]
async fn a_plugin_that_waited_does_not_take_a_binding_that_is_taken_by_now() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("left.toml", "[binding]\nplan = 'pro'\n[activation]\nimpact = 'ask'\n");
    home.put("left.wasm", waxwing_guests::component("price-one"));
    let waits =
        |view: &SlotStatus| (view.candidate.as_ref()?.stage == Stage::Waiting).then_some(());
    platform.until("left", "it waits", waits).await;
    home.put("right.toml", "[binding]\nplan = 'pro'\n");
    home.put("right.wasm", waxwing_guests::component("price-two"));
    platform.live("right", "price-two").await;
    // Whether the order or the slot says no: it does not become live.
    drop(platform.order("left", Order::Activate).await);
    home.put("last.toml", "[binding]\nplan = 'business'\n");
    home.put("last.wasm", waxwing_guests::component("price-one"));
    platform.live("last", "price-one").await;
    assert!(platform.view("left").active.is_none(), "right has the binding");
}

#[tokio::test]
async fn a_slot_that_is_switched_on_does_not_take_a_binding_that_is_taken_by_now() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("left.toml", "[binding]\nplan = 'pro'\n");
    home.put("left.wasm", waxwing_guests::component("price-one"));
    platform.live("left", "price-one").await;
    platform.order("left", Order::Disable).await.expect("switched off");
    home.put("right.toml", "[binding]\nplan = 'pro'\n");
    home.put("right.wasm", waxwing_guests::component("price-two"));
    platform.live("right", "price-two").await;
    drop(platform.order("left", Order::Activate).await);
    let pro = Scope { plan: "pro", ..ANYBODY };
    assert_eq!(reason(&platform.check(&pro, "welcome").await), "price two");
    home.put("last.toml", "[binding]\nplan = 'business'\n");
    home.put("last.wasm", waxwing_guests::component("price-one"));
    platform.live("last", "price-one").await;
    assert_eq!(reason(&platform.check(&pro, "welcome").await), "price two");
    assert!(platform.view("left").active.is_none(), "right has the binding");
}
