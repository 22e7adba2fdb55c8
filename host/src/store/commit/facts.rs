//! What is read before anything is decided, in one statement for each table.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::database::{Tx, column, json, parsed, sql};
use super::super::keys::mode;
use crate::clock::Timestamp;
use crate::store::StoreError;
use crate::store::records::{Answer, CommitFacts, Job, Slot};

/// Reads all that deciding these jobs needs.
pub async fn read(tx: &mut Tx, jobs: &[Job], now: Timestamp) -> Result<CommitFacts, StoreError> {
    let revision = sql("-- commit: revision\nSELECT value FROM revision").one(&mut *tx).await?;
    let accounts: BTreeSet<String> = jobs.iter().map(|job| job.account_id.to_string()).collect();
    let rows = sql("-- commit: balances
         SELECT id, balance FROM accounts WHERE id IN (SELECT value FROM json_each($1))")
    .list(&accounts)
    .all(&mut *tx)
    .await?;
    let mut facts = CommitFacts {
        revision: column(&revision, "value")?,
        balances: HashMap::with_capacity(rows.len()),
        suppressed: HashSet::new(),
        answers: HashMap::new(),
    };
    for row in &rows {
        facts.balances.insert(parsed(row, "accounts", "id")?, column(row, "balance")?);
    }
    let recipients: BTreeSet<String> = jobs
        .iter()
        .flat_map(|job| &job.slots)
        .filter_map(|slot| match slot {
            Slot::Message(message) => Some(message.recipient.folded()),
            Slot::Refused(_) => None,
        })
        .collect();
    let rows = sql("-- commit: suppressions
         SELECT account_id, address FROM suppressions
         WHERE account_id IN (SELECT value FROM json_each($1))
           AND address IN (SELECT value FROM json_each($2))
           AND (expires_at IS NULL OR expires_at > $3)")
    .list(&accounts)
    .list(&recipients)
    .bind(now.millis())
    .all(&mut *tx)
    .await?;
    for row in &rows {
        let account = parsed(row, "suppressions", "account_id")?;
        facts.suppressed.insert((account, column(row, "address")?));
    }
    let keys: Vec<&str> =
        jobs.iter().filter_map(|job| job.idempotency.as_ref()).map(|it| it.key.as_str()).collect();
    if keys.is_empty() {
        return Ok(facts);
    }
    let rows = sql("-- commit: idempotency
         SELECT account_id, mode, key, body_hash, answer FROM idempotency
         WHERE account_id IN (SELECT value FROM json_each($1))
           AND key IN (SELECT value FROM json_each($2)) AND expires_at > $3")
    .list(&accounts)
    .list(&keys)
    .bind(now.millis())
    .all(&mut *tx)
    .await?;
    for row in &rows {
        let account = parsed(row, "idempotency", "account_id")?;
        let mode = mode(row, "idempotency")?;
        let answers: Vec<Answer> = json(row, "idempotency", "answer")?;
        let key = (account, mode, column(row, "key")?);
        facts.answers.insert(key, (column(row, "body_hash")?, answers));
    }
    Ok(facts)
}
