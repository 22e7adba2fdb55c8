//! Lists of messages: newest first, filtered, page by page. A request reads a bounded number of
//! rows, in batches, so that nobody's search holds up somebody else's send.
//!
//! The indexes begin with the period of the identifiers: a list goes from one period in which the account has
//! sent something to the one before it.

use serde_json::{Map, Value};

use super::Store;
use super::database::{Row, Statement, column, json_or_empty, moment, moment_or_none, sql, word};
use super::scan_batches::ScanBatches;
use crate::account::key::Mode;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::{AccountId, Identifier, KeyId, MessageId};
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::message::state::MessageState;
use crate::store::StoreError;

/// The columns of a [`MessageRow`], of `messages m` and its row `q` of the queue that nobody holds.
pub const COLUMNS: &str = "m.id, m.account_id, m.key_id, m.channel, m.template_slug, \
    m.template_revision, m.sender, m.recipient, m.subject, m.state, m.reason, m.credits, m.tags, \
    m.metadata, m.created_at, m.updated_at, m.complained_at, m.resent_from, q.due_at, \
    (SELECT amount FROM ledger WHERE message_id = m.id AND kind = 'refund') AS refunded";
/// What joins that row.
pub const QUEUE: &str = "LEFT JOIN queue q ON q.message_id = m.id AND q.lease_owner IS NULL";

/// How far an identifier's time may be from the moment of acceptance: the identifier is made while the
/// message is rendered.
const ID_TIME_SLACK_MS: i64 = 60_000;

/// A message in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    pub id: MessageId,
    pub account_id: AccountId,
    /// The key that it was sent with.
    pub key_id: KeyId,
    pub channel: Channel,
    /// Its template; none for a message that came whole.
    pub template: Option<String>,
    /// The template's revision.
    pub template_revision: Option<i64>,
    /// The author: the address in From.
    pub from: String,
    /// Envelope recipient.
    pub to: String,
    pub subject: String,
    pub state: MessageState,
    /// Why it stands there.
    pub reason: String,
    pub credits: Credits,
    /// What of that was given back.
    pub refunded: Credits,
    /// The sender's own words to find it by.
    pub tags: Vec<String>,
    /// The sender's own facts about it.
    pub metadata: Map<String, Value>,
    /// Time of the next attempt; none during an attempt, and in a final state.
    pub next_attempt_at: Option<Timestamp>,
    /// When it was accepted.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When its recipient called it spam.
    pub complained_at: Option<Timestamp>,
    /// The message that it sends once more.
    pub resent_from: Option<MessageId>,
}

/// Some of an account's messages; a member that says nothing takes all of them.
#[derive(Debug, Clone, Default)]
pub struct MessageFilter {
    /// Those to this recipient.
    pub to: Option<EmailAddress>,
    /// Those from this author.
    pub from: Option<EmailAddress>,
    /// Those in one of these states.
    pub states: Vec<MessageState>,
    /// Those of this template.
    pub template: Option<String>,
    /// Those with this tag.
    pub tag: Option<String>,
    /// Those whose subject holds this; A to Z in either case.
    pub subject: Option<String>,
    /// Those accepted at this moment or later.
    pub since: Option<Timestamp>,
    /// Those accepted before this moment.
    pub until: Option<Timestamp>,
    /// Those whose author is at one of these domains: all that a key may see.
    pub domains: Vec<String>,
    /// Those of one of these templates: the same.
    pub templates: Vec<String>,
    /// Those sent with a key of this mode.
    pub mode: Option<Mode>,
}

/// Some messages, and where the list goes on.
#[derive(Debug, Clone)]
pub struct MessagePage {
    /// Newest first.
    pub messages: Vec<MessageRow>,
    /// What the next page comes after; none where there is no more.
    pub next: Option<MessageId>,
}

/// How a list finds its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Walk {
    /// All messages of the account.
    Account,
    /// Those to one recipient.
    Recipient,
    /// Those in states that few messages are in.
    RareStates,
}

/// The states of the index `messages_by_state`.
pub const RARE: [MessageState; 6] = [
    MessageState::Scheduled,
    MessageState::Deferred,
    MessageState::Bounced,
    MessageState::Failed,
    MessageState::Suppressed,
    MessageState::Canceled,
];
/// All but them, in the words by which SQLite knows the index (`tests/states`).
pub const IS_RARE: &str =
    "m.state NOT IN ('queued', 'sending') AND m.state NOT IN ('delivered', 'relayed')";

/// Identifiers from `lower` up to, and without, `upper`.
#[derive(Debug, Clone, Copy)]
struct Range {
    upper: MessageId,
    lower: MessageId,
}

const NEWEST_FIRST: &str = " ORDER BY p.period DESC, m.id DESC";

impl Range {
    /// That of the last identifier below the upper end.
    fn newest_period(&self) -> i64 {
        let period = self.upper.period();
        if self.upper == MessageId::first_of_period(period) { period - 1 } else { period }
    }
}

impl Store {
    /// The messages of an account that pass the filter, newest first, at most `limit`, behind `after`.
    /// A page may be short, or empty, and still have a next one: then the rows that were read did not match.
    pub async fn messages(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        after: Option<MessageId>,
        limit: u32,
    ) -> Result<MessagePage, StoreError> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut rest = whole_range(filter, after);
        let mut messages: Vec<MessageRow> = Vec::new();
        for batch in ScanBatches::new(limit) {
            let lower = self.lower_end(account, filter, rest, batch).await?;
            let left = i64::from(limit) + 1 - i64::try_from(messages.len()).unwrap_or(i64::MAX);
            let range = Range { lower: lower.unwrap_or(rest.lower), ..rest };
            messages.extend(self.matching(account, filter, range, left).await?);
            if messages.len() > wanted {
                messages.truncate(wanted);
                let next = messages.last().map(|row| row.id);
                return Ok(MessagePage { messages, next });
            }
            let Some(lower) = lower else { return Ok(MessagePage { messages, next: None }) };
            rest.upper = lower;
        }
        Ok(MessagePage { messages, next: Some(rest.upper) })
    }

    /// Where the next `batch` rows to look at end, or so many periods; none where there are fewer.
    async fn lower_end(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        range: Range,
        batch: u32,
    ) -> Result<Option<MessageId>, StoreError> {
        let skipped = batch.saturating_sub(1);
        // A period in which nothing is found costs a look as well.
        let row = sql("-- messages: periods
             SELECT period FROM periods WHERE account_id = $1 AND period BETWEEN $2 AND $3
             ORDER BY period DESC LIMIT 1 OFFSET $4")
        .bind(account)
        .bind(range.lower.period())
        .bind(range.newest_period())
        .bind(skipped)
        .optional(&self.db.pages)
        .await?;
        let period: Option<i64> = row.map(|row| column(&row, "period")).transpose()?;
        let end = period.map(MessageId::first_of_period).filter(|it| *it > range.lower);
        let mut query = sql("-- messages: a batch\nSELECT m.id ");
        let range = Range { lower: end.unwrap_or(range.lower), ..range };
        push_range(&mut query, account, filter, "", range);
        query.push(NEWEST_FIRST).push(" LIMIT 1 OFFSET ").push_bind(skipped);
        let row = query.optional(&self.db.pages).await?;
        let last = row.map(|row| column(&row, "id")).transpose()?;
        Ok(last.or(end))
    }

    async fn matching(
        &self,
        account: AccountId,
        filter: &MessageFilter,
        range: Range,
        limit: i64,
    ) -> Result<Vec<MessageRow>, StoreError> {
        let mut query = sql("-- messages\nSELECT ");
        query.push(COLUMNS).push(" ");
        push_range(&mut query, account, filter, QUEUE, range);
        push_filter(&mut query, account, filter);
        query.push(NEWEST_FIRST).push(" LIMIT ").push_bind(limit);
        let rows = query.all(&self.db.pages).await?;
        rows.iter().map(message_row).collect()
    }
}

/// All identifiers of the list are in it.
fn whole_range(filter: &MessageFilter, after: Option<MessageId>) -> Range {
    let first_of = |millis| MessageId::first_of(Timestamp::from_millis(millis));
    let until = filter.until.map(|it| first_of(it.millis().saturating_add(ID_TIME_SLACK_MS)));
    let since = filter.since.map(|it| first_of(it.millis().saturating_sub(ID_TIME_SLACK_MS)));
    Range {
        upper: after.into_iter().chain(until).fold(MessageId::MAX, Ord::min),
        lower: since.unwrap_or(MessageId::MIN),
    }
}

fn walk(filter: &MessageFilter) -> Walk {
    match filter {
        MessageFilter { to: Some(_), .. } => Walk::Recipient,
        MessageFilter { states, .. } if states.is_empty() => Walk::Account,
        MessageFilter { states, .. } if states.iter().all(|it| RARE.contains(it)) => {
            Walk::RareStates
        }
        MessageFilter { .. } => Walk::Account,
    }
}

/// From what an index finds by itself: the account and the periods in which it has sent something, and within it the
/// recipient, or the state.
fn push_range(
    query: &mut Statement<'_>,
    account: AccountId,
    filter: &MessageFilter,
    join: &'static str,
    range: Range,
) {
    let index = match walk(filter) {
        Walk::Recipient => "messages_of_recipient",
        Walk::RareStates => "messages_by_state",
        Walk::Account => "messages_of_account",
    };
    query.push("FROM periods p CROSS JOIN messages m INDEXED BY ").push(index);
    query.push(" ON m.period = p.period AND m.account_id = ").push_bind(account);
    query.push(" ").push(join).push(" WHERE p.account_id = ").push_bind(account);
    query.push(" AND p.period <= ").push_bind(range.newest_period());
    query.push(" AND p.period >= ").push_bind(range.lower.period());
    query.push(" AND m.id < ").push_bind(range.upper);
    query.push(" AND m.id >= ").push_bind(range.lower);
    if let Some(to) = &filter.to {
        query.push(" AND m.recipient = ").push_bind(to.to_string());
    }
    if walk(filter) == Walk::RareStates {
        let states: Vec<String> =
            filter.states.iter().map(|it| format!("'{}'", it.as_str())).collect();
        query.push(" AND ").push(IS_RARE).push(" AND m.state IN (").push(&states.join(", "));
        query.push(")");
    }
}

fn push_filter(query: &mut Statement<'_>, account: AccountId, filter: &MessageFilter) {
    if let Some(mode) = filter.mode {
        query.push(" AND m.key_id IN (SELECT id FROM keys WHERE account_id = ");
        query.push_bind(account).push(" AND mode = ").push_bind(mode.as_str()).push(")");
    }
    if let Some(from) = &filter.from {
        query.push(" AND m.sender = ").push_bind(from.to_string());
    }
    if !filter.states.is_empty() {
        query.push(" AND m.state").push_list(&filter.states);
    }
    if let Some(template) = &filter.template {
        query.push(" AND m.template_slug = ").push_bind(template.clone());
    }
    if let Some(tag) = &filter.tag {
        query.push_either(
            " AND EXISTS (SELECT 1 FROM json_each(m.tags) AS tag WHERE tag.value = ",
            " AND EXISTS (SELECT 1 FROM json_array_elements_text(CAST(m.tags AS JSON)) AS tag (value)
                  WHERE tag.value = ",
        );
        query.push_bind(tag.clone()).push(")");
    }
    if let Some(subject) = &filter.subject {
        // Only the letters A to Z have two cases, in every language.
        query.push_either(
            " AND instr(lower(m.subject), ",
            " AND strpos(lower(m.subject COLLATE \"C\"), ",
        );
        query.push_bind(subject.to_ascii_lowercase()).push(") > 0");
    }
    if let Some(since) = filter.since {
        query.push(" AND m.created_at >= ").push_bind(since.millis());
    }
    if let Some(until) = filter.until {
        query.push(" AND m.created_at < ").push_bind(until.millis());
    }
    if !filter.domains.is_empty() {
        // The last `@` is the one that counts, also behind a quoted local part.
        query.push_either(
            " AND EXISTS (SELECT 1 FROM json_each(",
            " AND EXISTS (SELECT 1 FROM unnest(",
        );
        query.push_texts(&filter.domains).push_either(") AS allowed", ") AS allowed (value)");
        query.push(" WHERE substr(m.sender, length(m.sender) - length(allowed.value))");
        query.push(" = '@' || allowed.value)");
    }
    if !filter.templates.is_empty() {
        query.push(" AND m.template_slug").push_list(&filter.templates);
    }
}

/// Reads the [`COLUMNS`].
pub fn message_row(row: &Row) -> Result<MessageRow, StoreError> {
    Ok(MessageRow {
        id: column(row, "id")?,
        account_id: column(row, "account_id")?,
        key_id: column(row, "key_id")?,
        channel: word(row, "messages", "channel", Channel::from_name)?,
        template: column(row, "template_slug")?,
        template_revision: column(row, "template_revision")?,
        from: column(row, "sender")?,
        to: column(row, "recipient")?,
        subject: column(row, "subject")?,
        state: word(row, "messages", "state", MessageState::from_name)?,
        reason: column(row, "reason")?,
        credits: Credits(column(row, "credits")?),
        refunded: Credits(column::<Option<i64>>(row, "refunded")?.unwrap_or(0)),
        tags: json_or_empty(row, "messages", "tags")?,
        metadata: json_or_empty(row, "messages", "metadata")?,
        next_attempt_at: moment_or_none(row, "due_at")?,
        created_at: moment(row, "created_at")?,
        updated_at: moment(row, "updated_at")?,
        complained_at: moment_or_none(row, "complained_at")?,
        resent_from: column(row, "resent_from")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_list_walks_its_index_from_hour_to_hour_and_sorts_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let all = MessageFilter::default;
        let range = Range { upper: MessageId::MAX, lower: MessageId::MIN };
        for (filter, index) in [
            (all(), "messages_of_account"),
            (
                MessageFilter { to: "ada@example.com".parse().ok(), ..all() },
                "messages_of_recipient",
            ),
            (MessageFilter { states: vec![MessageState::Bounced], ..all() }, "messages_by_state"),
        ] {
            let mut query = sql("EXPLAIN QUERY PLAN SELECT m.id ");
            push_range(&mut query, AccountId::MIN, &filter, QUEUE, range);
            query.push(NEWEST_FIRST);
            let rows = query.all(&store.db.readers).await.expect("explained");
            let steps: Vec<&str> =
                rows.iter().map(|row| column(row, "detail").expect("a text")).collect();
            assert!(steps[0].starts_with("SEARCH p USING PRIMARY KEY (account_id=?"), "{steps:?}");
            assert!(steps[1].contains(&format!("{index} (period=? AND account_id=?")), "{steps:?}");
            assert!(!steps.iter().any(|step| step.contains("TEMP B-TREE")), "{steps:?}");
        }
    }
}
