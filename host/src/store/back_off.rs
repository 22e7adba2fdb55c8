//! Messages whose destination is backed off from wait without being leased. Nobody has offered them, so no
//! attempt is counted.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Store;
use super::database::{column, parsed, sql};
use super::events::{self, StateChange};
use super::queue::{correct_lanes, lane};
use crate::clock::Timestamp;
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
        let rows = waiting.iter().map(|it| {
            json!({"id": it.message_id, "due": it.until, "for": it.waits_for, "reason": it.reason})
        });
        let rows: Vec<Value> = rows.collect();
        let mut tx = self.db.begin("back_off").await?;
        let held = sql(
            "-- back_off: queue
             UPDATE queue SET due_at = j.value ->> 'due', waits_for = j.value ->> 'for', is_wanted = FALSE,
                              first_at = coalesce(first_at, $2)
             FROM json_each($1) AS j
             WHERE message_id = j.value ->> 'id' AND due_at <= $2 AND lease_owner IS NULL
             RETURNING message_id, account_id, lane",
        )
        .json(&rows)
        .bind(now.millis())
        .all(&mut tx)
        .await?;
        let lanes: HashSet<Lane> = held.iter().map(lane).collect::<Result<_, StoreError>>()?;
        let held: Vec<String> =
            held.iter().map(|row| column(row, "message_id")).collect::<Result<_, _>>()?;
        let newly = sql("-- back_off: newly deferred
             SELECT m.id, m.account_id, j.value ->> 'reason' AS reason
             FROM json_each($1) AS j JOIN messages m ON m.id = j.value ->> 'id'
             WHERE m.state <> 'deferred' AND m.id IN (SELECT value FROM json_each($2))")
        .json(&rows)
        .list(&held)
        .all(&mut tx)
        .await?;
        sql(
            "-- back_off: state
             UPDATE messages SET state = 'deferred', updated_at = $3, reason = (j.value ->> 'reason') ||
                 coalesce((SELECT '; its own last attempt: ' || substr(reply, 1, $4) FROM attempts
                           WHERE message_id = messages.id ORDER BY number DESC LIMIT 1), '')
             FROM json_each($1) AS j
             WHERE messages.id = j.value ->> 'id'
               AND messages.id IN (SELECT value FROM json_each($2))",
        )
        .json(&rows)
        .list(&held)
        .bind(now.millis())
        .bind(LAST_REPLY_CHARS)
        .run(&mut tx)
        .await?;
        let mut changes = Vec::with_capacity(newly.len());
        for row in &newly {
            changes.push(StateChange {
                message: parsed(row, "messages", "id")?,
                account: parsed(row, "messages", "account_id")?,
                state: MessageState::Deferred,
                reason: column(row, "reason")?,
            });
        }
        events::record_changes(&mut tx, changes.into_iter(), now).await?;
        correct_lanes(&mut tx, lanes.iter().collect()).await?;
        tx.commit().await
    }
}
