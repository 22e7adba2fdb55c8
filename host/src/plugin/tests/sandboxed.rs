//! What a guest sees of the world: a clock that stands still, randomness that is none, a log with
//! bounds, and nothing of the call before.

use serde_json::json;

use super::fixture::{PLAN, PluginHost, TestDirs, candidate, reason, use_of};
use super::guests::{check, live};
use super::{NOW, plugins};
use crate::plugin::records::Call;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::Limits;

#[tokio::test]
async fn a_flood_of_log_lines_is_bounded_and_counted() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("chatty"));
    let validated = host.live(PLAN, "chatty").await;
    let log = &validated.generation_config().log;
    assert_eq!(
        log.tail(1_000).0.len(),
        0,
        "what the built-in cases make it say is heard by nobody"
    );
    for _ in 0..2 {
        assert_eq!(host.reason().await, "chatty");
    }
    // Two calls, a thousand lines each, in one second of its clock.
    let (lines, dropped) = log.tail(1_000);
    assert_eq!((lines.len(), dropped), (100, 1_900));
    assert_eq!((lines[63].message.as_str(), lines[64].message.as_str()), ("line 64", "line 1"));
}

#[tokio::test]
async fn a_plugins_clock_stands_still_and_its_randomness_is_the_same() {
    let plugins = live("reads-clock", PLAN, "").await;
    let first = reason(&check(&plugins, &[use_of("welcome")]).await);
    let second = reason(&check(&plugins, &[use_of("welcome")]).await);
    assert_eq!(first, second);
    let expected = format!("wall={} passed=0 random=", NOW.unsigned_millis());
    assert!(first.starts_with(&expected), "{first}");
}

/// A replay of a call gives the answer that it had then, so a plugin's clock is that of its call.
#[tokio::test]
async fn a_recorded_call_is_answered_as_of_its_own_time() {
    let plugins = plugins(Limits::default()).await;
    let component = waxwing_guests::component("reads-clock");
    let validated =
        plugins.try_out(&candidate(PLAN, Some(component), "")).await.expect("validated");
    let input = json!({"nowUnixMs": 1_234_567, "account": {"id": "acc_1"}, "uses": [{}]});
    let call = Call::from_json(Kind::Plan, &input).expect("a call");
    let (answer, failure) = validated.dry_run(&call).await;
    assert_eq!(failure, None);
    let reason = answer["decisions"][0]["allow"]["reason"].as_str().expect("a reason");
    assert!(reason.starts_with("wall=1234567 passed=0 "), "{reason}");
}

/// Rust seeds each hash map of an instance anew, so an instance that was used before shows it.
#[tokio::test]
async fn a_policy_sees_nothing_of_the_call_before_unless_it_is_kept_warm() {
    let answers = async |config| {
        let plugins = live("reads-clock", PLAN, config).await;
        let first = reason(&check(&plugins, &[use_of("welcome")]).await);
        (first, reason(&check(&plugins, &[use_of("welcome")]).await))
    };
    let (first, second) = answers("").await;
    assert_eq!(first, second, "a fresh instance for each call");
    let (first, second) = answers("instances = 'warm'").await;
    assert_ne!(first, second, "the same instance, which remembers");
}

const STATELESS: &str = "instances = 'stateless'";

/// Each of them answers every call well that is the first of its instance.
#[tokio::test]
async fn a_plugin_that_says_it_keeps_no_state_and_lies_is_refused() {
    let plugins = plugins(Limits::default()).await;
    let refused = async |guest| {
        let component = waxwing_guests::component(guest);
        assert!(plugins.try_out(&candidate(PLAN, Some(component.clone()), "")).await.is_ok());
        let lies = plugins.try_out(&candidate(PLAN, Some(component), STATELESS)).await;
        lies.expect_err("it keeps state").to_string()
    };
    let text = refused("remembers-account").await;
    assert!(text.starts_with("the plugin remembers-account keeps state: after other "), "{text}");
    assert!(text.contains("after acc_test"), "{text}");
    assert!(text.contains("`instances = \"stateless\"`"), "{text}");
    for guest in ["counts-calls", "reads-clock"] {
        let text = refused(guest).await;
        assert!(text.starts_with(&format!("the plugin {guest} keeps state")), "{text}");
    }
}

/// An instance that trapped cannot be entered again.
#[tokio::test]
async fn a_stateless_plugin_gets_a_new_instance_after_a_trap() {
    let plugins = live("panic-on-poison", PLAN, STATELESS).await;
    for _ in 0..3 {
        assert_eq!(reason(&check(&plugins, &[use_of("welcome")]).await), "panic-on-poison");
        check(&plugins, &[use_of("poison")]).await.result.expect_err("a panic");
    }
    assert_eq!(reason(&check(&plugins, &[use_of("welcome")]).await), "panic-on-poison");
}
