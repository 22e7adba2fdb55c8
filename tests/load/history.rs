//! Messages that were sent long ago, written straight into the database of a server that does not run.

mod postgres;

use std::io;
use std::path::Path;
use std::time::SystemTime;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection as _};

pub use postgres::fill as fill_postgres;

/// Over which the messages are spread.
const DAYS: i64 = 29;
/// Rows of one transaction.
const BATCH: u32 = 100_000;
/// Changes in the audit log, and addresses of the suppression list.
const OTHER_ROWS: u32 = 100_000;
const DAY_MS: i64 = 86_400_000;

/// Messages of the last weeks, as if they had been sent long ago; and as many changes and suppressions as a large account
/// may have. The rows of a message that only its own page reads are not there.
pub async fn fill(data: &Path, messages: u32) -> io::Result<()> {
    let options = SqliteConnectOptions::new().filename(data.join("waxwing.db"));
    let mut database = options.connect().await.map_err(io::Error::other)?;
    let Times { now, first, step } = Times::of(messages)?;
    let batch = usize::try_from(BATCH).unwrap_or(usize::MAX);
    for begin in (0..messages).step_by(batch) {
        sqlx::query(MESSAGES)
            .bind(begin)
            .bind(messages.min(begin + BATCH))
            .bind(first)
            .bind(step)
            .execute(&mut database)
            .await
            .map_err(io::Error::other)?;
    }
    let body = lz4_flex::compress_prepend_size(BODY);
    sqlx::query(
        "INSERT INTO bodies (message_id, bytes) SELECT id, ?1 FROM messages ORDER BY id LIMIT 1",
    )
    .bind(body)
    .execute(&mut database)
    .await
    .map_err(io::Error::other)?;
    for statement in COUNTS {
        sqlx::query(statement).execute(&mut database).await.map_err(io::Error::other)?;
    }
    for statement in OTHERS {
        sqlx::query(statement)
            .bind(OTHER_ROWS)
            .bind(now)
            .execute(&mut database)
            .await
            .map_err(io::Error::other)?;
    }
    database.close().await.map_err(io::Error::other)
}

/// When messages were sent, in milliseconds.
struct Times {
    now: i64,
    /// Of the first one.
    first: i64,
    /// From one to the next.
    step: i64,
}

impl Times {
    fn of(messages: u32) -> io::Result<Self> {
        let now = SystemTime::UNIX_EPOCH.elapsed().map_err(io::Error::other)?.as_millis();
        let now = i64::try_from(now).map_err(io::Error::other)?;
        let step = (DAYS * DAY_MS - 60_000) / i64::from(messages);
        Ok(Self { now, first: now - DAYS * DAY_MS, step: step.max(1) })
    }
}

/// Of all of them.
const BODY: &[u8] = b"From: hello@sandbox.test\r\nTo: load@example.com\r\nSubject: Your order\r\n\
    Content-Type: text/html; charset=utf-8\r\n\r\n<p>Thank you.</p>\r\n";

/// The numbers `?1` to `?2` without it; the time of number 0 `?3`; from one to the next `?4`.
const MESSAGES: &str = "
    INSERT INTO messages (id, period, account_id, key_id, channel, sender, domain_id, recipient, subject, route,
                          state, reason, credits, decisions, body_of, created_at, updated_at)
    WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    SELECT unhex(printf('%012X%020X', ?3 + i * ?4, i)), (?3 + i * ?4) / 3600000, d.account_id,
           (SELECT min(id) FROM keys k WHERE k.account_id = d.account_id), 'api', 'hello@' || d.name, d.id,
           printf('load-%09d@example.com', i % 200000), printf('Your order %d', i), 'sandbox',
           CASE WHEN i % 200 < 3 THEN 'bounced' WHEN i % 200 = 3 THEN 'failed' WHEN i % 200 = 4 THEN 'suppressed'
                ELSE 'delivered' END,
           '250 2.0.0 Ok', 1, '[]', unhex(printf('%012X%020X', ?3, 0)), ?3 + i * ?4, ?3 + i * ?4 + 900
    FROM n, domains d WHERE d.kind = 'sandbox'";
const COUNTS: [&str; 3] = [
    "INSERT INTO sent (period, state, account_id, changes)
     SELECT period, 'accepted', account_id, count(*) FROM messages GROUP BY period, account_id
     ON CONFLICT DO UPDATE SET changes = changes + excluded.changes",
    "INSERT INTO sent (period, state, account_id, changes)
     SELECT period, state, account_id, count(*) FROM messages WHERE state <> 'accepted'
     GROUP BY period, state, account_id
     ON CONFLICT DO UPDATE SET changes = changes + excluded.changes",
    "INSERT INTO usage (day, account_id, sent)
     SELECT created_at / 86400000, account_id, count(*) FROM messages GROUP BY 1, 2
     ON CONFLICT DO UPDATE SET sent = sent + excluded.sent",
];
/// So many rows `?1`, at the moment `?2`.
const OTHERS: [&str; 2] = [
    "INSERT INTO suppressions (account_id, address, kind, reason, created_at)
     WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
     SELECT d.account_id, printf('load-%09d@gone.example', i),
            CASE WHEN i % 1000 = 0 THEN 'complaint' ELSE 'bounce' END, '550 5.1.1 no such user', ?2
     FROM n, domains d WHERE d.kind = 'sandbox'",
    "INSERT INTO audit (created_at, account_id, actor, action, subject)
     WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
     SELECT ?2, d.account_id, 'command-line', 'add_suppression', printf('load-%d@example.com', i)
     FROM n, domains d WHERE d.kind = 'sandbox'",
];
