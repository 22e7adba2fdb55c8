//! What a server that was killed had under way.

use super::database::{Row, column, sql};
use super::events::StateChange;
use super::settle::{change, write_states};
use super::{Store, attempts};
use crate::clock::Timestamp;
use crate::store::StoreError;
use crate::store::records::{Interrupted, Settlement};

impl Store {
    /// Gives back what a worker before this one held, which is due now: with one store there is one
    /// server. Nobody knows how far these attempts came; `settle` says what is written of each. Answers
    /// how many.
    ///
    /// # Errors
    /// The database failed; nothing is released then.
    pub async fn recover_leases(
        &self,
        now: Timestamp,
        settle: impl Fn(Interrupted, Timestamp) -> Settlement,
    ) -> Result<usize, StoreError> {
        let mut tx = self.db.begin("recover_leases").await?;
        let rows = sql("-- recover_leases
             UPDATE queue SET due_at = $1, lease_owner = NULL, lease_until = NULL
             WHERE lease_owner IS NOT NULL
             RETURNING message_id, account_id, attempts")
        .bind(now.millis())
        .all(&mut tx)
        .await?;
        let ended: Vec<Settlement> = rows
            .iter()
            .map(|row| Ok(settle(interrupted(row)?, now)))
            .collect::<Result<_, StoreError>>()?;
        attempts::put(&mut tx, &ended.iter().collect::<Vec<_>>()).await?;
        let changes: Vec<StateChange<'_>> = ended.iter().map(change).collect();
        write_states(&mut tx, &changes, now).await?;
        tx.commit().await?;
        Ok(ended.len())
    }
}

fn interrupted(row: &Row) -> Result<Interrupted, StoreError> {
    Ok(Interrupted {
        message_id: column(row, "message_id")?,
        account_id: column(row, "account_id")?,
        attempt: column(row, "attempts")?,
    })
}
