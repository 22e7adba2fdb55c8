//! Grants of credits; one idempotency key grants once.

use super::Store;
use super::accounts::{add_entry, balance};
use super::database::{column, inconsistent, json, sql};
use crate::account::idempotency::Idempotency;
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::credit::{Credits, EntryKind};
use crate::id::AccountId;
use crate::store::StoreError;

/// A grant to make.
#[derive(Debug)]
pub struct NewGrant {
    pub account: AccountId,
    pub amount: Credits,
    /// Stands in the ledger.
    pub reason: String,
    /// Of a live key, and unlike every key of a send.
    pub idempotency: Option<Idempotency>,
    /// Until when the answer is kept for the idempotency key.
    pub kept_until: Timestamp,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Granted {
    /// The balance after it.
    Now(Credits),
    /// Nothing was granted: what was granted under this idempotency key before.
    Kept { body_hash: [u8; 32], balance: Credits },
}

impl Store {
    /// Grants credits to an account.
    ///
    /// # Errors
    /// The database failed, or there is no such account; nothing was granted.
    pub async fn grant(&self, grant: &NewGrant, now: Timestamp) -> Result<Granted, StoreError> {
        let mut tx = self.db.begin("grant").await?;
        if let Some(idempotency) = &grant.idempotency {
            let kept = sql("-- grant: kept
                 SELECT body_hash, answer FROM idempotency
                 WHERE account_id = $1 AND mode = $2 AND key = $3 AND expires_at > $4")
            .bind(grant.account)
            .bind(Mode::Live.as_str())
            .bind(&idempotency.key)
            .bind(now.millis())
            .optional(&mut tx)
            .await?;
            if let Some(kept) = kept {
                let body_hash = column::<Vec<u8>>(&kept, "body_hash")?.try_into();
                let body_hash = body_hash
                    .map_err(|_| inconsistent("idempotency", "body_hash", "no 32 octets"))?;
                let balance = json(&kept, "idempotency", "answer")?;
                return Ok(Granted::Kept { body_hash, balance });
            }
        }
        // For its message: the ledger takes what is of no account.
        balance(&mut tx, grant.account).await?;
        let (kind, reason) = (EntryKind::Grant, &grant.reason);
        add_entry(&mut tx, grant.account, kind, grant.amount, reason, now).await?;
        let balance = balance(&mut tx, grant.account).await?;
        if let Some(idempotency) = &grant.idempotency {
            sql("-- grant: keep
                 INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at)
                 VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (account_id, mode, key) DO UPDATE SET
                     body_hash = excluded.body_hash, answer = excluded.answer, expires_at = excluded.expires_at")
            .bind(grant.account)
            .bind(Mode::Live.as_str())
            .bind(&idempotency.key)
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
