//! Takes backups when they are due. Each outcome is in the log, in the metrics, and noted for the operator's page.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::age::Recipient;
use super::destination::{Destination, taken_at};
use super::error::BackupError;
use super::make::{Source, Taken, back_up};
use crate::clock::{Clock, Timestamp};
use crate::store::{Store, StoreError};

const NOTE: &str = "last backup";
/// The pause after a failure; shorter where backups are taken more often.
const RETRY: Duration = Duration::from_mins(15);
/// How often the clock is looked at: it may be set.
const LOOK: Duration = Duration::from_mins(1);

/// What takes backups.
#[derive(Debug)]
pub struct Schedule {
    pub source: Source,
    pub destination: Destination,
    pub recipients: Vec<Recipient>,
    pub every: Duration,
    /// The newest backups that stay.
    pub keep: usize,
    pub store: Store,
    pub clock: Clock,
}

/// How the schedule's last backup ended.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct LastBackup {
    /// The last one that was kept.
    pub success: Option<Timestamp>,
    /// Why none could be taken since.
    pub failure: Option<String>,
}

impl LastBackup {
    /// As the schedule has noted it; none where there was no schedule yet.
    pub async fn noted(store: &Store) -> Result<Option<Self>, StoreError> {
        let noted = store.noted(NOTE).await?;
        Ok(noted.and_then(|it| serde_json::from_str(&it).ok()))
    }
}

impl Schedule {
    /// Runs until `stop`. The first backup is due when the newest one at the destination is old enough, or there is none.
    pub async fn run(self, stop: CancellationToken) {
        let mut last = match self.newest().await {
            Ok(found) => found,
            Err(error) => {
                self.report(None, &error).await;
                None
            }
        };
        set_last_success(last);
        let mut not_before: Option<Instant> = None;
        while !stop.is_cancelled() {
            if self.is_due(last)
                && let Ok(Some(found)) = self.newest().await
                && last.is_none_or(|it| it < found)
            {
                // Taken by hand.
                last = Some(found);
                not_before = None;
                self.succeeded(found).await;
            }
            if self.is_due(last) && not_before.is_none_or(|it| it <= Instant::now()) {
                let taken = tokio::select! {
                    taken = Box::pin(self.take()) => taken,
                    () = stop.cancelled() => return,
                };
                match taken {
                    Ok(taken) => {
                        last = Some(taken.at);
                        not_before = None;
                        self.succeeded(taken.at).await;
                    }
                    Err(error) => {
                        not_before = Some(Instant::now() + RETRY.min(self.every));
                        self.report(last, &error).await;
                    }
                }
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(LOOK.min(self.every)) => {}
            }
        }
    }

    fn is_due(&self, last: Option<Timestamp>) -> bool {
        let now = self.clock.now();
        last.is_none_or(|it| it.after(self.every) <= now || it > now)
    }

    async fn newest(&self) -> Result<Option<Timestamp>, BackupError> {
        let names = self.destination.names(self.clock.now()).await?;
        Ok(names.last().and_then(|it| taken_at(it)))
    }

    async fn take(&self) -> Result<Taken, BackupError> {
        let start = Instant::now();
        let taken = back_up(&self.source, &self.destination, &self.recipients, &self.clock).await?;
        metrics::histogram!("waxwing_backup_seconds").record(start.elapsed());
        let to = self.destination.shown();
        tracing::info!(to, backup = taken.name, bytes = taken.bytes, "backup taken and verified");
        match self.destination.prune(self.keep, self.clock.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(to, count, "deleted backups beyond backup.keep"),
            // The new one counts all the same.
            Err(error) => {
                tracing::warn!(to, %error, "old backups cannot be deleted; the next backup tries again");
            }
        }
        Ok(taken)
    }

    async fn succeeded(&self, at: Timestamp) {
        set_last_success(Some(at));
        self.note(&LastBackup { success: Some(at), failure: None }).await;
    }

    async fn report(&self, last: Option<Timestamp>, error: &BackupError) {
        metrics::counter!("waxwing_backup_failures_total").increment(1);
        // A place that cannot be read does not say what is there: what was noted before stays.
        let success = match last {
            Some(_) => last,
            None => LastBackup::noted(&self.store).await.ok().flatten().and_then(|it| it.success),
        };
        let backup_at = success.map(tracing::field::display);
        let to = self.destination.shown();
        tracing::error!(to, %error, backup_at, "no backup could be taken; trying again");
        self.note(&LastBackup { success, failure: Some(error.to_string()) }).await;
    }

    async fn note(&self, last: &LastBackup) {
        let Ok(text) = serde_json::to_string(last) else { return };
        if let Err(error) = self.store.note(NOTE, &text).await {
            tracing::warn!(%error, "how the last backup ended cannot be noted for the health page");
        }
    }
}

fn set_last_success(last: Option<Timestamp>) {
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    let seconds = last.map_or(0.0, |it| (it.millis() / 1_000) as f64);
    metrics::gauge!("waxwing_backup_last_success_timestamp_seconds").set(seconds);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backup::ObjectStoreSettings;
    use crate::backup::age::Identity;
    use crate::backup::destination::name;
    use crate::store::Place;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    /// Waits until how the last backup ended is noted so.
    async fn noted(store: &Store, is_it: impl Fn(&LastBackup) -> bool) {
        let looks = async {
            while !LastBackup::noted(store).await.expect("readable").is_some_and(|it| is_it(&it)) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), looks).await.expect("it is noted");
    }

    #[tokio::test]
    async fn a_backup_taken_by_hand_ends_the_failure_of_the_schedule() {
        let home = tempfile::tempdir().expect("a directory");
        let data = |name: &str| home.path().join(name);
        let store = Store::open(Place::File(data("waxwing.db"))).await.expect("opens");
        let to = data("backups");
        std::fs::create_dir(&to).expect("made");
        let settings = ObjectStoreSettings::default();
        let schedule = Schedule {
            source: Source {
                database: ("waxwing.db", data("waxwing.db")),
                inbox: ("inbox.db", data("inbox.db")),
                // Missing, so that the schedule takes none.
                key: ("master.key", data("master.key")),
                files: Vec::new(),
                work: data("backup-work"),
            },
            destination: Destination::new(to.to_str().expect("UTF-8"), &settings).expect("valid"),
            recipients: vec![Identity::random().expect("made").recipient()],
            every: Duration::from_millis(10),
            keep: 1,
            store: store.clone(),
            clock: Clock::manual(NOW),
        };
        let stop = CancellationToken::new();
        let by_hand = async {
            noted(&store, |it| it.failure.is_some()).await;
            std::fs::write(to.join(name(NOW)), "a backup").expect("written");
            noted(&store, |it| *it == LastBackup { success: Some(NOW), failure: None }).await;
            stop.cancel();
        };
        tokio::join!(schedule.run(stop.clone()), by_hand);
    }
}
