//! The rows of the sandbox inbox, and the statements that write and read them in a file.

use std::fmt;
use std::str::FromStr;

use mail_parser::MessageParser;
use serde::{Serialize, Serializer};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row, SqliteConnection, SqlitePool};

use crate::clock::Timestamp;
use crate::store::{MailRow, NewMail, SandboxMail, WholeMailRow};

/// A message as it came in.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Whom the envelope names; each gets a row of its own.
    pub recipients: Vec<String>,
    /// The envelope's sender; empty for the null sender.
    pub return_path: String,
    /// The message, dots unstuffed.
    pub raw: Vec<u8>,
    /// When it was complete.
    pub received_at: Timestamp,
}

/// `raw` stands last: `SQLite` then reads a list without touching the pages of the messages.
pub const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS inbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  recipient TEXT NOT NULL COLLATE NOCASE,
  sender TEXT NOT NULL,
  sender_name TEXT NOT NULL,
  return_path TEXT NOT NULL,
  subject TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  size INTEGER NOT NULL,
  raw BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS inbox_by_recipient ON inbox (recipient, id);
CREATE TABLE IF NOT EXISTS inbox_total (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  messages INTEGER NOT NULL,
  bytes INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO inbox_total (one, messages, bytes) VALUES (1, 0, 0);
CREATE TRIGGER IF NOT EXISTS inbox_grows AFTER INSERT ON inbox BEGIN
  UPDATE inbox_total SET messages = messages + 1, bytes = bytes + new.size;
END;
CREATE TRIGGER IF NOT EXISTS inbox_shrinks AFTER DELETE ON inbox BEGIN
  UPDATE inbox_total SET messages = messages - 1, bytes = bytes - old.size;
END;
";

/// The name of a message in the inbox, e.g. `in_17`; later ones are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MailId(i64);

/// A text that names no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message in the inbox is named in_ and a number, such as in_17")]
pub struct InvalidMailId;

/// What a list shows of a message. Its JSON is part of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub id: MailId,
    /// The envelope's recipient.
    pub to: String,
    /// The address in its From; the envelope's sender where it has none.
    pub from: String,
    /// The display name in its From, or nothing.
    #[serde(skip)]
    pub from_name: String,
    /// Its subject, decoded, or nothing.
    pub subject: String,
    /// When it was complete; RFC 3339 in JSON.
    #[serde(serialize_with = "rfc3339")]
    pub received_at: Timestamp,
    /// How many bytes it has.
    #[serde(skip)]
    pub size: i64,
}

/// A whole message.
#[derive(Debug, Clone)]
pub struct StoredMessage {
    /// What a list shows of it.
    pub summary: Summary,
    /// The envelope's sender; empty for the null sender.
    pub return_path: String,
    /// The message as it was received, dots unstuffed.
    pub raw: Vec<u8>,
}

/// What is read from a message's header for the list.
pub struct ListedHeaders {
    sender: String,
    sender_name: String,
    subject: String,
}

impl ListedHeaders {
    /// Reads the header; a message without one has no subject and is from its return path.
    pub fn of(arrival: &Arrival) -> Self {
        let parsed = MessageParser::default().parse_headers(&arrival.raw);
        let from = parsed.as_ref().and_then(|it| it.from()).and_then(|it| it.first());
        Self {
            sender: from.and_then(|it| it.address()).unwrap_or(&arrival.return_path).to_owned(),
            sender_name: from.and_then(|it| it.name()).unwrap_or_default().to_owned(),
            subject: parsed.as_ref().and_then(|it| it.subject()).unwrap_or_default().to_owned(),
        }
    }

    /// The message for one of its recipients, as the shared database keeps it.
    pub fn mail<'a>(&'a self, recipient: &'a str, arrival: &'a Arrival) -> NewMail<'a> {
        NewMail {
            recipient,
            sender: &self.sender,
            sender_name: &self.sender_name,
            return_path: &arrival.return_path,
            subject: &self.subject,
            received_at: arrival.received_at,
            raw: &arrival.raw,
        }
    }
}

impl MailId {
    /// The number in the name.
    #[must_use]
    pub fn number(self) -> i64 {
        self.0
    }
}

impl From<MailRow> for Summary {
    fn from(row: MailRow) -> Self {
        let MailRow { id, recipient, sender, sender_name, subject, received_at, size } = row;
        Self {
            id: MailId(id),
            to: recipient,
            from: sender,
            from_name: sender_name,
            subject,
            received_at,
            size,
        }
    }
}

impl From<WholeMailRow> for StoredMessage {
    fn from(whole: WholeMailRow) -> Self {
        let WholeMailRow { row, return_path, raw } = whole;
        Self { summary: Summary::from(row), return_path, raw }
    }
}

pub async fn insert(
    connection: &mut SqliteConnection,
    recipient: &str,
    heading: &ListedHeaders,
    arrival: &Arrival,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "-- inbox_insert
         INSERT INTO inbox
           (recipient, sender, sender_name, return_path, subject, received_at, size, raw)
         VALUES ($1, $2, $3, $4, $5, $6, length($7), $7)",
    )
    .bind(recipient)
    .bind(&heading.sender)
    .bind(&heading.sender_name)
    .bind(&arrival.return_path)
    .bind(&heading.subject)
    .bind(arrival.received_at.millis())
    .bind(&arrival.raw)
    .execute(connection)
    .await
    .map(|_| ())
}

/// Deletes the copy of a message that was sent: a trigger counts it.
pub async fn delete_sent(
    connection: &mut SqliteConnection,
    mail: &SandboxMail,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "-- inbox_delete_sent
         DELETE FROM inbox
         WHERE recipient = $1 AND lower(sender) = lower($2) AND received_at BETWEEN $3 AND $4",
    )
    .bind(&mail.recipient)
    .bind(&mail.sender)
    .bind(mail.since.millis())
    .bind(mail.until.millis())
    .execute(connection)
    .await
    .map(|_| ())
}

/// Reads a list, newest first.
pub async fn list(
    readers: &SqlitePool,
    limit: i64,
    after: Option<MailId>,
    to: Option<&str>,
) -> Result<Vec<Summary>, sqlx::Error> {
    let before = after.map_or(i64::MAX, |id| id.0);
    let query = match to {
        None => sqlx::query_as(
            "-- inbox_list
             SELECT id, recipient, sender, sender_name, subject, received_at, size
             FROM inbox WHERE id < $1 ORDER BY id DESC LIMIT $2",
        )
        .bind(before)
        .bind(limit),
        Some(to) => sqlx::query_as(
            "-- inbox_list_to
             SELECT id, recipient, sender, sender_name, subject, received_at, size
             FROM inbox WHERE recipient = $1 AND id < $2 ORDER BY id DESC LIMIT $3",
        )
        .bind(to)
        .bind(before)
        .bind(limit),
    };
    query.fetch_all(readers).await
}

/// Reads a whole message.
pub async fn find(readers: &SqlitePool, id: MailId) -> Result<Option<StoredMessage>, sqlx::Error> {
    sqlx::query_as(
        "-- inbox_find
         SELECT id, recipient, sender, sender_name, return_path, subject, received_at, size, raw
         FROM inbox WHERE id = $1",
    )
    .bind(id.0)
    .fetch_optional(readers)
    .await
}

impl<'r> FromRow<'r, SqliteRow> for Summary {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: MailId(row.try_get("id")?),
            to: row.try_get("recipient")?,
            from: row.try_get("sender")?,
            from_name: row.try_get("sender_name")?,
            subject: row.try_get("subject")?,
            received_at: Timestamp::from_millis(row.try_get("received_at")?),
            size: row.try_get("size")?,
        })
    }
}

impl<'r> FromRow<'r, SqliteRow> for StoredMessage {
    fn from_row(row: &'r SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            summary: Summary::from_row(row)?,
            return_path: row.try_get("return_path")?,
            raw: row.try_get("raw")?,
        })
    }
}

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in_{}", self.0)
    }
}

impl FromStr for MailId {
    type Err = InvalidMailId;

    fn from_str(text: &str) -> Result<Self, InvalidMailId> {
        let digits = text.strip_prefix("in_").ok_or(InvalidMailId)?;
        let number = digits.parse().map_err(|_| InvalidMailId)?;
        if format!("{number}") == digits { Ok(Self(number)) } else { Err(InvalidMailId) }
    }
}

impl Serialize for MailId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn rfc3339<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&moment.rfc3339())
}
