//! Is the server well? Every fault with what to do about it, and the settings with where each comes from.

use std::path::Path;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use super::operating::Operating;
use crate::backup::LastBackup;
use crate::clock::Timestamp;
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::Theme;
use crate::dashboard::response::{Failure, page, sentence};
use crate::dashboard::setting::CertificateState;
use crate::dashboard::state::Dashboard;
use crate::dashboard::words::{When, number};
use crate::domain::state::Phase;
use crate::fair_share::ShareOwner;
use crate::management::settings::Setting;
use crate::plugin::status::{SlotStatus, Standing};
use crate::store::{DomainRow, Gauges, NodeRow, NodeState};

/// Something that has been due for so long is stuck.
const QUEUE_LATE: Duration = Duration::from_mins(5);
/// A certificate is renewed before so many days are left.
const CERTIFICATE_SOON: Duration = Duration::from_hours(14 * 24);
/// Of a hundred parts of the disk; below them somebody should look, or must act.
const DISK_LOW: u64 = 15;
const DISK_FULL: u64 = 5;
const MAX_DOMAINS: u32 = 20;
/// A clock that is so far from the database's delays what another node has planned.
const SKEW_MS: i64 = 2_000;

/// How a part of the server is.
#[derive(Debug)]
struct Check {
    badge: (&'static str, &'static str, &'static str),
    title: &'static str,
    seen: String,
    /// What to do; none where nothing is to be done.
    fix: Option<String>,
    /// The slots whose pages say more.
    slots: Vec<String>,
}

#[derive(Template)]
#[template(path = "app/ops/health.html")]
struct HealthPage {
    frame: Frame,
    /// How many checks found a fault.
    faults: usize,
    checks: Vec<Check>,
    version: &'static str,
    /// Empty where one server has the database for itself.
    nodes: Vec<Node>,
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

const WELL: (&str, &str, &str) = ("good", "✓", "well");
const LOOK: (&str, &str, &str) = ("wait", "↻", "look");
const FAULT: (&str, &str, &str) = ("bad", "✕", "fault");

impl Check {
    fn well(title: &'static str, seen: impl Into<String>) -> Self {
        Self { badge: WELL, title, seen: seen.into(), fix: None, slots: Vec::new() }
    }

    fn look(title: &'static str, seen: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { badge: LOOK, fix: Some(fix.into()), ..Self::well(title, seen) }
    }

    fn fault(title: &'static str, seen: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { badge: FAULT, fix: Some(fix.into()), ..Self::well(title, seen) }
    }
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let ready = api.readiness.check(&api.store, now).await;
    let store = match ready {
        Ok(()) => Check::well("Store", "Sends can be accepted."),
        Err(refusal) => Check::fault(
            "Store",
            sentence(&refusal.message()),
            "Look for the error in the log; a full disk and a read-only file system are the usual causes.",
        ),
    };
    let gauges = api.store.gauges(now).await?;
    let troubled = api.store.domains_in_trouble(MAX_DOMAINS).await?;
    let slots = api.plugins.statuses().slots();
    let certified = dashboard.certificate.as_ref().map(CertificateState::told);
    let rows = if api.store.has_file() { Vec::new() } else { api.store.nodes().await? };
    let hold = api.store.delivery_hold().await?;
    let last_backup = LastBackup::noted(&api.store).await?;
    let backup_to = dashboard.settings.value("backup", "to").unwrap_or_default();
    let mut checks = vec![
        store,
        hold.map_or_else(|| queue(gauges, now), |backup| held(backup, gauges)),
        backups(&backup_to, last_backup.as_ref()),
        certificate(certified, now),
        domains(&troubled),
        disk(&dashboard.data_dir, gauges),
        plugins(slots.iter().map(|(name, view)| (name.as_str(), view))),
    ];
    checks.extend((!rows.is_empty()).then(|| nodes(&rows)));
    checks.sort_by_key(|it| [FAULT, LOOK, WELL].iter().position(|badge| *badge == it.badge));
    page(&HealthPage {
        faults: checks.iter().filter(|it| it.fix.is_some()).count(),
        checks,
        version: env!("CARGO_PKG_VERSION"),
        nodes: rows.into_iter().map(|row| Node::new(row, now)).collect(),
        sections: by_section(&dashboard.settings.all()),
        frame: Frame::of(&dashboard, &visitor, Place::OpsHealth).await?,
    })
}

impl Node {
    fn new(row: NodeRow, now: Timestamp) -> Self {
        let badge = match row.state {
            NodeState::Live => ("good", "✓", "live"),
            NodeState::Draining => ("wait", "↻", "draining"),
            NodeState::Late => ("bad", "✕", "late"),
            NodeState::Gone => ("wait", "–", "gone"),
        };
        let (started, seen) = (When::of(row.started_at, now), When::of(row.seen_at, now));
        Self { row, badge, started, seen }
    }
}

fn nodes(rows: &[NodeRow]) -> Check {
    let title = "Nodes";
    let late: Vec<&str> =
        rows.iter().filter(|it| it.state == NodeState::Late).map(|it| it.name.as_str()).collect();
    if !late.is_empty() {
        return Check::fault(
            title,
            format!("Not seen for as long as a node may be silent: {}.", late.join(", ")),
            "Look whether it runs and reaches the database; the other nodes take its work in a moment.",
        );
    }
    let is_wrong = |it: &&NodeRow| it.state != NodeState::Gone && it.skew_ms.abs() > SKEW_MS;
    let wrong: Vec<&str> = rows.iter().filter(is_wrong).map(|it| it.name.as_str()).collect();
    if !wrong.is_empty() {
        return Check::look(
            title,
            format!("The clock differs from that of the database: {}.", wrong.join(", ")),
            "Let the machines of all nodes and of the database follow the same time servers.",
        );
    }
    match rows.iter().filter(|it| it.state == NodeState::Live).count() {
        1 => Check::well(title, "1 node has all the work."),
        live => Check::well(title, format!("{live} nodes share the work.")),
    }
}

fn queue(gauges: Gauges, now: Timestamp) -> Check {
    let waiting = match gauges.waiting {
        0 => return Check::well("Queue", "Nothing waits."),
        1 => "1 message waits for its next attempt".to_owned(),
        many => format!("{} messages wait for their next attempt", number(many)),
    };
    if gauges.oldest_due < QUEUE_LATE {
        return Check::well("Queue", format!("{waiting}; none is late."));
    }
    let since = When::of(now.before(gauges.oldest_due), now);
    Check::look(
        "Queue",
        format!("{waiting}; the longest has been due since {} ({}).", since.exact, since.short),
        "The queue says for each destination what holds it up. Where it is the number of attempts at one time, raise \
         [delivery] concurrent.",
    )
}

fn held(backup: Timestamp, gauges: Gauges) -> Check {
    let waiting = number(gauges.waiting);
    Check::fault(
        "Queue",
        format!(
            "The server was restored from a backup of {backup}, and delivery is held; {waiting} messages wait."
        ),
        "Run waxwing queue release. With --cancel-queued it first cancels, with their refunds, the messages that waited in \
         the backup and may have gone out since.",
    )
}

fn backups(to: &str, last: Option<&LastBackup>) -> Check {
    let title = "Backups";
    if to.is_empty() {
        return Check::well(title, "This server takes none by itself ([backup] to).");
    }
    let newest = last.and_then(|it| it.success);
    let newest = newest.map(|it| format!("The newest backup is of {it}.")).unwrap_or_default();
    match last.and_then(|it| it.failure.as_deref()) {
        Some(failure) => Check::fault(
            title,
            format!("No backup can be taken: {}. {newest}", failure.trim_end_matches('.')),
            "The server tries again; the log has each try.",
        ),
        None if newest.is_empty() => Check::well(title, "The first backup is still to be taken."),
        None => Check::well(title, newest),
    }
}

/// When it ends, and why the last order at a certificate authority brought no new one.
fn certificate(state: Option<(Timestamp, Option<String>)>, now: Timestamp) -> Check {
    let title = "Certificate";
    let Some((ends, trouble)) = state else {
        return Check::well(title, "No port of this server needs one: the SMTP relay is off.");
    };
    let said = When::of(ends, now);
    if ends <= now {
        let seen = format!("It ended {}: clients of the SMTP relay refuse it.", said.exact);
        return Check::fault(title, seen, trouble.as_deref().unwrap_or(RENEW));
    }
    if let Some(trouble) = trouble {
        let seen = format!("It ends {}, and no new one could be ordered.", said.exact);
        return Check::look(title, seen, sentence(&trouble));
    }
    if now.until(ends) < CERTIFICATE_SOON {
        return Check::look(title, format!("It ends {} ({}).", said.short, said.exact), RENEW);
    }
    Check::well(title, format!("That of the SMTP relay is good until {}.", said.exact))
}

const RENEW: &str = "Renew it, and put it where [smtp] certificate and private_key say: the server takes it without a restart.";

fn domains(troubled: &[DomainRow]) -> Check {
    if troubled.is_empty() {
        return Check::well("DNS", "Every sender domain that was verified still has its records.");
    }
    let names: Vec<String> = troubled
        .iter()
        .map(|it| {
            let standing = &it.domain.standing;
            let missing = standing.missing.join(", ");
            let missing = if missing.is_empty() { "records".to_owned() } else { missing };
            format!("{} is {} (missing: {missing})", it.domain.name, standing.phase.as_str())
        })
        .collect();
    let seen = format!("{}.", names.join("; "));
    let fix = "Their owners publish the records again; the page of each domain says which. A warned domain sends \
               until its grace is over.";
    if troubled.iter().any(|it| it.domain.standing.phase == Phase::Degraded) {
        Check::fault("DNS", seen, fix)
    } else {
        Check::look("DNS", seen, fix)
    }
}

fn disk(data_dir: &Path, gauges: Gauges) -> Check {
    let bytes = gauges.file.map_or_else(
        || "The database is kept by a server".to_owned(),
        |it| format!("The database has {}", size(u64::try_from(it.bytes).unwrap_or(0))),
    );
    let Ok(found) = rustix::fs::statvfs(data_dir) else {
        return Check::well("Disk", format!("{bytes}; the system does not tell what is free."));
    };
    let (free, all) = (found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize);
    let seen = format!("{bytes}, and {} of {} are free.", size(free), size(all));
    let fix = "Free some, or keep less: [retention] content_days and message_days. A server without room accepts no \
               mail, and loses none.";
    match (free * 100).checked_div(all).unwrap_or(100) {
        0..DISK_FULL => Check::fault("Disk", seen, fix),
        DISK_FULL..DISK_LOW => Check::look("Disk", seen, fix),
        _ => Check::well("Disk", seen),
    }
}

fn plugins<'a>(slots: impl Iterator<Item = (&'a str, &'a SlotStatus)>) -> Check {
    let (mut count, mut said, mut is_fault) = (0, Vec::new(), false);
    let mut troubled = Vec::new();
    for (name, view) in slots {
        count += 1;
        let before = said.len();
        let rejected = view.candidate.as_ref().and_then(|it| it.rejected.as_deref());
        if let Some(reason) = rejected {
            said.push(format!("{name} refused a component: {}", reason.trim_end_matches('.')));
        }
        if view.candidate.as_ref().is_some_and(|it| it.waits.is_some()) {
            said.push(format!("in {name} a component waits for you"));
        }
        if view.is_unsaved {
            is_fault = true;
            said.push(format!("the state of {name} could not be written to disk"));
        }
        if view.standing() == Standing::Empty {
            is_fault = true;
            said.push(format!("{name} has nothing that works"));
        }
        if said.len() > before {
            troubled.push(name.to_owned());
        }
    }
    if said.is_empty() {
        return Check::well("Plugins", format!("All {count} slots have what they need."));
    }
    let (seen, fix) = (sentence(&said.join("; ")), "The page of the slot has the whole reason:");
    let title = "Plugins";
    let check =
        if is_fault { Check::fault(title, seen, fix) } else { Check::look(title, seen, fix) };
    Check { slots: troubled, ..check }
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let (mut tenths, mut unit) = (bytes.saturating_mul(10) / 1_024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS.get(unit).unwrap_or(&""))
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
    use crate::id::NodeId;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn a_fault_says_what_to_do() {
        let late = Gauges { oldest_due: Duration::from_hours(1), waiting: 3, file: None };
        let check = queue(late, NOW);
        assert_eq!(check.badge, LOOK);
        assert!(check.fix.is_some() && check.seen.starts_with("3 messages wait"), "{check:?}");
        let well = Gauges { oldest_due: Duration::ZERO, waiting: 0, ..late };
        assert!(queue(well, NOW).fix.is_none());
        assert_eq!(held(NOW, late).badge, FAULT);
        let failed = LastBackup { success: Some(NOW), failure: Some("no room.".to_owned()) };
        let check = backups("/backups", Some(&failed));
        assert_eq!(check.badge, FAULT);
        assert!(check.seen.contains("no room. The newest backup is of 2027"), "{check:?}");
        let taken = LastBackup { failure: None, ..failed };
        assert_eq!(backups("/backups", Some(&taken)).badge, WELL);
        assert_eq!(backups("", None).badge, WELL);
        let day = Duration::from_hours(24);
        for (ends, badge) in
            [(NOW.before(day), FAULT), (NOW.after(day), LOOK), (NOW.after(day * 60), WELL)]
        {
            assert_eq!(certificate(Some((ends, None)), NOW).badge, badge, "{ends:?}");
        }
        let refused = Some((NOW.after(day * 60), Some("the CA is down".to_owned())));
        let check = certificate(refused, NOW);
        assert_eq!((check.badge, check.fix.as_deref()), (LOOK, Some("The CA is down.")));
        assert!(certificate(None, NOW).fix.is_none());
    }

    #[test]
    fn a_node_that_is_late_or_has_another_time_is_seen() {
        let node = |state, skew_ms| NodeRow {
            id: NodeId::new(NOW),
            name: "mx-1".to_owned(),
            version: "1".to_owned(),
            state,
            started_at: NOW,
            seen_at: NOW,
            skew_ms,
            shares: 32,
            leases: 0,
        };
        let live = || node(NodeState::Live, 5);
        assert_eq!(nodes(&[live(), node(NodeState::Gone, 9_000)]).seen, "1 node has all the work.");
        assert_eq!(nodes(&[live(), live()]).seen, "2 nodes share the work.");
        assert_eq!(nodes(&[live(), node(NodeState::Live, -3_000)]).badge, LOOK);
        let late = nodes(&[live(), node(NodeState::Late, 0)]);
        assert!(late.badge == FAULT && late.seen.ends_with(": mx-1."), "{late:?}");
    }

    #[test]
    fn sizes_are_said_in_units() {
        assert_eq!(size(512), "0.5 KiB");
        assert_eq!(size(5 << 20), "5.0 MiB");
        assert_eq!(size(3 << 40), "3.0 TiB");
    }
}
