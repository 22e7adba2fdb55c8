//! Messages whose destination is backed off from wait without being leased. Nobody has offered them, so no
//! attempt is counted.

use std::collections::BTreeSet;

use super::Store;
use super::database::{args, column, each};
use super::events::{self, StateChange};
use super::lock_rows::lock_lanes;
use super::queue::{correct_lanes, lane};
use super::tries::repeated;
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{BackedOff, Lane};

const DEFERRED: MessageState = MessageState::Deferred;

impl Store {
    /// Lets messages wait that are due and not leased. The first time each becomes `deferred`, with its event;
    /// later only the reason changes. `after_last_reply` puts what the message's own last attempt was answered into the
    /// reason, if it had one.
    ///
    /// # Errors
    /// The database failed; nothing was written then.
    pub async fn back_off(
        &self,
        waiting: &[BackedOff],
        after_last_reply: impl Fn(&BackedOff, &str) -> String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        repeated!(self.back_off_once(waiting, &after_last_reply, now))
    }

    async fn back_off_once(
        &self,
        waiting: &[BackedOff],
        after_last_reply: &impl Fn(&BackedOff, &str) -> String,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        // In the order in which all lock rows of the queue.
        let mut waiting: Vec<&BackedOff> = waiting.iter().collect();
        waiting.sort_unstable_by_key(|it| it.message_id);
        let mut tx = self.db.begin_beside("back_off").await?;
        let waiting_until = waiting.iter().map(|it| {
            args![it.message_id, it.until.millis(), it.waits_for.to_string(), now.millis(),]
        });
        let held = each(
            "-- back_off: queue
             UPDATE queue SET due_at = $2, waits_for = $3, is_wanted = FALSE, first_at = coalesce(first_at, $4)
             WHERE message_id = $1 AND due_at <= $4 AND lease_owner IS NULL
             RETURNING account_id, lane",
            waiting_until,
        )
        .find(&mut tx)
        .await?;
        let mut lanes: BTreeSet<Lane> = BTreeSet::new();
        let mut held_back: Vec<(&BackedOff, AccountId)> = Vec::with_capacity(waiting.len());
        for (it, row) in waiting.iter().zip(&held) {
            let Some(row) = row else { continue };
            let lane = lane(row)?;
            held_back.push((*it, lane.account_id));
            lanes.insert(lane);
        }
        lock_lanes(&mut tx, &lanes).await?;
        let messages = each(
            "-- back_off: messages
             SELECT state <> $2 AS is_new,
                    (SELECT reply FROM attempts WHERE message_id = $1 ORDER BY number DESC LIMIT 1)
                        AS last_reply
             FROM messages WHERE id = $1",
            held_back.iter().map(|(it, _)| args![it.message_id, DEFERRED.as_str()]),
        )
        .find(&mut tx)
        .await?;
        let mut reasons: Vec<(MessageId, String)> = Vec::with_capacity(held_back.len());
        let mut changes: Vec<StateChange<'_>> = Vec::new();
        for ((it, account), row) in held_back.iter().zip(&messages) {
            let message = it.message_id;
            // A queue row without a message must not stop all others; its lease ends it.
            let Some(row) = row else { continue };
            let last_reply: Option<&str> = column(row, "last_reply")?;
            let reason =
                last_reply.map_or_else(|| it.reason.clone(), |said| after_last_reply(it, said));
            reasons.push((message, reason));
            if column(row, "is_new")? {
                let (state, reason) = (DEFERRED, it.reason.as_str());
                changes.push(StateChange { message, account: *account, state, reason });
            }
        }
        each(
            "-- back_off: state
             UPDATE messages SET state = $4, updated_at = $3, reason = $2 WHERE id = $1",
            reasons
                .iter()
                .map(|(message, reason)| args![*message, reason, now.millis(), DEFERRED.as_str()]),
        )
        .run(&mut tx)
        .await?;
        events::record_changes(&mut tx, changes.iter().copied(), now).await?;
        correct_lanes(&mut tx, &lanes).await?;
        tx.commit().await
    }
}
