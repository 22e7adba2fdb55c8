//! Messages whose destination is backed off from wait without being leased. Nobody has offered them, so no
//! attempt is counted.

use std::collections::BTreeSet;

use super::Store;
use super::database::{args, each};
use super::events::{self, StateChange};
use super::queue::{correct_lanes, lane};
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{BackedOff, Lane};

/// Characters of what a message's own last attempt was answered: other messages' destination says less.
const LAST_REPLY_CHARS: u32 = 300;

impl Store {
    /// Lets messages wait that are due and not leased. The first time each becomes `deferred`, with its event;
    /// later only the reason changes. It names what the message's own last attempt was answered, if it had one.
    ///
    /// # Errors
    /// The database failed; nothing was written then.
    pub async fn back_off(&self, waiting: &[BackedOff], now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin("back_off").await?;
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
            held_back.push((it, lane.account_id));
            lanes.insert(lane);
        }
        let newly = each(
            "-- back_off: newly deferred
             SELECT 1 AS is_new FROM messages WHERE id = $1 AND state <> 'deferred'",
            held_back.iter().map(|(it, _)| args![it.message_id]),
        )
        .find(&mut tx)
        .await?;
        each(
            "-- back_off: state
             UPDATE messages SET state = 'deferred', updated_at = $3, reason = $2 ||
                 coalesce((SELECT '; its own last attempt: ' || substr(reply, 1, $4) FROM attempts
                           WHERE message_id = $1 ORDER BY number DESC LIMIT 1), '')
             WHERE id = $1",
            held_back
                .iter()
                .map(|(it, _)| args![it.message_id, &it.reason, now.millis(), LAST_REPLY_CHARS]),
        )
        .run(&mut tx)
        .await?;
        let newly = held_back.iter().zip(&newly).filter(|(_, row)| row.is_some());
        let changes = newly.map(|((it, account), _)| StateChange {
            message: it.message_id,
            account: *account,
            state: MessageState::Deferred,
            reason: &it.reason,
        });
        events::record_changes(&mut tx, changes, now).await?;
        correct_lanes(&mut tx, &lanes).await?;
        tx.commit().await
    }
}
