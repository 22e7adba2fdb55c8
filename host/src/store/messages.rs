//! Answers that are kept for a client that asks again, and decisions about sends that became none.

use std::collections::HashMap;
use std::sync::Arc;

use super::Store;
use super::database::{column, json, parsed, sql};
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId, MessageId};
use crate::store::StoreError;
use crate::store::records::{Answer, Idempotency};

/// A refusal, with what the plugins decided.
#[derive(Debug, Clone)]
pub struct RefusalRecord {
    /// Its identifier, which the client is told.
    pub id: DecisionId,
    pub account_id: AccountId,
    pub code: &'static str,
    /// What each plugin decided, as JSON text.
    pub plugins: Arc<str>,
}

/// What a restricted key is held against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The domain of the author.
    pub domain: String,
    /// None for a message that came whole.
    pub template: Option<String>,
}

impl Store {
    /// What was answered to that key before; none if it is new or its 24 hours are over.
    /// The inner none means that the body was another one.
    pub async fn kept_answer(
        &self,
        account: AccountId,
        mode: Mode,
        idempotency: &Idempotency,
        now: Timestamp,
    ) -> Result<Option<Option<Vec<Answer>>>, StoreError> {
        let row = sql("-- kept_answer
             SELECT body_hash, answer FROM idempotency
             WHERE account_id = $1 AND mode = $2 AND key = $3 AND expires_at > $4")
        .bind(account.to_string())
        .bind(mode.as_str())
        .bind(&idempotency.key)
        .bind(now.millis())
        .optional(&self.db.readers)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let hash: Vec<u8> = column(&row, "body_hash")?;
        if hash[..] != idempotency.body_hash {
            return Ok(Some(None));
        }
        json(&row, "idempotency", "answer").map(|answers| Some(Some(answers)))
    }

    /// The senders' domains and the templates of messages, as far as these are still known.
    pub async fn origins(
        &self,
        messages: &[MessageId],
    ) -> Result<HashMap<MessageId, Origin>, StoreError> {
        let rows = sql("-- origins
             SELECT id, sender, template_slug FROM messages
             WHERE id IN (SELECT value FROM json_each($1))")
        .list(&messages)
        .all(&self.db.readers)
        .await?;
        rows.iter()
            .map(|row| {
                let sender: String = column(row, "sender")?;
                let domain = sender.rsplit_once('@').map_or("", |(_, domain)| domain).to_owned();
                let template = column(row, "template_slug")?;
                Ok((parsed(row, "messages", "id")?, Origin { domain, template }))
            })
            .collect()
    }

    /// Records refusals.
    pub async fn record_refusals(
        &self,
        refusals: &[RefusalRecord],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("record_refusals").await?;
        for refusal in refusals {
            sql("-- record_refusals
                 INSERT INTO decisions (id, account_id, message_id, outcome, plugins, created_at)
                 VALUES ($1, $2, NULL, $3, $4, $5)")
            .bind(refusal.id.to_string())
            .bind(refusal.account_id.to_string())
            .bind(refusal.code)
            .bind(&*refusal.plugins)
            .bind(now.millis())
            .run(&mut tx)
            .await?;
        }
        tx.commit().await
    }
}
