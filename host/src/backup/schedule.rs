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
            let now = self.clock.now();
            let is_due = last.is_none_or(|it| it.after(self.every) <= now || it > now);
            if is_due && not_before.is_none_or(|it| it <= Instant::now()) {
                let taken = tokio::select! {
                    taken = Box::pin(self.take()) => taken,
                    () = stop.cancelled() => return,
                };
                match taken {
                    Ok(taken) => {
                        last = Some(taken.at);
                        not_before = None;
                        set_last_success(last);
                        self.note(&LastBackup { success: last, failure: None }).await;
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
