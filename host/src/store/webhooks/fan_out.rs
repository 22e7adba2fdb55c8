//! Turns events into deliveries: reads events after the cursor in order, and writes deliveries to webhooks in the
//! transaction that moves the cursor.

use futures_util::TryStreamExt as _;
use serde_json::{Map, Value, json};

use super::super::Store;
use super::super::database::{Row, Tx, column, json as read_json, parsed, sql};
use super::{WebhookOwner, WebhookRow, webhook_row};
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId, WebhookId};
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

/// An event with its subject, as webhooks are told of it.
#[derive(Debug, Clone)]
pub struct PublishedEvent {
    /// Its place in the order of all events.
    pub sequence: i64,
    pub id: EventId,
    /// Whose webhooks are told.
    pub owner: WebhookOwner,
    pub subject: String,
    /// As in `message.delivered`.
    pub r#type: String,
    /// Why, or the facts as JSON.
    pub detail: String,
    /// What is told besides the reason.
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

/// A message, as webhooks are told of it.
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
    pub state: String,
}

/// An event for the webhooks that want it.
#[derive(Debug)]
pub struct NewDelivery {
    pub webhooks: Vec<WebhookId>,
    /// The event's place in the order.
    pub sequence: i64,
    pub event: EventId,
    pub r#type: String,
    /// The body of every try.
    pub body: String,
}

impl Store {
    /// Up to `limit` events after the cursor for webhooks that are active, fewer where they are large;
    /// none where there is nothing after it, or no webhook at all.
    pub async fn webhook_backlog(&self, limit: u32) -> Result<Option<Backlog>, StoreError> {
        let mut tx = self.db.snapshot("webhook_backlog").await?;
        let heads = sql("-- webhook_backlog: how far
             SELECT (SELECT sequence FROM webhook_cursor) AS cursor,
                    (SELECT min(after_sequence) FROM webhooks WHERE state = 'active') AS first,
                    (SELECT coalesce(max(sequence), 0) FROM events) AS last")
        .one(&mut tx)
        .await?;
        let (from, last): (i64, i64) = (column(&heads, "cursor")?, column(&heads, "last")?);
        let Some(first) = column::<Option<i64>>(&heads, "first")? else { return Ok(None) };
        let begin = from.max(first);
        if begin >= last {
            return Ok(None);
        }
        let rows = sql(
            "-- webhook_backlog: webhooks
             SELECT id, account_id, url, description, types, secret, earlier_secret, earlier_until, state,
                    reason, since, after_sequence, succeeded_at, failing_since, created_at
             FROM webhooks WHERE state = 'active'",
        )
        .all(&mut tx)
        .await?;
        let webhooks = readable("webhooks", rows.iter().map(webhook_row));
        let mut owners: Vec<String> =
            webhooks.iter().map(|it| it.owner.column().unwrap_or_default()).collect();
        owners.sort_unstable();
        owners.dedup();
        let mut to = last.min(begin + EVENTS_SCANNED);
        let mut rows = sql(
            "-- webhook_backlog
             SELECT e.sequence, e.id, e.subject, e.account_id, e.type, e.detail, e.facts, e.created_at,
                    m.recipient, m.sender, m.subject AS title, m.template_slug, m.tags, m.metadata, m.credits,
                    m.state, d.name AS domain,
                    (SELECT count(*) FROM events s WHERE s.subject = e.subject
                       AND s.type = 'message.sending' AND s.sequence <= e.sequence) AS attempt
             FROM events e LEFT JOIN messages m ON m.id = e.subject LEFT JOIN domains d ON d.id = e.subject
             WHERE e.sequence > $1 AND e.sequence <= $2
               AND e.account_id IN (SELECT value FROM json_each($3))
             ORDER BY e.sequence LIMIT $4",
        )
        .bind(begin)
        .bind(to)
        .list(&owners)
        .bind(limit)
        .stream(&mut tx);
        let (mut events, mut count, mut bytes) = (Vec::new(), 0, 0);
        while let Some(row) = rows.try_next().await? {
            events.extend(readable("events", std::iter::once(event(&row))));
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
        let mut tx = self.db.begin("publish_events").await?;
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
    let rows = deliveries.iter().map(|it| {
        json!({"webhooks": it.webhooks, "sequence": it.sequence, "event": it.event, "type": it.r#type})
    });
    sql(
        "-- publish_events
         WITH told AS MATERIALIZED (
             SELECT value ->> 'sequence' AS sequence, value ->> 'event' AS event, value ->> 'type' AS type,
                    value -> 'webhooks' AS webhooks
             FROM json_each($1))
         INSERT INTO webhook_deliveries
             (webhook_id, event_id, type, state, attempts, due_at, log, created_at)
         SELECT w.id, told.event, told.type, 'pending', 0, $2, '[]', $2
         FROM told, json_each(told.webhooks) AS one JOIN webhooks w ON w.id = one.value
         WHERE w.state = 'active' AND w.after_sequence < told.sequence
         ON CONFLICT (webhook_id, event_id) DO NOTHING",
    )
    .json(&rows.collect::<Vec<Value>>())
    .bind(now.millis())
    .run(&mut *tx)
    .await?;
    let bodies = deliveries
        .iter()
        .map(|it| json!({"webhooks": it.webhooks, "event": it.event, "body": it.body}));
    sql(
        "-- publish_events: bodies
         WITH told AS MATERIALIZED (
             SELECT value ->> 'event' AS event, value ->> 'body' AS body, value -> 'webhooks' AS webhooks
             FROM json_each($1))
         INSERT INTO webhook_bodies (event_id, body)
         SELECT told.event, told.body FROM told
         WHERE EXISTS (SELECT 1 FROM json_each(told.webhooks) AS one
                       JOIN webhook_deliveries d ON d.webhook_id = one.value AND d.event_id = told.event)
         ON CONFLICT (event_id) DO NOTHING",
    )
    .json(&bodies.collect::<Vec<Value>>())
    .run(&mut *tx)
    .await.map(|_| ())
}

/// The rows that this version can read: a broken one must not hold up the others.
fn readable<T>(table: &str, rows: impl Iterator<Item = Result<T, StoreError>>) -> Vec<T> {
    let log = |error| tracing::error!(table, %error, "a row is passed over by webhooks");
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

fn event(row: &Row) -> Result<PublishedEvent, StoreError> {
    let account: String = column(row, "account_id")?;
    let owner = if account.is_empty() {
        WebhookOwner::Server
    } else {
        WebhookOwner::Account(parsed::<AccountId>(row, "events", "account_id")?)
    };
    let domain: Option<String> = column(row, "domain")?;
    Ok(PublishedEvent {
        sequence: column(row, "sequence")?,
        id: parsed(row, "events", "id")?,
        owner,
        subject: column(row, "subject")?,
        r#type: column(row, "type")?,
        detail: column(row, "detail")?,
        facts: match column::<Option<String>>(row, "facts")? {
            Some(_) => read_json(row, "events", "facts")?,
            None => Map::new(),
        },
        at: Timestamp::from_millis(column(row, "created_at")?),
        about: match (column::<Option<String>>(row, "recipient")?, domain) {
            (Some(recipient), _) => EventSubject::Message(Box::new(MessageSubject {
                recipient,
                sender: column(row, "sender")?,
                subject: column(row, "title")?,
                template: column(row, "template_slug")?,
                tags: read_json(row, "messages", "tags")?,
                metadata: read_json(row, "messages", "metadata")?,
                credits: column(row, "credits")?,
                attempt: column(row, "attempt")?,
                state: column(row, "state")?,
            })),
            (None, Some(name)) => EventSubject::Domain(name),
            (None, None) => EventSubject::Nothing,
        },
    })
}
