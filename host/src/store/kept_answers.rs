//! Answers kept under idempotency keys, and the origins of their messages: a restricted key may see its own only.

use std::collections::HashMap;

use super::Store;
use super::database::{column, json, sql};
use crate::account::idempotency::Idempotency;
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::store::StoreError;
use crate::store::records::Answer;

/// The sender domain and the template of a message, which a restricted key must be allowed.
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
        .bind(account)
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
             WHERE id IN (SELECT unhex(value) FROM json_each($1))")
        .ids(messages.iter().copied())
        .all(&self.db.readers)
        .await?;
        rows.iter()
            .map(|row| {
                let sender: String = column(row, "sender")?;
                let domain = sender.rsplit_once('@').map_or("", |(_, domain)| domain).to_owned();
                let template = column(row, "template_slug")?;
                Ok((column(row, "id")?, Origin { domain, template }))
            })
            .collect()
    }
}
