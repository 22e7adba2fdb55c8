//! Grants of credits; one idempotency key grants once.

use super::Store;
use super::accounts::{add_entry, balance};
use super::database::{column, json, sql};
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::credit::{Credits, EntryKind};
use crate::id::AccountId;
use crate::store::StoreError;
use crate::store::records::Idempotency;

/// A grant to make.
#[derive(Debug)]
pub struct NewGrant {
    pub account: AccountId,
    pub amount: Credits,
    /// Stands in the ledger.
    pub reason: String,
    pub idempotency: Option<Idempotency>,
    /// Until when the answer is kept for the idempotency key.
    pub kept_until: Timestamp,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// The balance after it.
    Now(Credits),
    /// The same was granted under this idempotency key; the balance after that.
    Before(Credits),
    /// Another grant was made under this idempotency key.
    Conflict,
}

impl Store {
    /// Grants credits to an account.
    ///
    /// # Errors
    /// The database failed, or there is no such account; nothing was granted.
    pub async fn grant(&self, grant: &NewGrant, now: Timestamp) -> Result<Granted, StoreError> {
        let mut tx = self.db.begin("grant").await?;
        // No key of a send has a space, so the two never meet.
        let key = grant.idempotency.as_ref().map(|it| format!("grant {}", it.key));
        if let Some((key, idempotency)) = key.as_ref().zip(grant.idempotency.as_ref()) {
            let kept = sql("-- grant: kept
                 SELECT body_hash, answer FROM idempotency
                 WHERE account_id = $1 AND mode = $2 AND key = $3 AND expires_at > $4")
            .bind(grant.account)
            .bind(Mode::Live.as_str())
            .bind(key)
            .bind(now.millis())
            .optional(&mut tx)
            .await?;
            if let Some(kept) = kept {
                let hash: Vec<u8> = column(&kept, "body_hash")?;
                if hash[..] != idempotency.body_hash {
                    return Ok(Granted::Conflict);
                }
                return Ok(Granted::Before(json(&kept, "idempotency", "answer")?));
            }
        }
        // For its message: the ledger takes what is of no account.
        balance(&mut tx, grant.account).await?;
        let (kind, reason) = (EntryKind::Grant, &grant.reason);
        add_entry(&mut tx, grant.account, kind, grant.amount, reason, now).await?;
        let balance = balance(&mut tx, grant.account).await?;
        if let Some((key, idempotency)) = key.as_ref().zip(grant.idempotency.as_ref()) {
            sql("-- grant: keep
                 INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at)
                 VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (account_id, mode, key) DO UPDATE SET
                     body_hash = excluded.body_hash, answer = excluded.answer, expires_at = excluded.expires_at")
            .bind(grant.account)
            .bind(Mode::Live.as_str())
            .bind(key)
            .bind(idempotency.body_hash.to_vec())
            .json(&balance)
            .bind(grant.kept_until.millis())
            .run(&mut tx)
            .await?;
        }
        tx.commit().await?;
        Ok(Granted::Now(balance))
    }
}
