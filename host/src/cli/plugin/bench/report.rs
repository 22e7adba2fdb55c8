//! What a benchmark found, for people and for scripts.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::local_validation::milliseconds;
use super::findings::{Costs, Findings, Times};
use crate::plugin::Instances;

/// How much of a limit is used, in its own unit.
struct Distance {
    what: &'static str,
    setting: &'static str,
    used: u128,
    limit: u128,
    unit: Unit,
}

#[derive(Clone, Copy)]
enum Unit {
    Nanoseconds,
    Bytes,
}

/// For scripts; times are in nanoseconds.
pub fn json(findings: &Findings) -> Value {
    let Findings { name, version, digest, kind, instances, calls, memory_bytes, .. } = findings;
    json!({
        "name": name,
        "version": version,
        "digest": digest,
        "kind": kind,
        "instances": instances,
        "calls": calls,
        "memoryBytes": memory_bytes,
        "cases": findings.costs.iter().map(cost).collect::<Vec<_>>(),
        "limits": distances(findings).iter().map(|it| json!({
            "setting": it.setting(findings),
            "used": number(it.used),
            "limit": number(it.limit),
            "unit": it.unit.as_str(),
            "percent": number(it.percent()),
        })).collect::<Vec<_>>(),
    })
}

fn cost(costs: &Costs) -> Value {
    json!({
        "case": costs.name,
        "instance": times(&costs.instance),
        "cold": times(&costs.cold),
        "warm": times(&costs.warm),
        "compileAndRender": costs.first.as_ref().map(times),
        "answerBytes": costs.answer_bytes,
    })
}

fn times(times: &Times) -> Value {
    json!({
        "p50Ns": number(times.p50().as_nanos()),
        "p99Ns": number(times.p99().as_nanos()),
    })
}

/// For people.
pub fn lines(findings: &Findings) -> String {
    let Findings { name, version, kind, calls, .. } = findings;
    let kept = match findings.instances {
        Instances::Fresh => "a fresh one for each call",
        Instances::Warm => "kept warm",
        Instances::Stateless => "kept warm: it keeps no state",
    };
    let mut lines = vec![
        format!("{name} {version}, {kind}; {calls} calls of each sort"),
        format!("instances on a server: {kept}"),
        String::new(),
        row("", &["cold p50", "cold p99", "warm p50", "warm p99", "answer"].map(str::to_owned)),
    ];
    lines.extend(findings.costs.iter().map(|it| {
        let [a, b, c, d] =
            [it.cold.p50(), it.cold.p99(), it.warm.p50(), it.warm.p99()].map(milliseconds);
        row(&it.name, &[a, b, c, d, format!("{} bytes", it.answer_bytes)])
    }));
    lines.push(String::new());
    lines.extend(distances(findings).iter().map(|it| it.line(findings)));
    lines.join("\n")
}

fn row(name: &str, columns: &[String; 5]) -> String {
    let name = name.trim_start_matches("the built-in case ").trim_matches('`');
    columns.iter().fold(format!("{name:<20}"), |row, column| format!("{row} {column:>13}"))
}

/// The worst case of each limit.
fn distances(findings: &Findings) -> Vec<Distance> {
    let worst = |p99: fn(&Costs) -> Duration| {
        findings.costs.iter().map(p99).max().unwrap_or_default().as_nanos()
    };
    let limits = findings.limits;
    let (call, what) = match findings.instances {
        Instances::Fresh => (worst(|it| it.cold.p99()), "a call, p99, with its instance"),
        Instances::Warm | Instances::Stateless => (worst(|it| it.warm.p99()), "a call, p99"),
    };
    let answer = findings.costs.iter().map(|it| it.answer_bytes).max().unwrap_or_default();
    let mut distances = vec![
        Distance {
            what,
            setting: "call_ms",
            used: call,
            limit: limits.call().as_nanos(),
            unit: Unit::Nanoseconds,
        },
        Distance {
            what: "an instance, p99, configured",
            setting: "prepare_ms",
            used: worst(|it| it.instance.p99()),
            limit: limits.prepare().as_nanos(),
            unit: Unit::Nanoseconds,
        },
    ];
    let first = findings.costs.iter().filter_map(|it| Some(it.first.as_ref()?.p99())).max();
    distances.extend(first.map(|first| Distance {
        what: "compiling (and rendering), p99",
        setting: "prepare_ms",
        used: first.as_nanos(),
        limit: limits.prepare().as_nanos(),
        unit: Unit::Nanoseconds,
    }));
    distances.extend([
        Distance {
            what: "memory of an instance",
            setting: "memory_bytes",
            used: findings.memory_bytes as u128,
            limit: limits.memory_bytes as u128,
            unit: Unit::Bytes,
        },
        Distance {
            what: "an answer, as JSON",
            setting: "output_bytes",
            used: answer as u128,
            limit: limits.output_bytes as u128,
            unit: Unit::Bytes,
        },
    ]);
    distances
}

impl Distance {
    fn setting(&self, findings: &Findings) -> String {
        format!("plugins.limits.{}.{}", findings.kind.limits_section(), self.setting)
    }

    fn percent(&self) -> u128 {
        (self.used * 100).div_ceil(self.limit.max(1))
    }

    fn line(&self, findings: &Findings) -> String {
        let shown = |amount| match self.unit {
            Unit::Nanoseconds => milliseconds(Duration::from_nanos(number(amount))),
            Unit::Bytes => format!("{amount} bytes"),
        };
        format!(
            "{:<32}{:>16} of {:<16}{:>3} %  {}",
            self.what,
            shown(self.used),
            shown(self.limit),
            self.percent(),
            self.setting(findings),
        )
    }
}

impl Unit {
    fn as_str(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Bytes => "bytes",
        }
    }
}

fn number(amount: u128) -> u64 {
    u64::try_from(amount).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::{Kind, Limits};

    fn findings(instances: Instances) -> Findings {
        let times = |micros| Times::new(vec![Duration::from_micros(micros); 3]);
        Findings {
            name: "prices".to_owned(),
            version: "1.0.0".to_owned(),
            digest: "sha256:00".to_owned(),
            kind: Kind::Plan,
            instances,
            limits: Limits::default().of(Kind::Plan),
            calls: 3,
            memory_bytes: 8 << 20,
            costs: vec![Costs {
                name: "paid".to_owned(),
                instance: times(30),
                cold: times(5_000),
                warm: times(20),
                first: None,
                answer_bytes: 50,
            }],
        }
    }

    #[test]
    fn the_distance_to_a_limit_is_of_how_a_server_calls() {
        let fresh = json(&findings(Instances::Fresh));
        assert_eq!(fresh["limits"][0]["setting"], "plugins.limits.plan.call_ms");
        assert_eq!(fresh["limits"][0]["percent"], 50);
        assert_eq!(json(&findings(Instances::Warm))["limits"][0]["percent"], 1);
        assert_eq!(fresh["limits"][2]["used"], 8 << 20);
        assert_eq!(fresh["limits"][2]["percent"], 50);
    }

    #[test]
    fn people_see_each_case_and_each_setting() {
        let text = lines(&findings(Instances::Fresh));
        let call = text.lines().find(|it| it.contains("plan.call_ms")).unwrap();
        assert!(call.contains("5.000 ms of 10.000 ms"), "{text}");
        assert!(text.lines().any(|it| it.starts_with("paid") && it.contains("0.020 ms")), "{text}");
    }
}
