//! Answers kept under idempotency keys, and the origins of their messages: a restricted key may see its own only. Forms of
//! the dashboard that count once are kept in the same table, under keys with a blank, which no client can send.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Store;
use super::database::{column, json, sql};
use crate::account::idempotency::{ANSWERS_KEPT, Idempotency};
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

/// A form of the dashboard that counts once.
#[derive(Debug, Clone)]
pub struct OnceForm {
    /// Whose row it is.
    pub account: AccountId,
    /// SHA-256 of its address and its fields, one of which no other page has.
    pub digest: [u8; 32],
}

/// What became of a form when it was sent before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EarlierSubmit {
    /// It is at work, or was cut off.
    UnderWay,
    /// It led to that page.
    LedTo(String),
    /// Its own answer showed what it made.
    Shown,
}

impl OnceForm {
    /// No client can send a blank in an idempotency key.
    fn key(&self) -> String {
        format!("form {}", URL_SAFE_NO_PAD.encode(self.digest))
    }
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

    /// Takes a form: none for the first who does so, and else what became of it before.
    pub async fn take_form(
        &self,
        form: &OnceForm,
        now: Timestamp,
    ) -> Result<Option<EarlierSubmit>, StoreError> {
        let taken = sql("-- take_form
             INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (account_id, mode, key) DO NOTHING")
        .bind(form.account)
        .bind(Mode::Live.as_str())
        .bind(form.key())
        .bind(form.digest.to_vec())
        .json(&None::<&str>)
        .bind(now.after(ANSWERS_KEPT).millis())
        .run(&self.db.writer)
        .await?;
        if taken == 1 {
            return Ok(None);
        }
        let row = sql("-- take_form: earlier
             SELECT answer FROM idempotency WHERE account_id = $1 AND mode = $2 AND key = $3")
        .bind(form.account)
        .bind(Mode::Live.as_str())
        .bind(form.key())
        .optional(&self.db.readers)
        .await?;
        // Where it is gone by now, the first submit was refused a moment ago, and may be sent again.
        let answer: Option<String> = match row {
            Some(row) => json(&row, "idempotency", "answer")?,
            None => None,
        };
        Ok(Some(match answer {
            None => EarlierSubmit::UnderWay,
            Some(page) if page.is_empty() => EarlierSubmit::Shown,
            Some(page) => EarlierSubmit::LedTo(page),
        }))
    }

    /// Keeps the page to which a form has led. Empty where the answer to the form itself showed what was made.
    pub async fn settle_form(&self, form: &OnceForm, page: &str) -> Result<(), StoreError> {
        sql("-- settle_form
             UPDATE idempotency SET answer = $1 WHERE account_id = $2 AND mode = $3 AND key = $4")
        .json(page)
        .bind(form.account)
        .bind(Mode::Live.as_str())
        .bind(form.key())
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }

    /// Forgets that a form was taken, because it was refused and nothing came of it.
    pub async fn give_back_form(&self, form: &OnceForm) -> Result<(), StoreError> {
        sql("-- give_back_form
             DELETE FROM idempotency WHERE account_id = $1 AND mode = $2 AND key = $3")
        .bind(form.account)
        .bind(Mode::Live.as_str())
        .bind(form.key())
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }
}
