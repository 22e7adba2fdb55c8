//! Writes how attempts ended: state, event, attempt, suppression and refund in one transaction.

use std::collections::{BTreeSet, HashSet};

use super::database::{Sql, Tx, args, column, each, either, sql};
use super::events::{self, StateChange};
use super::lock_rows::{lock_accounts, lock_lanes_of};
use super::tries::repeated;
use super::{Store, attempts, suppressions};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::{MessageState, Refund};
use crate::store::StoreError;
use crate::store::records::{AfterAttempt, BounceFacts, End, Settlement, Suppresses};

/// The states stand in the text: only so SQLite knows the index (`tests/states`).
pub const ANOTHER_FAILURE: &str = "-- settle: another failure
    SELECT 1 AS is_there FROM messages m, messages f
    WHERE m.id = $1 AND f.account_id = m.account_id AND f.recipient = m.recipient
      AND f.id <> m.id AND f.state IN ('bounced', 'failed')
      AND f.updated_at BETWEEN $2 AND $3 LIMIT 1";

/// A file has one server, which makes one attempt of a message at one time: it need not be told which attempt is of which
/// message.
const FINAL: Sql = either(
    "-- settle: final
    DELETE FROM queue
    WHERE lease_owner = $1 AND message_id IN (SELECT unhex(value) FROM json_each($2))
      AND attempts IN (SELECT value FROM json_each($3))
    RETURNING message_id",
    "-- postgres: settle: final
    DELETE FROM queue q
    USING unnest(CAST($2 AS BYTEA[]), CAST($3 AS BIGINT[])) AS ended (message_id, attempts)
    WHERE q.message_id = ended.message_id AND q.attempts = ended.attempts AND q.lease_owner = $1
    RETURNING q.message_id",
);

impl Store {
    /// Writes how attempts ended, each with its event. A message that is no longer held for that attempt is left
    /// unchanged, because a report has ended it meanwhile, or the same settlement was written before; the transcript of
    /// the attempt is kept. So it may be asked again where nobody knows whether it was written.
    ///
    /// # Errors
    /// The database failed; nothing was written then, unless the error [is unknown](StoreError::is_unknown).
    pub async fn settle(
        &self,
        owner: &str,
        settlements: &[Settlement],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        repeated!(self.settle_once(owner, settlements, now))
    }

    async fn settle_once(
        &self,
        owner: &str,
        settlements: &[Settlement],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin_beside("settle").await?;
        // What did not arrive may be paid back, and is compared with other failures of its account.
        let failed = |it: &&Settlement| {
            matches!(it.verdict, AfterAttempt::Bounced { .. } | AfterAttempt::Failed(_))
        };
        let accounts: BTreeSet<AccountId> =
            settlements.iter().filter(failed).map(|it| it.account_id).collect();
        lock_accounts(&mut tx, &accounts).await?;
        let mut waiting: Vec<(&Settlement, Timestamp, Option<String>)> = Vec::new();
        let mut leaving: Vec<&Settlement> = Vec::new();
        for it in settlements {
            match &it.verdict {
                AfterAttempt::Deferred { next_attempt, waits_for } => {
                    let waits_for = waits_for.as_ref().map(ToString::to_string);
                    waiting.push((it, *next_attempt, waits_for));
                }
                AfterAttempt::Delivered
                | AfterAttempt::Relayed
                | AfterAttempt::Bounced { .. }
                | AfterAttempt::Failed(_) => leaving.push(it),
            }
        }
        // Before anything is counted: whoever adds to a lane locks the lane first, and the count behind it.
        let back: Vec<MessageId> = waiting.iter().map(|(it, ..)| it.message_id).collect();
        lock_lanes_of(&mut tx, &back).await?;
        let attempts_left: Vec<i64> =
            leaving.iter().map(|it| i64::from(it.attempt.number)).collect();
        let held = sql(FINAL)
            .bind(owner)
            .ids(leaving.iter().map(|it| it.message_id))
            .numbers(&attempts_left)
            .all(&mut tx)
            .await?;
        let mut held: HashSet<MessageId> =
            held.iter().map(|row| column(row, "message_id")).collect::<Result<_, StoreError>>()?;
        let updated = each(
            "-- settle: another attempt
             UPDATE queue SET due_at = $3, waits_for = $4, lease_owner = NULL, lease_until = NULL
             WHERE message_id = $2 AND lease_owner = $1 AND attempts = $5",
            waiting.iter().map(|(it, due, waits_for)| {
                args![owner, it.message_id, due.millis(), waits_for, it.attempt.number]
            }),
        )
        .run(&mut tx)
        .await?;
        let updated = waiting.iter().zip(updated).filter(|(_, rows)| *rows == 1);
        held.extend(updated.map(|((it, ..), _)| it.message_id));
        let (mut settled, late): (Vec<&Settlement>, Vec<&Settlement>) =
            settlements.iter().partition(|it| held.contains(&it.message_id));
        let late = still_kept(&mut tx, late).await?;
        attempts::put(&mut tx, &[settled.as_slice(), &late].concat()).await?;
        let changes: Vec<StateChange<'_>> = settled.iter().map(|it| change(it)).collect();
        write_states(&mut tx, &changes, now).await?;
        // In the order in which all lock addresses of the lists.
        settled.sort_unstable_by(|one, other| address(one).cmp(&address(other)));
        for settlement in settled {
            apply_verdict(&mut tx, settlement, now).await?;
        }
        tx.commit().await
    }
}

/// The address that a settlement may put on a list.
fn address(settlement: &Settlement) -> Option<(AccountId, &str)> {
    let suppresses = match &settlement.verdict {
        AfterAttempt::Bounced { suppresses, .. } | AfterAttempt::Failed(suppresses) => suppresses,
        AfterAttempt::Deferred { .. } | AfterAttempt::Delivered | AfterAttempt::Relayed => {
            return None;
        }
    };
    match suppresses {
        Suppresses::Nobody => None,
        Suppresses::Now(new) | Suppresses::AfterAnotherFailure { new, .. } => {
            Some((new.account_id, new.address.as_str()))
        }
    }
}

/// What the end of an attempt means for its recipient's address, and what webhooks get of a bounce.
async fn apply_verdict(
    tx: &mut Tx,
    settlement: &Settlement,
    now: Timestamp,
) -> Result<(), StoreError> {
    let id = settlement.message_id;
    match &settlement.verdict {
        AfterAttempt::Deferred { .. } | AfterAttempt::Delivered | AfterAttempt::Relayed => Ok(()),
        AfterAttempt::Failed(suppresses) => suppress(tx, id, suppresses, now).await,
        AfterAttempt::Bounced { class, suppresses } => {
            suppress(tx, id, suppresses, now).await?;
            let attempt = &settlement.attempt;
            let facts = BounceFacts {
                code: attempt.ending.code(),
                enhanced: attempt.ending.enhanced().map(|it| it.to_string()),
                class: *class,
                remote_host: attempt.host.as_ref().map(|it| it.name.clone()),
            };
            events::add_bounce_facts(tx, id, &facts, now).await
        }
    }
}

async fn suppress(
    tx: &mut Tx,
    message: MessageId,
    suppresses: &Suppresses,
    now: Timestamp,
) -> Result<(), StoreError> {
    let new = match suppresses {
        Suppresses::Nobody => None,
        Suppresses::Now(new) => Some(new),
        Suppresses::AfterAnotherFailure { new, since, until } => sql(ANOTHER_FAILURE)
            .bind(message)
            .bind(since.millis())
            .bind(until.millis())
            .optional(&mut *tx)
            .await?
            .map(|_| new),
    };
    match new {
        Some(new) => suppressions::put(tx, new, now).await,
        None => Ok(()),
    }
}

/// The new state of a settled message.
pub fn change(settlement: &Settlement) -> StateChange<'_> {
    StateChange {
        message: settlement.message_id,
        account: settlement.account_id,
        state: settlement.verdict.state(),
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

/// Ends messages that are never sent, whoever holds them.
pub async fn end(
    tx: &mut Tx,
    ended: &[(MessageId, AccountId, End)],
    now: Timestamp,
) -> Result<(), StoreError> {
    let change = |&(message, account, End { state, reason }): &(MessageId, AccountId, End)| {
        StateChange { message, account, state, reason }
    };
    write_states(tx, &ended.iter().map(change).collect::<Vec<_>>(), now).await?;
    let ids: Vec<MessageId> = ended.iter().map(|(message, ..)| *message).collect();
    leave_queue(tx, &ids).await
}

/// Takes messages out of the queue, whoever holds them.
pub async fn leave_queue(tx: &mut Tx, ids: &[MessageId]) -> Result<(), StoreError> {
    each("-- leave_queue\nDELETE FROM queue WHERE message_id = $1", ids.iter().map(|it| args![*it]))
        .run(tx)
        .await
        .map(|_| ())
}

/// A change of state, its event and what becomes of the price ([`crate::message::state::MessageState::refund`]), for many messages. The
/// attempts that led to it are written before.
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
    events::record_changes(tx, changes.iter().copied(), now).await?;
    count_failures(tx, changes, now).await?;
    // Once, by the ledger's own constraint.
    each(
        "-- refund
         INSERT INTO ledger (account_id, kind, amount, message_id, reason, created_at)
         SELECT account_id, 'refund', credits, id, $2, $3
         FROM messages
         WHERE id = $1 AND credits > 0
           AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.message_id = messages.id AND a.uncertain = TRUE)
         ON CONFLICT (message_id) WHERE kind = 'refund' DO NOTHING",
        changes.iter().filter_map(|it| match it.state.refund() {
            Refund::Nothing => None,
            Refund::UnlessArrived { reason } => Some(args![it.message, reason, now.millis()]),
        }),
    )
    .run(tx)
    .await
    .map(|_| ())
}

/// Counts messages of published templates that bounced or failed. What arrives costs nothing here.
async fn count_failures(
    tx: &mut Tx,
    changes: &[StateChange<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let failed =
        |it: &&StateChange<'_>| matches!(it.state, MessageState::Bounced | MessageState::Failed);
    let failures: Vec<MessageId> = changes.iter().filter(failed).map(|it| it.message).collect();
    if failures.is_empty() {
        return Ok(());
    }
    sql("-- count_failures
         INSERT INTO template_failures (day, account_id, slug, refused, failed)
         SELECT CAST($2 AS BIGINT), account_id, template_slug, 0, count(*) FROM messages
         WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND template_revision > 0
         GROUP BY account_id, template_slug ORDER BY account_id, template_slug
         ON CONFLICT (day, account_id, slug)
         DO UPDATE SET failed = template_failures.failed + excluded.failed")
    .ids(failures)
    .bind(now.day())
    .run(tx)
    .await
    .map(|_| ())
}
