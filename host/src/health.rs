//! Whether the server is well: one list of checks, for `waxwing doctor`, `GET /v1/health`, the page of operators and
//! alerts.
//!
//! A check answers what it saw, and says so where it could see nothing: an answer that is missing is never a fault.
//! One run is made at a time; each check has a bound in time, and those that ask others are made once an hour unless
//! somebody asks.

mod block_lists;
mod finding;
mod machine;
mod names;
mod ports;
mod service;
mod spf;
mod time;
mod turns;
mod words;
mod world;

#[cfg(test)]
mod tests;

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::Notify;

use turns::Turns;
use words::span;

pub use finding::{CheckName, Finding, Report, Scope, State, Verdict};
pub use names::{addresses_of, pointer};
pub use turns::Turn;
pub use world::{
    CertificateView, Egress, HealthSettings, Listener, Live, Naming, ReloadableSettings, Renewal,
    ServerView, Tell, World,
};

/// For one check.
const CHECK_TIME: Duration = Duration::from_secs(15);
/// For the check that reads the whole database, which bounds itself.
const LONG_CHECK_TIME: Duration = Duration::from_secs(30);
/// Between two runs of a check that asks servers of others, or that reads the whole database.
const ASKING_PACE: Duration = Duration::from_hours(1);
const READING_PACE: Duration = Duration::from_hours(24);
/// From the start of the server to its first run.
const FIRST_RUN: Duration = Duration::from_mins(1);
/// To the run that decides whether what was just seen holds.
const CONFIRMING_RUN: Duration = Duration::from_mins(1);

/// The checks, and what they found last.
#[derive(Debug)]
pub struct Health {
    world: World,
    /// Held while a run is made.
    running: tokio::sync::Mutex<()>,
    seen: Mutex<Seen>,
    /// A run was made that somebody asked for, or the settings were replaced.
    asked: Notify,
}

#[derive(Debug, Default)]
struct Seen {
    report: Option<Arc<Report>>,
    /// Start of the last complete run.
    whole_since: Option<Instant>,
    turns: Turns,
}

/// Why a run is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occasion {
    /// Its time has come: what others were asked of lately is not asked again.
    Regular,
    /// Somebody asked.
    Asked,
}

/// A check of a run.
#[derive(Debug)]
enum Made {
    Now(CheckName, Verdict),
    /// By an earlier run, and still good.
    Before(Finding),
}

impl Health {
    #[must_use]
    pub fn new(world: World) -> Self {
        let running = tokio::sync::Mutex::default();
        Self { world, running, seen: Mutex::default(), asked: Notify::new() }
    }

    /// Takes over which checks of a scope an earlier start or another node has told of, as [`Self::told`] answered it.
    pub fn remember(&self, scope: Scope, told: &str) {
        self.seen().turns.remember(scope, told);
    }

    /// What was found last; the first caller after a start waits until something is.
    pub async fn last(&self) -> Arc<Report> {
        let last = self.seen().report.clone();
        match last {
            Some(report) => report,
            None => self.check_now().await,
        }
    }

    /// Makes all checks. Whoever asks during a run waits for the next one, together with all others.
    pub async fn check_now(&self) -> Arc<Report> {
        let asked = Instant::now();
        let _alone = self.running.lock().await;
        if let Some(report) = self.made_since(asked) {
            return report;
        }
        let report = self.run(Occasion::Asked).await;
        self.asked.notify_one();
        report
    }

    /// Makes the checks that are due.
    pub async fn check_regularly(&self) {
        let _alone = self.running.lock().await;
        self.run(Occasion::Regular).await;
    }

    /// The settings that a reload replaces, as they are now.
    pub fn settings(&self) -> Arc<ReloadableSettings> {
        self.world.reloadable.load_full()
    }

    /// Replaces the settings: the next run is made by them, and the pause before it is counted anew.
    pub fn replace(&self, settings: ReloadableSettings) {
        self.world.reloadable.store(Arc::new(settings));
        self.asked.notify_one();
    }

    /// Waits until a run that somebody asked for has ended, which may have turned a check, or until a reload has replaced the
    /// settings.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    /// How long to wait for the next regular run.
    #[must_use]
    pub fn pause(&self) -> Duration {
        let seen = self.seen();
        if seen.report.is_none() {
            return FIRST_RUN;
        }
        let is_open = CheckName::ALL.into_iter().any(|it| seen.turns.is_open(it));
        let every = self.settings().every;
        if is_open { every.min(CONFIRMING_RUN) } else { every }
    }

    /// What has turned and was not told yet, each with its last finding.
    #[must_use]
    pub fn turned(&self) -> Vec<(Turn, Finding)> {
        let seen = self.seen();
        let Some(report) = &seen.report else { return Vec::new() };
        let finding = |(check, turn)| Some((turn, report.of(check)?.clone()));
        seen.turns.pending().into_iter().filter_map(finding).collect()
    }

    /// Notes that a turn was told; answers what whoever tells next has to know of the checks of that scope.
    #[must_use]
    pub fn told(&self, check: CheckName, turn: Turn) -> String {
        let mut seen = self.seen();
        seen.turns.told(check, turn);
        seen.turns.told_names(check.scope())
    }

    async fn run(&self, occasion: Occasion) -> Arc<Report> {
        let began = Instant::now();
        let checks = CheckName::ALL.into_iter().map(|check| {
            let kept = self.kept(check, occasion);
            async move {
                match kept {
                    Some(kept) => Made::Before(kept),
                    None => Made::Now(check, checked(&self.world, check).await),
                }
            }
        });
        let made = join_all(checks).await;
        let now = self.world.clock.now();
        let mut seen = self.seen();
        let findings = made.into_iter().map(|made| {
            let (check, verdict) = match made {
                // That is no further observation.
                Made::Before(finding) => return finding,
                Made::Now(check, verdict) => (check, verdict),
            };
            let (since, before) = seen.turns.observe(check, verdict.state, now);
            // Whoever asks of a server that does not run reads the answer, and has no log.
            if let Some(before) = before.filter(|_| self.world.live().is_ok()) {
                log(check, &verdict, before);
            }
            Finding { check, verdict, since, checked_at: now }
        });
        let report = Arc::new(Report { at: now, findings: findings.collect() });
        report.findings.iter().for_each(measure);
        seen.report = Some(Arc::clone(&report));
        if occasion == Occasion::Asked {
            seen.whole_since = Some(began);
        }
        report
    }

    /// The last finding of a check that need not be made again.
    fn kept(&self, check: CheckName, occasion: Occasion) -> Option<Finding> {
        let pace = pace(check).filter(|_| occasion == Occasion::Regular)?;
        let seen = self.seen();
        let last = seen.report.as_ref()?.of(check)?;
        let now = self.world.clock.now();
        // A finding of the future was made by a clock that was ahead: it says nothing of how old it is.
        let is_fresh = last.checked_at <= now && last.checked_at.until(now) < pace;
        (is_fresh && !seen.turns.is_open(check)).then(|| last.clone())
    }

    fn made_since(&self, asked: Instant) -> Option<Arc<Report>> {
        let seen = self.seen();
        seen.report.clone().filter(|_| seen.whole_since.is_some_and(|began| began >= asked))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How old a finding may be before a regular run makes the check again.
fn pace(check: CheckName) -> Option<Duration> {
    match check {
        CheckName::Integrity => Some(READING_PACE),
        CheckName::Clock
        | CheckName::ReverseDns
        | CheckName::Spf
        | CheckName::ReportsMx
        | CheckName::MtaSts
        | CheckName::Port25
        | CheckName::BlockLists => Some(ASKING_PACE),
        CheckName::Store
        | CheckName::Queue
        | CheckName::Nodes
        | CheckName::Backups
        | CheckName::Disk
        | CheckName::Listeners
        | CheckName::Certificate
        | CheckName::Descriptors
        | CheckName::FileRights
        | CheckName::SenderDomains
        | CheckName::KeyAges
        | CheckName::Plugins
        | CheckName::Webhooks => None,
    }
}

/// Makes one check, within its time.
async fn checked(world: &World, check: CheckName) -> Verdict {
    let bound = if check == CheckName::Integrity { LONG_CHECK_TIME } else { CHECK_TIME };
    tokio::time::timeout(bound, one(world, check)).await.unwrap_or_else(|_| late(check, bound))
}

fn late(check: CheckName, bound: Duration) -> Verdict {
    if check == CheckName::Store {
        return Verdict::failing(
            format!("The store was not written within {}.", span(bound)),
            "Look at the load of the disk, and for a process that holds the database.",
        );
    }
    Verdict::not_checked(format!("The check was not over within {}.", span(bound)))
}

fn one(world: &World, check: CheckName) -> BoxFuture<'_, Verdict> {
    match check {
        CheckName::Store => of_live(world, |live| Box::pin(service::store(world, live))),
        CheckName::Integrity => of_live(world, |live| Box::pin(service::integrity(live))),
        CheckName::Queue => of_live(world, |live| Box::pin(service::queue(world, live))),
        CheckName::Nodes => of_live(world, |live| Box::pin(service::nodes(live))),
        CheckName::Backups => of_live(world, |live| Box::pin(service::backups(world, live))),
        CheckName::Disk => Box::pin(machine::disk(world)),
        CheckName::Listeners => Box::pin(ports::listeners(world)),
        CheckName::Certificate => Box::pin(ready(ports::certificate(world))),
        CheckName::Clock => Box::pin(time::clock(world)),
        CheckName::Descriptors => Box::pin(machine::descriptors(world)),
        CheckName::FileRights => Box::pin(machine::file_rights(world)),
        CheckName::ReverseDns => Box::pin(names::reverse_dns(world)),
        CheckName::Spf => Box::pin(spf::spf(world)),
        CheckName::ReportsMx => Box::pin(names::reports_mx(world)),
        CheckName::MtaSts => Box::pin(names::mta_sts(world)),
        CheckName::Port25 => Box::pin(ports::port_25(world)),
        CheckName::BlockLists => Box::pin(block_lists::block_lists(world)),
        CheckName::SenderDomains => of_live(world, |live| Box::pin(service::sender_domains(live))),
        CheckName::KeyAges => of_live(world, |live| Box::pin(service::key_ages(world, live))),
        CheckName::Plugins => of_live(world, |live| Box::pin(ready(service::plugins(live)))),
        CheckName::Webhooks => of_live(world, |live| Box::pin(service::webhooks(world, live))),
    }
}

/// A check of a server that runs; without one it is not made.
fn of_live<'a>(
    world: &'a World,
    check: impl FnOnce(&'a Live) -> BoxFuture<'a, Verdict>,
) -> BoxFuture<'a, Verdict> {
    match world.live() {
        Ok(live) => check(live),
        Err(why) => Box::pin(ready(Verdict::not_checked(why))),
    }
}

/// Writes a line about a check that is in another state than before.
fn log(check: CheckName, verdict: &Verdict, before: State) {
    let (check, reason, advice) = (check.as_str(), verdict.what.as_str(), verdict.todo.as_deref());
    let was_troubled = matches!(before, State::Failing | State::Warning);
    match verdict.state {
        State::Failing => tracing::error!(check, reason, advice, "a health check fails"),
        State::Warning => tracing::warn!(check, reason, advice, "a health check warns"),
        State::Ok if was_troubled => {
            tracing::info!(check, reason, "a health check passes again");
        }
        State::NotChecked if was_troubled => {
            tracing::info!(
                check,
                reason,
                "a health check that failed or warned could not be made now"
            );
        }
        State::Ok | State::NotChecked => {}
    }
}

fn measure(finding: &Finding) {
    for state in State::ALL {
        let value = if state == finding.verdict.state { 1.0 } else { 0.0 };
        let (check, state) = (finding.check.as_str(), state.as_str());
        metrics::gauge!("waxwing_health_findings", "check" => check, "state" => state).set(value);
    }
}
