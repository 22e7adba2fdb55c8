//! One pass over everything that may have to go, bite by bite.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::{Kept, Retention, WEEK};
use crate::clock::Timestamp;
use crate::store::{RestingPlace, Store, StoreError};

/// Rows of one bite; the write lock is free between two bites.
const BITE: u32 = 100;
/// Samples are large, and their pages are overwritten one by one.
const SAMPLES_BITE: u32 = 50;
/// Pages that are cut off the file at one time: some milliseconds of work.
const PAGES: u32 = 250;
/// The longest pause after a bite.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

const REFUSALS_KEPT: Duration = WEEK;

/// What goes, in this order: a message goes only without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Content,
    Messages,
    Events,
    Expired,
    Suppressions,
    Samples,
    Deliveries,
}

const ALL: [What; 7] = [
    What::Content,
    What::Messages,
    What::Events,
    What::Expired,
    What::Suppressions,
    What::Samples,
    What::Deliveries,
];

/// A pass at one moment.
#[derive(Debug)]
pub struct Pass<'a> {
    retention: Retention,
    store: &'a Store,
    now: Timestamp,
    stop: &'a CancellationToken,
    message: Option<RestingPlace>,
    event: i64,
    /// Pages that were cut off the file.
    cut: u64,
}

/// What one bite did.
struct Bite {
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
        Self { retention, store, now, stop, message: None, event: 0, cut: 0 }
    }

    /// Drops all that is past its time. What fails is tried again in the next pass, and holds up
    /// nothing else.
    pub async fn run(mut self) {
        for what in ALL {
            match self.drop_all(what).await {
                Ok(0) => {}
                Ok(dropped) => {
                    metrics::counter!("waxwing_dropped_total", "what" => what.word())
                        .increment(dropped);
                    tracing::info!(dropped, what = what.word(), "expired records deleted");
                }
                Err(error) => {
                    tracing::error!(%error, what = what.word(), "expired rows could not be dropped");
                }
            }
        }
        if let Err(error) = self.give_back().await {
            tracing::error!(%error, "free pages could not be given back to the disk");
        }
    }

    /// Bite after bite of one kind, and between them some of the room that this has freed: a long list
    /// of free pages is slow to search.
    async fn drop_all(&mut self, what: What) -> Result<u64, StoreError> {
        let mut dropped = 0;
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            let bite = self.bite(what).await?;
            dropped += bite.dropped;
            if bite.more == More::No {
                break;
            }
            self.cut().await?;
            self.pause(began.elapsed()).await;
        }
        Ok(dropped)
    }

    /// Cuts off what is left, and has the file become shorter.
    async fn give_back(&mut self) -> Result<(), StoreError> {
        while !self.stop.is_cancelled() {
            let began = Instant::now();
            if self.cut().await? <= PAGES {
                break;
            }
            self.pause(began.elapsed()).await;
        }
        if self.cut > 0 {
            self.store.fold().await?;
            tracing::info!(pages = self.cut, "free pages are given back to the disk");
        }
        Ok(())
    }

    /// Answers how many pages there were to cut.
    async fn cut(&mut self) -> Result<u32, StoreError> {
        let excess = self.store.shrink(PAGES).await?;
        self.cut += u64::from(excess.min(PAGES));
        Ok(excess)
    }

    /// Leaves the connection that writes to others for as long as it was taken.
    async fn pause(&self, taken: Duration) {
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = tokio::time::sleep(taken.min(LONGEST_PAUSE)) => {}
        }
    }

    async fn bite(&mut self, what: What) -> Result<Bite, StoreError> {
        let (store, now) = (self.store, self.now);
        match what {
            What::Content => {
                let Kept::For(kept) = self.retention.content() else { return Ok(Bite::NOTHING) };
                let dropped = store.drop_content(now.before(kept), now, BITE).await?;
                Ok(Bite { dropped, more: More::if_any(dropped) })
            }
            What::Messages => {
                let Kept::For(kept) = self.retention.messages else { return Ok(Bite::NOTHING) };
                let after = self.message.as_ref();
                let walked = store.drop_messages(now.before(kept), after, BITE).await?;
                let more = if walked.next.is_some() { More::Perhaps } else { More::No };
                self.message = walked.next;
                Ok(Bite { dropped: walked.dropped, more })
            }
            What::Events => {
                let Kept::For(kept) = self.retention.messages else { return Ok(Bite::NOTHING) };
                let walked = store.drop_events(now.before(kept), self.event, BITE).await?;
                let more = if walked.next.is_some() { More::Perhaps } else { More::No };
                self.event = walked.next.unwrap_or(self.event);
                Ok(Bite { dropped: walked.dropped, more })
            }
            What::Expired => {
                let refusals = now.before(REFUSALS_KEPT);
                Ok(Bite::full(store.drop_expired(now, refusals, BITE).await?, BITE))
            }
            What::Suppressions => Ok(Bite::full(store.drop_suppressions(now, BITE).await?, BITE)),
            What::Samples => {
                let before = now.before(self.retention.samples);
                let dropped = store.drop_samples(before, SAMPLES_BITE).await?;
                Ok(Bite::full(dropped, SAMPLES_BITE))
            }
            What::Deliveries => {
                let before = now.before(self.retention.deliveries);
                Ok(Bite::full(store.drop_deliveries(before, BITE).await?, BITE))
            }
        }
    }
}

impl Bite {
    const NOTHING: Self = Self { dropped: 0, more: More::No };

    /// A bite with a bound: there may be more where it was reached.
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

impl What {
    fn word(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Messages => "messages",
            Self::Events => "events",
            Self::Expired => "answers_and_refusals",
            Self::Suppressions => "suppressions",
            Self::Samples => "samples",
            Self::Deliveries => "webhook_deliveries",
        }
    }
}
