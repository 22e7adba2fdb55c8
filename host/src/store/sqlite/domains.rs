//! Sender domains and their last judgement.

use serde_json::Value;
use sqlx::sqlite::SqliteRow;

use super::Sqlite;
use super::row::{column, inconsistent, json, parsed, to_json};
use crate::clock::Timestamp;
use crate::domain::state::{DomainKind, SenderDomain, Standing};
use crate::id::AccountId;
use crate::store::StoreError;

/// A domain with what the policy said of it.
#[derive(Debug, Clone)]
pub struct DomainRow {
    /// The domain.
    pub domain: SenderDomain,
    /// The records to publish, as the policy's `require` gave them.
    pub requirements: Value,
    /// The decision record of the last judgement.
    pub decision: Value,
}

impl Sqlite {
    /// Adds a domain, or writes a new judgement of one that is there.
    ///
    /// # Errors
    /// The database failed.
    pub async fn put_domain(&self, row: &DomainRow, now: Timestamp) -> Result<(), StoreError> {
        let domain = &row.domain;
        sqlx::query(
            "-- put_domain
             INSERT INTO domains (id, account_id, name, kind, verification_token, progress, missing,
                                  requirements, decision, created_at, checked_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
             ON CONFLICT (account_id, name) DO UPDATE SET
                 progress = excluded.progress, missing = excluded.missing,
                 requirements = excluded.requirements, decision = excluded.decision,
                 checked_at = excluded.checked_at",
        )
        .bind(domain.id.to_string())
        .bind(domain.account_id.to_string())
        .bind(domain.name.as_str())
        .bind(domain.kind.word())
        .bind(&domain.verification_token)
        .bind(i64::from(domain.standing.progress))
        .bind(to_json(&domain.standing.missing))
        .bind(row.requirements.to_string())
        .bind(row.decision.to_string())
        .bind(domain.created_at.millis())
        .bind(now.millis())
        .execute(&self.writer)
        .await
        .map(|_| ())
        .map_err(StoreError::during("put_domain"))
    }

    /// The domains of an account, by name.
    ///
    /// # Errors
    /// The database failed.
    pub async fn domains(&self, account: AccountId) -> Result<Vec<DomainRow>, StoreError> {
        let rows = sqlx::query(
            "-- domains
             SELECT id, account_id, name, kind, verification_token, progress, missing, requirements,
                    decision, created_at
             FROM domains WHERE account_id = ? ORDER BY name",
        )
        .bind(account.to_string())
        .fetch_all(&self.readers)
        .await
        .map_err(StoreError::during("domains"))?;
        rows.iter().map(domain_row).collect()
    }
}

/// The statement that finds a domain of an account.
pub const DOMAIN: &str = "-- domain
    SELECT id, account_id, name, kind, verification_token, progress, missing, requirements,
           decision, created_at
    FROM domains WHERE account_id = ? AND name = ?";

/// Reads a row of [`DOMAIN`].
///
/// # Errors
/// This version of the server cannot read it.
pub fn domain_row(row: &SqliteRow) -> Result<DomainRow, StoreError> {
    let kind: String = column(row, "kind")?;
    let kind = match kind.as_str() {
        "dns" => DomainKind::Dns,
        "sandbox" => DomainKind::Sandbox,
        _ => return Err(inconsistent("domains", "kind", &kind)),
    };
    let progress: i64 = column(row, "progress")?;
    let progress = u8::try_from(progress)
        .map_err(|_| inconsistent("domains", "progress", &progress.to_string()))?;
    Ok(DomainRow {
        domain: SenderDomain {
            id: parsed(row, "domains", "id")?,
            account_id: parsed(row, "domains", "account_id")?,
            name: parsed(row, "domains", "name")?,
            kind,
            verification_token: column(row, "verification_token")?,
            standing: Standing { progress, missing: json(row, "domains", "missing")? },
            created_at: Timestamp::from_millis(column(row, "created_at")?),
        },
        requirements: json(row, "domains", "requirements")?,
        decision: json(row, "domains", "decision")?,
    })
}
