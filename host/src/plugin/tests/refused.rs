//! Bad guests that never become live: each is refused on its way, with its cause, and with the
//! setting and its value where there is one. After each refusal the next good call is right.

use super::fixture::{PLAN, RENDERER, account, candidate, use_of};
use super::{ANYBODY, plugins, still_renders};
use crate::plugin::Plugins;
use crate::plugin::kinds::plan::Verdict;
use crate::plugin::runtime::limits::Limits;

/// So that a machine that does much else does not end a guest before its other limits do.
const PATIENT: &str = "[limits]\ncall_ms = 5000\nprepare_ms = 5000\n";
/// How a panic ends in a report of the host.
const PANIC: &str = "wasm trap: wasm `unreachable` instruction executed; it wrote: thread";
const NO_USE: &str = "did not pass the built-in case `no use`";

async fn refusal(plugins: &Plugins, slot: &str, config: &str, component: Vec<u8>) -> String {
    let candidate = candidate(slot, Some(component), config);
    plugins.try_out(&candidate).await.expect_err("a bad guest is refused").to_string()
}

async fn still_decides(plugins: &Plugins) {
    let (context, who) = (plugins.context("test".to_owned()), account("acc_1", "free"));
    let called = plugins.table().check(&ANYBODY, &context, &who, &[use_of("welcome")]).await;
    assert!(matches!(called.result.as_deref(), Ok([Verdict::Allow(it)]) if it.credits == 1));
}

/// Each guest's refusal begins and ends with those words.
async fn are_refused(slot: &str, guests: &[(&str, &str, &str)]) {
    are_refused_in(slot, "", guests).await;
}

async fn are_refused_in(slot: &str, config: &str, guests: &[(&str, &str, &str)]) {
    let plugins = plugins(Limits::default()).await;
    for (guest, begins, ends) in guests {
        let text = refusal(&plugins, slot, config, waxwing_guests::component(guest)).await;
        assert!(text.starts_with(begins) && text.ends_with(ends), "{guest}: {text}");
        still_decides(&plugins).await;
        still_renders(&plugins).await;
    }
}

#[tokio::test]
async fn a_plan_policy_that_always_traps_is_refused_by_the_hosts_cases() {
    let always = |guest: &str, detail: &str| {
        format!("the plugin {guest} {NO_USE}: the plugin {guest} trapped in check: {detail}")
    };
    let end = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
    are_refused(
        PLAN,
        &[
            ("panic-check", &always("panic-check", PANIC), end),
            ("deep-recursion", &always("deep-recursion", ""), "wasm trap: call stack exhausted"),
            ("exits", &always("exits", ""), "Exited with i32 exit status 0"),
            ("sleeps", &always("sleeps", ""), "a plugin may not sleep: its clock stands still"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_panic_is_reported_with_its_message() {
    let plugins = plugins(Limits::default()).await;
    let text = refusal(&plugins, PLAN, "", waxwing_guests::component("panic-check")).await;
    assert!(text.contains("panic-check.rs:24:9: panic-check always panics"), "{text}");
}

#[tokio::test]
async fn a_plan_policy_without_an_end_is_refused_with_the_setting_and_its_value() {
    let beyond = |guest: &str, detail: &str| {
        format!("the plugin {guest} {NO_USE}: the plugin {guest} {detail} in check: ")
    };
    are_refused(
        PLAN,
        &[
            (
                "endless-loop",
                &beyond("endless-loop", "used up its time"),
                ": plugins.limits.plan.call_ms is 10 ms",
            ),
            (
                "endless-describe",
                "the plugin plan-policy used up its time in describe",
                ": plugins.limits.plan.prepare_ms is 50 ms",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_plan_policy_over_a_limit_is_refused_with_the_setting_and_its_value() {
    are_refused_in(
        PLAN,
        PATIENT,
        &[
            (
                "memory-bomb",
                "the plugin memory-bomb did not pass the built-in case `three uses`: the plugin \
                 memory-bomb used up its memory in check",
                ": plugins.limits.plan.memory_bytes is 16777216 bytes",
            ),
            (
                "huge-answer",
                "the plugin huge-answer did not pass the built-in case `three uses`: the plugin \
                 huge-answer answered too much in check",
                ": plugins.limits.plan.output_bytes is 262144 bytes",
            ),
            (
                "giant-texts",
                "the plugin plan-policy answered too much in describe",
                ": plugins.limits.plan.output_bytes is 262144 bytes",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_plan_policy_that_breaks_the_interface_is_refused() {
    let broke =
        |guest: &str| format!("the plugin {guest} did not pass the built-in case `three uses`: ");
    are_refused(
        PLAN,
        &[
            ("too-few", &broke("too-few"), "broke the interface in check: 3 uses, 0 decisions"),
            ("too-many", &broke("too-many"), "broke the interface in check: 3 uses, 4 decisions"),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_plugin_that_fails_before_its_first_call_is_refused() {
    let backtrace = "environment variable to display a backtrace";
    let trapped = |call: &str, name: &str| format!("the plugin {name} trapped in {call}: {PANIC}");
    are_refused(
        PLAN,
        &[
            ("trap-describe", &trapped("describe", "plan-policy"), backtrace),
            ("trap-configure", &trapped("configure", "trap-configure"), backtrace),
            ("trap-self-test", &trapped("self-test", "trap-self-test"), backtrace),
            (
                "refuses-settings",
                "the plugin refuses-settings refused its settings: ",
                "the first fault; the second fault",
            ),
            (
                "fails-self-test",
                "the plugin fails-self-test did not pass its own test two and two: ",
                "expected 4 and got 5",
            ),
            (
                "price-setting",
                "the plugin price-setting refused its settings: settings: ",
                "\"price\" is a required property",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_plugin_that_says_nonsense_of_itself_is_refused() {
    are_refused(
        PLAN,
        &[
            (
                "control-texts",
                "the plugin's manifest cannot be used: its name has control characters",
                "",
            ),
            (
                "bad-schema",
                "the plugin bad-schema gives a settings schema that is not JSON Schema 2020-12: ",
                "",
            ),
            (
                "schema-not-json",
                "the plugin schema-not-json gives a settings schema that is not JSON Schema \
                 2020-12: ",
                "",
            ),
            (
                "wrong-world",
                "the component exports no kind of plugin that this server knows",
                "it exports: other:hello/greeter@1.0.0",
            ),
            (
                "reads-file",
                "the component imports wasi:filesystem/",
                "and plugins have no files, sockets or clocks of their own; build it without, or \
                 take what it needs from its call's context",
            ),
            (
                "visible-a",
                "the component is a template renderer, and this slot takes a plan policy",
                "",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_renderer_that_fails_the_hosts_case_is_refused() {
    let case = |guest: &str, detail: &str| {
        format!("the plugin {guest} did not pass the built-in case `plain text`: {detail}")
    };
    let failed = |guest: &str, detail: &str| case(guest, &format!("the plugin {guest} {detail}"));
    let backtrace = "environment variable to display a backtrace";
    are_refused(
        RENDERER,
        &[
            (
                "trap-compile",
                &failed("trap-compile", &format!("trapped in compile: {PANIC}")),
                backtrace,
            ),
            (
                "trap-drop",
                &failed("trap-drop", &format!("trapped in drop of a compiled template: {PANIC}")),
                backtrace,
            ),
            (
                "handle-bomb",
                &failed("handle-bomb", "trapped in render: cannot allocate another handle"),
                "store handle limit exceeded",
            ),
            (
                "no-bodies",
                &case("no-bodies", "the template has a text part, and the answer has none"),
                "",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_renderer_over_a_limit_is_refused_with_the_setting_and_its_value() {
    let begins = "the plugin huge-body did not pass the built-in case `plain text`: the plugin \
                  huge-body answered too much in render";
    let ends = ": plugins.limits.renderer.output_bytes is 8388608 bytes";
    are_refused_in(RENDERER, PATIENT, &[("huge-body", begins, ends)]).await;
}
