//! Turns events into deliveries: reads events after the cursor in order, and writes deliveries to webhooks in the
//! transaction that moves the cursor.

use std::collections::BTreeSet;

use futures_util::TryStreamExt as _;
use serde_json::{Map, Value};

use super::super::Store;
use super::super::database::{Row, Tx, args, column, each, json_or_empty, sql, word};
use super::super::event_kind::{EventKind, FIRST_OF_DOMAINS, LAST_OF_DOMAINS, LAST_OF_MESSAGES};
use super::super::events::{kind_of, subject_of};
use super::{WebhookOwner, WebhookRow, webhook_row};
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId, WebhookId};
use crate::message::state::MessageState;
use crate::store::StoreError;

/// Events that are looked through at one time, most of which may be nobody's.
const EVENTS_SCANNED: i64 = 20_000;
/// Bytes of events, as they are read, after which no more are: a message has up to 100 KiB of facts.
const MAX_EVENT_BYTES: usize = 4 << 20;

/// The next events after the cursor, and the webhooks that may want them.
#[derive(Debug)]
pub struct Backlog {
    /// Where the cursor stands.
    pub from: i64,
    /// Where it stands when all of these are published.
    pub to: i64,
    /// The active webhooks.
    pub webhooks: Vec<WebhookRow>,
    /// The events of their owners, in their order.
    pub events: Vec<PublishedEvent>,
}

/// An event with its subject, as it is posted.
#[derive(Debug, Clone)]
pub struct PublishedEvent {
    /// Its place in the order of all events.
    pub sequence: i64,
    pub id: EventId,
    /// Whose webhooks get it.
    pub owner: WebhookOwner,
    pub subject: String,
    pub r#type: EventKind,
    /// Why, or the facts as JSON.
    pub detail: String,
    /// What is posted besides the reason.
    pub facts: Map<String, Value>,
    pub at: Timestamp,
    pub about: EventSubject,
}

/// The subject of an event.
#[derive(Debug, Clone)]
pub enum EventSubject {
    Message(Box<MessageSubject>),
    /// The name of a domain.
    Domain(String),
    /// All is in the detail, or the subject is gone.
    Nothing,
}

/// A message, as it is posted.
#[derive(Debug, Clone)]
pub struct MessageSubject {
    pub recipient: String,
    pub sender: String,
    pub subject: String,
    /// The slug of its template.
    pub template: Option<String>,
    /// The sender's own words to find it by.
    pub tags: Value,
    /// The sender's own facts about it.
    pub metadata: Map<String, Value>,
    pub credits: i64,
    /// How many attempts had begun.
    pub attempt: i64,
    /// Where it stands now, which may be later than the event.
    pub state: MessageState,
}

/// An event for the webhooks that want it.
#[derive(Debug)]
pub struct NewDelivery {
    pub webhooks: Vec<WebhookId>,
    /// The event's place in the order.
    pub sequence: i64,
    pub event: EventId,
    pub r#type: EventKind,
    /// The body of every attempt.
    pub body: String,
}

impl Store {
    /// Up to `limit` events after the cursor for webhooks that are active, fewer where they are large;
    /// none where there is nothing after it, or no webhook at all.
    pub async fn webhook_backlog(&self, limit: u32) -> Result<Option<Backlog>, StoreError> {
        // Asked all the time and answered with no most of it: on the thread that asks.
        let heads = sql("-- webhook_backlog: how far
             SELECT (SELECT sequence FROM webhook_cursor) AS cursor,
                    (SELECT min(after_sequence) FROM webhooks WHERE state = 'active') AS first,
                    (SELECT coalesce(max(sequence), 0) FROM events) AS last")
        .one(&self.db.revisions)
        .await?;
        let (from, last): (i64, i64) = (column(&heads, "cursor")?, column(&heads, "last")?);
        let Some(first) = column::<Option<i64>>(&heads, "first")? else { return Ok(None) };
        let begin = from.max(first);
        if begin >= last {
            return Ok(None);
        }
        // An event has its number before it is there to be read. Behind all that write now, those up to `last` are
        // there, or never will be.
        self.db.wait_for_writers("webhook_backlog").await?;
        let mut tx = self.db.snapshot("webhook_backlog").await?;
        let rows = sql(
            "-- webhook_backlog: webhooks
             SELECT id, account_id, url, description, types, secret, earlier_secret, earlier_until, state,
                    reason, since, after_sequence, succeeded_at, failing_since, created_at
             FROM webhooks WHERE state = 'active'",
        )
        .all(&mut tx)
        .await?;
        let webhooks = readable("webhooks", rows.iter().map(webhook_row));
        let owners: BTreeSet<Option<AccountId>> =
            webhooks.iter().map(|it| it.owner.column()).collect();
        let mut to = last.min(begin + EVENTS_SCANNED);
        let mut rows = sql(
            "-- webhook_backlog
             SELECT e.sequence, e.id, e.subject, e.name, e.account_id, e.type, e.detail, e.facts, e.created_at,
                    m.recipient, m.sender, m.subject AS title, m.template_slug, m.tags, m.metadata, m.credits,
                    m.state, d.name AS domain,
                    (SELECT count(*) FROM events s WHERE s.subject = e.subject
                       AND s.type = $5 AND s.sequence <= e.sequence) AS attempt
             FROM events e
             LEFT JOIN messages m ON m.id = e.subject AND e.type <= $6
             LEFT JOIN domains d ON d.id = e.subject AND e.type BETWEEN $7 AND $8
             WHERE e.sequence > $1 AND e.sequence <= $2
               AND (e.account_id IN (SELECT unhex(value) FROM json_each($3))
                    OR ($9 AND e.account_id IS NULL))
             ORDER BY e.sequence LIMIT $4",
        )
        .bind(begin)
        .bind(to)
        .ids(owners.iter().copied().flatten())
        .bind(limit)
        .bind(EventKind::State(MessageState::Sending).number())
        .bind(LAST_OF_MESSAGES)
        .bind(FIRST_OF_DOMAINS)
        .bind(LAST_OF_DOMAINS)
        .bind(owners.contains(&None))
        .stream(&mut tx);
        let (mut events, mut count, mut bytes) = (Vec::new(), 0, 0);
        while let Some(row) = rows.try_next().await? {
            events.extend(readable("events", std::iter::once(self.published(&row))));
            (count, bytes) = (count + 1, bytes + size(&row)?);
            if count >= limit || bytes >= MAX_EVENT_BYTES {
                to = column(&row, "sequence")?;
                break;
            }
        }
        drop(rows);
        tx.rollback().await?;
        Ok(Some(Backlog { from, to, webhooks, events }))
    }

    /// Writes the deliveries and moves the cursor `from` one place `to` another, in one transaction. False, and nothing
    /// is written, when the cursor stands elsewhere. A webhook that is not active any
    /// more gets nothing.
    ///
    /// # Errors
    /// The database failed; nothing was written.
    pub async fn publish_events(
        &self,
        (from, to): (i64, i64),
        deliveries: &[NewDelivery],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin_beside("publish_events").await?;
        let moved = sql("-- publish_events: the cursor
             UPDATE webhook_cursor SET sequence = $2 WHERE id = 1 AND sequence = $1")
        .bind(from)
        .bind(to)
        .run(&mut tx)
        .await?;
        if moved == 0 {
            return Ok(false);
        }
        if !deliveries.is_empty() {
            insert(&mut tx, deliveries, now).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}

/// Writes deliveries to the webhooks that are still active, and one body of each event that has some.
async fn insert(tx: &mut Tx, deliveries: &[NewDelivery], now: Timestamp) -> Result<(), StoreError> {
    let mut each_webhook = Vec::new();
    for it in deliveries {
        let row =
            |to: &WebhookId| args![*to, it.event, it.r#type.as_str(), now.millis(), it.sequence];
        each_webhook.extend(it.webhooks.iter().map(row));
    }
    each(
        "-- publish_events
         INSERT INTO webhook_deliveries
             (webhook_id, event_id, type, state, attempts, due_at, log, created_at)
         SELECT id, $2, $3, 'pending', 0, $4, '[]', $4
         FROM webhooks WHERE id = $1 AND state = 'active' AND after_sequence < $5
         ON CONFLICT (webhook_id, event_id) DO NOTHING",
        each_webhook,
    )
    .run(&mut *tx)
    .await?;
    for it in deliveries {
        sql("-- publish_events: bodies
             INSERT INTO webhook_bodies (event_id, body)
             SELECT $1, $2
             WHERE EXISTS (SELECT 1 FROM webhook_deliveries
                           WHERE webhook_id IN (SELECT unhex(value) FROM json_each($3)) AND event_id = $1)
             ON CONFLICT (event_id) DO NOTHING")
        .bind(it.event)
        .bind(&it.body)
        .ids(it.webhooks.iter().copied())
        .run(&mut *tx)
        .await?;
    }
    Ok(())
}

/// The rows that this version can read: a broken one must not hold up the others.
fn readable<T>(table: &str, rows: impl Iterator<Item = Result<T, StoreError>>) -> Vec<T> {
    let log =
        |error| tracing::error!(table, %error, "a row cannot be read; no webhook gets its event");
    rows.filter_map(|row| row.map_err(log).ok()).collect()
}

/// The bytes of what may be long.
fn size(row: &Row) -> Result<usize, StoreError> {
    let mut size = 0;
    for name in ["detail", "title", "tags", "metadata"] {
        size += column::<Option<String>>(row, name)?.map_or(0, |it| it.len());
    }
    Ok(size)
}

impl Store {
    fn published(&self, row: &Row) -> Result<PublishedEvent, StoreError> {
        let kind = kind_of(row)?;
        Ok(PublishedEvent {
            sequence: column(row, "sequence")?,
            id: self.event_ids.of(row)?,
            owner: column(row, "account_id").map(WebhookOwner::of)?,
            subject: subject_of(row, kind)?,
            r#type: kind,
            detail: column(row, "detail")?,
            facts: json_or_empty(row, "events", "facts")?,
            at: Timestamp::from_millis(column(row, "created_at")?),
            about: about(row)?,
        })
    }
}

fn about(row: &Row) -> Result<EventSubject, StoreError> {
    if let Some(recipient) = column(row, "recipient")? {
        let tags: Vec<Value> = json_or_empty(row, "messages", "tags")?;
        return Ok(EventSubject::Message(Box::new(MessageSubject {
            recipient,
            sender: column(row, "sender")?,
            subject: column(row, "title")?,
            template: column(row, "template_slug")?,
            tags: Value::Array(tags),
            metadata: json_or_empty(row, "messages", "metadata")?,
            credits: column(row, "credits")?,
            attempt: column(row, "attempt")?,
            state: word(row, "messages", "state", MessageState::from_name)?,
        })));
    }
    let name: Option<String> = column(row, "domain")?;
    Ok(name.map_or(EventSubject::Nothing, EventSubject::Domain))
}
