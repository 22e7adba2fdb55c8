//! Every metric of the code is in the table, and the table is `host/METRICS.md`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::METRICS;
use crate::generated_docs::assert_up_to_date;

const INTRODUCTION: &str = "\
# Metrics

Prometheus reads them at `/metrics`, where `[http] metrics_listen` says. Histograms are in seconds, but for the size of
a group. No label holds an address, a key or a body.

This file is written by `WAXWING_WRITE=1 cargo test --workspace --lib telemetry::metrics`.

| metric | kind | labels | meaning |
|---|---|---|---|
";

#[test]
fn the_list_of_metrics_is_what_the_code_counts() {
    let rows = METRICS.iter().map(|(name, kind, labels, meaning)| {
        format!("| `{name}` | {} | {labels} | {meaning} |\n", format!("{kind:?}").to_lowercase())
    });
    let list = INTRODUCTION.to_owned() + &rows.collect::<String>();
    assert_up_to_date("METRICS.md", &list, "telemetry::metrics");
}

#[test]
fn every_metric_of_the_code_is_in_the_list_and_no_other() {
    let mut counted = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("telemetry/metrics.rs") {
                let source = fs::read_to_string(path).expect("a source");
                let names = source.split('"').filter(|it| it.starts_with("waxwing_"));
                let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                let is_name = |it: &&str| it.chars().all(is_letter);
                counted.extend(names.filter(is_name).map(str::to_owned));
            }
        }
    }
    let listed = METRICS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    counted.retain(|it| it != "waxwing_");
    assert_eq!(counted, listed);
}
