//! A message is canceled before anybody has begun to send it.

use super::Store;
use super::database::{Tx, column, sql, word};
use super::events::StateChange;
use super::settle::write_states;
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::{MessageState, OnCancel};
use crate::store::StoreError;

/// What became of a wish to call a message back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancellation {
    /// It is canceled, now or already before; its price is refunded once, unless an attempt may have arrived.
    Canceled,
    /// It is in a state in which it cannot be canceled.
    TooLate(MessageState),
}

impl Store {
    /// Cancels a message that waits and that nobody holds: it leaves the queue, and its price is refunded unless an
    /// attempt may have arrived, with its event, in one transaction. One that is canceled already is left unchanged.
    ///
    /// # Errors
    /// The database failed, or there is no such message.
    pub async fn cancel(&self, id: MessageId, now: Timestamp) -> Result<Cancellation, StoreError> {
        let mut tx = self.db.begin("cancel").await?;
        let (account, state) = standing(&mut tx, id).await?;
        let reason = match state.on_cancel() {
            OnCancel::Cancel { reason } => reason,
            OnCancel::Done => return Ok(Cancellation::Canceled),
            OnCancel::Refuse => return Ok(Cancellation::TooLate(state)),
        };
        let taken = sql("-- cancel: queue
             DELETE FROM queue WHERE message_id = $1 AND lease_owner IS NULL")
        .bind(id)
        .run(&mut tx)
        .await?;
        if taken == 0 {
            return Ok(Cancellation::TooLate(MessageState::Sending));
        }
        let change = StateChange { message: id, account, state: MessageState::Canceled, reason };
        write_states(&mut tx, &[change], now).await?;
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
    Ok((column(&row, "account_id")?, word(&row, "messages", "state", MessageState::from_name)?))
}
