//! What an operator's monitoring sees of plugins.

use std::str::FromStr;
use std::time::Duration;

use waxwing_tests::{Server, until_async};

use super::{Component, PLAN, note_to, sent, server};

const BOUND: Duration = Duration::from_secs(15);

/// The value of a series that has these labels.
async fn value<T: FromStr>(server: &Server, name: &str, labels: &[&str]) -> Option<T> {
    let page = server.request(reqwest::Method::GET, "/metrics").send().await.expect("answered");
    let page = page.text().await.expect("a text");
    let is_it = |line: &&str| {
        let series = line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'));
        series && labels.iter().all(|label| line.contains(label))
    };
    let line = page.lines().find(is_it)?;
    line.rsplit_once(' ')?.1.parse().ok()
}

async fn until_value(server: &Server, name: &str, labels: &[&str], wanted: u64) {
    let ask = || async { (value(server, name, labels).await == Some(wanted)).then_some(()) };
    until_async(&format!("{name} {labels:?} is {wanted}"), BOUND, ask).await;
}

#[tokio::test]
async fn calls_cpu_time_rollbacks_and_rejections_are_counted_by_slot() {
    let server = server();
    let (one, bad) = (Component::guest("price-one"), Component::guest("panic-on-poison"));
    server.swap(PLAN, &one.bytes, &one.digest).await;
    for n in 0..10 {
        sent(&server, n).await;
    }
    let (plan, renderer) = ("slot=\"plan-policy\"", "slot=\"liquid-renderer\"");
    for slot in [plan, renderer] {
        let labels = [slot, "outcome=\"answered\""];
        until_value(&server, "waxwing_plugin_calls_total", &labels, 10).await;
    }
    let cpu = "waxwing_plugin_cpu_seconds_total";
    let spent = async |labels: &[&str]| {
        let seconds = value::<f64>(&server, cpu, labels).await?;
        Duration::try_from_secs_f64(seconds).ok()
    };
    let of_one = spent(&[plan, "plugin=\"price-one\""]).await;
    // Ten calls of a small guest take no minute.
    let is_of_ten_calls = |it: Duration| it > Duration::ZERO && it < Duration::from_mins(1);
    assert!(of_one.is_some_and(is_of_ten_calls), "{of_one:?}");
    let of_built_in = spent(&[renderer]).await;
    assert!(of_built_in.is_some_and(|it| it > Duration::ZERO), "{of_built_in:?}");
    let shown = server.slot(PLAN).await["active"]["cpuMicros"].as_u64().map(Duration::from_micros);
    let is_part = shown.is_some_and(|it| it > Duration::ZERO && Some(it) <= of_one);
    assert!(is_part, "{shown:?} of {of_one:?}");
    let activations = "waxwing_plugin_activations_total";
    until_value(&server, activations, &[plan], 1).await;

    let rejected = "waxwing_plugin_candidate_rejected";
    until_value(&server, rejected, &[plan], 0).await;
    server.place("plan-policy.wasm", b"no component");
    server.rejected(PLAN, "not WebAssembly").await;
    until_value(&server, rejected, &[plan], 1).await;
    until_value(&server, rejected, &[renderer], 0).await;
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    until_value(&server, rejected, &[plan], 0).await;

    for _ in 0..3 {
        let answer = server.send(server.key(), &note_to(1, "a@poison.example")).await;
        answer.assert_refused(503, "UNAVAILABLE");
    }
    server.live(PLAN, &one.digest).await;
    until_value(&server, "waxwing_plugin_rollbacks_total", &[plan], 1).await;
    until_value(&server, "waxwing_plugin_calls_total", &[plan, "outcome=\"trapped\""], 3).await;
    until_value(&server, "waxwing_plugin_failures_total", &["kind=\"plan\""], 3).await;
    // A new generation of a plugin goes on counting where the last one stopped.
    let before = spent(&[plan, "plugin=\"price-one\""]).await;
    sent(&server, 1).await;
    let after = spent(&[plan, "plugin=\"price-one\""]).await;
    assert!(after > before, "{before:?} and then {after:?}");
}
