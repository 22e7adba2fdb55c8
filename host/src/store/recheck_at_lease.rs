//! What may have changed since a message was accepted, and what is then decided of it at its lease.

use std::collections::{BTreeSet, HashSet};

use serde_json::json;

use super::Store;
use super::database::{Tx, column, parsed, sql};
use super::events::StateChange;
use super::settle::{refund, write_states};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Ended, HeldBack, LeaseFacts};

impl Store {
    /// What deciding on messages of these accounts, to these folded addresses, would see at their leases now.
    pub async fn lease_facts(
        &self,
        accounts: &BTreeSet<AccountId>,
        addresses: &BTreeSet<String>,
        now: Timestamp,
    ) -> Result<LeaseFacts, StoreError> {
        let mut tx = self.db.snapshot("lease_facts").await?;
        let facts = lease_facts(&mut tx, accounts, addresses, now).await?;
        tx.rollback().await?;
        Ok(facts)
    }
}

pub async fn lease_facts(
    tx: &mut Tx,
    accounts: &BTreeSet<AccountId>,
    addresses: &BTreeSet<String>,
    now: Timestamp,
) -> Result<LeaseFacts, StoreError> {
    let rows = sql("-- recheck_at_lease: suspended
         SELECT id FROM accounts
         WHERE id IN (SELECT value FROM json_each($1)) AND state = 'suspended'")
    .list(accounts)
    .all(&mut *tx)
    .await?;
    let suspended: HashSet<AccountId> =
        rows.iter().map(|row| parsed(row, "accounts", "id")).collect::<Result<_, StoreError>>()?;
    let rows = sql("-- recheck_at_lease: suppressed
         SELECT account_id, address FROM suppressions
         WHERE account_id IN (SELECT value FROM json_each($1))
           AND address IN (SELECT value FROM json_each($2))
           AND (expires_at IS NULL OR expires_at > $3)")
    .list(accounts)
    .list(addresses)
    .bind(now.millis())
    .all(&mut *tx)
    .await?;
    let suppressed = rows
        .iter()
        .map(|row| Ok((parsed(row, "suppressions", "account_id")?, column(row, "address")?)))
        .collect::<Result<_, StoreError>>()?;
    Ok(LeaseFacts { suspended, suppressed })
}

/// Takes messages out of their leases that wait; that counts as no attempt.
pub async fn hold_back(
    tx: &mut Tx,
    waiting: &[HeldBack],
    now: Timestamp,
) -> Result<(), StoreError> {
    if waiting.is_empty() {
        return Ok(());
    }
    let changes = waiting.iter().map(|it| StateChange {
        message: it.lease.message_id,
        account: it.lease.account_id,
        state: MessageState::Deferred,
        reason: it.reason,
    });
    write_states(tx, &changes.collect::<Vec<_>>(), now).await?;
    let rows = waiting
        .iter()
        .map(|it| json!({"id": it.lease.message_id, "due": it.until, "for": it.waits_for}));
    sql("-- recheck_at_lease: not now
         UPDATE queue SET due_at = j.value ->> 'due', waits_for = j.value ->> 'for',
                          attempts = attempts - 1, lease_owner = NULL, lease_until = NULL
         FROM json_each($1) AS j WHERE message_id = j.value ->> 'id'")
    .json(&rows.collect::<Vec<_>>())
    .run(&mut *tx)
    .await
    .map(|_| ())
}

/// Ends messages that are never sent, and gives their price back.
pub async fn end(tx: &mut Tx, ended: &[Ended], now: Timestamp) -> Result<(), StoreError> {
    if ended.is_empty() {
        return Ok(());
    }
    let changes = ended.iter().map(|it| StateChange {
        message: it.lease.message_id,
        account: it.lease.account_id,
        state: it.state,
        reason: it.reason,
    });
    write_states(tx, &changes.collect::<Vec<_>>(), now).await?;
    let ids: Vec<MessageId> = ended.iter().map(|it| it.lease.message_id).collect();
    sql("-- recheck_at_lease: never
         DELETE FROM queue WHERE message_id IN (SELECT value FROM json_each($1))")
    .list(&ids)
    .run(&mut *tx)
    .await?;
    refund(tx, &ids, now).await
}
