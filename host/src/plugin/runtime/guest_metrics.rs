//! What the plugins of a slot count, for `/metrics`. A series stays until the server stops, so a slot
//! has a bounded number of them: a guest could else make any number, with names of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Counter, Label};

use super::bindings::types::Pair;

/// Series of one slot: a name with its labels.
const MAX_SERIES: usize = 100;
/// Labels of one series, and characters of a name or of a label's value, at most.
const MAX_LABELS: usize = 8;
const MAX_CHARACTERS: usize = 64;

/// The counters of one slot. Cheap to clone; all generations of the slot count in the same ones.
#[derive(Clone)]
pub struct SlotCounts {
    slot: Arc<str>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    series: HashMap<Series, Counter>,
    has_warned: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Series {
    metric: String,
    labels: Vec<(String, String)>,
}

impl SlotCounts {
    /// Nothing is counted yet.
    pub fn new(slot: &str) -> Self {
        Self { slot: slot.into(), state: Arc::default() }
    }

    /// Adds to a counter. One that would be one series too many is dropped, and that is counted.
    pub fn add(&self, metric: &str, delta: u64, labels: &[Pair]) {
        let series = Series::of(metric, labels);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counter) = state.series.get(&series) {
            return counter.increment(delta);
        }
        let slot = &self.slot;
        if state.series.len() == MAX_SERIES {
            metrics::counter!("waxwing_plugin_count_dropped_total", "slot" => slot.to_string())
                .increment(1);
            if !std::mem::replace(&mut state.has_warned, true) {
                let metric = &series.metric;
                tracing::warn!(
                    %slot, metric, limit = MAX_SERIES,
                    "plugin exceeds the limit of counter series; new series are dropped"
                );
            }
            return;
        }
        let counter =
            metrics::counter!("waxwing_plugin_count_total", series.labels_for_metrics(slot));
        counter.increment(delta);
        state.series.insert(series, counter);
    }
}

impl Series {
    fn of(metric: &str, labels: &[Pair]) -> Self {
        let one = |it: &Pair| (label(&it.key), value(&it.value));
        let mut labels: Vec<_> = labels.iter().take(MAX_LABELS).map(one).collect();
        labels.sort();
        labels.dedup_by(|a, b| a.0 == b.0);
        Self { metric: name(metric), labels }
    }

    fn labels_for_metrics(&self, slot: &str) -> Vec<Label> {
        let own = [("slot", slot), ("metric", &self.metric)];
        let own = own.map(|(key, value)| Label::new(key, value.to_owned()));
        let brought = self.labels.iter().cloned().map(|(key, value)| Label::new(key, value));
        own.into_iter().chain(brought).collect()
    }
}

/// As Prometheus has names: letters, digits and underscores.
fn name(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    text.chars().take(MAX_CHARACTERS).map(plain).collect()
}

/// A label's name, which is not one of ours and does not begin with a digit.
fn label(text: &str) -> String {
    let name = name(text);
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if is_plain && !["slot", "metric"].contains(&name.as_str()) {
        name
    } else {
        format!("plugin_{name}")
    }
}

fn value(text: &str) -> String {
    text.chars().take(MAX_CHARACTERS).filter(|c| !c.is_control()).collect()
}

impl std::fmt::Debug for SlotCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SlotCounts").field("slot", &self.slot).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    fn pair(key: &str, value: &str) -> Pair {
        Pair { key: key.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_name_keeps_its_underscores_and_its_labels() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let text = metrics::with_local_recorder(&recorder, || {
            let counts = SlotCounts::new("plan-policy");
            counts.add("uses_denied", 2, &[pair("plan_name", "pro"), pair("slot", "mine")]);
            counts.add("uses_denied", 1, &[pair("slot", "mine"), pair("plan_name", "pro")]);
            recorder.handle().render()
        });
        let line = text.lines().find(|it| it.starts_with("waxwing_plugin_count_total{"));
        let line = line.expect("it is counted");
        for part in [
            r#"slot="plan-policy""#,
            r#"metric="uses_denied""#,
            r#"plan_name="pro""#,
            r#"plugin_slot="mine""#,
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
        assert!(line.ends_with(" 3"), "one series, whatever the order of its labels: {line}");
    }

    #[test]
    fn a_slot_has_a_bounded_number_of_series_and_what_is_over_is_counted() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let text = metrics::with_local_recorder(&recorder, || {
            let counts = SlotCounts::new("plan-policy");
            for n in 0..3_000 {
                counts.add(&format!("name_{n}"), 1, &[]);
                counts.add("one", 1, &[pair("who", &n.to_string())]);
            }
            recorder.handle().render()
        });
        let series = text.lines().filter(|it| it.starts_with("waxwing_plugin_count_total{"));
        assert_eq!(series.count(), MAX_SERIES);
        let dropped = "waxwing_plugin_count_dropped_total{slot=\"plan-policy\"} 5900";
        assert!(text.contains(dropped), "{text}");
    }
}
