//! Messages straight into the database, while no server runs on it: a queue of a million would take
//! an hour over HTTP.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::smtp::Letter;

/// Rows of one transaction.
const BATCH: u32 = 50_000;
/// A body of a template with a few items.
const LARGE: usize = 8 << 10;

/// What the messages of a queue have for their content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bodies {
    /// 2 KiB, each its own.
    Own,
    /// 8 KiB, one for so many.
    Shared(u32),
}

/// Messages that wait.
#[derive(Debug, Clone, Copy)]
pub struct Waiting {
    pub messages: u32,
    /// Their recipients; `%d` stands for the number.
    pub recipients: &'static str,
    /// They go to so many domains, which the recipients name by a second number.
    pub domains: u32,
    /// `configured` or `sandbox`.
    pub route: &'static str,
}

impl Waiting {
    pub fn for_one_domain(messages: u32) -> Self {
        Self { messages, recipients: "load-%09d@example.com", domains: 1, route: "configured" }
    }
}

/// The database of a server that does not run.
pub struct Filling {
    database: SqliteConnection,
    from: String,
    /// The number of the next message.
    next: u32,
}

impl Filling {
    /// For messages from this address, whose domain the server has.
    pub async fn open(data: &Path, from: &str) -> io::Result<Self> {
        let options =
            SqliteConnectOptions::new().filename(data.join("waxwing.db")).foreign_keys(true);
        let database = options.connect().await.map_err(io::Error::other)?;
        Ok(Self { database, from: from.to_owned(), next: 0 })
    }

    /// Lets the domain send, as if its records had been seen; nobody looks at it again.
    pub async fn verify(&mut self, domain: &str) -> io::Result<()> {
        for statement in [
            "UPDATE domains SET phase = 'verified', progress = 100, missing = '[]' WHERE name = ?",
            "UPDATE dkim_keys SET phase = 'signing'
             WHERE domain_id = (SELECT id FROM domains WHERE name = ?)",
            "UPDATE domain_checks SET next_at = NULL
             WHERE domain_id = (SELECT id FROM domains WHERE name = ?)",
        ] {
            let done = sqlx::query(statement).bind(domain).execute(&mut self.database).await;
            if done.map_err(io::Error::other)?.rows_affected() == 0 {
                return Err(io::Error::other(format!("{domain} was not added: {statement}")));
            }
        }
        Ok(())
    }

    /// Takes the domain its RSA key.
    pub async fn drop_rsa_key(&mut self, domain: &str) -> io::Result<()> {
        let statement = "DELETE FROM dkim_keys WHERE algorithm = 'rsa-sha256'
                         AND domain_id = (SELECT id FROM domains WHERE name = ?)";
        let done = sqlx::query(statement).bind(domain).execute(&mut self.database).await;
        let dropped = done.map_err(io::Error::other)?.rows_affected();
        if dropped == 1 { Ok(()) } else { Err(io::Error::other(format!("{dropped} RSA keys"))) }
    }

    /// Adds messages that are accepted and wait, one kind behind the other, and says when they will be due.
    pub async fn fill(&mut self, waiting: &[Waiting], bodies: Bodies) -> io::Result<SystemTime> {
        let first = self.next;
        for waiting in waiting {
            self.add(waiting, bodies).await?;
        }
        let messages = self.next - first;
        // The server has to be up by then.
        let wait = Duration::from_secs(10 + u64::from(messages / 10_000));
        let due = now_ms()? + i64::try_from(wait.as_millis()).unwrap_or_default();
        sqlx::query(QUEUE)
            .bind(due)
            .bind(first)
            .execute(&mut self.database)
            .await
            .map_err(io::Error::other)?;
        let due = u64::try_from(due).map_err(io::Error::other)?;
        Ok(SystemTime::UNIX_EPOCH + Duration::from_millis(due))
    }

    async fn add(&mut self, waiting: &Waiting, bodies: Bodies) -> io::Result<()> {
        let (first, end) = (self.next, self.next + waiting.messages);
        let body = packed(&self.content(bodies));
        let share = match bodies {
            Bodies::Own => 1,
            Bodies::Shared(messages) => messages,
        };
        for begin in (first..end).step_by(BATCH.try_into().unwrap_or(usize::MAX)) {
            for statement in ROWS {
                sqlx::query(statement)
                    .bind(begin)
                    .bind(end.min(begin + BATCH))
                    .bind(&self.from)
                    .bind(share)
                    .bind(&body)
                    .bind(now_ms()? - 60_000)
                    .bind(waiting.recipients)
                    .bind(waiting.domains)
                    .bind(waiting.route)
                    .execute(&mut self.database)
                    .await
                    .map_err(io::Error::other)?;
            }
        }
        self.next = end;
        Ok(())
    }

    /// Messages that wait, and messages that were relayed.
    pub async fn counts(&mut self) -> io::Result<(u64, u64)> {
        let counts: (i64, i64) = sqlx::query_as(
            "SELECT (SELECT count(*) FROM queue),
                    (SELECT count(*) FROM messages WHERE state IN ('relayed', 'delivered'))",
        )
        .fetch_one(&mut self.database)
        .await
        .map_err(io::Error::other)?;
        Ok((counts.0.unsigned_abs(), counts.1.unsigned_abs()))
    }

    /// Lets go of the database: what is beside its file is folded into it.
    pub async fn close(self) -> io::Result<()> {
        self.database.close().await.map_err(io::Error::other)
    }

    fn content(&self, bodies: Bodies) -> Vec<u8> {
        let letter = Letter::new(&self.from, "");
        let content = letter.content().strip_suffix(b".\r\n").unwrap_or(letter.content());
        let mut content = content.to_vec();
        if let Bodies::Shared(_) = bodies {
            let line: Vec<u8> = (0..70).map(|n| b'a' + n % 26).chain(*b"\r\n").collect();
            while content.len() < LARGE {
                content.extend_from_slice(&line);
            }
        }
        content
    }
}

/// As the server packs it.
fn packed(content: &[u8]) -> Vec<u8> {
    lz4_flex::compress_prepend_size(content)
}

fn now_ms() -> io::Result<i64> {
    let now = SystemTime::UNIX_EPOCH.elapsed().map_err(io::Error::other)?;
    i64::try_from(now.as_millis()).map_err(io::Error::other)
}

/// The numbers `?1` to `?2` without it; the sender `?3`; how many share a body `?4`; that `?5`; when it
/// was `?6`; the recipients `?7` and their domains `?8`; the route `?9`.
const ROWS: [&str; 4] = [
    "INSERT INTO messages (id, period, account_id, key_id, channel, sender, domain_id, recipient, subject,
                           route, state, reason, credits, decisions, body_of, created_at, updated_at)
     WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
     SELECT unhex(printf('019A6A8000000000%016X', i)), 0x019A6A800000 / 3600000, d.account_id,
            (SELECT min(id) FROM keys k WHERE k.account_id = d.account_id), 'api', ?3, d.id,
            printf(?7, i, i % ?8), 'Your order', ?9, 'queued', 'accepted', 0, '[]',
            CASE WHEN i % ?4 > 0 AND i - i % ?4 >= ?1
                       THEN unhex(printf('019A6A8000000000%016X', i - i % ?4)) END,
            ?6, ?6
     FROM n, domains d WHERE d.name = substr(?3, instr(?3, '@') + 1)",
    "INSERT INTO bodies (message_id, bytes)
     SELECT m.id, ?5 FROM messages m
     WHERE m.id >= unhex(printf('019A6A8000000000%016X', ?1)) AND m.id < unhex(printf('019A6A8000000000%016X', ?2))
       AND m.body_of IS NULL",
    "INSERT INTO events (subject, account_id, type, detail, created_at)
     SELECT m.id, m.account_id, 2, 'accepted', ?6
     FROM messages m
     WHERE m.id >= unhex(printf('019A6A8000000000%016X', ?1)) AND m.id < unhex(printf('019A6A8000000000%016X', ?2))",
    "INSERT INTO sent (period, state, account_id, changes)
     SELECT period, 'accepted', account_id, count(*) FROM messages m
     WHERE m.id >= unhex(printf('019A6A8000000000%016X', ?1)) AND m.id < unhex(printf('019A6A8000000000%016X', ?2))
     GROUP BY period, account_id
     ON CONFLICT (period, state, account_id) DO UPDATE SET changes = sent.changes + excluded.changes",
];

/// Last, so that they are due soon after it: at `?1`, from the number `?2` on.
const QUEUE: &str = "INSERT INTO queue (message_id, account_id, lane, due_at, octets)
     SELECT id, account_id,
            iif(route = 'sandbox', route, substr(recipient, instr(recipient, '@') + 1)), ?1, 8192
     FROM messages
     WHERE id >= unhex(printf('019A6A8000000000%016X', ?2)) AND state = 'queued'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_whole_lines_of_the_wanted_size() {
        let letter = Letter::new("hello@load.example", "");
        assert!(letter.content().ends_with(b"\r\n.\r\n"));
        let packed = packed(b"Subject: Hi\r\n\r\nHi\r\n");
        assert_eq!(packed.first_chunk(), Some(&19_u32.to_le_bytes()));
    }
}
