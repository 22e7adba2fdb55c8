//! Bindings: whose calls a slot answers. The narrowest wins, and no two slots have the same one.

use super::ANYBODY;
use super::fixture::{BUILT_IN, PLAN, PluginHost, TestDirs, reason};
use crate::plugin::config::binding::Scope;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::status::SlotStatus;
use crate::plugin::slots::supervisor::Order;

#[tokio::test]
async fn the_narrowest_binding_answers() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    dirs.put("pro-prices.toml", "[binding]\nplan = 'pro'\n");
    dirs.put("pro-prices.wasm", waxwing_guests::component("price-two"));
    dirs.put("vip.toml", "[binding]\naccount = 'acc_vip'\n[settings]\nprice = 9\n");
    dirs.put("vip.wasm", waxwing_guests::component("price-setting"));
    dirs.put("shop.toml", "[binding]\ndomain = 'Shop.Example'\n");
    dirs.put("shop.wasm", waxwing_guests::component("panic-on-poison"));
    let slots = [
        (PLAN, "price-one"),
        ("pro-prices", "price-two"),
        ("vip", "price-setting"),
        ("shop", "panic-on-poison"),
    ];
    for (slot, plugin) in slots {
        host.live(slot, plugin).await;
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
        assert_eq!(reason(&host.check(&scope, "welcome").await), expected, "{scope:?}");
    }

    // Without its files a slot is gone, and its calls go to a broader one.
    dirs.remove("pro-prices.wasm");
    dirs.remove("pro-prices.toml");
    host.gone("pro-prices").await;
    let pro = Scope { plan: "pro", ..ANYBODY };
    assert_eq!(reason(&host.check(&pro, "welcome").await), "price one");
}

#[tokio::test]
async fn a_binding_that_is_taken_is_refused_until_it_is_free() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let pro = "[binding]\nplan = 'pro'\n";
    dirs.put("pro-prices.toml", pro);
    dirs.put("pro-prices.wasm", waxwing_guests::component("price-one"));
    host.live("pro-prices", "price-one").await;
    dirs.put("other.toml", pro);
    dirs.put("other.wasm", waxwing_guests::component("price-two"));
    let why = host.refused("other", "pro-prices").await;
    assert_eq!(
        why,
        "the slot pro-prices answers the calls of plan pro for this kind already; give this one a \
         narrower [binding] in its .toml, or remove the other"
    );
    let scope = Scope { plan: "pro", ..ANYBODY };
    assert_eq!(reason(&host.check(&scope, "welcome").await), "price one");
    dirs.put("other.toml", "[binding]\nplan = 'business'\n");
    host.live("other", "price-two").await;
    // Another kind may have the same binding.
    dirs.put("pro-domains.toml", pro);
    dirs.put("pro-domains.wasm", waxwing_guests::component("strict-domain"));
    host.live("pro-domains", "strict-domain").await;
}

#[tokio::test]
async fn the_whole_server_belongs_to_the_slot_with_the_built_in_name() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("my-prices.wasm", waxwing_guests::component("price-two"));
    let why = host.refused("my-prices", "plan-policy").await;
    assert!(why.contains("give this one a narrower [binding]"), "{why}");
    assert_eq!(host.check(&ANYBODY, "welcome").await.decision.identity.name, BUILT_IN);
}

#[tokio::test]
async fn a_slot_that_was_in_the_way_is_live_once_the_other_is_gone() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let pro = "[binding]\nplan = 'pro'\n";
    dirs.put("left.toml", pro);
    dirs.put("left.wasm", waxwing_guests::component("price-one"));
    host.live("left", "price-one").await;
    dirs.put("right.toml", pro);
    dirs.put("right.wasm", waxwing_guests::component("price-two"));
    host.refused("right", "the slot left answers").await;
    dirs.remove("left.wasm");
    dirs.remove("left.toml");
    host.live("right", "price-two").await;
    host.gone("left").await;
}

/// Both are validated at the same time, and neither is live when the other is looked at.
#[tokio::test]
async fn of_two_slots_that_come_at_once_one_gets_the_binding() {
    let dirs = TestDirs::new();
    let pro = "[binding]\nplan = 'pro'\n";
    for (slot, guest) in [("left", "price-one"), ("right", "price-two")] {
        dirs.put(&format!("{slot}.toml"), pro);
        dirs.put(&format!("{slot}.wasm"), waxwing_guests::component(guest));
    }
    let host = PluginHost::start(&dirs).await;
    let settled = |view: &SlotStatus| {
        let refused = view.candidate.as_ref().is_some_and(|it| it.rejected.is_some());
        (refused || view.active.is_some()).then_some(view.active.is_some())
    };
    let left = host.until("left", "live or refused", settled).await;
    let right = host.until("right", "live or refused", settled).await;
    assert!(left != right, "left is live: {left}, right is live: {right}");
}

/// A slot that waits holds no binding; by the time it is activated, another may have it.
#[tokio::test]
async fn a_plugin_that_waited_does_not_take_a_binding_that_is_taken_by_now() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("left.toml", "[binding]\nplan = 'pro'\n[activation]\nimpact = 'ask'\n");
    dirs.put("left.wasm", waxwing_guests::component("price-one"));
    let waits =
        |view: &SlotStatus| (view.candidate.as_ref()?.stage == Stage::Waiting).then_some(());
    host.until("left", "it waits", waits).await;
    dirs.put("right.toml", "[binding]\nplan = 'pro'\n");
    dirs.put("right.wasm", waxwing_guests::component("price-two"));
    host.live("right", "price-two").await;
    // Refused by the order or at activation: it does not become live.
    drop(host.order("left", Order::Activate).await);
    dirs.put("last.toml", "[binding]\nplan = 'business'\n");
    dirs.put("last.wasm", waxwing_guests::component("price-one"));
    host.live("last", "price-one").await;
    assert!(host.view("left").active.is_none(), "right has the binding");
}

#[tokio::test]
async fn a_slot_switched_on_again_does_not_take_a_binding_of_another() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("left.toml", "[binding]\nplan = 'pro'\n");
    dirs.put("left.wasm", waxwing_guests::component("price-one"));
    host.live("left", "price-one").await;
    host.order("left", Order::Disable).await.expect("switched off");
    dirs.put("right.toml", "[binding]\nplan = 'pro'\n");
    dirs.put("right.wasm", waxwing_guests::component("price-two"));
    host.live("right", "price-two").await;
    drop(host.order("left", Order::Activate).await);
    let pro = Scope { plan: "pro", ..ANYBODY };
    assert_eq!(reason(&host.check(&pro, "welcome").await), "price two");
    dirs.put("last.toml", "[binding]\nplan = 'business'\n");
    dirs.put("last.wasm", waxwing_guests::component("price-one"));
    host.live("last", "price-one").await;
    assert_eq!(reason(&host.check(&pro, "welcome").await), "price two");
    assert!(host.view("left").active.is_none(), "right has the binding");
}
