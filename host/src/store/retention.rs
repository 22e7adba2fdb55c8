//! Drops what is past its time, in batches: each is one short transaction, everything is found by an
//! index, and the write lock is free between two. A message goes only when its state is final, nobody shares its
//! body any more and its events have been handed to all webhooks. The ledger stays for ever.

use std::collections::BTreeSet;

use super::Store;
use super::database::{Row, Tx, column, sql};
use crate::clock::Timestamp;
use crate::id::{Identifier, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::Body;

/// Bytes of bodies in one batch, unless a single body is larger.
pub(super) const BATCH_BODY_BYTES: i64 = 8 << 20;

/// A place in the order in which messages became final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedPlace {
    updated_at: i64,
    id: MessageId,
}

/// One batch of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked<P> {
    /// How many rows went.
    pub dropped: u64,
    /// Behind what the next batch begins; none at the end.
    pub next: Option<P>,
}

/// The states that are not final stand in the text: only so SQLite knows the index (`tests/states`).
pub const FINISHED_WITH_CONTENT: &str = "-- drop_content: which
    SELECT m.id, CAST(coalesce(length(b.bytes), 0) AS BIGINT) AS bytes
    FROM messages m LEFT JOIN bodies b ON b.message_id = coalesce(m.body_of, m.id)
    WHERE m.content_dropped_at IS NULL
      AND m.state NOT IN ('queued', 'scheduled') AND m.state NOT IN ('sending', 'deferred')
      AND m.updated_at < $1
    ORDER BY m.updated_at LIMIT $2";
const MARK: &str = "-- drop_content: mark
    UPDATE messages SET content_dropped_at = $3
    WHERE id IN (SELECT unhex(value) FROM json_each($2)) AND content_dropped_at IS NULL
      AND state IN (SELECT value FROM json_each($4)) AND updated_at < $1
    RETURNING id, coalesce(body_of, id) AS owner";
const DROP_CONVERSATIONS: &str = "-- drop_content: conversations
    UPDATE attempts SET conversation = $2
    WHERE message_id IN (SELECT unhex(value) FROM json_each($1)) AND length(conversation) > length($2)";
const DROP_BODIES: &str = "-- drop_content: bodies
    DELETE FROM bodies
    WHERE message_id IN (SELECT unhex(value) FROM json_each($1))
      AND NOT EXISTS (SELECT 1 FROM messages m
                      WHERE m.id = bodies.message_id AND m.content_dropped_at IS NULL)
      AND NOT EXISTS (SELECT 1 FROM messages m
                      WHERE m.body_of = bodies.message_id AND m.content_dropped_at IS NULL)
    RETURNING message_id";
const LET_GO: &str = "-- drop_content: nobody shares it any more
    UPDATE messages SET body_of = NULL WHERE body_of IN (SELECT unhex(value) FROM json_each($1))";

const FINISHED_WITHOUT_CONTENT: &str = "-- drop_messages: which
    SELECT id, updated_at FROM messages
    WHERE content_dropped_at IS NOT NULL AND (updated_at, id) > ($2, $3) AND updated_at < $1
    ORDER BY updated_at, id LIMIT $4";
const MAY_GO: &str = "-- drop_messages: may go
    SELECT m.id FROM messages m
    WHERE m.id IN (SELECT unhex(value) FROM json_each($2)) AND m.updated_at < $1
      AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.message_id = m.id)
      AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.message_id = m.id)
      AND NOT EXISTS (SELECT 1 FROM messages s WHERE s.body_of = m.id)
      AND NOT EXISTS (SELECT 1 FROM events e WHERE e.subject = m.id AND e.sequence > $3)";
/// In this order: rows that refer to a message go before it.
pub(super) const DROP_MESSAGES: [&str; 3] = [
    "-- drop_messages: events
     DELETE FROM events WHERE subject IN (SELECT unhex(value) FROM json_each($1))",
    "-- drop_messages: attempts
     DELETE FROM attempts WHERE message_id IN (SELECT unhex(value) FROM json_each($1))",
    "-- drop_messages
     DELETE FROM messages WHERE id IN (SELECT unhex(value) FROM json_each($1))",
];

/// Events up to this one were handed to every webhook that is to have them. Where no webhook is active
/// nobody is to have any: one that is added or activated gets only later events.
const PASSED: &str = "-- passed
    SELECT coalesce((SELECT CASE WHEN c.sequence > a.first THEN c.sequence ELSE a.first END
                     FROM webhook_cursor c,
                          (SELECT min(after_sequence) AS first FROM webhooks WHERE state = 'active') AS a
                     WHERE c.id = 1 AND a.first IS NOT NULL),
                    9223372036854775807) AS passed";
const OLDEST_EVENTS: &str = "-- drop_events: which
    SELECT e.sequence, e.created_at < $1 AS is_old,
           NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = e.subject) AS is_alone
    FROM events e WHERE e.sequence > $2 ORDER BY e.sequence LIMIT $3";
const DROP_EVENTS: &str = "-- drop_events
    DELETE FROM events WHERE sequence IN (SELECT value FROM json_each($1)) AND sequence <= $2";

const DROP_COUNTS: &str = "-- drop_counts
    DELETE FROM sent WHERE (period, state, account_id) IN
        (SELECT period, state, account_id FROM sent WHERE period < $1 ORDER BY period LIMIT $2)";
/// Account by account, by the key: in the other order it would read all periods.
const DROP_PERIODS: &str = "-- drop_counts: periods
    DELETE FROM periods WHERE (account_id, period) IN
        (SELECT p.account_id, p.period FROM accounts a CROSS JOIN periods p ON p.account_id = a.id
         WHERE p.period < $1 LIMIT $2)";

const DROP_SUPPRESSIONS: &str = "-- drop_suppressions
    DELETE FROM suppressions WHERE (account_id, address) IN
        (SELECT account_id, address FROM suppressions WHERE expires_at <= $1 LIMIT $2)";

impl Store {
    /// Drops the content of messages that have been final since before `before`: bodies that no
    /// younger message shares, and the conversations of attempts. Answers of how many messages, at most
    /// `limit`; it is 0 when there is none left.
    ///
    /// # Errors
    /// The database failed; nothing was dropped.
    pub async fn drop_content(
        &self,
        before: Timestamp,
        now: Timestamp,
        limit: u32,
    ) -> Result<u64, StoreError> {
        let ids = self.finished_with_content(before, limit).await?;
        if ids.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db.begin("drop_content").await?;
        let marked = sql(MARK)
            .bind(before.millis())
            .ids(ids)
            .bind(now.millis())
            .list(&MessageState::all_that(MessageState::is_final))
            .all(&mut tx)
            .await?;
        let ids: Vec<MessageId> = all_of(&marked, "id")?;
        let owners: BTreeSet<MessageId> = all_of(&marked, "owner")?;
        sql(DROP_CONVERSATIONS)
            .ids(ids.iter().copied())
            .bind(Body::pack(b"").bytes())
            .run(&mut tx)
            .await?;
        let bodies = sql(DROP_BODIES).ids(owners).all(&mut tx).await?;
        let bodies: Vec<MessageId> = all_of(&bodies, "message_id")?;
        sql(LET_GO).ids(bodies).run(&mut tx).await?;
        tx.commit().await?;
        Ok(u64::try_from(ids.len()).unwrap_or(u64::MAX))
    }

    /// The identifiers of the next batch: some large bodies are as much work as many small ones.
    async fn finished_with_content(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<MessageId>, StoreError> {
        let rows = sql(FINISHED_WITH_CONTENT)
            .bind(before.millis())
            .bind(limit)
            .all(&self.db.readers)
            .await?;
        let mut ids = Vec::with_capacity(rows.len());
        let mut sum = 0;
        for row in &rows {
            sum += column::<i64>(row, "bytes")?;
            if sum > BATCH_BODY_BYTES && !ids.is_empty() {
                break;
            }
            ids.push(column(row, "id")?);
        }
        Ok(ids)
    }

    /// Drops messages without content that have been final since before `before`, with their events,
    /// decisions and attempts. Looks at no more than `limit`, behind `after`.
    ///
    /// # Errors
    /// The database failed; nothing was dropped.
    pub async fn drop_messages(
        &self,
        before: Timestamp,
        after: Option<&FinishedPlace>,
        limit: u32,
    ) -> Result<Walked<FinishedPlace>, StoreError> {
        let rows = sql(FINISHED_WITHOUT_CONTENT)
            .bind(before.millis())
            .bind(after.map_or(i64::MIN, |it| it.updated_at))
            .bind(after.map_or(MessageId::MIN, |it| it.id))
            .bind(limit)
            .all(&self.db.readers)
            .await?;
        let places: Vec<FinishedPlace> = rows
            .iter()
            .map(|row| {
                Ok(FinishedPlace { updated_at: column(row, "updated_at")?, id: column(row, "id")? })
            })
            .collect::<Result<_, StoreError>>()?;
        let Some(last) = places.last() else { return Ok(Walked { dropped: 0, next: None }) };
        let mut tx = self.db.begin("drop_messages").await?;
        let passed = passed(&mut tx).await?;
        let going = sql(MAY_GO)
            .bind(before.millis())
            .ids(places.iter().map(|it| it.id))
            .bind(passed)
            .all(&mut tx)
            .await?;
        let going: Vec<MessageId> = all_of(&going, "id")?;
        for statement in DROP_MESSAGES {
            sql(statement).ids(going.iter().copied()).run(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(Walked {
            dropped: u64::try_from(going.len()).unwrap_or(u64::MAX),
            next: Some(last.clone()),
        })
    }

    /// Drops events from before `before` that are about no message, or about one that is gone. Looks at
    /// no more than `limit`, behind the event `after`, and ends where no event is old any more.
    ///
    /// # Errors
    /// The database failed; nothing was dropped.
    pub async fn drop_events(
        &self,
        before: Timestamp,
        after: i64,
        limit: u32,
    ) -> Result<Walked<i64>, StoreError> {
        let rows = sql(OLDEST_EVENTS)
            .bind(before.millis())
            .bind(after)
            .bind(limit)
            .all(&self.db.readers)
            .await?;
        let mut going: Vec<i64> = Vec::new();
        let mut next = None;
        for row in &rows {
            let sequence = column(row, "sequence")?;
            if !column::<bool>(row, "is_old")? {
                continue;
            }
            next = Some(sequence);
            if column(row, "is_alone")? {
                going.push(sequence);
            }
        }
        if going.is_empty() {
            return Ok(Walked { dropped: 0, next });
        }
        let mut tx = self.db.begin("drop_events").await?;
        let passed = passed(&mut tx).await?;
        let gone = sql(DROP_EVENTS).numbers(&going).bind(passed).run(&mut tx).await?;
        tx.commit().await?;
        Ok(Walked { dropped: gone, next })
    }

    /// Drops counts of messages from before `before`, and of the periods in which accounts have sent something
    /// those that are older than every message; at most `limit` of each. Answers how many went.
    pub async fn drop_counts(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let period = MessageId::first_of(before).period();
        let counts = sql(DROP_COUNTS).bind(period).bind(limit).run(&self.db.writer).await?;
        let oldest = sql("-- drop_counts: the oldest message
             SELECT id FROM messages ORDER BY id LIMIT 1")
        .optional(&self.db.readers)
        .await?;
        let Some(oldest) = oldest else { return Ok(counts) };
        let oldest: MessageId = column(&oldest, "id")?;
        let periods = sql(DROP_PERIODS).bind(oldest.period()).bind(limit);
        Ok(counts + periods.run(&self.db.writer).await?)
    }

    /// Drops suppressions whose time is over, at most `limit`.
    pub async fn drop_suppressions(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        sql(DROP_SUPPRESSIONS).bind(now.millis()).bind(limit).run(&self.db.writer).await
    }
}

fn all_of<C: FromIterator<MessageId>>(rows: &[Row], name: &'static str) -> Result<C, StoreError> {
    rows.iter().map(|row| column(row, name)).collect()
}

async fn passed(tx: &mut Tx) -> Result<i64, StoreError> {
    let row = sql(PASSED).one(&mut *tx).await?;
    column(&row, "passed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::plans::plan;

    #[tokio::test]
    async fn no_statement_of_retention_walks_over_a_table() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let mut statements =
            vec![FINISHED_WITH_CONTENT, MARK, DROP_CONVERSATIONS, DROP_BODIES, LET_GO];
        statements.extend([FINISHED_WITHOUT_CONTENT, MAY_GO, OLDEST_EVENTS, DROP_EVENTS]);
        statements.extend(DROP_MESSAGES);
        statements.extend([DROP_COUNTS, DROP_SUPPRESSIONS]);
        for statement in statements {
            let plan = plan(&store, statement).await.expect("explained");
            let walks = |step: &String| step.starts_with("SCAN") && !step.contains("json_each");
            assert!(!plan.iter().any(walks) && !plan.is_empty(), "{statement}\n{plan:#?}");
            assert!(
                !plan.iter().any(|step| step.contains("TEMP B-TREE")),
                "{statement}\n{plan:#?}"
            );
        }
    }
}
