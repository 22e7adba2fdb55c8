//! The alerts for Prometheus and the dashboard for Grafana: Prometheus understands them, each alert comes when it has to,
//! and each metric that they read is one of the server's.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use reqwest::Method;
use serde_json::Value;
use waxwing_tests::{Launch, Server, workspace};
use waxwing_tools::Need;

fn packaging() -> PathBuf {
    workspace().join("host/packaging")
}

fn promtool(arguments: &[&str]) -> String {
    let mut command = Command::new("promtool");
    command.args(arguments).current_dir(packaging().join("prometheus"));
    let output = command.output().expect("promtool runs");
    let told = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "promtool {arguments:?}: {told}");
    told
}

/// The metrics that a text names.
fn named(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let words = text.split(|c| !is_part(c)).filter(|it| it.starts_with("waxwing_"));
    words.map(str::to_owned).collect()
}

/// All expressions of the dashboard, as Grafana sends them.
fn expressions() -> Vec<String> {
    let text = fs::read_to_string(packaging().join("grafana/waxwing.json")).expect("the dashboard");
    let dashboard: Value = serde_json::from_str(&text).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|it| it["targets"].as_array().expect("targets"));
    let expressions = targets.map(|it| it["expr"].as_str().expect("an expression"));
    expressions.map(|it| it.replace("$__rate_interval", "5m").replace("$instance", ".*")).collect()
}

#[test]
fn each_alert_comes_when_it_has_to_and_not_before() {
    if !Need::Promtool.is_met("the alerts for Prometheus are not tried") {
        return;
    }
    promtool(&["check", "rules", "waxwing.rules.yml"]);
    promtool(&["test", "rules", "waxwing.rules.test.yml"]);
}

#[test]
fn prometheus_understands_every_panel_of_the_dashboard() {
    if !Need::Promtool.is_met("the dashboard for Grafana is not tried") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let rules = folder.path().join("rules.yml");
    let mut text = "groups:\n  - name: panels\n    rules:\n".to_owned();
    for (number, expression) in expressions().iter().enumerate() {
        let quoted = Value::from(expression.as_str());
        writeln!(text, "      - {{record: \"panel:{number}\", expr: {quoted}}}").expect("a text");
    }
    fs::write(&rules, text).expect("written");
    promtool(&["check", "rules", rules.to_str().expect("a path")]);
}

#[test]
fn alerts_and_panels_read_metrics_that_the_server_has() {
    let table = fs::read_to_string(workspace().join("host/METRICS.md")).expect("the metrics");
    let rules = fs::read_to_string(packaging().join("prometheus/waxwing.rules.yml"));
    let known = named(&table);
    let read = named(&format!("{}\n{}", rules.expect("the rules"), expressions().join("\n")));
    assert!(read.len() > 15, "{read:?}");
    for metric in read {
        let parts = ["_bucket", "_sum", "_count"].map(|it| metric.strip_suffix(it));
        let of_histogram = parts.into_iter().flatten().any(|it| known.contains(it));
        assert!(known.contains(&metric) || of_histogram, "{metric} is no metric of METRICS.md");
    }
}

#[tokio::test]
async fn a_counter_whose_rise_is_an_alert_is_there_before_the_first_event() {
    let rules = fs::read_to_string(packaging().join("prometheus/waxwing.rules.yml"));
    let rules = rules.expect("the rules");
    let rising: BTreeSet<&str> =
        rules.split("increase(").skip(1).filter_map(|it| it.split(['{', '[']).next()).collect();
    assert!(rising.len() > 1, "{rising:?}");
    let server = Server::start(Launch::dev());
    let answer = server.request(Method::GET, "/metrics").send().await.expect("answered");
    let shown = answer.text().await.expect("a text");
    for counter in rising {
        let is_it = |line: &str| line.starts_with(&format!("{counter}{{")) && line.ends_with(" 0");
        assert!(shown.lines().any(is_it), "{counter} in {shown}");
    }
    for series in ["refusals_total{code=\"UNAVAILABLE\"}", "plugin_failures_total{kind=\"plan\"}"] {
        assert!(shown.contains(&format!("waxwing_{series} 0\n")), "{series} in {shown}");
    }
}

#[tokio::test]
async fn prometheus_reads_what_the_server_shows() {
    if !Need::Promtool.is_met("the format of the metrics is not tried") {
        return;
    }
    let server = Server::start(Launch::dev());
    let answer = server.request(Method::GET, "/metrics").send().await.expect("answered");
    let shown = answer.text().await.expect("a text");
    let file = server.scratch("metrics");
    fs::write(&file, shown).expect("written");
    let line = format!("promtool check metrics < {}", file.display());
    let output = Command::new("sh").args(["-c", &line]).output().expect("promtool runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    // Counters are whole numbers here, and the time of a call is far below a second.
    let complaints: Vec<&str> = told
        .lines()
        .filter(|it| !it.is_empty() && !it.contains("_microseconds_total use base unit"))
        .collect();
    assert!(complaints.is_empty(), "{told}");
}
