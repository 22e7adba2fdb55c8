//! Domains straight into the database: adding each one by the server would make its keys first, which
//! takes a quarter of a second.

use std::io;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::zone::{ORIGINAL, ORIGINAL_LABEL, label};

/// The server may be writing.
const PATIENCE: Duration = Duration::from_mins(1);

/// The database of a server.
pub struct Database(SqliteConnection);

impl Database {
    pub async fn open(data: &Path) -> io::Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(data.join("waxwing.db"))
            .foreign_keys(true)
            .busy_timeout(PATIENCE);
        options.connect().await.map(Self).map_err(io::Error::other)
    }

    /// Makes so many copies of the original, as it was added: pending, never checked and not due.
    /// Only the names differ; keys are sealed for the original, but a check opens none.
    pub async fn copy_original(&mut self, count: u32) -> io::Result<()> {
        let labels: Value = (1..=count).map(label).collect();
        let mut tx = self.0.begin().await.map_err(io::Error::other)?;
        sqlx::query(COPIES)
            .bind(labels.to_string())
            .bind(ORIGINAL)
            .bind(ORIGINAL_LABEL)
            .execute(&mut *tx)
            .await
            .map_err(io::Error::other)?;
        for (statement, each) in COPY {
            let done = sqlx::query(statement).execute(&mut *tx).await.map_err(io::Error::other)?;
            let copied = done.rows_affected();
            if copied != u64::from(count) * each {
                return Err(io::Error::other(format!("{copied} rows were copied by {statement}")));
            }
        }
        tx.commit().await.map_err(io::Error::other)
    }

    /// Removes the original, so that all domains are alike.
    pub async fn remove_original(&mut self) -> io::Result<()> {
        let query = sqlx::query("DELETE FROM domains WHERE name = ?").bind(ORIGINAL);
        query.execute(&mut self.0).await.map(|_| ()).map_err(io::Error::other)
    }

    /// All domains are due.
    pub async fn make_due(&mut self) -> io::Result<()> {
        let query = sqlx::query("UPDATE domain_checks SET next_at = 0");
        query.execute(&mut self.0).await.map(|_| ()).map_err(io::Error::other)
    }

    /// How many domains stand verified after so many checks, the last without a failure.
    pub async fn verified(&mut self, checks: u32) -> io::Result<u64> {
        let row = sqlx::query(
            "SELECT count(*) FROM domain_checks c JOIN domains d ON d.id = c.domain_id
             WHERE d.phase = 'verified' AND d.progress = 100 AND c.failure IS NULL
               AND c.unclear_since IS NULL AND c.number = ?",
        );
        let row = row.bind(checks).fetch_one(&mut self.0).await.map_err(io::Error::other)?;
        let count: i64 = row.try_get(0).map_err(io::Error::other)?;
        Ok(count.unsigned_abs())
    }
}

/// An identifier is the original's, with the number of the copy for its random part.
const COPIES: &str = "CREATE TEMP TABLE copies AS
    SELECT d.id AS original, ?3 AS old, label.value AS new,
           unhex(substr(hex(d.id), 1, 12) || printf('%020X', label.key + 1)) AS id
    FROM domains d, json_each(?1) AS label
    WHERE d.name = ?2 AND instr(d.skeleton, ?3) > 0";

/// What is copied of each domain, with its number of rows.
const COPY: [(&str, u64); 3] = [
    (
        "INSERT INTO domains (id, account_id, name, kind, verification_token, progress, missing,
                              requirements, decision, created_at, phase, since, organizational, skeleton)
         SELECT c.id, d.account_id, replace(d.name, old, new), d.kind, d.verification_token,
                d.progress, replace(d.missing, old, new), replace(d.requirements, old, new),
                d.decision, d.created_at, d.phase, d.since, '', replace(d.skeleton, old, new)
         FROM copies c JOIN domains d ON d.id = c.original",
        1,
    ),
    (
        "INSERT INTO domain_checks (domain_id, number, findings, observations)
         SELECT c.id, k.number, k.findings, k.observations
         FROM copies c JOIN domain_checks k ON k.domain_id = c.original",
        1,
    ),
    (
        "INSERT INTO dkim_keys (domain_id, selector, algorithm, public_key, private_key, phase, since)
         SELECT c.id, k.selector, k.algorithm, k.public_key, k.private_key, k.phase, k.since
         FROM copies c JOIN dkim_keys k ON k.domain_id = c.original",
        2,
    ),
];
