//! Decision records: what the plugins decided about messages and about refused sends.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::Store;
use super::database::{Row, Statement, column, inconsistent, json, parsed, sql};
use super::scan_batches::ScanBatches;
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId, MessageId};
use crate::store::StoreError;

/// What was decided about one send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisionRow {
    pub id: DecisionId,
    /// Whose send it was.
    pub account_id: AccountId,
    /// The message; none for a refusal.
    pub message_id: Option<MessageId>,
    /// `accepted`, or the code of the refusal.
    pub outcome: String,
    /// What each plugin decided.
    pub plugins: Value,
    /// RFC 3339.
    pub created_at: String,
}

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

/// Some of the decisions; a member that says nothing takes all of them.
#[derive(Debug, Clone, Default)]
pub struct DecisionFilter {
    /// Those about sends of an account.
    pub account: Option<AccountId>,
    /// Those about a message.
    pub message: Option<MessageId>,
    /// Those to which a plugin of this name, slot or digest has contributed.
    pub plugin: Option<String>,
    /// Those with this outcome.
    pub outcome: Option<String>,
    /// Those about sends that became no message.
    pub only_refusals: bool,
}

/// Some decisions, and where the list goes on.
#[derive(Debug, Clone)]
pub struct DecisionPage {
    /// Newest first.
    pub decisions: Vec<DecisionRow>,
    /// What the next page comes after; none where there is no more.
    pub next: Option<DecisionId>,
}

/// How a decision is called: by its own identifier, or by that of its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecisionRef {
    /// `dec_…`
    Decision(DecisionId),
    /// `msg_…`
    Message(MessageId),
}

/// A text that names no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is neither a decision (dec_…) nor a message (msg_…)")]
pub struct InvalidDecisionRef {
    pub text: String,
}

impl Store {
    /// The decisions that pass the filter, newest first, at most `limit`; those after the decision
    /// `after`, where a page goes on. A page may be short, or empty, and still have a next one: then much
    /// was looked at in vain.
    ///
    /// # Errors
    /// The database failed, or the list took too long.
    pub async fn decisions(
        &self,
        filter: &DecisionFilter,
        after: Option<DecisionId>,
        limit: u32,
    ) -> Result<DecisionPage, StoreError> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        // Behind every identifier: `~` comes after the letters of a ULID.
        let mut upper = after.map_or_else(|| "dec_~".to_owned(), |it| it.to_string());
        let mut decisions: Vec<DecisionRow> = Vec::new();
        for batch in ScanBatches::new(limit) {
            let lower = batch_of(filter, &upper, batch).optional(&self.db.pages).await?;
            let lower: Option<String> = lower.map(|row| column(&row, "id")).transpose()?;
            let left = i64::from(limit) + 1 - i64::try_from(decisions.len()).unwrap_or(i64::MAX);
            let rows =
                matching(filter, (&upper, lower.as_deref()), left).all(&self.db.pages).await?;
            for row in &rows {
                decisions.push(decision_row(row)?);
            }
            if decisions.len() > wanted {
                decisions.truncate(wanted);
                let next = decisions.last().map(|row| row.id);
                return Ok(DecisionPage { decisions, next });
            }
            let Some(lower) = lower else { return Ok(DecisionPage { decisions, next: None }) };
            upper = lower;
        }
        let stopped = upper.parse().map_err(|_| inconsistent("decisions", "id", &upper))?;
        Ok(DecisionPage { decisions, next: Some(stopped) })
    }

    /// Records the decisions about sends that were refused.
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

    /// One decision.
    ///
    /// # Errors
    /// The database failed, or there is no such decision.
    pub async fn decision(&self, id: DecisionRef) -> Result<DecisionRow, StoreError> {
        let query = match id {
            DecisionRef::Decision(id) => sql("-- decision
                 SELECT id, account_id, message_id, outcome, plugins, created_at FROM decisions
                 WHERE id = $1")
            .bind(id.to_string()),
            DecisionRef::Message(id) => sql("-- decision: of a message
                 SELECT id, account_id, message_id, outcome, plugins, created_at FROM decisions
                 WHERE message_id = $1 ORDER BY id DESC LIMIT 1")
            .bind(id.to_string()),
        };
        let row = query.optional(&self.db.readers).await?;
        let missing = || StoreError::Missing { noun: "decision", name: id.to_string() };
        decision_row(&row.ok_or_else(missing)?)
    }
}

/// From what an index finds by itself: those of a message, those of refusals, or all; and the time.
fn push_range(query: &mut Statement, filter: &DecisionFilter, upper: &str) {
    query.push(" FROM decisions WHERE id < ").push_bind(upper.to_owned());
    if let Some(message) = filter.message {
        query.push(" AND message_id = ").push_bind(message.to_string());
    } else if filter.only_refusals {
        query.push(" AND message_id IS NULL");
    }
}

/// The last of the next `batch` decisions; none where there are fewer.
fn batch_of(filter: &DecisionFilter, upper: &str, batch: u32) -> Statement {
    let mut query = sql("-- decisions: a batch\nSELECT id");
    push_range(&mut query, filter, upper);
    query.push(" ORDER BY id DESC LIMIT 1 OFFSET ").push_bind(batch.saturating_sub(1));
    query
}

fn matching(
    filter: &DecisionFilter,
    (upper, lower): (&str, Option<&str>),
    limit: i64,
) -> Statement {
    let mut query =
        sql("-- decisions\nSELECT id, account_id, message_id, outcome, plugins, created_at");
    push_range(&mut query, filter, upper);
    if let Some(lower) = lower {
        query.push(" AND id >= ").push_bind(lower.to_owned());
    }
    if filter.only_refusals {
        query.push(" AND message_id IS NULL");
    }
    if let Some(account) = filter.account {
        query.push(" AND account_id = ").push_bind(account.to_string());
    }
    if let Some(outcome) = &filter.outcome {
        query.push(" AND outcome = ").push_bind(outcome.clone());
    }
    if let Some(plugin) = &filter.plugin {
        query
            .push(" AND EXISTS (SELECT 1 FROM json_each(plugins) WHERE ")
            .push_bind(plugin.clone())
            .push(" IN (value ->> 'name', value ->> 'slot', value ->> 'digest'))");
    }
    query.push(" ORDER BY id DESC LIMIT ").push_bind(limit);
    query
}

fn decision_row(row: &Row) -> Result<DecisionRow, StoreError> {
    let message: Option<String> = column(row, "message_id")?;
    let message = message
        .map(|text| text.parse().map_err(|_| inconsistent("decisions", "message_id", &text)));
    Ok(DecisionRow {
        id: parsed(row, "decisions", "id")?,
        account_id: parsed(row, "decisions", "account_id")?,
        message_id: message.transpose()?,
        outcome: column(row, "outcome")?,
        plugins: json(row, "decisions", "plugins")?,
        created_at: Timestamp::from_millis(column(row, "created_at")?).rfc3339(),
    })
}

impl FromStr for DecisionRef {
    type Err = InvalidDecisionRef;

    fn from_str(text: &str) -> Result<Self, InvalidDecisionRef> {
        let decision = text.parse().map(Self::Decision).ok();
        decision
            .or_else(|| text.parse().map(Self::Message).ok())
            .ok_or_else(|| InvalidDecisionRef { text: text.to_owned() })
    }
}

impl fmt::Display for DecisionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision(id) => id.fmt(f),
            Self::Message(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
