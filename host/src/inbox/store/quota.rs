//! Bounds the inbox: the oldest messages are deleted, a few at a time.

use sqlx::SqlitePool;

use crate::store::embedded::{cut, excess};

/// Free pages that one arrival gives back to the disk at most, when it made older messages go.
const MAX_FREED_PAGES: u32 = 500;

/// At most this much is kept. The totals are counted by triggers, never by a walk over the table.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub messages: i64,
    /// Bytes of messages.
    pub bytes: i64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { messages: 10_000, bytes: 256 * 1_024 * 1_024 }
    }
}

/// Deletes what is too much, at most 64 messages a statement, so that arrivals get between, and gives
/// some of the room back that nothing will soon use again.
pub async fn trim(writer: &SqlitePool, bounds: Bounds) -> Result<(), sqlx::Error> {
    if !is_over(writer, bounds).await? {
        return Ok(());
    }
    delete_oldest(writer, bounds).await?;
    let excess = excess(writer).await?;
    if excess > 0 { cut(writer, excess.min(MAX_FREED_PAGES)).await } else { Ok(()) }
}

async fn delete_oldest(writer: &SqlitePool, bounds: Bounds) -> Result<(), sqlx::Error> {
    while is_over(writer, bounds).await? {
        let deleted = sqlx::query(
            "-- inbox_trim
             DELETE FROM inbox WHERE id IN (
               SELECT oldest.id FROM inbox_total, (
                 SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS place,
                        SUM(size) OVER (ORDER BY id) - size AS freed_before
                 FROM (SELECT id, size FROM inbox ORDER BY id LIMIT 64)
               ) AS oldest
               WHERE oldest.place <= inbox_total.messages - $1
                  OR oldest.freed_before < inbox_total.bytes - $2)",
        )
        .bind(bounds.messages)
        .bind(bounds.bytes)
        .execute(writer)
        .await?;
        if deleted.rows_affected() == 0 {
            break;
        }
    }
    Ok(())
}

/// How many messages there are.
pub async fn count(readers: &SqlitePool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("-- inbox_count\nSELECT messages FROM inbox_total").fetch_one(readers).await
}

async fn is_over(writer: &SqlitePool, bounds: Bounds) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("-- inbox_is_over\nSELECT messages > $1 OR bytes > $2 FROM inbox_total")
        .bind(bounds.messages)
        .bind(bounds.bytes)
        .fetch_one(writer)
        .await
}
