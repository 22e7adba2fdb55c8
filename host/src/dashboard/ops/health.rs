//! Is the server well? Every finding with why it matters and what to do, and the settings with where each comes from.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::operating::{Operating, Order};
use crate::clock::Timestamp;
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::Theme;
use crate::dashboard::response::{Failure, page, sentence, to};
use crate::dashboard::state::Dashboard;
use crate::dashboard::words::When;
use crate::health::{Finding, State as HealthState};
use crate::management::settings::Setting;
use crate::store::{NodeRow, NodeState, is_rolling};

/// What one check found.
#[derive(Debug)]
struct Line {
    badge: (&'static str, &'static str, &'static str),
    title: &'static str,
    seen: String,
    /// Why it matters, where something is to be done.
    why: Option<&'static str>,
    /// What to do; none where nothing is to be done.
    fix: Option<String>,
    /// Since when, where something is to be done.
    since: Option<When>,
    /// The slots whose pages say more.
    slots: Vec<String>,
}

#[derive(Template)]
#[template(path = "app/ops/health.html")]
struct HealthPage {
    frame: Frame,
    /// How many checks found a fault.
    faults: usize,
    checks: Vec<Line>,
    /// When the checks were made.
    made: When,
    version: &'static str,
    /// Empty where one server has the database for itself.
    nodes: Vec<Node>,
    /// Whether nodes of several versions work beside each other.
    is_rolling: bool,
    sections: Vec<Section>,
}

/// A server that shares the database.
#[derive(Debug)]
struct Node {
    row: NodeRow,
    badge: (&'static str, &'static str, &'static str),
    started: When,
    seen: When,
}

/// A section of the configuration.
#[derive(Debug)]
struct Section {
    name: String,
    /// How many the environment sets, or the file sets to another value than the default.
    set: usize,
    settings: Vec<Setting>,
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
) -> Result<Response, Failure> {
    let (report, now) = (dashboard.api.health.last().await, dashboard.api.clock.now());
    let mut findings: Vec<&Finding> = report.findings.iter().collect();
    findings.sort_by_key(|it| place(it.verdict.state));
    let store = &dashboard.api.store;
    let nodes = if store.has_file() { Vec::new() } else { store.nodes().await? };
    page(&HealthPage {
        faults: findings.iter().filter(|it| it.verdict.todo.is_some()).count(),
        checks: findings.into_iter().map(|it| line(it, now)).collect(),
        made: When::of(report.at, now),
        version: env!("CARGO_PKG_VERSION"),
        is_rolling: is_rolling(&nodes),
        nodes: nodes.into_iter().map(|row| Node::new(row, now)).collect(),
        sections: by_section(&dashboard.api.settings.all()),
        frame: Frame::of(&dashboard, &visitor, Place::OpsHealth).await?,
    })
}

impl Node {
    fn new(row: NodeRow, now: Timestamp) -> Self {
        let badge = match row.state {
            NodeState::Starting => ("wait", "↻", "starting"),
            NodeState::Live => ("good", "✓", "live"),
            NodeState::Keyless => ("bad", "✕", "another master key"),
            NodeState::Draining => ("wait", "↻", "draining"),
            NodeState::Late => ("bad", "✕", "late"),
            NodeState::Gone => ("wait", "–", "gone"),
        };
        let (started, seen) = (When::of(row.started_at, now), When::of(row.seen_at, now));
        Self { row, badge, started, seen }
    }
}

/// Makes all checks now.
pub async fn check(State(dashboard): State<Dashboard>, _: Order) -> Response {
    dashboard.api.health.check_now().await;
    to("/ops")
}

/// What needs somebody stands first.
fn place(state: HealthState) -> u8 {
    match state {
        HealthState::Failing => 0,
        HealthState::Warning => 1,
        HealthState::Ok => 2,
        HealthState::NotChecked => 3,
    }
}

fn line(finding: &Finding, now: Timestamp) -> Line {
    let Finding { check, verdict, since, .. } = finding;
    let needs_somebody = verdict.todo.is_some();
    Line {
        badge: match verdict.state {
            HealthState::Ok => ("good", "✓", "well"),
            HealthState::Warning => ("wait", "↻", "look"),
            HealthState::Failing => ("bad", "✕", "fault"),
            HealthState::NotChecked => ("off", "–", "not checked"),
        },
        title: check.title(),
        seen: sentence(&verdict.what),
        why: needs_somebody.then(|| check.why()),
        fix: verdict.todo.clone(),
        since: needs_somebody.then(|| When::of(*since, now)),
        slots: verdict.slots.clone(),
    }
}

fn by_section(all: &[Setting]) -> Vec<Section> {
    let sections = all.chunk_by(|one, other| one.section == other.section);
    let section = |settings: &[Setting]| Section {
        name: settings.first().map(|it| it.section.clone()).unwrap_or_default(),
        set: settings.iter().filter(|it| !it.is_default()).count(),
        settings: settings.to_vec(),
    };
    sections.map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::{CheckName, Verdict};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn what_needs_somebody_says_why_and_what_to_do_and_stands_first() {
        let shown = |verdict| {
            let finding = Finding { check: CheckName::Disk, verdict, since: NOW, checked_at: NOW };
            (place(finding.verdict.state), line(&finding, NOW))
        };
        let (first, fault) = shown(Verdict::failing("It is full.", "Free some."));
        assert_eq!((fault.badge.2, fault.fix.as_deref()), ("fault", Some("Free some.")));
        assert!(fault.why.is_some() && fault.since.is_some(), "{fault:?}");
        let (then, well) = shown(Verdict::ok("It is not."));
        assert!(first < then && well.why.is_none() && well.fix.is_none(), "{well:?}");
        let (last, unknown) = shown(Verdict::not_checked("no server runs"));
        assert!(then < last && unknown.badge.2 == "not checked", "{unknown:?}");
        assert_eq!(unknown.seen, "No server runs.");
    }
}
