//! Attempts whose end nobody knows, because their node is gone or their lease is over. Such an attempt counts, and its
//! message is due again.

use std::collections::HashSet;

use super::Store;
use super::attempts;
use super::database::{Row, Tx, column, sql};
use super::events::StateChange;
use super::settle::{change, write_states};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Interrupted, Lessee, Settlement};

impl Store {
    /// Gives back messages whose leases are over, except for those that are `under_way` in this process:
    /// under a clock that jumped ahead their leases only seem to be over. Among several nodes each looks after its own
    /// leases. `settle` says what is written of each attempt. Answers how many.
    pub async fn recover_ended_leases(
        &self,
        of: Lessee<'_>,
        under_way: &HashSet<MessageId>,
        now: Timestamp,
        settle: impl Fn(Interrupted, Timestamp) -> Settlement,
    ) -> Result<usize, StoreError> {
        let owner = of.shares.map(|_| of.owner);
        // Nearly always no lease is over, which is found out without the lock of those who write.
        let ended = sql("-- recover_ended_leases: look
             SELECT message_id FROM queue
             WHERE lease_owner IS NOT NULL AND lease_until <= $1
               AND lease_owner = coalesce($2, lease_owner) LIMIT 1000")
        .bind(now.millis())
        .bind(owner)
        .all(&self.db.readers)
        .await?;
        let ended: Vec<MessageId> =
            ended.iter().map(|row| column(row, "message_id")).collect::<Result<_, StoreError>>()?;
        let ended: Vec<MessageId> =
            ended.into_iter().filter(|it| !under_way.contains(it)).collect();
        if ended.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db.begin("recover_ended_leases").await?;
        let rows = sql("-- recover_ended_leases
             UPDATE queue SET due_at = lease_until, lease_owner = NULL, lease_until = NULL
             WHERE message_id IN (SELECT unhex(value) FROM json_each($1))
               AND lease_owner = coalesce($3, lease_owner) AND lease_until <= $2
             RETURNING message_id, account_id, attempts")
        .ids(ended)
        .bind(now.millis())
        .bind(owner)
        .all(&mut tx)
        .await?;
        let recovered = end_attempts(&mut tx, &rows, now, &settle).await?;
        tx.commit().await?;
        Ok(recovered)
    }

    /// Ends the attempts of those messages that are `sending` although nobody holds them: an earlier version gave such a
    /// message back and did not write how its attempt had ended. Answers how many.
    pub async fn end_unheld_attempts(
        &self,
        messages: &[MessageId],
        now: Timestamp,
        settle: impl Fn(Interrupted, Timestamp) -> Settlement,
    ) -> Result<usize, StoreError> {
        let mut tx = self.db.begin("end_unheld_attempts").await?;
        let rows = sql("-- end_unheld_attempts
             SELECT q.message_id, q.account_id, q.attempts
             FROM queue q CROSS JOIN messages m ON m.id = q.message_id
             WHERE q.message_id IN (SELECT unhex(value) FROM json_each($1))
               AND q.lease_owner IS NULL AND m.state = $2")
        .ids(messages.iter().copied())
        .bind(MessageState::Sending.as_str())
        .all(&mut tx)
        .await?;
        let ended = end_attempts(&mut tx, &rows, now, &settle).await?;
        tx.commit().await?;
        Ok(ended)
    }
}

/// Gives back messages that are held by no node which lives or finishes its work: they are due now. Where the clock of this
/// node is ahead, "now" is the database's: other nodes deliver the messages, too. `settle` says what is written of each
/// attempt. Answers how many.
pub(super) async fn recover(
    tx: &mut Tx,
    (now, clock): (Timestamp, Timestamp),
    settle: &impl Fn(Interrupted, Timestamp) -> Settlement,
) -> Result<usize, StoreError> {
    let rows = sql("-- recover_leases
         UPDATE queue SET due_at = $1, lease_owner = NULL, lease_until = NULL
         WHERE lease_owner IS NOT NULL
           AND lease_owner NOT IN (SELECT id FROM nodes WHERE state <> 'gone')
         RETURNING message_id, account_id, attempts")
    .bind(now.min(clock).millis())
    .all(&mut *tx)
    .await?;
    end_attempts(tx, &rows, now, settle).await
}

/// Writes how the attempts of these rows of the queue have ended.
async fn end_attempts(
    tx: &mut Tx,
    rows: &[Row],
    now: Timestamp,
    settle: &impl Fn(Interrupted, Timestamp) -> Settlement,
) -> Result<usize, StoreError> {
    let ended: Vec<Settlement> = rows
        .iter()
        .map(|row| Ok(settle(interrupted(row)?, now)))
        .collect::<Result<_, StoreError>>()?;
    attempts::put(tx, &ended.iter().collect::<Vec<_>>()).await?;
    let changes: Vec<StateChange<'_>> = ended.iter().map(change).collect();
    write_states(tx, &changes, now).await?;
    Ok(ended.len())
}

fn interrupted(row: &Row) -> Result<Interrupted, StoreError> {
    Ok(Interrupted {
        message_id: column(row, "message_id")?,
        account_id: column(row, "account_id")?,
        attempt: column(row, "attempts")?,
    })
}
