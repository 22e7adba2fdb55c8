//! Answers that are kept for a client that asks again, and decisions about sends that became none.

use std::sync::Arc;

use serde_json::Value;

use super::Sqlite;
use super::row::{column, json};
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId};
use crate::store::StoreError;
use crate::store::records::{Answer, Idempotency};

/// A refusal, with what the plugins decided.
#[derive(Debug, Clone)]
pub struct RefusalRecord {
    /// Its identifier, which the client is told.
    pub id: DecisionId,
    /// Who was refused.
    pub account_id: AccountId,
    /// The refusal's code.
    pub code: &'static str,
    /// What each plugin decided, as JSON.
    pub plugins: Arc<Value>,
}

impl Sqlite {
    /// What was answered to that key before; none if it is new or its 24 hours are over.
    /// The inner none means that the body was another one.
    ///
    /// # Errors
    /// The database failed.
    pub async fn kept_answer(
        &self,
        account: AccountId,
        idempotency: &Idempotency,
        now: Timestamp,
    ) -> Result<Option<Option<Vec<Answer>>>, StoreError> {
        let row = sqlx::query(
            "-- kept_answer
             SELECT body_hash, answer FROM idempotency
             WHERE account_id = ? AND key = ? AND expires_at > ?",
        )
        .bind(account.to_string())
        .bind(&idempotency.key)
        .bind(now.millis())
        .fetch_optional(&self.readers)
        .await
        .map_err(StoreError::during("kept_answer"))?;
        let Some(row) = row else { return Ok(None) };
        let hash: Vec<u8> = column(&row, "body_hash")?;
        if hash[..] != idempotency.body_hash {
            return Ok(Some(None));
        }
        json(&row, "idempotency", "answer").map(|answers| Some(Some(answers)))
    }

    /// Records refusals.
    ///
    /// # Errors
    /// The database failed.
    pub async fn record_refusals(
        &self,
        refusals: &[RefusalRecord],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.begin().await?;
        for refusal in refusals {
            sqlx::query(
                "-- record_refusals
                 INSERT INTO decisions (id, account_id, message_id, outcome, plugins, created_at)
                 VALUES (?, ?, NULL, ?, ?, ?)",
            )
            .bind(refusal.id.to_string())
            .bind(refusal.account_id.to_string())
            .bind(refusal.code)
            .bind(refusal.plugins.to_string())
            .bind(now.millis())
            .execute(&mut *tx)
            .await
            .map_err(StoreError::during("record_refusals"))?;
        }
        tx.commit().await.map_err(StoreError::during("record_refusals"))
    }
}
