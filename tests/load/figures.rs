//! Medians and units. The only place of the generator that computes with floats.

#![expect(clippy::float_arithmetic, reason = "figures for people; nothing is decided by them")]
#![expect(clippy::cast_precision_loss, reason = "figures for people; nothing is decided by them")]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::round::Round;

/// The medians of some rounds.
pub struct Summary<'a>(&'a [Round]);

impl<'a> Summary<'a> {
    pub fn of(rounds: &'a [Round]) -> Self {
        Self(rounds)
    }

    pub fn to_json(&self) -> Value {
        let mut statuses: BTreeMap<String, u64> = BTreeMap::new();
        for (status, count) in self.0.iter().flat_map(|round| &round.statuses) {
            *statuses.entry(status.to_string()).or_default() += count;
        }
        let all = |of: fn(&Round) -> u64| self.0.iter().map(of).map(micros).collect::<Vec<f64>>();
        let mut line = json!({
            "sendsPerSecond": self.median(|it| it.per_second),
            "p50Ms": thousandth(self.median(|it| it.p50_micros)),
            "p99Ms": thousandth(self.median(|it| it.p99_micros)),
            "cpuMicrosPerSend": thousandth(self.median(|it| it.cpu_nanos)),
            "generatorCpuMicrosPerSend": thousandth(self.median(|it| it.generator_cpu_nanos)),
            "bytesWrittenPerSend": self.median(|it| it.written),
            "statuses": statuses,
            "cpuMicrosPerSendOfRounds": all(|it| it.cpu_nanos),
            "sendsPerSecondOfRounds": self.0.iter().map(|it| it.per_second).collect::<Vec<_>>(),
        });
        for part in self.0.iter().flat_map(|it| it.parts.keys()) {
            let nanos = self.0.iter().filter_map(|it| it.parts.get(part).copied()).collect();
            line["cpuMicrosPerSendOf"][part] = json!(thousandth(median(nanos)));
        }
        if let Some(journey) = self.0.iter().map(|it| it.journey).collect::<Option<Vec<_>>>() {
            let commits = journey.iter().map(|it| it.commits_in_1000_sends).collect();
            line["commitsPerSend"] = json!(thousandth(median(commits)));
            line["delivered"] = json!(journey.iter().map(|it| it.delivered).sum::<u64>());
            let delivered = journey.iter().map(|it| it.delivered_per_second).collect();
            line["deliveredPerSecond"] = json!(median::<u64>(delivered));
        }
        line
    }

    fn median(&self, of: fn(&Round) -> u64) -> u64 {
        median(self.0.iter().map(of).collect())
    }
}

/// The middle one, or the lower of the two.
pub fn median<T: PartialOrd + Copy + Default>(mut values: Vec<T>) -> T {
    values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or_default()
}

/// The value that `percent` of an ascending list do not exceed.
pub fn percentile(ascending: &[u64], percent: usize) -> u64 {
    let at = (ascending.len() * percent).div_ceil(100).saturating_sub(1);
    ascending.get(at).copied().unwrap_or_default()
}

/// How many in a second.
pub fn per_second(count: u64, wall: Duration) -> u64 {
    let nanos = u128::from(count) * 1_000_000_000;
    u64::try_from(nanos / wall.as_nanos().max(1)).unwrap_or(u64::MAX)
}

/// Nanoseconds of one of many.
pub fn share(time: Duration, count: u64) -> u64 {
    u64::try_from(time.as_nanos() / u128::from(count.max(1))).unwrap_or(u64::MAX)
}

/// `a / b`, to two digits.
pub fn ratio(a: u64, b: u64) -> f64 {
    (100.0 * a as f64 / b.max(1) as f64).round() / 100.0
}

/// One against the other, each round against the round beside it; medians.
pub fn ratios(ours: &[Round], theirs: &[Round]) -> Value {
    let ratio = |of: fn(&Round) -> u64| {
        let pairs = ours.iter().zip(theirs);
        median(pairs.map(|(a, b)| ratio(of(a), of(b))).collect())
    };
    json!({
        "sendsPerSecond": ratio(|round| round.per_second),
        "cpu": ratio(|round| round.cpu_nanos),
        "p50": ratio(|round| round.p50_micros),
        "p99": ratio(|round| round.p99_micros),
        "bytesWritten": ratio(|round| round.written),
    })
}

pub fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

pub fn mebibytes(kib: u64) -> f64 {
    (kib as f64 / 102.4).round() / 10.0
}

/// KiB of one of many, to one digit.
pub fn kibibytes_each(kib: u64, count: u64) -> f64 {
    (10.0 * kib as f64 / count.max(1) as f64).round() / 10.0
}

/// Microseconds.
pub fn micros(nanos: u64) -> f64 {
    thousandth(nanos)
}

fn thousandth(value: u64) -> f64 {
    value as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(cpu_nanos: u64, written: u64, render: u64) -> Round {
        Round {
            per_second: 2_000,
            p50_micros: 1_500,
            p99_micros: 3_000,
            cpu_nanos,
            generator_cpu_nanos: 0,
            written,
            parts: BTreeMap::from([("render", render)]),
            statuses: BTreeMap::from([(201, 10)]),
            journey: None,
        }
    }

    #[test]
    fn the_line_has_the_medians_of_the_rounds() {
        let rounds = [round(9_000, 30, 2_500), round(1_000, 10, 500), round(5_000, 20, 1_500)];
        let line = Summary::of(&rounds).to_json();
        assert_eq!(line["cpuMicrosPerSend"], json!(5.0));
        assert_eq!(line["bytesWrittenPerSend"], json!(20));
        assert_eq!(line["cpuMicrosPerSendOf"], json!({"render": 1.5}));
        assert_eq!(line["statuses"], json!({"201": 30}));
        assert_eq!(line["cpuMicrosPerSendOfRounds"], json!([9.0, 1.0, 5.0]));
    }

    #[test]
    fn each_round_is_held_against_the_one_beside_it() {
        let ours = [round(2_000, 10, 0), round(9_000, 60, 0), round(3_000, 30, 0)];
        let theirs = [round(1_000, 20, 0), round(3_000, 20, 0), round(3_000, 20, 0)];
        let ratios = ratios(&ours, &theirs);
        assert_eq!((&ratios["cpu"], &ratios["bytesWritten"]), (&json!(2.0), &json!(1.5)));
        assert_eq!(ratios["sendsPerSecond"], json!(1.0));
    }

    #[test]
    fn medians_and_percentiles_of_small_lists() {
        assert_eq!(median(vec![3, 1, 2]), 2);
        assert_eq!(median::<u64>(Vec::new()), 0);
        let hundred: Vec<u64> = (1..=100).collect();
        assert_eq!((percentile(&hundred, 50), percentile(&hundred, 99)), (50, 99));
        assert_eq!(percentile(&[7], 99), 7);
    }
}
