//! What is read before anything is decided.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::database::transfer::marks;
use super::super::database::{Sql, Tx, args, column, each, either, json, sql};
use super::super::keys::mode;
use super::super::suppressions::suppressed;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::AccountId;
use crate::store::StoreError;
use crate::store::records::{Answer, CommitFacts, Job, JobItem};

/// On PostgreSQL no account is found in a database that was moved elsewhere: a node that stood still meanwhile may come back
/// to it, and what that node accepted would be lost. A file is moved while its one server is stopped.
const ACCOUNTS: Sql = either(
    "-- commit: accounts
    SELECT balance, facts_revision, credits_low FROM accounts WHERE id = $1",
    "-- postgres: commit: accounts
    SELECT balance, facts_revision, credits_low FROM accounts
    WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM upkeep WHERE name = 'moved to')",
);

/// Reads all that deciding these jobs needs.
///
/// # Errors
/// The database failed, or was moved elsewhere.
pub async fn read(tx: &mut Tx, jobs: &[Job], now: Timestamp) -> Result<CommitFacts, StoreError> {
    let accounts: BTreeSet<AccountId> = jobs.iter().map(|job| job.account_id).collect();
    let rows = each(ACCOUNTS, accounts.iter().map(|account| args![*account])).find(tx).await?;
    if rows.iter().any(Option::is_none) {
        marks::refuse(&mut *tx).await?;
    }
    let mut facts = CommitFacts {
        revisions: HashMap::with_capacity(rows.len()),
        balances: HashMap::with_capacity(rows.len()),
        thresholds: HashMap::new(),
        suppressed: HashSet::new(),
        answers: HashMap::new(),
    };
    for (account, row) in accounts.iter().zip(rows) {
        let Some(row) = row else { continue };
        facts.revisions.insert(*account, column(&row, "facts_revision")?);
        facts.balances.insert(*account, column(&row, "balance")?);
        if let Some(low) = column::<Option<i64>>(&row, "credits_low")? {
            facts.thresholds.insert(*account, Credits(low));
        }
    }
    facts.suppressed = suppressed(tx, &recipients(jobs), now).await?;
    let keys: Vec<&str> =
        jobs.iter().filter_map(|job| job.idempotency.as_ref()).map(|it| it.key.as_str()).collect();
    if keys.is_empty() {
        return Ok(facts);
    }
    let rows = sql("-- commit: idempotency
         SELECT account_id, mode, key, body_hash, answer FROM idempotency
         WHERE account_id IN (SELECT unhex(value) FROM json_each($1))
           AND key IN (SELECT value FROM json_each($2)) AND expires_at > $3")
    .ids(accounts)
    .list(&keys)
    .bind(now.millis())
    .all(&mut *tx)
    .await?;
    for row in &rows {
        let account: AccountId = column(row, "account_id")?;
        let mode = mode(row, "idempotency")?;
        let answers: Vec<Answer> = json(row, "idempotency", "answer")?;
        let key = (account, mode, column(row, "key")?);
        facts.answers.insert(key, (column(row, "body_hash")?, answers));
    }
    Ok(facts)
}

fn recipients(jobs: &[Job]) -> BTreeSet<(AccountId, String)> {
    let items = jobs.iter().flat_map(|job| job.items.iter().map(move |it| (job.account_id, it)));
    items
        .filter_map(|(account, item)| match item {
            JobItem::Message(message) => Some((account, message.recipient.folded())),
            JobItem::Refused(_) => None,
        })
        .collect()
}
