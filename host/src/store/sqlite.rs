//! The embedded store: one SQLite file in WAL mode, `synchronous=FULL`, one writer, many readers.

mod accounts;
mod again;
mod attempts;
mod back_off;
mod bites;
mod commit;
mod decisions;
mod domain_checks;
mod domain_keys;
mod domains;
mod events;
mod gauges;
mod hold_back;
mod keys;
mod message_file;
mod message_pages;
mod messages;
mod queue;
mod queue_view;
mod recall;
mod release;
mod reports;
mod retention;
mod row;
mod samples;
mod settle;
mod shrink;
mod sts;
mod suppressions;
mod templates;
mod upkeep;
mod webhooks;

#[cfg(test)]
pub(crate) mod meter;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
    SqliteRow, SqliteSynchronous,
};
use sqlx::{Sqlite as Driver, SqliteConnection, Transaction};

use super::StoreError;
use crate::clock::Timestamp;
pub use accounts::{ACCOUNT, AccountRow, LedgerRow, account_row};
pub use again::{Again, Wanted};
pub use decisions::{DecisionFilter, DecisionPage, DecisionRef, DecisionRow, InvalidDecisionRef};
pub use domain_checks::{CheckRow, Checked, DomainFile, Sight};
pub use domain_keys::{SIGNING_KEYS, SealedKey, SigningKeys, signing_keys_row};
pub use domains::{DOMAIN, DomainRow, NewDomain, NotAdded, domain_row};
pub use gauges::Gauges;
pub use keys::{KEY, key_row};
pub use message_file::{AttemptRow, MessageFile, StoredMessage};
pub use message_pages::{MessageFilter, MessagePage, MessageRow};
pub use messages::{Origin, RefusalRecord};
pub use queue_view::{LastAttempt, MAX_COUNTED, Queued, WaitingGroup};
pub use recall::Recall;
pub use reports::{NewReport, PublishedKey, Recorded, ReportKind, Reported};
pub use retention::{RestingPlace, Walked};
pub use samples::{SampleOutcome, SampleRecord, SampleRow, sample_identity};
pub use shrink::{
    Conversion, begin as begin_shrinkable, convert as convert_to_shrinkable, cut, excess,
};
pub use sts::StsRow;
pub use suppressions::{Suppressed, SuppressionPage, SuppressionRow};
pub use templates::{Published, TEMPLATE, template_row};
pub use webhooks::{
    About, Behind, DeliveryPage, DeliveryRow, DeliveryState, DueDelivery, FannedEvent,
    MessageAbout, NewDelivery, NewWebhook, NextTry, TestDelivery, Tried, Waiting, WebhookChange,
    WebhookOwner, WebhookRow, WebhookState,
};

const READERS: u32 = 4;
/// Connections that read lists, two of them at one time, and the metrics: never those that sends need.
const PAGE_READERS: u32 = 3;
/// How long a list waits for one of them.
const PAGE_WAIT: Duration = Duration::from_secs(2);
/// How long a list may hold one of them.
const PAGE_TIME: Duration = Duration::from_secs(5);
/// SQLite asks every so many steps of a statement whether the time is over.
const STEPS: i32 = 1_000;
const IMMEDIATE: &str = "BEGIN IMMEDIATE";
const REVISION: &str = "-- revision\nSELECT value FROM revision";

/// The store. Cheap to clone; all clones share its connections.
#[derive(Debug, Clone)]
pub struct Sqlite {
    writer: SqlitePool,
    readers: SqlitePool,
    /// One connection that only ever reads the revision: a request that is to be authenticated never
    /// waits for long queries on `readers`.
    revisions: SqlitePool,
    /// For lists: what an operator or an account looks through holds up nobody's send.
    pages: SqlitePool,
    /// The balance below which an account is told that its credits are low.
    low_credits: i64,
}

impl Sqlite {
    /// Opens the file, makes it where it is missing, and brings its schema up to date.
    ///
    /// # Errors
    /// The file cannot be opened, or was written by a newer version of the server.
    pub async fn open(file: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10))
            .pragma("journal_size_limit", "67108864")
            .pragma("wal_autocheckpoint", "4000")
            .statement_cache_capacity(256);
        shrink::begin(&options, file).await.map_err(StoreError::during("open"))?;
        let writer = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .connect_with(options.clone())
            .await
            .map_err(StoreError::during("open"))?;
        sqlx::migrate!("../migrations/sqlite").run(&writer).await?;
        let options = options.read_only(true).create_if_missing(false);
        let pool = |connections| {
            SqlitePoolOptions::new()
                .max_connections(connections)
                .acquire_timeout(Duration::from_secs(10))
                .test_before_acquire(false)
                .connect_with(options.clone())
        };
        let readers = pool(READERS).await.map_err(StoreError::during("open"))?;
        let revisions = pool(1).await.map_err(StoreError::during("open"))?;
        let pages = page_readers(PAGE_TIME).connect_lazy_with(options);
        Ok(Self { writer, readers, revisions, pages, low_credits: 0 })
    }

    /// Tells an account that its credits are low when they fall below `balance`.
    #[must_use]
    pub fn telling_credits_below(mut self, balance: i64) -> Self {
        self.low_credits = balance;
        self
    }

    /// Whether the database can be written: a full disk can still be read.
    ///
    /// # Errors
    /// It cannot.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        let during = || StoreError::during("probe");
        let mut tx = self.begin().await?;
        sqlx::query("-- probe\nUPDATE probe SET written_at = ? WHERE id = 1")
            .bind(now.millis())
            .execute(&mut *tx)
            .await
            .map_err(during())?;
        tx.commit().await.map_err(during())
    }

    /// The revision of the facts.
    ///
    /// # Errors
    /// The database failed.
    pub async fn revision(&self) -> Result<i64, StoreError> {
        let row = sqlx::query(REVISION)
            .fetch_one(&self.revisions)
            .await
            .map_err(StoreError::during("revision"))?;
        row::column(&row, "value")
    }

    /// Reads at most one row together with the revision that it belongs to.
    ///
    /// # Errors
    /// The database failed.
    pub async fn read_fact(
        &self,
        query: Query<'_, Driver, SqliteArguments>,
    ) -> Result<(i64, Option<SqliteRow>), StoreError> {
        let during = || StoreError::during("read_fact");
        let mut tx = self.readers.begin().await.map_err(during())?;
        let revision = sqlx::query(REVISION).fetch_one(&mut *tx).await.map_err(during())?;
        let row = query.fetch_optional(&mut *tx).await.map_err(during())?;
        tx.rollback().await.map_err(during())?;
        Ok((row::column(&revision, "value")?, row))
    }

    /// Closes all connections and folds the write-ahead log into the file.
    pub async fn close(&self) {
        self.revisions.close().await;
        self.pages.close().await;
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Begins a transaction that writes. It holds the write lock from its start, so that what it
    /// reads stays true until it commits.
    async fn begin(&self) -> Result<Transaction<'static, Driver>, StoreError> {
        begin_immediate(&self.writer).await.map_err(StoreError::during("begin"))
    }
}

/// Connections for lists: whoever takes one has it for that long, and then SQLite interrupts what it reads.
fn page_readers(time: Duration) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(PAGE_READERS)
        .acquire_timeout(PAGE_WAIT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| Box::pin(interrupt_after(connection, time)))
        .before_acquire(move |connection, _| {
            Box::pin(async move { interrupt_after(connection, time).await.map(|()| true) })
        })
}

async fn interrupt_after(
    connection: &mut SqliteConnection,
    time: Duration,
) -> Result<(), sqlx::Error> {
    let end = Instant::now() + time;
    connection.lock_handle().await?.set_progress_handler(STEPS, move || Instant::now() < end);
    Ok(())
}

/// Begins a transaction that writes, on the one connection of `writer`.
///
/// After a full disk or an I/O error SQLite rolls back by itself, and the driver still counts the
/// transaction as open: such a connection would refuse every further one, so it is replaced.
///
/// # Errors
/// The database failed.
pub async fn begin_immediate(
    writer: &SqlitePool,
) -> Result<Transaction<'static, Driver>, sqlx::Error> {
    match writer.begin_with(IMMEDIATE).await {
        Err(sqlx::Error::InvalidSavePointStatement) => {
            tracing::warn!("the connection that writes lost its transaction; it is replaced");
            writer.acquire().await?.close().await?;
            writer.begin_with(IMMEDIATE).await
        }
        begun => begun,
    }
}
