//! Attempts: which deliveries are due, how each attempt ended, and what that says of its webhook.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::super::Store;
use super::super::database::{
    Row, Sql, Tx, args, column, each, either, inconsistent, sql, to_json,
};
use super::super::tries::repeated;
use super::{WebhookOwner, WebhookState, disable, owner};
use crate::clock::Timestamp;
use crate::id::{EventId, WebhookId};
use crate::store::StoreError;

/// A webhook for which something waits.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub webhook: WebhookId,
    pub url: String,
    pub owner: WebhookOwner,
    /// Whether events are posted to it.
    pub state: WebhookState,
    /// Whether its last attempt failed.
    pub fails: bool,
    /// When the first of it is due.
    pub due: Timestamp,
}

#[derive(Debug, Clone)]
pub struct DueDelivery {
    pub event: EventId,
    /// The body of every attempt.
    pub body: String,
    /// Attempts before this one.
    pub attempts: u32,
    /// Since when it waits.
    pub handed_out: Timestamp,
}

/// How one attempt ended.
#[derive(Debug, Clone)]
pub struct DeliveryAttempt {
    pub webhook: WebhookId,
    pub event: EventId,
    pub at: Timestamp,
    /// The attempt, as the log shows it.
    pub log: WebhookAttempt,
    pub next: NextAttempt,
}

/// What follows an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextAttempt {
    /// Nothing: it was taken.
    None,
    /// Another one.
    At(Timestamp),
    /// Another one, of a delivery that has waited too long: its webhook is disabled if it takes nothing.
    Late(Timestamp),
    /// Nothing: it was the last one.
    Spent,
    /// Nothing: the endpoint says that it is gone (410).
    Gone,
}

/// One attempt, as the log keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookAttempt {
    /// When it ended.
    pub at: String,
    /// The status; none where there was no answer.
    pub status: Option<u16>,
    /// Why it was not taken.
    pub error: Option<String>,
    /// How long it took.
    pub millis: u64,
    /// The beginning of the answer.
    pub response: String,
}

/// What attempts say of their endpoint, with what was known of it before.
#[derive(Debug, Clone, Copy)]
pub struct EndpointHistory {
    /// It has answered that it is gone (410).
    pub is_gone: bool,
    /// A delivery has used up its attempts, or its time.
    pub has_given_up: bool,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
}

/// Attempts that the log of a delivery keeps, its newest: a schedule has ten, and an owner may ask for more.
const MAX_LOGGED_ATTEMPTS: u32 = 20;

/// Passes over deliveries that a node has leased, and rows that another transaction is leasing. The time of a lease goes by
/// the database's clock.
const LEASE: Sql = either(
    "-- lease_deliveries
    UPDATE webhook_deliveries
    SET leased_until = CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) + $4
    WHERE webhook_id = $1 AND event_id IN (
        SELECT event_id FROM webhook_deliveries
        WHERE webhook_id = $1 AND due_at <= $2
          AND coalesce(leased_until <= CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER), TRUE)
        ORDER BY due_at LIMIT $3)
    RETURNING event_id",
    "-- postgres: lease_deliveries
    WITH due AS MATERIALIZED (
        SELECT event_id FROM webhook_deliveries
        WHERE webhook_id = $1 AND due_at <= $2
          AND coalesce(leased_until <= CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT), TRUE)
        ORDER BY due_at LIMIT $3 FOR UPDATE SKIP LOCKED)
    UPDATE webhook_deliveries
    SET leased_until = CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) + $4
    WHERE webhook_id = $1 AND event_id IN (SELECT event_id FROM due)
    RETURNING event_id",
);

impl Store {
    /// The webhooks for which something waits, each with its first due time. It skips from webhook to
    /// webhook: how much waits for one does not matter.
    pub async fn waiting_webhooks(&self) -> Result<Vec<Waiting>, StoreError> {
        let any = sql("-- waiting_webhooks: any
             SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE due_at IS NOT NULL) AS any_waits")
        .one(&self.db.revisions)
        .await?;
        if !column::<bool>(&any, "any_waits")? {
            return Ok(Vec::new());
        }
        let rows = sql(
            "-- waiting_webhooks
             WITH RECURSIVE waiting (id) AS (
                 SELECT * FROM (SELECT webhook_id FROM webhook_deliveries WHERE due_at IS NOT NULL
                                ORDER BY webhook_id LIMIT 1) AS first
                 UNION ALL
                 SELECT (SELECT d.webhook_id FROM webhook_deliveries d
                         WHERE d.due_at IS NOT NULL AND d.webhook_id > waiting.id
                         ORDER BY d.webhook_id LIMIT 1)
                 FROM waiting WHERE waiting.id IS NOT NULL)
             SELECT w.id, w.account_id, w.url, w.state, w.failing_since IS NOT NULL AS fails,
                    (SELECT d.due_at FROM webhook_deliveries d
                     WHERE d.webhook_id = w.id AND d.due_at IS NOT NULL ORDER BY d.due_at LIMIT 1) AS due
             FROM waiting JOIN webhooks w ON w.id = waiting.id",
        )
        .all(&self.db.readers)
        .await?;
        let mut waiting = Vec::with_capacity(rows.len());
        for row in &rows {
            let state: String = column(row, "state")?;
            // Between the two looks of the statement its last delivery may have been settled.
            let Some(due) = column::<Option<i64>>(row, "due")? else { continue };
            waiting.push(Waiting {
                webhook: column(row, "id")?,
                url: column(row, "url")?,
                owner: owner(row)?,
                state: WebhookState::from_name(&state)
                    .ok_or_else(|| inconsistent("webhooks", "state", &state))?,
                fails: column(row, "fails")?,
                due: Timestamp::from_millis(due),
            });
        }
        Ok(waiting)
    }

    /// Up to `limit` deliveries of a webhook that are due, the longest first, leased or not: for a server that is alone, and
    /// knows by itself which of them are under way.
    pub async fn due_deliveries(
        &self,
        webhook: WebhookId,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let rows = sql("-- due_deliveries
             SELECT event_id, body, attempts, created_at
             FROM webhook_deliveries CROSS JOIN webhook_bodies USING (event_id)
             WHERE webhook_id = $1 AND due_at <= $2 ORDER BY due_at LIMIT $3")
        .bind(webhook)
        .bind(now.millis())
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .all(&self.db.readers)
        .await?;
        rows.iter().map(due_delivery).collect()
    }

    /// Leases up to `limit` deliveries of a webhook that are due and that no node has leased, the longest first. The lease
    /// lasts for `time`, by the database's clock, or until the delivery is settled.
    ///
    /// # Errors
    /// The database failed. Deliveries may be leased all the same; they are due again when that time is over.
    pub async fn lease_deliveries(
        &self,
        webhook: WebhookId,
        limit: usize,
        now: Timestamp,
        time: Duration,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        repeated!(self.lease_deliveries_once(webhook, limit, now, time))
    }

    async fn lease_deliveries_once(
        &self,
        webhook: WebhookId,
        limit: usize,
        now: Timestamp,
        time: Duration,
    ) -> Result<Vec<DueDelivery>, StoreError> {
        let mut tx = self.db.begin_beside("lease_deliveries").await?;
        let leased = sql(LEASE)
            .bind(webhook)
            .bind(now.millis())
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .bind(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
            .all(&mut tx)
            .await?;
        if leased.is_empty() {
            tx.rollback().await?;
            return Ok(Vec::new());
        }
        let leased: Vec<EventId> =
            leased.iter().map(|row| column(row, "event_id")).collect::<Result<_, StoreError>>()?;
        let rows = sql("-- lease_deliveries: read
             SELECT event_id, body, attempts, created_at
             FROM webhook_deliveries CROSS JOIN webhook_bodies USING (event_id)
             WHERE webhook_id = $1 AND event_id IN (SELECT unhex(value) FROM json_each($2))
             ORDER BY due_at")
        .bind(webhook)
        .ids(leased)
        .all(&mut tx)
        .await?;
        tx.commit().await?;
        rows.iter().map(due_delivery).collect()
    }

    /// Writes how attempts ended, in one transaction, and disables the webhooks for which there is a reason.
    ///
    /// # Errors
    /// The database failed; nothing was written.
    pub async fn settle_deliveries(
        &self,
        attempts: &[DeliveryAttempt],
        reason_to_disable: impl Fn(EndpointHistory) -> Option<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        repeated!(self.settle_deliveries_once(attempts, &reason_to_disable, now))
    }

    async fn settle_deliveries_once(
        &self,
        attempts: &[DeliveryAttempt],
        reason_to_disable: &impl Fn(EndpointHistory) -> Option<String>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        // In the order in which all lock deliveries, and webhooks after them.
        let mut attempts: Vec<&DeliveryAttempt> = attempts.iter().collect();
        attempts.sort_by_key(|it| (it.webhook, it.event));
        let mut tx = self.db.begin_beside("settle_deliveries").await?;
        each(
            either(
                "-- settle_deliveries
             UPDATE webhook_deliveries
             SET state = $3, due_at = $4, leased_until = NULL, attempts = attempts + 1,
                 log = json_insert(CASE WHEN json_array_length(log) < $6 THEN log
                                        ELSE json_remove(log, '$[0]') END,
                                   '$[#]', json($5))
             WHERE webhook_id = $1 AND event_id = $2 AND state = 'pending'",
                "-- postgres: settle_deliveries
             UPDATE webhook_deliveries
             SET state = $3, due_at = $4, leased_until = NULL, attempts = attempts + 1,
                 log = (SELECT '[' || string_agg(tries.value, ',' ORDER BY tries.number) || ']'
                        FROM (SELECT CAST(kept.value AS TEXT) AS value, kept.number
                              FROM json_array_elements(CAST(log AS JSON)) WITH ORDINALITY AS kept (value, number)
                              WHERE kept.number > json_array_length(CAST(log AS JSON)) - CAST($6 AS BIGINT) + 1
                              UNION ALL SELECT $5, 9223372036854775807) AS tries)
             WHERE webhook_id = $1 AND event_id = $2 AND state = 'pending'",
            ),
            attempts.iter().map(|it| {
                let (state, due) = it.next.columns();
                args![it.webhook, it.event, state, due, to_json(&it.log), MAX_LOGGED_ATTEMPTS]
            }),
        )
        .run(&mut tx)
        .await?;
        let mut seen = std::collections::BTreeSet::new();
        for it in attempts.iter().filter(|it| seen.insert(it.webhook)) {
            let of_it = attempts.iter().copied().filter(|other| other.webhook == it.webhook);
            let health = note_health(&mut tx, it.webhook, of_it).await?;
            if let Some(reason) = health.and_then(reason_to_disable) {
                disable(&mut tx, it.webhook, &reason, now).await?;
            }
        }
        tx.commit().await
    }

    /// Ends up to `limit` deliveries of a webhook that is disabled; answers how many.
    pub async fn end_deliveries(&self, webhook: WebhookId, limit: u32) -> Result<u64, StoreError> {
        sql("-- end_deliveries
             UPDATE webhook_deliveries SET state = 'failed', due_at = NULL
             WHERE (webhook_id, event_id) IN
                 (SELECT d.webhook_id, d.event_id
                  FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
                  WHERE d.webhook_id = $1 AND d.due_at IS NOT NULL AND w.state = 'disabled'
                  LIMIT $2)")
        .bind(webhook)
        .bind(limit)
        .run(&self.db.writer)
        .await
    }

    /// Makes deliveries due that wait for a moment of a clock which was ahead: at `now` what has not been
    /// attempted yet, for it was due when it was handed out, and at `latest` what is due after that. Answers
    /// how many.
    pub async fn mend_due_deliveries(
        &self,
        now: Timestamp,
        latest: Timestamp,
    ) -> Result<u64, StoreError> {
        // Each side of OR is a search in an index, and as a rule finds nothing.
        sql("-- mend_due_deliveries
             UPDATE webhook_deliveries SET due_at =
                 CASE WHEN attempts = 0 THEN $1 WHEN due_at < $2 THEN due_at ELSE $2 END
             WHERE (created_at > $1 AND attempts = 0 AND due_at > $1)
                OR (webhook_id IN (SELECT id FROM webhooks) AND due_at > $2)")
        .bind(now.millis())
        .bind(latest.millis())
        .run(&self.db.writer)
        .await
    }
}

fn due_delivery(row: &Row) -> Result<DueDelivery, StoreError> {
    Ok(DueDelivery {
        event: column(row, "event_id")?,
        body: column(row, "body")?,
        attempts: column(row, "attempts")?,
        handed_out: Timestamp::from_millis(column(row, "created_at")?),
    })
}

/// Notes on the webhook what these attempts say of its endpoint.
async fn note_health<'a>(
    tx: &mut Tx,
    webhook: WebhookId,
    attempts: impl Iterator<Item = &'a DeliveryAttempt> + Clone,
) -> Result<Option<EndpointHistory>, StoreError> {
    let taken =
        attempts.clone().filter(|it| it.next == NextAttempt::None).map(|it| it.at.millis()).max();
    let failed = attempts.clone().map(|it| it.at.millis()).min();
    let row = sql("-- note_health
         UPDATE webhooks SET succeeded_at = coalesce($2, succeeded_at),
                failing_since = CASE WHEN $2 IS NOT NULL THEN NULL
                                     WHEN failing_since < $3 THEN failing_since ELSE $3 END
         WHERE id = $1 RETURNING failing_since")
    .bind(webhook)
    .bind(taken)
    .bind(failed)
    .optional(tx)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(EndpointHistory {
        is_gone: attempts.clone().any(|it| it.next == NextAttempt::Gone),
        has_given_up: attempts
            .clone()
            .any(|it| matches!(it.next, NextAttempt::Spent | NextAttempt::Late(_))),
        failing_since: column::<Option<i64>>(&row, "failing_since")?.map(Timestamp::from_millis),
    }))
}

impl NextAttempt {
    fn columns(self) -> (&'static str, Option<i64>) {
        match self {
            Self::None => ("delivered", None),
            Self::At(due) | Self::Late(due) => ("pending", Some(due.millis())),
            Self::Spent | Self::Gone => ("failed", None),
        }
    }
}
