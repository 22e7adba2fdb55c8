//! Messages that are due before their time: somebody wants it, or what they wait for has recovered.

use std::collections::BTreeSet;

use super::Store;
use super::cancel::standing;
use super::database::{Row, column, either, parsed, sql};
use crate::clock::Timestamp;
use crate::id::{AccountId, Identifier, MessageId};
use crate::message::state::{MessageState, OnRetry};
use crate::message::waits_for::WaitsFor;
use crate::store::StoreError;

/// Messages of one transaction: others write, too.
const BATCH_ROWS: u32 = 2_000;
/// Destinations that are tried at one time after a start, at most.
const MAX_DESTINATIONS_REQUEUED: u32 = 10_000;

/// Each looks at so many messages and says which of them fit: one statement that looked for as many as fit
/// would read the whole queue where none does.
const LOOK_FOR_WANTED: &str = "-- retry_all: look
    SELECT message_id,
           due_at > $1 AND lease_owner IS NULL AND (attempts > 0 OR waits_for IS NOT NULL)
               AND ($3 IS NULL OR account_id = $3) AND ($4 IS NULL OR lane = $4) AS fits
    FROM queue WHERE message_id > $2 ORDER BY message_id LIMIT $5";
const LOOK_FOR_WAITING: &str = "-- requeue_all: look
    SELECT message_id, waits_for IS NOT NULL AND (waits_for < $3 OR waits_for >= $4) AS fits
    FROM queue WHERE message_id > $1 ORDER BY message_id LIMIT $2";
/// From each name to the next one, and past the accounts that are suspended: their names are from $3 up to $4.
const ONE_OF_EACH: &str = "-- requeue_one_of_each: look
    WITH RECURSIVE names (name) AS (
        SELECT min(waits_for) FROM queue WHERE waits_for > $1
        UNION ALL
        SELECT (SELECT min(waits_for) FROM queue
                WHERE waits_for > CASE WHEN name >= $3 AND name < $4 THEN $4 ELSE name END)
        FROM names WHERE name IS NOT NULL)
    SELECT name, (SELECT message_id FROM queue WHERE waits_for = name ORDER BY due_at LIMIT 1)
                     AS message_id
    FROM names WHERE name IS NOT NULL AND (name < $3 OR name >= $4) LIMIT $2";

/// What became of a wish to try a message again now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryOutcome {
    /// It is due now, or being sent already.
    Now,
    /// It is in a state in which there is no further attempt, or not yet.
    Not(MessageState),
}

/// Which deferred messages to retry. Default: all.
#[derive(Debug, Clone, Default)]
pub struct RetryFilter {
    /// Only that account's.
    pub account: Option<AccountId>,
    /// Only those to recipients at that domain, in lower case.
    pub domain: Option<String>,
}

impl Store {
    /// Makes a deferred message due now, also during a back-off from its destination.
    ///
    /// # Errors
    /// The database failed, or there is no such message.
    pub async fn retry(&self, id: MessageId, now: Timestamp) -> Result<RetryOutcome, StoreError> {
        let mut tx = self.db.begin("retry").await?;
        let (_, state) = standing(&mut tx, id).await?;
        match state.on_retry() {
            OnRetry::MakeDue => {}
            OnRetry::UnderWay => return Ok(RetryOutcome::Now),
            OnRetry::Refuse => return Ok(RetryOutcome::Not(state)),
        }
        sql("-- retry
             UPDATE queue SET due_at = $2, waits_for = NULL, is_wanted = TRUE
             WHERE message_id = $1 AND lease_owner IS NULL")
        .bind(id)
        .bind(now.millis())
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(RetryOutcome::Now)
    }

    /// The same for all deferred messages of a kind, in batches. Answers how many.
    ///
    /// # Errors
    /// The database failed; some may be due by then.
    pub async fn retry_all(&self, wanted: &RetryFilter, now: Timestamp) -> Result<u64, StoreError> {
        let mut all = 0;
        let mut after = MessageId::MIN;
        loop {
            // Looked for beside those who write.
            let rows = sql(LOOK_FOR_WANTED)
                .bind(now.millis())
                .bind(after)
                .bind(wanted.account)
                .bind(wanted.domain.as_deref())
                .bind(BATCH_ROWS)
                .all(&self.db.readers)
                .await?;
            let Some(last) = rows.last() else { return Ok(all) };
            after = column(last, "message_id")?;
            let ids = fitting(&rows)?;
            if ids.is_empty() {
                continue;
            }
            all += sql("-- retry_all
                 UPDATE queue SET due_at = $1, waits_for = NULL, is_wanted = TRUE
                 WHERE message_id IN (SELECT unhex(value) FROM json_each($2))
                   AND due_at > $1 AND lease_owner IS NULL")
            .bind(now.millis())
            .ids(ids)
            .run(&self.db.writer)
            .await?;
        }
    }

    /// Requeues mail that was held back while its account was suspended: it is due since then.
    ///
    /// # Errors
    /// The database failed; some may be due by then.
    pub async fn requeue_of_account(&self, account: AccountId) -> Result<(), StoreError> {
        loop {
            let requeued = sql("-- requeue_of_account
                 UPDATE queue SET waits_for = NULL,
                     due_at = (SELECT updated_at FROM messages WHERE id = message_id)
                 WHERE message_id IN (
                     SELECT message_id FROM queue
                     WHERE waits_for = $1 AND lease_owner IS NULL LIMIT $2)")
            .bind(WaitsFor::Account(account).to_string())
            .bind(BATCH_ROWS)
            .run(&self.db.writer)
            .await?;
            if requeued < u64::from(BATCH_ROWS) {
                return Ok(());
            }
        }
    }

    /// Those of the hosts for which something waits.
    pub async fn waited_for(
        &self,
        hosts: &BTreeSet<WaitsFor>,
    ) -> Result<BTreeSet<WaitsFor>, StoreError> {
        let rows = sql(either(
            "-- waited_for
             SELECT value FROM json_each($1) AS host
             WHERE EXISTS (SELECT 1 FROM queue WHERE waits_for = host.value)",
            "-- postgres: waited_for
             SELECT value FROM unnest($1) AS host (value)
             WHERE EXISTS (SELECT 1 FROM queue WHERE waits_for = host.value)",
        ))
        .list(hosts)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| parsed(row, "queue", "value")).collect()
    }

    /// Makes up to `most` messages due that wait for any of these hosts. Answers how many.
    pub async fn requeue(
        &self,
        hosts: &BTreeSet<WaitsFor>,
        most: u32,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        sql(
            "-- requeue
             UPDATE queue SET due_at = CASE WHEN due_at < $1 THEN due_at ELSE $1 END, waits_for = NULL
             WHERE message_id IN (
                 SELECT message_id FROM queue
                 WHERE waits_for IN (SELECT value FROM json_each($2)) AND lease_owner IS NULL
                 LIMIT $3)",
        )
        .bind(now.millis())
        .list(hosts)
        .bind(most)
        .run(&self.db.writer)
        .await
    }

    /// Makes the next of those messages due that wait under that name, where as many as `many` do.
    /// Answers how many.
    pub async fn requeue_one_of_many(
        &self,
        waits_for: &WaitsFor,
        many: u32,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        sql(
            "-- requeue_one_of_many
             UPDATE queue SET due_at = CASE WHEN due_at < $1 THEN due_at ELSE $1 END, waits_for = NULL
             WHERE message_id = (
                 SELECT message_id FROM queue
                 WHERE waits_for = $2 AND lease_owner IS NULL ORDER BY due_at LIMIT 1)
               AND lease_owner IS NULL
               AND EXISTS (SELECT 1 FROM queue WHERE waits_for = $2 LIMIT 1 OFFSET $3)",
        )
        .bind(now.millis())
        .bind(waits_for.to_string())
        .bind(many.saturating_sub(1))
        .run(&self.db.writer)
        .await
    }

    /// Makes one message due of those that wait for each destination: nobody knows any more how they
    /// were. Of at most 10,000 behind `after`, in the order of their names. Answers how many, and the
    /// last name where there may be more.
    pub async fn requeue_one_of_each(
        &self,
        after: &str,
        now: Timestamp,
    ) -> Result<(u64, Option<String>), StoreError> {
        let rows = sql(ONE_OF_EACH)
            .bind(after)
            .bind(MAX_DESTINATIONS_REQUEUED)
            .bind(WaitsFor::ACCOUNTS.start)
            .bind(WaitsFor::ACCOUNTS.end)
            .all(&self.db.readers)
            .await?;
        let ids = rows.iter().map(|row| column(row, "message_id")).collect::<Result<_, _>>()?;
        let requeued = self.requeue_these(ids, now).await?;
        let is_full =
            rows.len() >= usize::try_from(MAX_DESTINATIONS_REQUEUED).unwrap_or(usize::MAX);
        let last = rows.last().filter(|_| is_full);
        Ok((requeued, last.map(|row| column(row, "name")).transpose()?))
    }

    /// Makes messages due that wait for a destination, whichever it is: they may go another way now. Looks
    /// at no more than 2,000 behind `after`, in the order of their identifiers. Answers how many, and the last
    /// identifier where there may be more.
    pub async fn requeue_all(
        &self,
        after: MessageId,
        now: Timestamp,
    ) -> Result<(u64, Option<MessageId>), StoreError> {
        let rows = sql(LOOK_FOR_WAITING)
            .bind(after)
            .bind(BATCH_ROWS)
            .bind(WaitsFor::ACCOUNTS.start)
            .bind(WaitsFor::ACCOUNTS.end)
            .all(&self.db.readers)
            .await?;
        let requeued = self.requeue_these(fitting(&rows)?, now).await?;
        let is_full = rows.len() >= usize::try_from(BATCH_ROWS).unwrap_or(usize::MAX);
        let last = rows.last().filter(|_| is_full);
        Ok((requeued, last.map(|row| column(row, "message_id")).transpose()?))
    }

    async fn requeue_these(&self, ids: Vec<MessageId>, now: Timestamp) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        sql(
            "-- requeue_these
             UPDATE queue SET due_at = CASE WHEN due_at < $1 THEN due_at ELSE $1 END, waits_for = NULL
             WHERE message_id IN (SELECT unhex(value) FROM json_each($2))
               AND waits_for IS NOT NULL AND lease_owner IS NULL",
        )
        .bind(now.millis())
        .ids(ids)
        .run(&self.db.writer)
        .await
    }
}

fn fitting(rows: &[Row]) -> Result<Vec<MessageId>, StoreError> {
    let mut ids = Vec::new();
    for row in rows {
        if column(row, "fits")? {
            ids.push(column(row, "message_id")?);
        }
    }
    Ok(ids)
}
