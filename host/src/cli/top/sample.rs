//! Two readings of the metrics, and what lies between them.

#![expect(clippy::float_arithmetic, reason = "metrics are floats")]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// One reading: each series, as Prometheus writes it, and its value.
#[derive(Debug)]
pub struct Sample {
    at: Instant,
    series: BTreeMap<String, f64>,
}

/// What lies between two readings.
#[derive(Debug)]
pub struct Span<'a> {
    seconds: f64,
    before: &'a Sample,
    after: &'a Sample,
}

impl Sample {
    /// Reads Prometheus' text format.
    pub fn read(text: &str) -> Self {
        let lines = text.lines().filter(|it| !it.starts_with('#'));
        let series = lines.filter_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            Some((series.to_owned(), value.parse().ok()?))
        });
        Self { at: Instant::now(), series: series.collect() }
    }

    fn of<'a>(&'a self, metric: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        let named = self.series.iter().filter(move |(series, _)| {
            let rest = series.strip_prefix(metric);
            rest.is_some_and(|it| it.is_empty() || it.starts_with('{'))
        });
        named.map(|(series, value)| (series.as_str(), *value))
    }
}

impl<'a> Span<'a> {
    pub fn between(before: &'a Sample, after: &'a Sample) -> Self {
        let seconds = after.at.duration_since(before.at).as_secs_f64().max(f64::EPSILON);
        Self { seconds, before, after }
    }

    /// The gauge, as it was read last.
    pub fn now(&self, metric: &str) -> Option<f64> {
        self.after.of(metric).map(|(_, value)| value).find(|it| it.is_finite())
    }

    /// The values of a label, sorted.
    pub fn labels(&self, metric: &'a str, label: &'a str) -> impl Iterator<Item = &'a str> {
        let values = self.after.of(metric).filter_map(move |(series, _)| label_of(series, label));
        values.collect::<BTreeSet<&str>>().into_iter()
    }

    /// How much the counter has grown a second, over all of its series that have these labels.
    pub fn rate(&self, metric: &str, labels: &[(&str, &str)]) -> f64 {
        let grown = self.after.of(metric).filter_map(|(series, value)| {
            let is_meant =
                labels.iter().all(|(label, wanted)| label_of(series, label) == Some(*wanted));
            is_meant.then(|| self.grown(series, value))
        });
        total(grown) / self.seconds
    }

    /// How much a series has grown to this value. A server that was started again counts from nothing.
    fn grown(&self, series: &str, value: f64) -> f64 {
        let before = self.before.series.get(series).copied().unwrap_or_default();
        if value < before { value } else { value - before }
    }

    /// Within how many seconds so many of 100 have ended: the bound of the bucket in which the last of them is. None
    /// where nothing has ended, or the last of them took longer than all bounds.
    pub fn within(&self, histogram: &str, step: &str, of_100: u32) -> Option<f64> {
        let metric = format!("{histogram}_bucket");
        let mut buckets: Vec<(f64, f64)> = Vec::new();
        for (series, value) in self.after.of(&metric) {
            if label_of(series, "step") == Some(step)
                && let Some(bound) = label_of(series, "le").and_then(|it| it.parse().ok())
            {
                buckets.push((bound, self.grown(series, value)));
            }
        }
        buckets.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        let all = buckets.last().map(|(_, count)| *count).filter(|it| *it > 0.0)?;
        let wanted = all * f64::from(of_100) / 100.0;
        buckets
            .into_iter()
            .find(|(_, count)| *count >= wanted)
            .map(|it| it.0)
            .filter(|it| it.is_finite())
    }
}

/// The sum; that of no numbers is 0, where `sum` says -0.
pub fn total(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |sum, it| sum + it)
}

/// None where there is nothing to divide by.
pub fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

pub fn microseconds(seconds: f64) -> f64 {
    seconds * 1e6
}

pub fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1e5).round() / 100.0
}

fn label_of<'a>(series: &'a str, label: &str) -> Option<&'a str> {
    let (_, labels) = series.split_once('{')?;
    let mut pairs = labels.trim_end_matches('}').split(',').filter_map(|it| it.split_once('='));
    pairs.find(|(name, _)| *name == label).map(|(_, value)| value.trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const BEFORE: &str = "# TYPE waxwing_deliveries_total counter\n\
        waxwing_deliveries_total{state=\"delivered\"} 10\n\
        waxwing_step_seconds_bucket{step=\"commit\",le=\"0.001\"} 5\n\
        waxwing_step_seconds_bucket{step=\"commit\",le=\"0.01\"} 5\n\
        waxwing_step_seconds_bucket{step=\"commit\",le=\"+Inf\"} 5\n";
    const AFTER: &str = "waxwing_deliveries_total{state=\"delivered\"} 30\n\
        waxwing_deliveries_total{state=\"deferred\"} 4\n\
        waxwing_step_seconds_bucket{step=\"commit\",le=\"0.001\"} 95\n\
        waxwing_step_seconds_bucket{step=\"commit\",le=\"0.01\"} 105\n\
        waxwing_step_seconds_bucket{step=\"commit\",le=\"+Inf\"} 105\n\
        waxwing_queue_length 7\n";

    fn readings() -> (Sample, Sample) {
        let (before, mut after) = (Sample::read(BEFORE), Sample::read(AFTER));
        after.at = before.at + Duration::from_secs(2);
        (before, after)
    }

    #[test]
    fn a_rate_is_what_a_counter_has_grown_a_second() {
        let (before, after) = readings();
        let span = Span::between(&before, &after);
        let rate =
            |state| format!("{:.1}", span.rate("waxwing_deliveries_total", &[("state", state)]));
        assert_eq!((rate("delivered"), rate("deferred")), ("10.0".to_owned(), "2.0".to_owned()));
        let states: Vec<&str> = span.labels("waxwing_deliveries_total", "state").collect();
        assert_eq!(states, ["deferred", "delivered"]);
        assert_eq!(span.now("waxwing_queue_length"), Some(7.0));
        assert_eq!(format!("{:.1}", span.rate("waxwing_refusals_total", &[])), "0.0");
    }

    #[test]
    fn a_counter_of_a_server_that_was_restarted_counts_from_nothing() {
        let (before, after) = readings();
        let mut again = Sample::read("waxwing_deliveries_total{state=\"delivered\"} 6\n");
        again.at = after.at;
        let span = Span::between(&before, &again);
        let rate = span.rate("waxwing_deliveries_total", &[("state", "delivered")]);
        assert_eq!(format!("{rate:.1}"), "3.0");
    }

    #[test]
    fn a_time_is_the_bound_that_so_many_stayed_within() {
        let (before, after) = readings();
        let span = Span::between(&before, &after);
        assert_eq!(span.within("waxwing_step_seconds", "commit", 50), Some(0.001));
        assert_eq!(span.within("waxwing_step_seconds", "commit", 99), Some(0.01));
        assert_eq!(span.within("waxwing_step_seconds", "render", 99), None);
    }
}
