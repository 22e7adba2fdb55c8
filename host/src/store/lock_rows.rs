//! Row locks of transactions that write beside others. All take them in one order — rows of the queue, accounts, lanes,
//! counts, suppressions, and each of these by its key — so that they do not wait for each other in a circle. A
//! transaction that is alone needs none.

use std::collections::{BTreeSet, HashMap};

use super::database::{Tx, beside, column, sql};
use super::records::Lane;
use crate::id::{AccountId, MessageId};
use crate::store::StoreError;

/// Locks accounts, and answers their balances, which stay as they are until the transaction ends. Nothing, where it is
/// alone. Keys that refer to an account do not wait for the lock.
pub async fn lock_accounts(
    tx: &mut Tx,
    accounts: &BTreeSet<AccountId>,
) -> Result<HashMap<AccountId, i64>, StoreError> {
    if tx.is_alone() || accounts.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = sql(beside(
        "-- postgres: lock_accounts
         SELECT id, balance FROM accounts
         WHERE id IN (SELECT unhex(value) FROM json_each($1)) ORDER BY id FOR NO KEY UPDATE",
    ))
    .ids(accounts.iter().copied())
    .all(&mut *tx)
    .await?;
    rows.iter().map(|row| Ok((column(row, "id")?, column(row, "balance")?))).collect()
}

/// Locks lanes. What is read after it has all messages of these lanes that others have committed: a trigger locks the
/// lane of each message that enters the queue.
pub async fn lock_lanes(tx: &mut Tx, lanes: &BTreeSet<Lane>) -> Result<(), StoreError> {
    if tx.is_alone() || lanes.is_empty() {
        return Ok(());
    }
    let (mut names, mut accounts) = (Vec::new(), Vec::new());
    for lane in lanes {
        names.push(lane.name.as_str());
        accounts.push(lane.account_id);
    }
    sql(beside(
        "-- postgres: lock_lanes
         SELECT 1 AS is_there FROM lanes
         WHERE (lane, account_id) IN (SELECT * FROM unnest(CAST($1 AS TEXT[]), CAST($2 AS BYTEA[])))
         ORDER BY lane, account_id FOR UPDATE",
    ))
    .list(&names)
    .ids(accounts)
    .all(&mut *tx)
    .await
    .map(|_| ())
}

/// Locks the lanes of messages in the queue.
pub async fn lock_lanes_of(tx: &mut Tx, messages: &[MessageId]) -> Result<(), StoreError> {
    if tx.is_alone() || messages.is_empty() {
        return Ok(());
    }
    sql(beside(
        "-- postgres: lock_lanes_of
         SELECT 1 AS is_there FROM lanes
         WHERE (lane, account_id) IN (SELECT lane, account_id FROM queue
                                      WHERE message_id IN (SELECT unhex(value) FROM json_each($1)))
         ORDER BY lane, account_id FOR UPDATE",
    ))
    .ids(messages.iter().copied())
    .all(&mut *tx)
    .await
    .map(|_| ())
}
