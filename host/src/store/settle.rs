//! Writes how attempts ended: state, event, attempt, suppression and refund in one transaction.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::json;

use super::database::{Tx, parsed, sql};
use super::events::{self, StateChange};
use super::{Store, attempts, suppressions};
use crate::clock::Timestamp;
use crate::id::MessageId;
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
        let resting: Vec<MessageId> = resting.into_iter().map(|it| it.message_id).collect();
        let mut held = sql("-- settle: at rest
             DELETE FROM queue
             WHERE lease_owner = $1 AND message_id IN (SELECT value FROM json_each($2))
             RETURNING message_id")
        .bind(owner)
        .list(&resting)
        .all(&mut tx)
        .await?;
        if !waiting.is_empty() {
            let due = waiting.iter().map(
                |it| json!({"id": it.message_id, "due": it.next_attempt, "for": it.waits_for}),
            );
            let updated = sql("-- settle: another attempt
                 UPDATE queue SET due_at = j.value ->> 'due', waits_for = j.value ->> 'for',
                                  lease_owner = NULL, lease_until = NULL
                 FROM json_each($2) AS j
                 WHERE message_id = j.value ->> 'id' AND lease_owner = $1
                 RETURNING message_id")
            .bind(owner)
            .json(&due.collect::<Vec<_>>())
            .all(&mut tx)
            .await?;
            held.extend(updated);
        }
        let held: HashSet<MessageId> = held
            .iter()
            .map(|row| parsed(row, "queue", "message_id"))
            .collect::<Result<_, StoreError>>()?;
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
        if !failed.is_empty() {
            refund(&mut tx, &failed, now).await?;
        }
        tx.commit().await
    }
}

async fn suppress(tx: &mut Tx, settlement: &Settlement, now: Timestamp) -> Result<(), StoreError> {
    match &settlement.suppresses {
        Suppresses::Nobody => Ok(()),
        Suppresses::Now(new) => suppressions::put(tx, new, now).await,
        Suppresses::AfterAnotherFailure { new, since, until } => {
            let another = sql("-- settle: another failure
                 SELECT 1 FROM messages m, messages f
                 WHERE m.id = $1 AND f.account_id = m.account_id AND f.recipient = m.recipient
                   AND f.id <> m.id AND f.state IN ('bounced', 'failed')
                   AND f.updated_at BETWEEN $2 AND $3 LIMIT 1")
            .bind(settlement.message_id.to_string())
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
    let ids: Vec<MessageId> = settlements.iter().map(|it| it.message_id).collect();
    let rows = sql("-- settle: still kept
         SELECT id FROM messages
         WHERE id IN (SELECT value FROM json_each($1)) AND content_dropped_at IS NULL")
    .list(&ids)
    .all(&mut *tx)
    .await?;
    let kept: HashSet<MessageId> =
        rows.iter().map(|row| parsed(row, "messages", "id")).collect::<Result<_, StoreError>>()?;
    Ok(settlements.into_iter().filter(|it| kept.contains(&it.message_id)).collect())
}

/// Ends messages whose rows cannot be read, by their identifiers alone.
pub async fn give_up(
    tx: &mut Tx,
    unreadable: &[String],
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    if unreadable.is_empty() {
        return Ok(());
    }
    for statement in [
        "-- give_up: state
         UPDATE messages SET state = 'failed', reason = $2, updated_at = $3
         WHERE id IN (SELECT value FROM json_each($1))",
        "-- give_up: event
         INSERT INTO events (id, subject, account_id, type, detail, created_at)
         SELECT 'evt_' || substr(id, 5), id, account_id, 'message.failed', $2, $3
         FROM messages WHERE id IN (SELECT value FROM json_each($1))",
    ] {
        sql(statement).list(unreadable).bind(reason).bind(now.millis()).run(&mut *tx).await?;
    }
    sql("-- give_up: queue
         DELETE FROM queue WHERE message_id IN (SELECT value FROM json_each($1))")
    .list(unreadable)
    .run(&mut *tx)
    .await?;
    refund(tx, unreadable, now).await
}

/// Gives back the price of messages that have failed or were held back, which is to say never left; once,
/// by the ledger's own constraint.
pub async fn refund<T: Serialize>(
    tx: &mut Tx,
    ids: &[T],
    now: Timestamp,
) -> Result<(), StoreError> {
    sql(
        "-- refund
         INSERT INTO ledger (account_id, kind, amount, message_id, reason, created_at)
         SELECT account_id, 'refund', credits, id, 'the message never left', $2
         FROM messages
         WHERE id IN (SELECT value FROM json_each($1)) AND state IN ('failed', 'suppressed')
           AND credits > 0
           AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.message_id = messages.id AND a.uncertain = TRUE)
         ON CONFLICT (message_id, kind) DO NOTHING",
    )
    .list(ids)
    .bind(now.millis())
    .run(&mut *tx)
    .await.map(|_| ())
}

/// A change of state and its event, for many messages.
pub async fn write_states(
    tx: &mut Tx,
    changes: &[StateChange<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let states =
        changes.iter().map(|it| json!({"id": it.message, "state": it.state, "reason": it.reason}));
    sql("-- write_states
         UPDATE messages SET state = j.value ->> 'state', reason = j.value ->> 'reason',
                             updated_at = $2
         FROM json_each($1) AS j WHERE messages.id = j.value ->> 'id'")
    .json(&states.collect::<Vec<_>>())
    .bind(now.millis())
    .run(&mut *tx)
    .await?;
    events::record_changes(tx, changes.iter().copied(), now).await
}
