//! What a server that runs does: its store, its queue, nodes, backups, sender domains, plugins and webhooks.

use std::time::Duration;

use url::Url;

use super::finding::Verdict;
use super::words::span;
use super::world::{Live, World};
use crate::backup::LastBackup;
use crate::clock::Timestamp;
use crate::nodes::LARGE_SKEW_MS;
use crate::plugin::status::{SlotStatus, Standing};
use crate::plural::plural;
use crate::store::{
    Gauges, Integrity, Maintenance, NodeRow, NodeState, StoreError, WebhookOwner, WebhookRow,
    WebhookState, is_rolling,
};

/// Something that has been due for so long is late, or stuck.
const QUEUE_LATE: Duration = Duration::from_mins(5);
const QUEUE_STUCK: Duration = Duration::from_mins(30);
/// An endpoint that has taken nothing for so long needs somebody.
const WEBHOOK_FAILING: Duration = Duration::from_hours(1);
/// Domains, keys and webhooks that a finding names.
const MAX_NAMED: u32 = 20;
/// Time for reading the whole database.
pub const INTEGRITY_TIME: Duration = Duration::from_secs(20);

const STORE_TODO: &str =
    "Look for the error in the log; a full disk and a read-only file system are the usual causes.";

fn unread(error: &StoreError) -> Verdict {
    Verdict::not_checked(format!("The store could not be read: {error}."))
}

/// Whether the store can be written.
pub async fn store(world: &World, live: &Live) -> Verdict {
    match live.store.probe(world.clock.now()).await {
        Ok(()) => Verdict::ok("Sends can be accepted."),
        Err(error) => {
            Verdict::failing(format!("The store cannot be written: {error}."), STORE_TODO)
        }
    }
}

/// Whether the database is whole.
pub async fn integrity(live: &Live) -> Verdict {
    match live.store.integrity(INTEGRITY_TIME).await {
        Ok(Integrity::Sound) => Verdict::ok("All pages of the database are whole."),
        Ok(Integrity::Damaged(faults)) => Verdict::failing(
            format!("The database is damaged: {}.", faults.join("; ")),
            "Stop the server, keep a copy of the data directory, and restore the last backup; the disk or the \
             memory of this machine may be at fault.",
        ),
        Ok(Integrity::TooLarge) => Verdict::not_checked(format!(
            "The database is too large to be read in {}. Read a backup of it: PRAGMA quick_check.",
            span(INTEGRITY_TIME)
        )),
        Ok(Integrity::KeptByServer) => Verdict::not_checked(
            "PostgreSQL keeps the database: its checksums and pg_amcheck say whether it is whole.",
        ),
        Err(error) => unread(&error),
    }
}

/// Whether mail that is due is attempted.
pub async fn queue(world: &World, live: &Live) -> Verdict {
    let (store, now) = (&live.store, world.clock.now());
    let (gauges, hold, maintenance) =
        tokio::join!(store.gauges(now), store.delivery_hold(), store.maintenance());
    match (gauges, hold, maintenance) {
        // First, because a release is refused in read-only mode.
        (Ok(gauges), Ok(_), Ok(Some(mode))) if mode.holds_delivery() => {
            paused_verdict(gauges, &mode)
        }
        (Ok(gauges), Ok(Some(backup)), Ok(_)) => held_verdict(gauges, backup),
        (Ok(gauges), Ok(None), Ok(_)) => queue_verdict(gauges),
        (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => unread(&error),
    }
}

/// Nothing is attempted while an operator holds delivery in read-only mode.
fn paused_verdict(gauges: Gauges, mode: &Maintenance) -> Verdict {
    let (waiting, Maintenance { reason, since, .. }) = (gauges.waiting, mode);
    let wait = plural(waiting, "message waits", "messages wait");
    Verdict::warning(
        format!("Read-only mode holds delivery since {since} ({reason}); {waiting} {wait}."),
        "Run waxwing maintenance off when the work is done.",
    )
}

/// Nothing is attempted until the operator has decided about the mail that waited in a backup.
fn held_verdict(gauges: Gauges, backup: Timestamp) -> Verdict {
    let waiting = gauges.waiting;
    let wait = plural(waiting, "message waits", "messages wait");
    Verdict::failing(
        format!("Delivery is held since a backup of {backup} was restored; {waiting} {wait}."),
        "Run waxwing queue release. With --cancel-queued it first cancels, with their refunds, the messages that waited \
         in the backup and may have gone out since.",
    )
}

fn queue_verdict(gauges: Gauges) -> Verdict {
    let waiting = gauges.waiting;
    if waiting == 0 {
        return Verdict::ok("Nothing waits.");
    }
    let wait = plural(waiting, "message waits for its", "messages wait for their");
    let waiting = format!("{waiting} {wait} next attempt");
    if gauges.oldest_due < QUEUE_LATE {
        return Verdict::ok(format!("{waiting}; none is late."));
    }
    let seen = format!("{waiting}; the longest has been due for {}.", span(gauges.oldest_due));
    let todo = "The queue says for each destination what holds it up (waxwing queue list). Where it is the number of \
                attempts at one time, raise [delivery] concurrent.";
    if gauges.oldest_due < QUEUE_STUCK {
        Verdict::warning(seen, todo)
    } else {
        Verdict::failing(seen, todo)
    }
}

/// Whether the servers that share the database are all there, and agree about the time.
pub async fn nodes(live: &Live) -> Verdict {
    if live.store.has_file() {
        return Verdict::ok("This server has its database for itself.");
    }
    match live.store.nodes().await {
        Ok(rows) => nodes_verdict(&rows),
        Err(error) => unread(&error),
    }
}

fn nodes_verdict(rows: &[NodeRow]) -> Verdict {
    let named = |is_meant: fn(&NodeRow) -> bool| {
        let meant = rows.iter().filter(|it| is_meant(it));
        meant.map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let late = named(|it| it.state == NodeState::Late);
    if !late.is_empty() {
        return Verdict::failing(
            format!("Not seen for as long as a node may be silent: {late}."),
            "Look whether it runs and reaches the database; the other nodes take its work in a moment.",
        );
    }
    let keyless = named(|it| it.state == NodeState::Keyless);
    if !keyless.is_empty() {
        return Verdict::failing(
            format!(
                "The master key is another one than that of the database, so nothing is delivered there: {keyless}."
            ),
            "Copy master.key of a node that works over that of these nodes; they take it by themselves within 15 s.",
        );
    }
    let wrong = named(|it| it.state != NodeState::Gone && it.skew_ms.abs() >= LARGE_SKEW_MS);
    if !wrong.is_empty() {
        return Verdict::warning(
            format!("The clock differs from that of the database by 2 s or more: {wrong}."),
            "Let the machines of all nodes and of the database follow the same time servers; waxwing nodes shows how far \
             each clock is.",
        );
    }
    let work = match rows.iter().filter(|it| it.state == NodeState::Live).count() {
        1 => "1 node has all the work.".to_owned(),
        live => format!("{live} nodes share the work."),
    };
    if !is_rolling(rows) {
        return Verdict::ok(work);
    }
    let lasting = rows.iter().filter(|it| it.state != NodeState::Gone);
    let versions =
        lasting.map(|it| format!("{} is {} (schema {})", it.name, it.version, it.migration));
    let versions = versions.collect::<Vec<_>>().join(", ");
    Verdict::ok(format!("{work} A rolling upgrade is under way: {versions}."))
}

/// Whether the backups that the server takes by itself are taken.
pub async fn backups(world: &World, live: &Live) -> Verdict {
    let Some(every) = world.settings.backup_every else {
        return Verdict::not_checked(
            "The server takes no backups by itself: [backup] to names no place for them.",
        );
    };
    match LastBackup::noted(&live.store).await {
        Ok(last) => backups_verdict(last, every, (live.started_at, world.clock.now())),
        Err(error) => unread(&error),
    }
}

fn backups_verdict(
    last: Option<LastBackup>,
    every: Duration,
    (started_at, now): (Timestamp, Timestamp),
) -> Verdict {
    let LastBackup { success, failure } =
        last.unwrap_or(LastBackup { success: None, failure: None });
    let newest = success.map_or_else(
        || "There is no backup yet.".to_owned(),
        |it| format!("The newest backup is of {it}."),
    );
    let is_late = success.unwrap_or(started_at).until(now) >= every.saturating_mul(2);
    let todo = "See that the place of [backup] to can be reached and has room; the log has each try, and waxwing backup \
                takes one now.";
    let Some(failure) = failure else {
        if is_late {
            let seen = format!("{newest} One is due every {}.", span(every));
            return Verdict::failing(seen, todo);
        }
        return Verdict::ok(newest);
    };
    let seen = format!("No backup can be taken: {}. {newest}", failure.trim_end_matches('.'));
    if is_late || success.is_none() {
        Verdict::failing(seen, todo)
    } else {
        Verdict::warning(seen, todo)
    }
}

/// Domains of account holders that have lost their records. Their owners are told by events of their own: so it is
/// never a failure of the server.
pub async fn sender_domains(live: &Live) -> Verdict {
    let troubled = match live.store.domains_in_trouble(MAX_NAMED).await {
        Ok(troubled) => troubled,
        Err(error) => return unread(&error),
    };
    if troubled.is_empty() {
        return Verdict::ok("Every sender domain that was verified still has its records.");
    }
    let names = troubled.iter().map(|it| {
        let standing = &it.domain.standing;
        let missing = standing.missing.join(", ");
        let missing = if missing.is_empty() { "records".to_owned() } else { missing };
        format!("{} is {} (missing: {missing})", it.domain.name, standing.phase.as_str())
    });
    Verdict::warning(
        format!("{}.", names.collect::<Vec<_>>().join("; ")),
        "Their owners publish the records again; the page of each domain says which. A warned domain sends until its \
         grace is over.",
    )
}

/// Whether DKIM keys are older than they should be.
pub async fn key_ages(world: &World, live: &Live) -> Verdict {
    let Some(age) = world.reloadable.load().dkim_key_age else {
        return Verdict::not_checked("[health] dkim_key_days is 0: no key is too old.");
    };
    let now = world.clock.now();
    let old = match live.store.old_signing_keys(now.before(age), MAX_NAMED).await {
        Ok(old) => old,
        Err(error) => return unread(&error),
    };
    if old.is_empty() {
        return Verdict::ok(format!("No DKIM key has signed for more than {}.", span(age)));
    }
    let mut names: Vec<String> = old
        .iter()
        .map(|(domain, since)| format!("{domain} (for {})", span(since.until(now))))
        .collect();
    names.dedup();
    Verdict::warning(
        format!(
            "These domains sign with DKIM keys older than {}: {}.",
            span(age),
            names.join(", ")
        ),
        "Rotate them: waxwing domain rotate, or the button on the page of the domain.",
    )
}

/// Whether every slot has what it needs.
pub fn plugins(live: &Live) -> Verdict {
    let slots = live.plugins.statuses().slots();
    plugins_verdict(slots.iter().map(|(name, view)| (name.as_str(), view)))
}

fn plugins_verdict<'a>(slots: impl Iterator<Item = (&'a str, &'a SlotStatus)>) -> Verdict {
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
        return Verdict::ok(format!("All {count} slots have what they need."));
    }
    let seen = format!("{}.", said.join("; "));
    let todo = "The page of the slot has the whole reason, and so has waxwing plugin list.";
    let verdict =
        if is_fault { Verdict::failing(seen, todo) } else { Verdict::warning(seen, todo) };
    Verdict { slots: troubled, ..verdict }
}

/// Whether events reach those who wait for them.
pub async fn webhooks(world: &World, live: &Live) -> Verdict {
    let now = world.clock.now();
    match live.store.webhooks_in_trouble(now.before(WEBHOOK_FAILING), MAX_NAMED).await {
        Ok(troubled) => webhooks_verdict(&troubled, now),
        Err(error) => unread(&error),
    }
}

/// An account's endpoint is its own matter; nobody else hears that the operator's own takes nothing.
fn webhooks_verdict(troubled: &[WebhookRow], now: Timestamp) -> Verdict {
    if troubled.is_empty() {
        return Verdict::ok("Every webhook that is on takes its events.");
    }
    let said: Vec<String> = troubled.iter().map(|it| webhook_words(it, now)).collect();
    let seen = format!("{}.", said.join("; "));
    let todo = "See what the endpoint answers (waxwing webhook deliveries), mend it, and post again what was missed \
                (waxwing webhook replay).";
    let is_own =
        |it: &WebhookRow| it.owner == WebhookOwner::Server && it.state == WebhookState::Active;
    if troubled.iter().any(is_own) {
        Verdict::failing(seen, todo)
    } else {
        Verdict::warning(seen, todo)
    }
}

fn webhook_words(row: &WebhookRow, now: Timestamp) -> String {
    // The path of a URL is often a secret.
    let url = Url::parse(&row.url).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("an unreadable URL");
    let owner = match row.owner {
        WebhookOwner::Server => "of the server".to_owned(),
        WebhookOwner::Account(id) => format!("of {id}"),
    };
    match row.state {
        WebhookState::Disabled => {
            format!("{} {owner} at {host} is disabled: {}", row.id, row.reason)
        }
        WebhookState::Active => {
            let since = row.failing_since.map(|it| span(it.until(now)));
            let since = since.unwrap_or_default();
            format!("{} {owner} at {host} has taken nothing for {since}", row.id)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::finding::State;
    use crate::health::tests::NOW;
    use crate::id::{NodeId, WebhookId};
    use crate::store::MaintenanceDelivery;

    #[test]
    fn mail_that_is_due_and_not_attempted_is_late_and_then_stuck() {
        let late = |minutes| {
            let oldest_due = Duration::from_mins(minutes);
            queue_verdict(Gauges { oldest_due, waiting: 3, file: None })
        };
        assert_eq!(late(0).state, State::Ok);
        let warning = late(10);
        assert!(warning.state == State::Warning && warning.what.starts_with("3 messages wait"));
        assert!(warning.todo.is_some_and(|it| it.contains("waxwing queue list")));
        assert_eq!(late(60).state, State::Failing);
        let idle = Gauges { oldest_due: Duration::ZERO, waiting: 0, file: None };
        assert_eq!(queue_verdict(idle).state, State::Ok);
    }

    #[test]
    fn delivery_that_is_held_fails_the_queue_and_says_how_it_ends() {
        let gauges = Gauges { oldest_due: Duration::from_hours(1), waiting: 3, file: None };
        let held = held_verdict(gauges, NOW);
        assert_eq!(held.state, State::Failing);
        assert!(held.what.contains("a backup of 2027") && held.what.ends_with("3 messages wait."));
        assert!(held.todo.is_some_and(|it| it.contains("waxwing queue release")));
        let one = held_verdict(Gauges { waiting: 1, ..gauges }, NOW);
        assert!(one.what.ends_with("1 message waits."), "{one:?}");
    }

    #[test]
    fn delivery_that_read_only_mode_holds_is_a_warning_with_its_reason() {
        let gauges = Gauges { oldest_due: Duration::from_hours(1), waiting: 3, file: None };
        let delivery = MaintenanceDelivery::Held;
        let mode = Maintenance { reason: "a new disk".to_owned(), since: NOW, delivery };
        let paused = paused_verdict(gauges, &mode);
        assert_eq!(paused.state, State::Warning);
        assert!(paused.what.ends_with("(a new disk); 3 messages wait."), "{paused:?}");
        assert!(paused.todo.is_some_and(|it| it.contains("waxwing maintenance off")));
    }

    #[test]
    fn a_late_or_keyless_node_fails_and_another_time_is_a_warning() {
        let node = |state, skew_ms| NodeRow {
            id: NodeId::new(NOW),
            name: "mx-1".to_owned(),
            directory: String::new(),
            version: "1".to_owned(),
            migration: 7,
            state,
            started_at: NOW,
            seen_at: NOW,
            skew_ms,
            shares: 32,
            leases: 0,
        };
        let live = || node(NodeState::Live, 5);
        let gone = nodes_verdict(&[live(), node(NodeState::Gone, 9_000)]);
        assert_eq!((gone.state, gone.what.as_str()), (State::Ok, "1 node has all the work."));
        assert_eq!(nodes_verdict(&[live(), live()]).what, "2 nodes share the work.");
        let newer = NodeRow { name: "mx-2".to_owned(), migration: 8, ..live() };
        let roll = nodes_verdict(&[live(), newer]);
        assert_eq!(roll.state, State::Ok, "{roll:?}");
        assert!(roll.what.ends_with(": mx-1 is 1 (schema 7), mx-2 is 1 (schema 8)."), "{roll:?}");
        for skew_ms in [2_000, -3_000] {
            let skewed = nodes_verdict(&[live(), node(NodeState::Live, skew_ms)]);
            assert_eq!(skewed.state, State::Warning, "{skewed:?}");
        }
        let late = nodes_verdict(&[live(), node(NodeState::Late, 0)]);
        assert!(late.state == State::Failing && late.what.ends_with(": mx-1."), "{late:?}");
        let keyless = nodes_verdict(&[live(), node(NodeState::Keyless, 0)]);
        assert_eq!(keyless.state, State::Failing, "{keyless:?}");
        assert!(keyless.todo.is_some_and(|it| it.contains("Copy master.key")));
    }

    #[test]
    fn no_backup_for_two_periods_fails_and_a_try_that_failed_is_a_warning() {
        let hour = Duration::from_hours(1);
        let of = |success: Option<u32>, failure: Option<&str>, running: u32| {
            let success = success.map(|hours| NOW.before(hour * hours));
            let last = LastBackup { success, failure: failure.map(str::to_owned) };
            backups_verdict(Some(last), hour, (NOW.before(hour * running), NOW))
        };
        assert_eq!(of(Some(1), None, 9).state, State::Ok);
        assert_eq!(of(Some(2), None, 9).state, State::Failing);
        let tried = of(Some(1), Some("no room."), 9);
        assert_eq!(tried.state, State::Warning);
        assert!(tried.what.contains("no room. The newest backup is of 2027"), "{tried:?}");
        assert_eq!(of(Some(2), Some("no room."), 9).state, State::Failing);
        assert_eq!(of(None, Some("no room."), 1).state, State::Failing, "there is none at all");
        assert_eq!(of(None, None, 1).state, State::Ok, "the first one is still under way");
        assert_eq!(of(None, None, 2).state, State::Failing);
        assert_eq!(backups_verdict(None, hour, (NOW, NOW)).state, State::Ok);
    }

    #[test]
    fn a_slot_with_nothing_that_works_fails_and_is_named() {
        let empty = SlotStatus::default();
        let verdict = plugins_verdict([("plan-policy", &empty)].into_iter());
        assert_eq!(verdict.state, State::Failing);
        assert_eq!(verdict.slots, ["plan-policy"]);
        let off = SlotStatus { disabled: true, ..SlotStatus::default() };
        assert_eq!(plugins_verdict([("plan-policy", &off)].into_iter()).state, State::Ok);
    }

    #[test]
    fn the_operators_own_webhook_weighs_more_and_no_path_of_a_url_is_shown() {
        let row = |owner, state| WebhookRow {
            id: WebhookId::new(NOW),
            owner,
            url: "https://hooks.example/s3cret".to_owned(),
            description: String::new(),
            types: Vec::new(),
            secret: Vec::new(),
            earlier: None,
            state,
            reason: "it was switched off".to_owned(),
            since: NOW,
            after_sequence: 0,
            succeeded_at: None,
            failing_since: Some(NOW.before(Duration::from_hours(5))),
            created_at: NOW,
        };
        let account = WebhookOwner::Account(crate::id::AccountId::new(NOW));
        let theirs = webhooks_verdict(&[row(account, WebhookState::Active)], NOW);
        assert!(theirs.state == State::Warning && theirs.what.contains("5 h"), "{theirs:?}");
        assert!(theirs.what.contains("hooks.example") && !theirs.what.contains("s3cret"));
        let own = webhooks_verdict(&[row(WebhookOwner::Server, WebhookState::Active)], NOW);
        assert_eq!(own.state, State::Failing);
        let off = webhooks_verdict(&[row(WebhookOwner::Server, WebhookState::Disabled)], NOW);
        assert_eq!(off.state, State::Warning);
    }
}
