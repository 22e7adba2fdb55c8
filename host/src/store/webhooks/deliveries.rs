//! Deliveries: the log, tests, and attempts that an owner requests again.

use std::time::Duration;

use serde_json::Value;

use super::super::Store;
use super::super::database::{Row, column, json as read_json, moment, moment_or_none, sql, word};
use super::super::scan_batches::ScanBatches;
use super::WebhookAttempt;
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId, Identifier, WebhookId};
use crate::store::StoreError;

/// What a delivery can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// Another attempt follows.
    Pending,
    /// The endpoint accepted the event.
    Delivered,
    /// The endpoint did not accept the event, and no attempt follows without a replay.
    Failed,
}

/// A delivery as lists show it.
#[derive(Debug, Clone)]
pub struct DeliveryRow {
    /// The event, and the header `webhook-id` of every attempt.
    pub id: EventId,
    pub r#type: String,
    pub state: DeliveryState,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was handed to the webhook.
    pub created_at: Timestamp,
    /// The last attempts, oldest first.
    pub attempts: Vec<WebhookAttempt>,
    /// As it was posted, by whichever version of the server.
    pub body: Value,
}

/// What a webhook was told of a message.
#[derive(Debug, Clone)]
pub struct MessageDelivery {
    pub webhook: WebhookId,
    /// Where the webhook posts to now.
    pub url: String,
    pub event: EventId,
    pub r#type: String,
    pub state: DeliveryState,
    /// When the next attempt is due.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was handed to the webhook.
    pub created_at: Timestamp,
    pub last_attempt: Option<WebhookAttempt>,
}

/// Some deliveries, and where the list goes on.
#[derive(Debug, Clone)]
pub struct DeliveryPage {
    /// Newest first.
    pub deliveries: Vec<DeliveryRow>,
    /// What the next page comes after; none where there is no more.
    pub next: Option<EventId>,
}

/// How the deliveries of a webhook stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookCounts {
    pub delivered: u32,
    pub failed: u32,
    pub waiting: u32,
}

/// Beyond it they are not counted.
pub const MAX_COUNTED_DELIVERIES: u32 = 10_000;
/// The deliveries whose end is counted.
const COUNTED_TIME: Duration = Duration::from_hours(24);

/// A test that was made, for the log.
#[derive(Debug)]
pub struct TestDelivery<'a> {
    pub webhook: WebhookId,
    /// The made-up event.
    pub event: EventId,
    pub body: &'a str,
    pub log: &'a WebhookAttempt,
    pub state: DeliveryState,
}

/// The last of the next deliveries; none where there are fewer.
const END_OF_BATCH: &str = "-- webhook_deliveries: a batch
    SELECT event_id FROM webhook_deliveries WHERE webhook_id = $1 AND event_id < $2
    ORDER BY event_id DESC LIMIT 1 OFFSET $3";
const DELIVERIES: &str = "-- webhook_deliveries
    SELECT event_id, type, body, state, due_at, log, created_at
    FROM webhook_deliveries CROSS JOIN webhook_bodies USING (event_id)
    WHERE webhook_id = $1 AND event_id < $2 AND event_id >= $3 AND ($4 IS NULL OR state = $4)
    ORDER BY event_id DESC LIMIT $5";

impl Store {
    /// The deliveries of a webhook in a state, or in any; newest first, behind `after`. A page may be
    /// short, or empty, and still have a next one: then the rows that were read did not match.
    ///
    /// # Errors
    /// The database failed, or the list took too long.
    pub async fn webhook_deliveries(
        &self,
        webhook: WebhookId,
        state: Option<DeliveryState>,
        after: Option<EventId>,
        limit: u32,
    ) -> Result<DeliveryPage, StoreError> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut upper = after.unwrap_or(EventId::MAX);
        let mut deliveries: Vec<DeliveryRow> = Vec::new();
        for batch in ScanBatches::new(limit) {
            let lower = sql(END_OF_BATCH)
                .bind(webhook)
                .bind(upper)
                .bind(batch.saturating_sub(1))
                .optional(&self.db.pages)
                .await?;
            let lower: Option<EventId> = lower.map(|row| column(&row, "event_id")).transpose()?;
            let left = i64::from(limit) + 1 - i64::try_from(deliveries.len()).unwrap_or(i64::MAX);
            let rows = sql(DELIVERIES)
                .bind(webhook)
                .bind(upper)
                .bind(lower.unwrap_or(EventId::MIN))
                .bind(state.map(DeliveryState::as_str))
                .bind(left)
                .all(&self.db.pages)
                .await?;
            for row in &rows {
                deliveries.push(delivery_row(row)?);
            }
            if deliveries.len() > wanted {
                deliveries.truncate(wanted);
                return Ok(DeliveryPage { next: deliveries.last().map(|row| row.id), deliveries });
            }
            let Some(lower) = lower else { return Ok(DeliveryPage { deliveries, next: None }) };
            upper = lower;
        }
        Ok(DeliveryPage { deliveries, next: Some(upper) })
    }

    /// How the deliveries of a webhook in the last 24 hours have ended, of the newest [`MAX_COUNTED_DELIVERIES`];
    /// and how many wait, whatever their age, up to the same number.
    pub async fn webhook_counts(
        &self,
        webhook: WebhookId,
        now: Timestamp,
    ) -> Result<WebhookCounts, StoreError> {
        let ended = sql("-- webhook_counts: ended
             SELECT count(*) FILTER (WHERE state = 'delivered') AS delivered,
                    count(*) FILTER (WHERE state = 'failed') AS failed
             FROM (SELECT state FROM webhook_deliveries WHERE webhook_id = $1 AND event_id >= $2
                   ORDER BY event_id DESC LIMIT $3) AS newest")
        .bind(webhook)
        .bind(EventId::first_of(now.before(COUNTED_TIME)))
        .bind(MAX_COUNTED_DELIVERIES)
        .one(&self.db.pages)
        .await?;
        let waiting = sql("-- webhook_counts: waiting
             SELECT count(*) AS waiting
             FROM (SELECT 1 FROM webhook_deliveries WHERE webhook_id = $1 AND due_at IS NOT NULL LIMIT $2) AS due")
        .bind(webhook)
        .bind(MAX_COUNTED_DELIVERIES)
        .one(&self.db.pages)
        .await?;
        Ok(WebhookCounts {
            delivered: column(&ended, "delivered")?,
            failed: column(&ended, "failed")?,
            waiting: column(&waiting, "waiting")?,
        })
    }

    pub async fn webhook_delivery(
        &self,
        webhook: WebhookId,
        event: EventId,
    ) -> Result<Option<DeliveryRow>, StoreError> {
        sql("-- webhook_delivery
             SELECT event_id, type, body, state, due_at, log, created_at
             FROM webhook_deliveries CROSS JOIN webhook_bodies USING (event_id)
             WHERE webhook_id = $1 AND event_id = $2")
        .bind(webhook)
        .bind(event)
        .optional(&self.db.readers)
        .await?
        .map(|row| delivery_row(&row))
        .transpose()
    }

    /// The deliveries of these events to webhooks of the account, newest first.
    pub async fn deliveries_of_events(
        &self,
        account: AccountId,
        events: impl IntoIterator<Item = EventId>,
        limit: u32,
    ) -> Result<Vec<MessageDelivery>, StoreError> {
        let rows = sql("-- deliveries_of_events
             SELECT w.id, w.url, d.event_id, d.type, d.state, d.due_at, d.log, d.created_at
             FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
             WHERE w.account_id = $1 AND d.event_id IN (SELECT unhex(value) FROM json_each($2))
             ORDER BY d.event_id DESC, w.id LIMIT $3")
        .bind(account)
        .ids(events)
        .bind(limit)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(message_delivery).collect()
    }

    /// Makes a delivery due now, with all its attempts before it. Answers whether there is one.
    pub async fn replay_delivery(
        &self,
        webhook: WebhookId,
        event: EventId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        sql("-- replay_delivery
             UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = $3
             WHERE webhook_id = $1 AND event_id = $2")
        .bind(webhook)
        .bind(event)
        .bind(now.millis())
        .run(&self.db.writer)
        .await
        .map(|rows| rows == 1)
    }

    /// Makes up to `limit` failed deliveries due that were handed out from `since` to `until`; those
    /// behind the event `after`. Answers how many, and the last of them.
    pub async fn replay_failed(
        &self,
        webhook: WebhookId,
        (since, until): (Timestamp, Timestamp),
        after: EventId,
        limit: u32,
        now: Timestamp,
    ) -> Result<(u64, Option<EventId>), StoreError> {
        let rows = sql("-- replay_failed
             UPDATE webhook_deliveries SET state = 'pending', attempts = 0, due_at = $6
             WHERE (webhook_id, event_id) IN
                 (SELECT webhook_id, event_id FROM webhook_deliveries
                  WHERE webhook_id = $1 AND state = 'failed' AND event_id > $2
                               AND created_at BETWEEN $3 AND $4 ORDER BY event_id LIMIT $5)
             RETURNING event_id")
        .bind(webhook)
        .bind(after)
        .bind(since.millis())
        .bind(until.millis())
        .bind(limit)
        .bind(now.millis())
        .all(&self.db.writer)
        .await?;
        let mut last: Option<EventId> = None;
        for row in &rows {
            last = last.max(Some(column(row, "event_id")?));
        }
        Ok((u64::try_from(rows.len()).unwrap_or(u64::MAX), last))
    }

    /// Keeps a test in the log.
    pub async fn note_test(
        &self,
        test: &TestDelivery<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("note_test").await?;
        let noted = sql("-- note_test
             INSERT INTO webhook_deliveries
                 (webhook_id, event_id, type, state, attempts, due_at, log, created_at)
             SELECT id, $2, 'webhook.test', $3, 1, NULL, '[' || $4 || ']', $5
             FROM webhooks WHERE id = $1")
        .bind(test.webhook)
        .bind(test.event)
        .bind(test.state.as_str())
        .json(test.log)
        .bind(now.millis())
        .run(&mut tx)
        .await?;
        if noted == 1 {
            sql(
                "-- note_test: its body\nINSERT INTO webhook_bodies (event_id, body) VALUES ($1, $2)",
            )
            .bind(test.event)
            .bind(test.body)
            .run(&mut tx)
            .await?;
        }
        tx.commit().await
    }

    /// Drops up to `limit` deliveries from before `before`; answers how many.
    pub async fn drop_deliveries(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        sql(
            "-- drop_deliveries
             DELETE FROM webhook_deliveries WHERE (webhook_id, event_id) IN
                 (SELECT webhook_id, event_id FROM webhook_deliveries WHERE created_at < $1 AND due_at IS NULL
                  ORDER BY created_at LIMIT $2)",
        )
        .bind(before.millis())
        .bind(limit)
        .run(&self.db.writer)
        .await
    }
}

fn delivery_row(row: &Row) -> Result<DeliveryRow, StoreError> {
    Ok(DeliveryRow {
        id: column(row, "event_id")?,
        r#type: column(row, "type")?,
        state: word(row, "webhook_deliveries", "state", DeliveryState::from_name)?,
        next_attempt_at: moment_or_none(row, "due_at")?,
        created_at: moment(row, "created_at")?,
        attempts: read_json(row, "webhook_deliveries", "log")?,
        body: read_json(row, "webhook_bodies", "body")?,
    })
}

fn message_delivery(row: &Row) -> Result<MessageDelivery, StoreError> {
    let log: Vec<WebhookAttempt> = read_json(row, "webhook_deliveries", "log")?;
    Ok(MessageDelivery {
        webhook: column(row, "id")?,
        url: column(row, "url")?,
        event: column(row, "event_id")?,
        r#type: column(row, "type")?,
        state: word(row, "webhook_deliveries", "state", DeliveryState::from_name)?,
        next_attempt_at: moment_or_none(row, "due_at")?,
        created_at: moment(row, "created_at")?,
        last_attempt: log.into_iter().next_back(),
    })
}

impl DeliveryState {
    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::Pending, Self::Delivered, Self::Failed].into_iter().find(|it| it.as_str() == word)
    }
}
