//! What has changed since a message was accepted: its recipient is suppressed, its account suspended.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use serde_json::json;

use super::database::{Tx, column, parsed, sql};
use super::events::StateChange;
use super::settle::{refund, write_states};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::message::waits_for::WaitsFor;
use crate::store::StoreError;
use crate::store::records::Lease;

/// How often it is looked whether an account is active again.
const SUSPENDED_RECHECK: Duration = Duration::from_hours(1);

/// Takes out of leases what is not to be sent: to suppressed recipients never, with its price given
/// back; of suspended accounts not now, which counts as no attempt.
pub async fn recheck_at_lease(
    tx: &mut Tx,
    leases: Vec<Lease>,
    now: Timestamp,
) -> Result<Vec<Lease>, StoreError> {
    let suspended = suspended(tx, &leases).await?;
    let suppressed = suppressed(tx, &leases, now).await?;
    let mut sent = Vec::with_capacity(leases.len());
    let (mut waiting, mut ended) = (Vec::new(), Vec::new());
    for lease in leases {
        if suspended.contains(&lease.account_id) {
            waiting.push(lease);
        } else if suppressed.contains(&(lease.account_id, lease.recipient.folded())) {
            ended.push(lease);
        } else {
            sent.push(lease);
        }
    }
    let reason = "the account is suspended; it goes on when that is active again";
    write_states(tx, &changes(&waiting, MessageState::Deferred, reason), now).await?;
    let reason = "the recipient is on the suppression list";
    write_states(tx, &changes(&ended, MessageState::Suppressed, reason), now).await?;
    if !waiting.is_empty() {
        let rows = waiting
            .iter()
            .map(|it| json!({"id": it.message_id, "for": WaitsFor::Account(it.account_id)}));
        sql("-- recheck_at_lease: not now
             UPDATE queue SET due_at = $1, waits_for = j.value ->> 'for', attempts = attempts - 1,
                              lease_owner = NULL, lease_until = NULL
             FROM json_each($2) AS j WHERE message_id = j.value ->> 'id'")
        .bind(now.after(SUSPENDED_RECHECK).millis())
        .json(&rows.collect::<Vec<_>>())
        .run(&mut *tx)
        .await?;
    }
    if !ended.is_empty() {
        sql("-- recheck_at_lease: never
             DELETE FROM queue WHERE message_id IN (SELECT value FROM json_each($1))")
        .list(&ids(&ended))
        .run(&mut *tx)
        .await?;
        refund(tx, &ids(&ended), now).await?;
    }
    Ok(sent)
}

fn changes<'a>(leases: &[Lease], state: MessageState, reason: &'a str) -> Vec<StateChange<'a>> {
    let change =
        |it: &Lease| StateChange { message: it.message_id, account: it.account_id, state, reason };
    leases.iter().map(change).collect()
}

fn ids(leases: &[Lease]) -> Vec<MessageId> {
    leases.iter().map(|it| it.message_id).collect()
}

async fn suspended(tx: &mut Tx, leases: &[Lease]) -> Result<HashSet<AccountId>, StoreError> {
    let accounts: BTreeSet<AccountId> = leases.iter().map(|it| it.account_id).collect();
    let rows = sql("-- recheck_at_lease: suspended
         SELECT id FROM accounts
         WHERE id IN (SELECT value FROM json_each($1)) AND state = 'suspended'")
    .list(&accounts)
    .all(&mut *tx)
    .await?;
    rows.iter().map(|row| parsed(row, "accounts", "id")).collect()
}

async fn suppressed(
    tx: &mut Tx,
    leases: &[Lease],
    now: Timestamp,
) -> Result<HashSet<(AccountId, String)>, StoreError> {
    let accounts: BTreeSet<AccountId> = leases.iter().map(|it| it.account_id).collect();
    let addresses: BTreeSet<String> = leases.iter().map(|it| it.recipient.folded()).collect();
    let rows = sql("-- recheck_at_lease: suppressed
         SELECT account_id, address FROM suppressions
         WHERE account_id IN (SELECT value FROM json_each($1))
           AND address IN (SELECT value FROM json_each($2))
           AND (expires_at IS NULL OR expires_at > $3)")
    .list(&accounts)
    .list(&addresses)
    .bind(now.millis())
    .all(&mut *tx)
    .await?;
    rows.iter()
        .map(|row| Ok((parsed(row, "suppressions", "account_id")?, column(row, "address")?)))
        .collect()
}
