//! Decision records: what the plugins decided about messages and about refused sends.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use super::Store;
use super::database::{Row, Statement, args, column, inserts, moment, sql};
use super::identities::Added;
use super::records::PluginDecision;
use super::scan_batches::ScanBatches;
use super::tries::repeated;
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId, Identifier, MessageId};
use crate::store::StoreError;
use crate::template::slug::Slug;

/// The outcome of a send that became a message.
const ACCEPTED: &str = "accepted";

/// What was decided about one send.
#[derive(Debug, Clone, PartialEq, Eq)]
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
    pub created_at: Timestamp,
}

/// A refusal, with what the plugins decided.
#[derive(Debug, Clone)]
pub struct RefusalRecord {
    /// Its identifier, which the client gets.
    pub id: DecisionId,
    pub account_id: AccountId,
    pub code: &'static str,
    /// The published template of the send.
    pub template: Option<Slug>,
    /// What each plugin decided.
    pub plugins: Arc<[PluginDecision]>,
}

/// Some of the decisions; an empty field filters nothing.
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

/// Identifies a decision: by its own identifier, or by that of its message.
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

/// Where decisions stand. Both are in the order of one identifier: decisions of a message have the message's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Messages,
    Refusals,
}

/// Of a message, and of a refusal, under the same names.
const OF_MESSAGES: &str = "SELECT m.id AS sort_id, coalesce(m.decision_id, m.id) AS id, m.account_id, \
    m.id AS message_id, 'accepted' AS outcome, m.decisions AS plugins, m.created_at FROM messages m";
const OF_REFUSALS: &str = "SELECT m.id AS sort_id, m.id, m.account_id, NULL AS message_id, m.outcome, \
    m.plugins, m.created_at FROM decisions m";

impl Store {
    /// The decisions that pass the filter, newest first, at most `limit`; those after the decision
    /// `after`, where a page goes on. A page may be short or empty and still have `next`: the scan limit was reached.
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
        let plugins = match &filter.plugin {
            Some(plugin) => Some(self.identities.named(&self.db.readers, plugin).await?),
            None => None,
        };
        let mut upper = match after {
            Some(after) => self.sort_id(after).await?,
            None => DecisionId::MAX,
        };
        let mut decisions: Vec<(DecisionId, DecisionRow)> = Vec::new();
        for batch in ScanBatches::new(limit) {
            let mut lower = None;
            // A filter by message needs no scan.
            for source in sources(filter).iter().filter(|_| filter.message.is_none()) {
                lower = lower.max(self.end_of_batch(*source, upper, batch).await?);
            }
            let left = i64::from(limit) + 1 - i64::try_from(decisions.len()).unwrap_or(i64::MAX);
            let range = (upper, lower.unwrap_or(DecisionId::MIN));
            let mut found = Vec::new();
            for source in sources(filter) {
                let rows = matching(source, filter, plugins.as_deref(), range, left);
                for row in &rows.all(&self.db.pages).await? {
                    found.push((column(row, "sort_id")?, self.decision_row(row).await?));
                }
            }
            found.sort_unstable_by_key(|(sort_id, _)| std::cmp::Reverse(*sort_id));
            decisions.extend(found);
            if decisions.len() > wanted {
                decisions.truncate(wanted);
                let next = decisions.last().map(|(_, row)| row.id);
                return Ok(page(decisions, next));
            }
            let Some(lower) = lower else { return Ok(page(decisions, None)) };
            upper = lower;
        }
        Ok(page(decisions, Some(upper)))
    }

    /// Records the decisions about sends that were refused.
    pub async fn record_refusals(
        &self,
        refusals: &[RefusalRecord],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        repeated!(self.record_refusals_once(refusals, now))
    }

    async fn record_refusals_once(
        &self,
        refusals: &[RefusalRecord],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin_beside("record_refusals").await?;
        let mut added = Added::default();
        let mut rows = Vec::with_capacity(refusals.len());
        let mut refused: BTreeMap<(AccountId, &str), i64> = BTreeMap::new();
        for refusal in refusals {
            let plugins = self.identities.shorten(&mut tx, &mut added, &refusal.plugins).await?;
            let RefusalRecord { id, account_id, code, template, .. } = refusal;
            rows.push(args![*id, *account_id, *code, plugins, now.millis()]);
            if let Some(slug) = template {
                *refused.entry((*account_id, slug.as_str())).or_default() += 1;
            }
        }
        inserts(
            "-- record_refusals
             INSERT INTO decisions (id, account_id, outcome, plugins, created_at)",
            rows,
            "",
        )
        .run(&mut tx)
        .await?;
        if !refused.is_empty() {
            let row = |((account, slug), count)| args![now.day(), account, slug, count, 0_i64];
            inserts(
                "-- record_refusals: templates
                 INSERT INTO template_failures (day, account_id, slug, refused, failed)",
                refused.into_iter().map(row),
                " ON CONFLICT (day, account_id, slug)
                  DO UPDATE SET refused = template_failures.refused + excluded.refused",
            )
            .run(&mut tx)
            .await?;
        }
        tx.commit().await?;
        self.identities.keep(added);
        Ok(())
    }

    /// One decision.
    ///
    /// # Errors
    /// The database failed, or there is no such decision.
    pub async fn decision(&self, id: DecisionRef) -> Result<DecisionRow, StoreError> {
        let row = match id {
            DecisionRef::Message(message) => self.of_message(message).await?,
            DecisionRef::Decision(decision) => match self.refusal(decision).await? {
                Some(refusal) => Some(refusal),
                None => self.of_message(self.sort_id(decision).await?.message()).await?,
            },
        };
        // A message that was decided by an earlier version has a decision id of its own.
        let row = match row {
            Some(row) => Some(self.decision_row(&row).await?),
            None => None,
        };
        let is_meant = |row: &DecisionRow| match id {
            DecisionRef::Message(_) => true,
            DecisionRef::Decision(decision) => row.id == decision,
        };
        let missing = || StoreError::Missing { noun: "decision", name: id.to_string() };
        row.filter(is_meant).ok_or_else(missing)
    }

    async fn refusal(&self, id: DecisionId) -> Result<Option<Row>, StoreError> {
        sql("-- decision: of a refusal
             SELECT id, account_id, NULL AS message_id, outcome, plugins, created_at FROM decisions
             WHERE id = $1")
        .bind(id)
        .optional(&self.db.readers)
        .await
    }

    async fn of_message(&self, id: MessageId) -> Result<Option<Row>, StoreError> {
        sql("-- decision: of a message
             SELECT coalesce(decision_id, id) AS id, account_id, id AS message_id, 'accepted' AS outcome,
                    decisions AS plugins, created_at
             FROM messages WHERE id = $1")
        .bind(id)
        .optional(&self.db.readers)
        .await
    }

    /// The key by which decisions are ordered: an earlier version gave those of messages identifiers of their own.
    async fn sort_id(&self, id: DecisionId) -> Result<DecisionId, StoreError> {
        let row = sql("-- decision: decided before
             SELECT id FROM messages WHERE decision_id = $1")
        .bind(id)
        .optional(&self.db.readers)
        .await?;
        row.map_or(Ok(id), |row| column(&row, "id"))
    }

    /// The last of the next `batch` decisions of a source; none where there are fewer.
    async fn end_of_batch(
        &self,
        source: Source,
        upper: DecisionId,
        batch: u32,
    ) -> Result<Option<DecisionId>, StoreError> {
        let statement = match source {
            Source::Messages => {
                "-- decisions: a batch of messages
                 SELECT id FROM messages WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2"
            }
            Source::Refusals => {
                "-- decisions: a batch of refusals
                 SELECT id FROM decisions WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2"
            }
        };
        let skipped = batch.saturating_sub(1);
        let row = sql(statement).bind(upper).bind(skipped).optional(&self.db.pages).await?;
        row.map(|row| column(&row, "id")).transpose()
    }

    async fn decision_row(&self, row: &Row) -> Result<DecisionRow, StoreError> {
        let column_name = ("decisions", "plugins");
        Ok(DecisionRow {
            id: column(row, "id")?,
            account_id: column(row, "account_id")?,
            message_id: column(row, "message_id")?,
            outcome: column(row, "outcome")?,
            plugins: self.identities.lengthen(&self.db.readers, row, column_name).await?,
            created_at: moment(row, "created_at")?,
        })
    }
}

fn page(decisions: Vec<(DecisionId, DecisionRow)>, next: Option<DecisionId>) -> DecisionPage {
    DecisionPage { decisions: decisions.into_iter().map(|(_, row)| row).collect(), next }
}

/// Where decisions can stand that pass the filter.
fn sources(filter: &DecisionFilter) -> Vec<Source> {
    let accepted = filter.outcome.as_ref().map(|it| it == ACCEPTED);
    let mut sources = Vec::new();
    if !filter.only_refusals && accepted != Some(false) {
        sources.push(Source::Messages);
    }
    if filter.message.is_none() && accepted != Some(true) {
        sources.push(Source::Refusals);
    }
    sources
}

fn matching(
    source: Source,
    filter: &DecisionFilter,
    plugins: Option<&[i64]>,
    (upper, lower): (DecisionId, DecisionId),
    limit: i64,
) -> Statement<'static> {
    let mut query = sql("-- decisions\n");
    let (from, plugins_of) = match source {
        Source::Messages => (OF_MESSAGES, "m.decisions"),
        Source::Refusals => (OF_REFUSALS, "m.plugins"),
    };
    query.push(from).push(" WHERE m.id < ").push_bind(upper);
    query.push(" AND m.id >= ").push_bind(lower);
    if let Some(message) = filter.message {
        query.push(" AND m.id = ").push_bind(message);
    }
    if let Some(account) = filter.account {
        query.push(" AND m.account_id = ").push_bind(account);
    }
    if let (Source::Refusals, Some(outcome)) = (source, &filter.outcome) {
        query.push(" AND m.outcome = ").push_bind(outcome.clone());
    }
    if let Some(plugins) = plugins {
        query.push_either(
            " AND EXISTS (SELECT 1 FROM json_each(",
            " AND EXISTS (SELECT 1 FROM json_array_elements(CAST(",
        );
        query.push(plugins_of).push_either(
            ") AS decided WHERE decided.value ->> 0",
            " AS JSON)) AS decided (value) WHERE CAST(decided.value ->> 0 AS BIGINT)",
        );
        query.push_numbers(plugins).push(")");
    }
    query.push(" ORDER BY m.id DESC LIMIT ").push_bind(limit);
    query
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
