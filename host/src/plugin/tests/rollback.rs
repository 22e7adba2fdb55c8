//! Rolling back, by the operator and by itself; and what was rolled back stays away until the
//! operator says otherwise.

use super::ANYBODY;
use super::fixture::{BUILT_IN, PLAN, PluginHost, TIMEOUT, TestDirs};
use crate::plugin::config::binding::Scope;
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::slots::supervisor::{Order, OrderError};

/// A plugin host where `price-one` ran before, and `second` runs now.
async fn after_price_one(dirs: &TestDirs, second: &str) -> PluginHost {
    let host = PluginHost::start(dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    dirs.put("plan-policy.wasm", waxwing_guests::component(second));
    host.live(PLAN, second).await;
    host
}

/// A send by an account of its own: an input that no other send has.
async fn poisoned(host: &PluginHost, account: &str) {
    let scope = Scope { account, ..ANYBODY };
    let failure = host.check(&scope, "poison").await.result.expect_err("a panic");
    assert!(matches!(failure, CallFailure::Trapped { .. }), "{failure}");
}

#[tokio::test]
async fn the_operator_gets_back_what_ran_before() {
    let dirs = TestDirs::new();
    let host = after_price_one(&dirs, "price-two").await;
    host.order(PLAN, Order::RollBack).await.expect("rolled back");
    assert_eq!(host.live(PLAN, "price-one").await.slot().as_str(), PLAN);
    assert_eq!(host.reason().await, "price one");
    let quarantined = host.view(PLAN).quarantined;
    assert_eq!(quarantined.len(), 1);
    assert_eq!(quarantined[0].reason, "the operator rolled it back");
    host.order(PLAN, Order::RollBack).await.expect("there is the built-in one");
    host.built_in(PLAN).await;
    let nothing = host.order(PLAN, Order::RollBack).await.expect_err("nothing is before it");
    assert_eq!(
        nothing.to_string(),
        "the slot plan-policy has nothing to roll back: another plugin serves its calls"
    );
}

/// A crash right after an operator has seen a plugin live, or rolled back, takes nothing back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_board_shows_is_on_disk() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let state = dirs.state().join("plan-policy.json");
    for name in ["price-one", "price-two", "price-one", "price-two"] {
        dirs.put("plan-policy.wasm", waxwing_guests::component(name));
        // No pause between two looks: the write takes a few milliseconds.
        let start = std::time::Instant::now();
        let digest = loop {
            assert!(start.elapsed() < TIMEOUT, "{name} does not become live");
            let active = host.view(PLAN).active.expect("something is live");
            if active.identity().name == name {
                break active.identity().digest.clone();
            }
            tokio::task::yield_now().await;
        };
        let kept = std::fs::read_to_string(&state).expect("the slot has a state");
        let kept: serde_json::Value = serde_json::from_str(&kept).expect("a state is JSON");
        assert_eq!(kept["active"]["digest"], digest, "{name} is shown as live");
    }
}

#[tokio::test]
async fn what_was_rolled_back_stays_away_until_the_operator_activates_it() {
    let dirs = TestDirs::new();
    let host = after_price_one(&dirs, "price-two").await;
    host.order(PLAN, Order::RollBack).await.expect("rolled back");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let why = host.refused(PLAN, "quarantine").await;
    assert_eq!(
        why,
        "this component was rolled back and is in quarantine (the operator rolled it back); \
         `waxwing plugin activate plan-policy` lets it run again, or install a fixed one"
    );
    host.stop().await;

    let host = PluginHost::start(&dirs).await;
    host.refused(PLAN, "quarantine").await;
    assert_eq!(host.reason().await, "price one");
    host.order(PLAN, Order::Activate).await.expect("forgiven");
    host.live(PLAN, "price-two").await;
    assert_eq!(host.view(PLAN).quarantined.len(), 0);
}

#[tokio::test]
async fn a_plugin_whose_first_three_calls_trap_is_rolled_back() {
    let dirs = TestDirs::new();
    let host = after_price_one(&dirs, "panic-on-poison").await;
    for _ in 0..3 {
        poisoned(&host, "acc_1").await;
    }
    host.live(PLAN, "price-one").await;
    assert_eq!(host.reason().await, "price one");
    let quarantined = host.view(PLAN).quarantined;
    assert_eq!(quarantined[0].reason, "its first 3 calls failed");
    assert_eq!(quarantined[0].settings_revision, None, "with any settings");
}

/// It says itself that it cannot answer: no send goes through, as if it had trapped.
#[tokio::test]
async fn a_plugin_that_gives_up_on_its_first_three_calls_is_rolled_back() {
    let dirs = TestDirs::new();
    let host = after_price_one(&dirs, "gives-up").await;
    let live = host.live(PLAN, "gives-up").await;
    for _ in 0..3 {
        let failure = host.check(&ANYBODY, "welcome").await.result.expect_err("it gives up");
        let words = "the plugin gives-up gave up in check: its price list is lost";
        assert_eq!(failure.to_string(), words);
        assert_eq!(failure.for_client(), "the plugin gives-up gave up in check");
    }
    host.live(PLAN, "price-one").await;
    assert_eq!((live.stats().failed(), live.stats().gave_up()), (0, 3));
    assert_eq!(host.view(PLAN).quarantined[0].reason, "its first 3 calls failed");
}

#[tokio::test]
async fn where_the_built_in_policy_stands_in_both_are_on_record() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.toml", "on_failure = 'builtin'\n");
    dirs.put("plan-policy.wasm", waxwing_guests::component("gives-up"));
    host.live(PLAN, "gives-up").await;
    let called = host.check(&ANYBODY, "welcome").await;
    called.result.expect("the built-in policy decides");
    let failed = called.failed.expect("a record of the plugin that failed");
    assert_eq!((failed.identity.name.as_str(), failed.verdict), ("gives-up", "failed"));
    let reason = failed.reason.expect("a reason");
    assert!(reason.ends_with("gave up in check: its price list is lost"), "{reason}");
    assert_eq!(called.decision.identity.name, BUILT_IN);
}

#[tokio::test]
async fn five_traps_over_three_inputs_roll_a_plugin_back_and_over_two_do_not() {
    let dirs = TestDirs::new();
    let host = after_price_one(&dirs, "panic-on-poison").await;
    for _ in 0..10 {
        assert_eq!(host.reason().await, "panic-on-poison");
    }
    for account in ["acc_1", "acc_2", "acc_1", "acc_2", "acc_1", "acc_2"] {
        poisoned(&host, account).await;
    }
    let active = host.view(PLAN).active.expect("a plugin");
    assert_eq!(active.identity().name, "panic-on-poison", "six traps, over two inputs");
    poisoned(&host, "acc_3").await;
    host.live(PLAN, "price-one").await;
    // How many are counted by then depends on whose input was evaluated first.
    let reason = &host.view(PLAN).quarantined[0].reason;
    let expected = " of 17 calls failed within a minute, on 3 inputs";
    assert!(reason.ends_with(expected), "{reason}");
}

#[tokio::test]
async fn a_slot_that_was_switched_off_comes_back_with_its_past() {
    let dirs = TestDirs::new();
    let host = after_price_one(&dirs, "price-two").await;
    host.order(PLAN, Order::Disable).await.expect("switched off");
    assert!(host.view(PLAN).disabled);
    assert_eq!(host.check(&ANYBODY, "welcome").await.decision.identity.name, BUILT_IN);
    host.order(PLAN, Order::Activate).await.expect("switched on");
    host.live(PLAN, "price-two").await;
    assert_eq!(host.reason().await, "price two");
    host.order(PLAN, Order::RollBack).await.expect("rolled back");
    host.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn a_slot_that_was_switched_off_stays_off_over_a_restart() {
    let dirs = TestDirs::new();
    let host = after_price_one(&dirs, "price-two").await;
    host.order(PLAN, Order::Disable).await.expect("switched off");
    host.stop().await;
    let host = PluginHost::start(&dirs).await;
    dirs.put("domain-policy.wasm", waxwing_guests::component("strict-domain"));
    host.live("domain-policy", "strict-domain").await;
    assert!(host.view(PLAN).disabled && host.view(PLAN).is_builtin);
    host.order(PLAN, Order::Activate).await.expect("switched on");
    host.live(PLAN, "price-two").await;
}

#[tokio::test]
async fn an_order_that_makes_no_sense_is_refused() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let refused = |order| host.order(PLAN, order);
    let nothing = refused(Order::Activate).await.expect_err("nothing waits");
    assert!(matches!(nothing, OrderError::NothingToActivate(_)), "{nothing}");
    let nothing = refused(Order::Shadow { calls: 3 }).await.expect_err("nothing waits");
    assert!(matches!(nothing, OrderError::NothingToShadow(_)), "{nothing}");
    let unknown = host.order("no-such-slot", Order::RollBack).await.expect_err("unknown");
    assert_eq!(
        unknown.to_string(),
        "there is no slot no-such-slot; `waxwing plugin list` shows all"
    );
}
