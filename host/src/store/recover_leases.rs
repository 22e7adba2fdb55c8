//! What nodes had under way that are gone.

use super::attempts;
use super::database::{Row, Tx, column, sql};
use super::events::StateChange;
use super::settle::{change, write_states};
use crate::clock::Timestamp;
use crate::store::StoreError;
use crate::store::records::{Interrupted, Settlement};

/// Gives back what is held by no node that lives or finishes its work: it is due now. Nobody knows how far these
/// attempts came; `settle` says what is written of each. Answers how many.
pub(super) async fn recover(
    tx: &mut Tx,
    now: Timestamp,
    settle: &impl Fn(Interrupted, Timestamp) -> Settlement,
) -> Result<usize, StoreError> {
    let rows = sql("-- recover_leases
         UPDATE queue SET due_at = $1, lease_owner = NULL, lease_until = NULL
         WHERE lease_owner IS NOT NULL
           AND lease_owner NOT IN (SELECT id FROM nodes WHERE state <> 'gone')
         RETURNING message_id, account_id, attempts")
    .bind(now.millis())
    .all(&mut *tx)
    .await?;
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
