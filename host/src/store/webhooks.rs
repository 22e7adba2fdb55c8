//! Webhooks: where events are posted. Their secrets come and go sealed; who may open them is decided
//! elsewhere.

mod deliveries;
mod fan_out;
mod attempts;

#[cfg(test)]
mod tests;

use serde_json::json;

use super::Store;
use super::database::{Row, Tx, column, json, moment, moment_or_none, sql, to_json, word};
use super::event_kind::EventKind;
use super::events::{About, record_event};
use crate::clock::Timestamp;
use crate::id::{AccountId, Identifier, WebhookId};
use crate::store::StoreError;

pub use attempts::{
    DeliveryAttempt, DueDelivery, EndpointHistory, NextAttempt, Waiting, WebhookAttempt,
};
pub use deliveries::{
    DeliveryPage, DeliveryRow, DeliveryState, MAX_COUNTED_DELIVERIES, MessageDelivery,
    TestDelivery, WebhookCounts,
};
pub use fan_out::{Backlog, EventSubject, MessageSubject, NewDelivery, PublishedEvent};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookRow {
    pub id: WebhookId,
    pub owner: WebhookOwner,
    /// Where events are posted to.
    pub url: String,
    /// What its owner says about it.
    pub description: String,
    /// The wanted types of events; empty for all.
    pub types: Vec<String>,
    pub secret: Vec<u8>,
    /// The sealed secret before it, and until when that signs too.
    pub earlier: Option<(Vec<u8>, Timestamp)>,
    /// Whether events are posted to the webhook.
    pub state: WebhookState,
    pub reason: String,
    /// Since when it is in its state.
    pub since: Timestamp,
    /// Only events behind this one are posted.
    pub after_sequence: i64,
    /// When it last took an event.
    pub succeeded_at: Option<Timestamp>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    pub created_at: Timestamp,
}

/// Whose a webhook is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WebhookOwner {
    /// An account's.
    Account(AccountId),
    /// The server's operator's.
    Server,
}

/// Whether events are posted to a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WebhookState {
    /// It is.
    Active,
    /// It is not.
    Disabled,
}

/// A webhook to add.
#[derive(Debug)]
pub struct NewWebhook {
    pub id: WebhookId,
    pub owner: WebhookOwner,
    /// Where events are posted to.
    pub url: String,
    /// What its owner says about it.
    pub description: String,
    /// The wanted types of events; empty for all.
    pub types: Vec<String>,
    pub secret: Vec<u8>,
}

/// The fields to change; fields left out keep their value.
#[derive(Debug, Default)]
pub struct WebhookChange {
    /// Where events are posted to.
    pub url: Option<String>,
    /// What its owner says about it.
    pub description: Option<String>,
    /// The wanted types of events.
    pub types: Option<Vec<String>>,
    pub state: Option<(WebhookState, String)>,
}

impl Store {
    /// Adds a webhook, unless `decide` refuses it on the number that its owner has. Events from now on are
    /// posted to it.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn add_webhook<E>(
        &self,
        new: &NewWebhook,
        now: Timestamp,
        decide: impl Fn(u32) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("add_webhook").await?;
        let have = sql("-- add_webhook: count
             SELECT count(*) AS webhooks FROM webhooks WHERE account_id IS NOT DISTINCT FROM $1")
        .bind(new.owner.column())
        .one(&mut tx)
        .await?;
        if let Err(refused) = decide(column(&have, "webhooks")?) {
            return Ok(Err(refused));
        }
        sql(
            "-- add_webhook
             INSERT INTO webhooks (id, account_id, url, description, types, secret, state, reason, since,
                                   after_sequence, created_at)
             SELECT $1, $2, $3, $4, $5, $6, 'active', 'created', $7,
                    (SELECT coalesce(max(sequence), 0) FROM events), $7",
        )
        .bind(new.id)
        .bind(new.owner.column())
        .bind(&new.url)
        .bind(&new.description)
        .json(&new.types)
        .bind(&new.secret)
        .bind(now.millis())
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Webhooks of an owner in the order of their making, behind `after`.
    pub async fn webhooks(
        &self,
        owner: WebhookOwner,
        after: Option<WebhookId>,
        limit: u32,
    ) -> Result<Vec<WebhookRow>, StoreError> {
        let rows = sql(
            "-- webhooks
             SELECT id, account_id, url, description, types, secret, earlier_secret, earlier_until, state,
                    reason, since, after_sequence, succeeded_at, failing_since, created_at
             FROM webhooks WHERE account_id IS NOT DISTINCT FROM $1 AND id > $2 ORDER BY id LIMIT $3",
        )
        .bind(owner.column())
        .bind(after.unwrap_or(Identifier::MIN))
        .bind(limit)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(webhook_row).collect()
    }

    /// Webhooks that are on and have taken nothing since `before`, and those of the server's operator that are off.
    pub async fn webhooks_in_trouble(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<WebhookRow>, StoreError> {
        let rows = sql(
            "-- webhooks_in_trouble
             SELECT id, account_id, url, description, types, secret, earlier_secret, earlier_until, state,
                    reason, since, after_sequence, succeeded_at, failing_since, created_at
             FROM webhooks
             WHERE (state = 'active' AND failing_since <= $1) OR (state = 'disabled' AND account_id IS NULL)
             ORDER BY id LIMIT $2",
        )
        .bind(before.millis())
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(webhook_row).collect()
    }

    pub async fn webhook(&self, id: WebhookId) -> Result<Option<WebhookRow>, StoreError> {
        sql(
            "-- webhook
             SELECT id, account_id, url, description, types, secret, earlier_secret, earlier_until, state,
                    reason, since, after_sequence, succeeded_at, failing_since, created_at
             FROM webhooks WHERE id = $1",
        )
        .bind(id)
        .optional(&self.db.readers)
        .await?
        .map(|row| webhook_row(&row))
        .transpose()
    }

    /// Changes a webhook; answers whether there is one. One that becomes active again gets what
    /// happens from now on.
    pub async fn change_webhook(
        &self,
        id: WebhookId,
        change: &WebhookChange,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("change_webhook").await?;
        let changed = sql("-- change_webhook
             UPDATE webhooks SET url = coalesce($2, url), description = coalesce($3, description),
                                 types = coalesce($4, types)
             WHERE id = $1")
        .bind(id)
        .bind(&change.url)
        .bind(&change.description)
        .bind(change.types.as_ref().map(to_json))
        .run(&mut tx)
        .await?;
        match &change.state {
            Some((WebhookState::Active, reason)) => {
                sql(
                    "-- change_webhook: active again
                     UPDATE webhooks SET state = 'active', reason = $2, since = $3, failing_since = NULL,
                            after_sequence = (SELECT coalesce(max(sequence), 0) FROM events)
                     WHERE id = $1 AND state = 'disabled'",
                )
                .bind(id)
                .bind(reason)
                .bind(now.millis())
                .run(&mut tx)
                .await?;
            }
            Some((WebhookState::Disabled, reason)) => disable(&mut tx, id, reason, now).await?,
            None => {}
        }
        tx.commit().await?;
        Ok(changed == 1)
    }

    /// Gives a webhook another secret; the one that it has signs too until `until`. Answers whether there
    /// is such a webhook, and no secret before it that still signs.
    pub async fn rotate_webhook(
        &self,
        id: WebhookId,
        secret: &[u8],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        sql("-- rotate_webhook
             UPDATE webhooks SET earlier_secret = secret, earlier_until = $3, secret = $2
             WHERE id = $1 AND coalesce(earlier_until <= $4, TRUE)")
        .bind(id)
        .bind(secret)
        .bind(until.millis())
        .bind(now.millis())
        .run(&self.db.writer)
        .await
        .map(|rows| rows == 1)
    }

    /// Removes a webhook with its deliveries: at most `batch` of them a transaction, so that no send waits
    /// long; nothing is posted to it meanwhile.
    ///
    /// # Errors
    /// The database failed; what is left of it is disabled.
    pub async fn remove_webhook(
        &self,
        id: WebhookId,
        reason: &str,
        batch: u32,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sql("-- remove_webhook: no more for it
             UPDATE webhooks SET state = 'disabled', reason = $2, since = $3 WHERE id = $1")
        .bind(id)
        .bind(reason)
        .bind(now.millis())
        .run(&self.db.writer)
        .await?;
        loop {
            let gone = sql(
                "-- remove_webhook: its deliveries
                 DELETE FROM webhook_deliveries WHERE (webhook_id, event_id) IN
                     (SELECT webhook_id, event_id FROM webhook_deliveries WHERE webhook_id = $1 LIMIT $2)",
            )
            .bind(id)
            .bind(batch)
            .run(&self.db.writer)
            .await?;
            if gone < u64::from(batch) {
                break;
            }
        }
        // With what was handed out meanwhile: a delivery without its webhook would take others' bodies.
        let mut tx = self.db.begin("remove_webhook").await?;
        for statement in [
            "-- remove_webhook: the last deliveries\nDELETE FROM webhook_deliveries WHERE webhook_id = $1",
            "-- remove_webhook\nDELETE FROM webhooks WHERE id = $1",
        ] {
            sql(statement).bind(id).run(&mut tx).await?;
        }
        tx.commit().await
    }
}

/// Switches an active webhook off, with its event.
async fn disable(
    tx: &mut Tx,
    id: WebhookId,
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let row = sql("-- disable
         UPDATE webhooks SET state = 'disabled', reason = $2, since = $3
         WHERE id = $1 AND state = 'active' RETURNING account_id, url")
    .bind(id)
    .bind(reason)
    .bind(now.millis())
    .optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(()) };
    let account: Option<AccountId> = column(&row, "account_id")?;
    let detail = json!({"webhookId": id, "url": column::<String>(&row, "url")?, "reason": reason});
    let (kind, about) = (EventKind::WebhookDisabled, About::of(id));
    record_event(tx, kind, about, account, &detail.to_string(), now).await
}

fn owner(row: &Row) -> Result<WebhookOwner, StoreError> {
    column(row, "account_id").map(WebhookOwner::of)
}

fn webhook_row(row: &Row) -> Result<WebhookRow, StoreError> {
    let earlier: Option<Vec<u8>> = column(row, "earlier_secret")?;
    Ok(WebhookRow {
        id: column(row, "id")?,
        owner: owner(row)?,
        url: column(row, "url")?,
        description: column(row, "description")?,
        types: json(row, "webhooks", "types")?,
        secret: column(row, "secret")?,
        earlier: earlier.zip(moment_or_none(row, "earlier_until")?),
        state: word(row, "webhooks", "state", WebhookState::from_name)?,
        reason: column(row, "reason")?,
        since: moment(row, "since")?,
        after_sequence: column(row, "after_sequence")?,
        succeeded_at: moment_or_none(row, "succeeded_at")?,
        failing_since: moment_or_none(row, "failing_since")?,
        created_at: moment(row, "created_at")?,
    })
}

impl WebhookOwner {
    /// What stands in the database; none for the server's.
    fn column(self) -> Option<AccountId> {
        match self {
            Self::Account(id) => Some(id),
            Self::Server => None,
        }
    }

    fn of(account: Option<AccountId>) -> Self {
        account.map_or(Self::Server, Self::Account)
    }
}

impl WebhookState {
    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        [Self::Active, Self::Disabled].into_iter().find(|it| it.as_str() == word)
    }
}
