//! A message is canceled before anybody has begun to send it.

use super::Store;
use super::database::{Tx, column, inconsistent, sql};
use super::events::{self, StateChange};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;

const REASON: &str = "canceled by its sender";

/// What became of a wish to call a message back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancellation {
    /// It is canceled, now or already before, and refunded once.
    Canceled,
    /// It is in a state in which it cannot be canceled.
    TooLate(MessageState),
}

impl Store {
    /// Cancels a message that waits and that nobody holds: it leaves the queue and is refunded, with
    /// its event, in one transaction. One that is canceled already stays as it is.
    ///
    /// # Errors
    /// The database failed, or there is no such message.
    pub async fn cancel(&self, id: MessageId, now: Timestamp) -> Result<Cancellation, StoreError> {
        let mut tx = self.db.begin("cancel").await?;
        let (account, state) = standing(&mut tx, id).await?;
        if state == MessageState::Canceled {
            return Ok(Cancellation::Canceled);
        }
        if !state.can_be_canceled() {
            return Ok(Cancellation::TooLate(state));
        }
        let taken = sql("-- cancel: queue
             DELETE FROM queue WHERE message_id = $1 AND lease_owner IS NULL")
        .bind(id)
        .run(&mut tx)
        .await?;
        if taken == 0 {
            return Ok(Cancellation::TooLate(MessageState::Sending));
        }
        write(&mut tx, id, now).await?;
        let change =
            StateChange { message: id, account, state: MessageState::Canceled, reason: REASON };
        events::record_changes(&mut tx, std::iter::once(change), now).await?;
        tx.commit().await?;
        Ok(Cancellation::Canceled)
    }
}

/// Whose a message is, and where it stands.
pub async fn standing(tx: &mut Tx, id: MessageId) -> Result<(AccountId, MessageState), StoreError> {
    let row = sql("-- standing\nSELECT account_id, state FROM messages WHERE id = $1")
        .bind(id)
        .optional(&mut *tx)
        .await?
        .ok_or_else(|| StoreError::Missing { noun: "message", name: id.to_string() })?;
    let word: String = column(&row, "state")?;
    let state =
        MessageState::from_name(&word).ok_or_else(|| inconsistent("messages", "state", &word))?;
    Ok((column(&row, "account_id")?, state))
}

/// The new state, and its price given back; once, by the ledger's own constraint.
async fn write(tx: &mut Tx, id: MessageId, now: Timestamp) -> Result<(), StoreError> {
    for statement in [
        "-- cancel: state
         UPDATE messages SET state = 'canceled', reason = $2, updated_at = $3 WHERE id = $1",
        "-- cancel: refund
         INSERT INTO ledger (account_id, kind, amount, message_id, reason, created_at)
         SELECT account_id, 'refund', credits, id, $2, $3
         FROM messages WHERE id = $1 AND credits > 0
           AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.message_id = $1 AND a.uncertain = TRUE)
         ON CONFLICT (message_id) WHERE kind = 'refund' DO NOTHING",
    ] {
        sql(statement).bind(id).bind(REASON).bind(now.millis()).run(&mut *tx).await?;
    }
    Ok(())
}
