//! Writes how attempts ended: state, event, attempt, suppression and refund in one transaction.

use std::collections::HashSet;

use super::database::{Tx, args, column, each, sql};
use super::events::{self, StateChange};
use super::{Store, attempts, suppressions};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{BounceFacts, Settlement, Suppresses};

impl Store {
    /// Writes how attempts ended, each with its event. A message that is no longer held stays as it is,
    /// because a report has ended it meanwhile; what was said in the attempt is kept.
    ///
    /// # Errors
    /// The database failed; nothing was written then.
    pub async fn settle(
        &self,
        owner: &str,
        settlements: &[Settlement],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("settle").await?;
        let (waiting, resting): (Vec<&Settlement>, Vec<&Settlement>) =
            settlements.iter().partition(|it| it.next_attempt.is_some());
        let ids = resting.iter().map(|it| it.message_id);
        let held = sql("-- settle: at rest
             DELETE FROM queue
             WHERE lease_owner = $1 AND message_id IN (SELECT unhex(value) FROM json_each($2))
             RETURNING message_id")
        .bind(owner)
        .ids(ids)
        .all(&mut tx)
        .await?;
        let mut held: HashSet<MessageId> =
            held.iter().map(|row| column(row, "message_id")).collect::<Result<_, StoreError>>()?;
        let updated = each(
            "-- settle: another attempt
             UPDATE queue SET due_at = $3, waits_for = $4, lease_owner = NULL, lease_until = NULL
             WHERE message_id = $2 AND lease_owner = $1",
            waiting.iter().map(|it| {
                let due = it.next_attempt.map(Timestamp::millis);
                args![owner, it.message_id, due, it.waits_for.as_ref().map(ToString::to_string)]
            }),
        )
        .run(&mut tx)
        .await?;
        let updated = waiting.iter().zip(updated).filter(|(_, rows)| *rows == 1);
        held.extend(updated.map(|(it, _)| it.message_id));
        let (settled, told_late): (Vec<&Settlement>, Vec<&Settlement>) =
            settlements.iter().partition(|it| held.contains(&it.message_id));
        let changes: Vec<StateChange<'_>> = settled.iter().map(|it| change(it)).collect();
        write_states(&mut tx, &changes, now).await?;
        attempts::put(&mut tx, &settled).await?;
        let told_late = still_kept(&mut tx, told_late).await?;
        attempts::put(&mut tx, &told_late).await?;
        for settlement in &settled {
            suppress(&mut tx, settlement, now).await?;
            if settlement.state == MessageState::Bounced {
                let attempt = &settlement.attempt;
                let facts = BounceFacts {
                    code: attempt.code,
                    enhanced: attempt.enhanced.clone(),
                    class: settlement.suppresses.bounce_class(),
                    remote_host: attempt.host.clone(),
                };
                events::add_bounce_facts(&mut tx, settlement.message_id, &facts, now).await?;
            }
        }
        let failed = settled.iter().filter(|it| it.state == MessageState::Failed);
        let failed: Vec<MessageId> = failed.map(|it| it.message_id).collect();
        refund(&mut tx, &failed, now).await?;
        tx.commit().await
    }
}

async fn suppress(tx: &mut Tx, settlement: &Settlement, now: Timestamp) -> Result<(), StoreError> {
    match &settlement.suppresses {
        Suppresses::Nobody => Ok(()),
        Suppresses::Now(new) => suppressions::put(tx, new, now).await,
        Suppresses::AfterAnotherFailure { new, since, until } => {
            let another = sql("-- settle: another failure
                 SELECT 1 AS is_there FROM messages m, messages f
                 WHERE m.id = $1 AND f.account_id = m.account_id AND f.recipient = m.recipient
                   AND f.id <> m.id AND f.state IN ('bounced', 'failed')
                   AND f.updated_at BETWEEN $2 AND $3 LIMIT 1")
            .bind(settlement.message_id)
            .bind(since.millis())
            .bind(until.millis())
            .optional(&mut *tx)
            .await?;
            match another {
                Some(_) => suppressions::put(tx, new, now).await,
                None => Ok(()),
            }
        }
    }
}

/// The new state of a settled message.
pub fn change(settlement: &Settlement) -> StateChange<'_> {
    StateChange {
        message: settlement.message_id,
        account: settlement.account_id,
        state: settlement.state,
        reason: &settlement.reason,
    }
}

/// Those of which the messages are there, with their content.
async fn still_kept<'a>(
    tx: &mut Tx,
    settlements: Vec<&'a Settlement>,
) -> Result<Vec<&'a Settlement>, StoreError> {
    if settlements.is_empty() {
        return Ok(settlements);
    }
    let rows = sql("-- settle: still kept
         SELECT id FROM messages
         WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND content_dropped_at IS NULL")
    .ids(settlements.iter().map(|it| it.message_id))
    .all(&mut *tx)
    .await?;
    let kept: HashSet<MessageId> =
        rows.iter().map(|row| column(row, "id")).collect::<Result<_, StoreError>>()?;
    Ok(settlements.into_iter().filter(|it| kept.contains(&it.message_id)).collect())
}

/// Ends messages whose rows cannot be read, by their identifiers alone.
pub async fn give_up(
    tx: &mut Tx,
    unreadable: &[(MessageId, AccountId)],
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let changes: Vec<StateChange<'_>> = unreadable
        .iter()
        .map(|(message, account)| StateChange {
            message: *message,
            account: *account,
            state: MessageState::Failed,
            reason,
        })
        .collect();
    write_states(tx, &changes, now).await?;
    let ids: Vec<MessageId> = unreadable.iter().map(|(message, _)| *message).collect();
    leave_queue(tx, &ids).await?;
    refund(tx, &ids, now).await
}

/// Takes messages out of the queue, whoever holds them.
pub async fn leave_queue(tx: &mut Tx, ids: &[MessageId]) -> Result<(), StoreError> {
    each("-- leave_queue\nDELETE FROM queue WHERE message_id = $1", ids.iter().map(|it| args![*it]))
        .run(tx)
        .await
        .map(|_| ())
}

/// Gives back the price of messages that have failed or were held back, which is to say never left; once,
/// by the ledger's own constraint.
pub async fn refund(tx: &mut Tx, ids: &[MessageId], now: Timestamp) -> Result<(), StoreError> {
    each(
        "-- refund
         INSERT INTO ledger (account_id, kind, amount, message_id, reason, created_at)
         SELECT account_id, 'refund', credits, id, 'the message never left', $2
         FROM messages
         WHERE id = $1 AND state IN ('failed', 'suppressed') AND credits > 0
           AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.message_id = messages.id AND a.uncertain = TRUE)
         ON CONFLICT (message_id) WHERE kind = 'refund' DO NOTHING",
        ids.iter().map(|it| args![*it, now.millis()]),
    )
    .run(tx)
    .await
    .map(|_| ())
}

/// A change of state and its event, for many messages.
pub async fn write_states(
    tx: &mut Tx,
    changes: &[StateChange<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    each(
        "-- write_states
         UPDATE messages SET state = $2, reason = $3, updated_at = $4 WHERE id = $1",
        changes.iter().map(|it| args![it.message, it.state.as_str(), it.reason, now.millis()]),
    )
    .run(&mut *tx)
    .await?;
    events::record_changes(tx, changes.iter().copied(), now).await
}
