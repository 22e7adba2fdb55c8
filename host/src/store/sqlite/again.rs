//! Messages that go on before their time: somebody wants it, or their destination takes mail again.

use std::collections::BTreeSet;

use sqlx::sqlite::SqliteRow;

use super::Sqlite;
use super::recall::standing;
use super::row::{column, parsed, to_json};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::message::waits_for::WaitsFor;
use crate::store::StoreError;

/// Messages of one transaction: others write, too.
const BITE: u32 = 2_000;
/// Destinations that are tried at one time after a start.
const DESTINATIONS: u32 = 10_000;

/// Each looks at so many messages and says which of them fit: one statement that looked for as many as fit
/// would read the whole queue where none does.
const LOOK_FOR_WANTED: &str = "-- try_all_again: look
    SELECT message_id,
           due_at > ?1 AND lease_owner IS NULL AND (attempts > 0 OR waits_for IS NOT NULL)
               AND (?3 IS NULL OR account_id = ?3) AND (?4 IS NULL OR lane = ?4) AS fits
    FROM queue WHERE message_id > ?2 ORDER BY message_id LIMIT ?5";
const LOOK_FOR_WAITING: &str = "-- wake_all: look
    SELECT message_id, waits_for IS NOT NULL AND waits_for <> account_id AS fits
    FROM queue WHERE message_id > ?1 ORDER BY message_id LIMIT ?2";
/// From each name to the next one, and past the accounts that are suspended.
const ONE_OF_EACH: &str = "-- wake_one_of_each: look
    WITH RECURSIVE names (name) AS (
        SELECT min(waits_for) FROM queue WHERE waits_for > ?1
        UNION ALL
        SELECT (SELECT min(waits_for) FROM queue
                WHERE waits_for > CASE WHEN name GLOB 'acc_*' THEN 'acc`' ELSE name END)
        FROM names WHERE name IS NOT NULL)
    SELECT name, (SELECT message_id FROM queue WHERE waits_for = name ORDER BY due_at LIMIT 1)
                     AS message_id
    FROM names WHERE name IS NOT NULL AND name NOT GLOB 'acc_*' LIMIT ?2";

/// What became of a wish to try a message again now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// It is due now, or being sent already.
    Now,
    /// It is in a state in which there is no further attempt, or not yet.
    Not(MessageState),
}

/// Which deferred messages are wanted; all where nothing is said.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Only that account's.
    pub account: Option<AccountId>,
    /// Only those to recipients at that domain, in lower case.
    pub domain: Option<String>,
}

impl Sqlite {
    /// Makes a deferred message due now, also where its destination is left alone.
    ///
    /// # Errors
    /// The database failed, or there is no such message.
    pub async fn try_again(&self, id: MessageId, now: Timestamp) -> Result<Again, StoreError> {
        let mut tx = self.begin().await?;
        let (_, state) = standing(&mut tx, id).await?;
        match state {
            MessageState::Deferred => {}
            MessageState::Queued | MessageState::Sending => return Ok(Again::Now),
            MessageState::Scheduled
            | MessageState::Delivered
            | MessageState::Relayed
            | MessageState::Bounced
            | MessageState::Failed
            | MessageState::Suppressed
            | MessageState::Canceled => return Ok(Again::Not(state)),
        }
        sqlx::query(
            "-- try_again
             UPDATE queue SET due_at = ?2, waits_for = NULL, is_wanted = 1
             WHERE message_id = ?1 AND lease_owner IS NULL",
        )
        .bind(id.to_string())
        .bind(now.millis())
        .execute(&mut *tx)
        .await
        .map_err(StoreError::during("try_again"))?;
        tx.commit().await.map_err(StoreError::during("try_again"))?;
        Ok(Again::Now)
    }

    /// The same for all deferred messages of a kind, in bites. Answers how many.
    ///
    /// # Errors
    /// The database failed; some may be due by then.
    pub async fn try_all_again(&self, wanted: &Wanted, now: Timestamp) -> Result<u64, StoreError> {
        let during = || StoreError::during("try_all_again");
        let mut all = 0;
        let mut after = String::new();
        loop {
            // Looked for beside those who write.
            let rows = sqlx::query(LOOK_FOR_WANTED)
                .bind(now.millis())
                .bind(&after)
                .bind(wanted.account.map(|it| it.to_string()))
                .bind(wanted.domain.as_deref())
                .bind(BITE)
                .fetch_all(&self.readers)
                .await
                .map_err(during())?;
            let Some(last) = rows.last() else { return Ok(all) };
            after = column(last, "message_id")?;
            let ids = fitting(&rows)?;
            if ids.is_empty() {
                continue;
            }
            all += sqlx::query(
                "-- try_all_again
                 UPDATE queue SET due_at = ?1, waits_for = NULL, is_wanted = 1
                 WHERE message_id IN (SELECT value FROM json_each(?2))
                   AND due_at > ?1 AND lease_owner IS NULL",
            )
            .bind(now.millis())
            .bind(to_json(&ids))
            .execute(&self.writer)
            .await
            .map_err(during())?
            .rows_affected();
        }
    }

    /// Lets mail go on that was held back while its account was suspended: it is due since then.
    ///
    /// # Errors
    /// The database failed; some may be due by then.
    pub(super) async fn let_go_on(&self, account: AccountId) -> Result<(), StoreError> {
        loop {
            let gone = sqlx::query(
                "-- let_go_on
                 UPDATE queue SET waits_for = NULL,
                     due_at = (SELECT updated_at FROM messages WHERE id = message_id)
                 WHERE message_id IN (
                     SELECT message_id FROM queue
                     WHERE waits_for = ?1 AND lease_owner IS NULL LIMIT ?2)",
            )
            .bind(WaitsFor::Account(account).to_string())
            .bind(BITE)
            .execute(&self.writer)
            .await
            .map_err(StoreError::during("let_go_on"))?;
            if gone.rows_affected() < u64::from(BITE) {
                return Ok(());
            }
        }
    }

    /// Those of the hosts for which something waits.
    ///
    /// # Errors
    /// The database failed.
    pub async fn waited_for(
        &self,
        hosts: &BTreeSet<WaitsFor>,
    ) -> Result<BTreeSet<WaitsFor>, StoreError> {
        let rows = sqlx::query(
            "-- waited_for
             SELECT value FROM json_each(?) AS host
             WHERE EXISTS (SELECT 1 FROM queue WHERE waits_for = host.value)",
        )
        .bind(to_json(hosts))
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("waited_for"))?;
        rows.iter().map(|row| parsed(row, "queue", "value")).collect()
    }

    /// Makes up to `most` messages due that wait for any of these hosts. Answers how many.
    ///
    /// # Errors
    /// The database failed.
    pub async fn wake(
        &self,
        hosts: &BTreeSet<WaitsFor>,
        most: u32,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        sqlx::query(
            "-- wake
             UPDATE queue SET due_at = min(due_at, ?1), waits_for = NULL
             WHERE message_id IN (
                 SELECT message_id FROM queue
                 WHERE waits_for IN (SELECT value FROM json_each(?2)) AND lease_owner IS NULL
                 LIMIT ?3)",
        )
        .bind(now.millis())
        .bind(to_json(hosts))
        .bind(most)
        .execute(&self.writer)
        .await
        .map(|done| done.rows_affected())
        .map_err(StoreError::during("wake"))
    }

    /// Makes the next of those messages due that wait under that name, where as many as `many` do.
    /// Answers how many.
    ///
    /// # Errors
    /// The database failed.
    pub async fn wake_one_of_many(
        &self,
        waits_for: &WaitsFor,
        many: u32,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        sqlx::query(
            "-- wake_one_of_many
             UPDATE queue SET due_at = min(due_at, ?1), waits_for = NULL
             WHERE message_id = (
                 SELECT message_id FROM queue WHERE waits_for = ?2 ORDER BY due_at LIMIT 1)
               AND EXISTS (SELECT 1 FROM queue WHERE waits_for = ?2 LIMIT 1 OFFSET ?3)",
        )
        .bind(now.millis())
        .bind(waits_for.to_string())
        .bind(many.saturating_sub(1))
        .execute(&self.writer)
        .await
        .map(|done| done.rows_affected())
        .map_err(StoreError::during("wake_one_of_many"))
    }

    /// Makes one message due of those that wait for each destination: nobody knows any more how they
    /// were. Of at most 10,000 behind `after`, in the order of their names. Answers how many, and the
    /// last name where there may be more.
    ///
    /// # Errors
    /// The database failed.
    pub async fn wake_one_of_each(
        &self,
        after: &str,
        now: Timestamp,
    ) -> Result<(u64, Option<String>), StoreError> {
        let rows = sqlx::query(ONE_OF_EACH)
            .bind(after)
            .bind(DESTINATIONS)
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::during("wake_one_of_each"))?;
        let ids = rows.iter().map(|row| column(row, "message_id")).collect::<Result<_, _>>()?;
        let woken = self.wake_these(ids, now).await?;
        let is_full = rows.len() >= usize::try_from(DESTINATIONS).unwrap_or(usize::MAX);
        let last = rows.last().filter(|_| is_full);
        Ok((woken, last.map(|row| column(row, "name")).transpose()?))
    }

    /// Makes messages due that wait for a destination, whichever it is: they may go another way now. Looks
    /// at no more than 2,000 behind `after`, in the order of their identifiers. Answers how many, and the last
    /// identifier where there may be more.
    ///
    /// # Errors
    /// The database failed.
    pub async fn wake_all(
        &self,
        after: &str,
        now: Timestamp,
    ) -> Result<(u64, Option<String>), StoreError> {
        let rows = sqlx::query(LOOK_FOR_WAITING)
            .bind(after)
            .bind(BITE)
            .fetch_all(&self.readers)
            .await
            .map_err(StoreError::during("wake_all"))?;
        let woken = self.wake_these(fitting(&rows)?, now).await?;
        let is_full = rows.len() >= usize::try_from(BITE).unwrap_or(usize::MAX);
        let last = rows.last().filter(|_| is_full);
        Ok((woken, last.map(|row| column(row, "message_id")).transpose()?))
    }

    async fn wake_these(&self, ids: Vec<String>, now: Timestamp) -> Result<u64, StoreError> {
        if ids.is_empty() {
            return Ok(0);
        }
        sqlx::query(
            "-- wake_these
             UPDATE queue SET due_at = min(due_at, ?1), waits_for = NULL
             WHERE message_id IN (SELECT value FROM json_each(?2))
               AND waits_for IS NOT NULL AND lease_owner IS NULL",
        )
        .bind(now.millis())
        .bind(to_json(&ids))
        .execute(&self.writer)
        .await
        .map(|done| done.rows_affected())
        .map_err(StoreError::during("wake_these"))
    }
}

fn fitting(rows: &[SqliteRow]) -> Result<Vec<String>, StoreError> {
    let mut ids = Vec::new();
    for row in rows {
        if column(row, "fits")? {
            ids.push(column(row, "message_id")?);
        }
    }
    Ok(ids)
}
