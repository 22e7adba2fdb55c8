//! Messages that go on before their time: somebody wants it, or their destination takes mail again.

use std::collections::BTreeSet;

use super::Sqlite;
use super::recall::standing;
use super::row::{column, to_json};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;

/// Messages of one transaction: others write, too.
const BITE: u32 = 5_000;
/// Destinations that are tried at one time after a start.
const DESTINATIONS: u32 = 10_000;

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
        let mut all = 0;
        loop {
            let tried = sqlx::query(
                "-- try_all_again
                 UPDATE queue SET due_at = ?1, waits_for = NULL, is_wanted = 1
                 WHERE message_id IN (
                     SELECT message_id FROM queue
                     WHERE due_at > ?1 AND lease_owner IS NULL
                       AND (attempts > 0 OR waits_for IS NOT NULL)
                       AND (?2 IS NULL OR account_id = ?2) AND (?3 IS NULL OR lane = ?3)
                     ORDER BY due_at LIMIT ?4)",
            )
            .bind(now.millis())
            .bind(wanted.account.map(|it| it.to_string()))
            .bind(wanted.domain.as_deref())
            .bind(BITE)
            .execute(&self.writer)
            .await
            .map_err(StoreError::during("try_all_again"))?
            .rows_affected();
            all += tried;
            if tried < u64::from(BITE) {
                return Ok(all);
            }
        }
    }

    /// Those of the hosts for which something waits.
    ///
    /// # Errors
    /// The database failed.
    pub async fn waited_for(
        &self,
        hosts: &BTreeSet<String>,
    ) -> Result<BTreeSet<String>, StoreError> {
        let rows = sqlx::query(
            "-- waited_for
             SELECT value FROM json_each(?) AS host
             WHERE EXISTS (SELECT 1 FROM queue WHERE waits_for = host.value)",
        )
        .bind(to_json(hosts))
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("waited_for"))?;
        rows.iter().map(|row| column(row, "value")).collect()
    }

    /// Makes up to `most` messages due that wait for any of these hosts. Answers how many.
    ///
    /// # Errors
    /// The database failed.
    pub async fn wake(
        &self,
        hosts: &BTreeSet<String>,
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

    /// Makes one message due of those that wait for each destination: nobody knows any more how they
    /// were. Answers how many.
    ///
    /// # Errors
    /// The database failed.
    pub async fn wake_one_of_each(&self, now: Timestamp) -> Result<u64, StoreError> {
        sqlx::query(
            "-- wake_one_of_each
             UPDATE queue SET due_at = min(due_at, ?1), waits_for = NULL
             WHERE message_id IN (
                 SELECT min(message_id) FROM queue WHERE waits_for IS NOT NULL
                 GROUP BY waits_for LIMIT ?2)",
        )
        .bind(now.millis())
        .bind(DESTINATIONS)
        .execute(&self.writer)
        .await
        .map(|done| done.rows_affected())
        .map_err(StoreError::during("wake_one_of_each"))
    }
}
