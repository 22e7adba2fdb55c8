//! What a server that was killed had under way.

use super::database::{Row, column, parsed, sql};
use super::events::StateChange;
use super::settle::{change, write_states};
use super::{Store, attempts};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{AttemptRecord, Settlement, Suppresses};

const REASON: &str = "the server was stopped in the middle of this attempt; it may have arrived";

impl Store {
    /// Gives back what a worker before this one held, which is due now: with one store there is one
    /// server. Nobody knows how far these attempts came. Answers how many.
    ///
    /// # Errors
    /// The database failed; nothing is released then.
    pub async fn recover_leases(&self, now: Timestamp) -> Result<usize, StoreError> {
        let mut tx = self.db.begin("recover_leases").await?;
        let rows = sql("-- recover_leases
             UPDATE queue SET due_at = $1, lease_owner = NULL, lease_until = NULL
             WHERE lease_owner IS NOT NULL
             RETURNING message_id, account_id, attempts")
        .bind(now.millis())
        .all(&mut tx)
        .await?;
        let ended: Vec<Settlement> =
            rows.iter().map(|row| ended(row, now)).collect::<Result<_, StoreError>>()?;
        let changes: Vec<StateChange<'_>> = ended.iter().map(change).collect();
        write_states(&mut tx, &changes, now).await?;
        attempts::put(&mut tx, &ended.iter().collect::<Vec<_>>()).await?;
        tx.commit().await?;
        Ok(ended.len())
    }
}

fn ended(row: &Row, now: Timestamp) -> Result<Settlement, StoreError> {
    let message_id: MessageId = parsed(row, "queue", "message_id")?;
    let account_id: AccountId = parsed(row, "queue", "account_id")?;
    let attempt = AttemptRecord {
        number: column(row, "attempts")?,
        started_at: now,
        ended_at: now,
        route: String::new(),
        host: None,
        address: None,
        tls: None,
        outcome: MessageState::Deferred,
        code: None,
        enhanced: None,
        reply: REASON.to_owned(),
        conversation: String::new(),
        is_uncertain: true,
    };
    Ok(Settlement {
        message_id,
        account_id,
        state: MessageState::Deferred,
        reason: REASON.to_owned(),
        next_attempt: Some(now),
        waits_for: None,
        attempt,
        suppresses: Suppresses::Nobody,
    })
}
