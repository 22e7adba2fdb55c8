//! What may have changed since a message was accepted, and what is then decided of it at its lease.

use std::collections::{BTreeSet, HashSet};

use super::Store;
use super::database::{Tx, args, column, each, sql};
use super::events::StateChange;
use super::settle::write_states;
use super::suppressions::suppressed;
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{HeldBack, LeaseFacts};

impl Store {
    /// Which of these accounts are not active, and which of these folded addresses their lists suppress: what a lease is
    /// decided by.
    pub async fn lease_facts(
        &self,
        accounts: &BTreeSet<AccountId>,
        recipients: &BTreeSet<(AccountId, String)>,
        now: Timestamp,
    ) -> Result<LeaseFacts, StoreError> {
        let mut tx = self.db.snapshot("lease_facts").await?;
        let facts = lease_facts(&mut tx, accounts, recipients, now).await?;
        tx.rollback().await?;
        Ok(facts)
    }
}

pub async fn lease_facts(
    tx: &mut Tx,
    accounts: &BTreeSet<AccountId>,
    recipients: &BTreeSet<(AccountId, String)>,
    now: Timestamp,
) -> Result<LeaseFacts, StoreError> {
    // Messages of an account that is being deleted wait until the deletion cancels them.
    let rows = sql("-- recheck_at_lease: suspended
         SELECT id FROM accounts
         WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND state <> 'active'")
    .ids(accounts.iter().copied())
    .all(&mut *tx)
    .await?;
    let suspended: HashSet<AccountId> =
        rows.iter().map(|row| column(row, "id")).collect::<Result<_, StoreError>>()?;
    let suppressed = suppressed(tx, recipients, now).await?;
    Ok(LeaseFacts { suspended, suppressed })
}

/// Takes messages out of their leases that wait; that counts as no attempt.
pub async fn return_to_queue(
    tx: &mut Tx,
    waiting: &[HeldBack],
    now: Timestamp,
) -> Result<(), StoreError> {
    let changes = waiting.iter().map(|it| StateChange {
        message: it.lease.message_id,
        account: it.lease.account_id,
        state: MessageState::Deferred,
        reason: it.reason,
    });
    write_states(tx, &changes.collect::<Vec<_>>(), now).await?;
    each(
        "-- recheck_at_lease: not now
         UPDATE queue SET due_at = $2, waits_for = $3, attempts = attempts - 1, lease_owner = NULL,
                          lease_until = NULL
         WHERE message_id = $1",
        waiting
            .iter()
            .map(|it| args![it.lease.message_id, it.until.millis(), it.waits_for.to_string()]),
    )
    .run(tx)
    .await
    .map(|_| ())
}
