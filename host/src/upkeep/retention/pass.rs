//! One run of the retention: deletes what has expired kind by kind in small transactions, then shrinks the file.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::kept::{Kept, Retention, WEEK};
use crate::clock::Timestamp;
use crate::store::{FinishedPlace, Store, StoreError};

/// Rows of one batch; the write lock is free between two batches.
const BATCH_ROWS: u32 = 100;
/// Samples are large, and their pages are overwritten one by one.
const BATCH_SAMPLES: u32 = 50;
/// Pages that are cut off the file at one time: some milliseconds of work.
const FREED_PAGES: u32 = 250;
/// The longest pause after a batch.
const MAX_PAUSE: Duration = Duration::from_secs(1);

const REFUSALS_KEPT: Duration = WEEK;
/// More than a year, so that this month can be compared with the same one before it.
const COUNTS_KEPT: Duration = Duration::from_hours(400 * 24);

/// What is deleted, in this order: a message goes only without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Content,
    Messages,
    Events,
    Expired,
    Suppressions,
    Samples,
    Deliveries,
    Counts,
}

const ALL_KINDS: [Kind; 8] = [
    Kind::Content,
    Kind::Messages,
    Kind::Events,
    Kind::Expired,
    Kind::Suppressions,
    Kind::Samples,
    Kind::Deliveries,
    Kind::Counts,
];

/// A pass at one moment.
#[derive(Debug)]
pub struct Pass<'a> {
    retention: Retention,
    store: &'a Store,
    now: Timestamp,
    stop: &'a CancellationToken,
    message_cursor: Option<FinishedPlace>,
    event_cursor: i64,
    /// Pages that were cut off the file in this run.
    free_pages: u64,
}

/// What one batch did.
struct Batch {
    dropped: u64,
    more: More,
}

/// Whether there is more to drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum More {
    Perhaps,
    No,
}

impl<'a> Pass<'a> {
    /// A pass that has not begun.
    pub fn new(
        retention: Retention,
        store: &'a Store,
        now: Timestamp,
        stop: &'a CancellationToken,
    ) -> Self {
        Self { retention, store, now, stop, message_cursor: None, event_cursor: 0, free_pages: 0 }
    }

    /// Drops all that is past its time. What fails is tried again in the next pass, and holds up
    /// nothing else.
    pub async fn run(mut self) {
        for kind in ALL_KINDS {
            match self.delete_all(kind).await {
                Ok(0) => {}
                Ok(dropped) => {
                    metrics::counter!("waxwing_retention_deleted_total", "what" => kind.as_str())
                        .increment(dropped);
                    tracing::info!(
                        dropped,
                        kind = kind.as_str(),
                        "retention deleted expired records"
                    );
                }
                Err(error) => {
                    tracing::error!(%error, kind = kind.as_str(), "retention cannot delete expired records; the next run tries again");
                }
            }
        }
        if let Err(error) = self.shrink_file().await {
            tracing::error!(%error, "cannot shrink the database file; its free pages are used again, and the next run retries");
        }
    }

    /// Batch after batch of one kind, and between them the file gives back some of the room that this has freed: a long list
    /// of free pages is slow to search.
    async fn delete_all(&mut self, kind: Kind) -> Result<u64, StoreError> {
        let mut dropped = 0;
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            let delete_batch = self.delete_batch(kind).await?;
            dropped += delete_batch.dropped;
            if delete_batch.more == More::No {
                break;
            }
            self.free_pages().await?;
            self.pause(began.elapsed()).await;
        }
        Ok(dropped)
    }

    /// Cuts off the free pages that are left, and checkpoints the write-ahead log, so that the file becomes shorter.
    async fn shrink_file(&mut self) -> Result<(), StoreError> {
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            if self.free_pages().await? <= FREED_PAGES {
                break;
            }
            self.pause(began.elapsed()).await;
        }
        if self.free_pages > 0 {
            self.store.checkpoint_wal().await?;
            tracing::info!(
                pages = self.free_pages,
                "retention returned free pages of the database file to the disk"
            );
        }
        Ok(())
    }

    /// Answers how many pages there were to cut.
    async fn free_pages(&mut self) -> Result<u32, StoreError> {
        let excess = self.store.shrink(FREED_PAGES).await?;
        self.free_pages += u64::from(excess.min(FREED_PAGES));
        Ok(excess)
    }

    /// Sleeps as long as the batch took, so that others get the one connection that writes.
    async fn pause(&self, taken: Duration) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(taken.min(MAX_PAUSE)) => {}
        }
    }

    async fn delete_batch(&mut self, kind: Kind) -> Result<Batch, StoreError> {
        let (store, now) = (self.store, self.now);
        match kind {
            Kind::Content => {
                let Kept::For(kept) = self.retention.content() else { return Ok(Batch::NOTHING) };
                let dropped = store.drop_content(now.before(kept), now, BATCH_ROWS).await?;
                Ok(Batch { dropped, more: More::if_any(dropped) })
            }
            Kind::Messages => {
                let Kept::For(kept) = self.retention.messages else { return Ok(Batch::NOTHING) };
                let after = self.message_cursor.as_ref();
                let walked = store.drop_messages(now.before(kept), after, BATCH_ROWS).await?;
                let more = if walked.next.is_some() { More::Perhaps } else { More::No };
                self.message_cursor = walked.next;
                Ok(Batch { dropped: walked.dropped, more })
            }
            Kind::Events => {
                let Kept::For(kept) = self.retention.messages else { return Ok(Batch::NOTHING) };
                let walked =
                    store.drop_events(now.before(kept), self.event_cursor, BATCH_ROWS).await?;
                let more = if walked.next.is_some() { More::Perhaps } else { More::No };
                self.event_cursor = walked.next.unwrap_or(self.event_cursor);
                Ok(Batch { dropped: walked.dropped, more })
            }
            Kind::Expired => {
                let refusals = now.before(REFUSALS_KEPT);
                let expired = store.drop_expired(now, refusals, BATCH_ROWS).await?;
                let sessions = store.drop_sessions(now, BATCH_ROWS).await?;
                let before = now.before(self.retention.confirmations);
                let confirmations = store.drop_confirmations(before, BATCH_ROWS).await?;
                Ok(Batch::full(expired + sessions + confirmations, BATCH_ROWS))
            }
            Kind::Suppressions => {
                Ok(Batch::full(store.drop_suppressions(now, BATCH_ROWS).await?, BATCH_ROWS))
            }
            Kind::Samples => {
                let before = now.before(self.retention.samples);
                let dropped = store.drop_samples(before, BATCH_SAMPLES).await?;
                Ok(Batch::full(dropped, BATCH_SAMPLES))
            }
            Kind::Deliveries => {
                let before = now.before(self.retention.deliveries);
                Ok(Batch::full(store.drop_deliveries(before, BATCH_ROWS).await?, BATCH_ROWS))
            }
            Kind::Counts => {
                let before = now.before(COUNTS_KEPT);
                Ok(Batch::full(store.drop_counts(before, BATCH_ROWS).await?, BATCH_ROWS))
            }
        }
    }
}

impl Batch {
    const NOTHING: Self = Self { dropped: 0, more: More::No };

    /// A batch with a bound: there may be more where it was reached.
    fn full(dropped: u64, bound: u32) -> Self {
        let more = if dropped >= u64::from(bound) { More::Perhaps } else { More::No };
        Self { dropped, more }
    }
}

impl More {
    fn if_any(dropped: u64) -> Self {
        if dropped > 0 { Self::Perhaps } else { Self::No }
    }
}

impl Kind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Messages => "messages",
            Self::Events => "events",
            Self::Expired => "answers_and_refusals",
            Self::Suppressions => "suppressions",
            Self::Samples => "samples",
            Self::Deliveries => "webhook_deliveries",
            Self::Counts => "counts",
        }
    }
}
