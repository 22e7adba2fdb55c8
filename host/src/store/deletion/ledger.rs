//! The ledger of an account that is being deleted, of which the sums are kept, and the account itself.

use serde::{Deserialize, Serialize};

use super::super::Store;
use super::super::audit::insert_audit;
use super::super::database::{Tx, column, json, sql, word};
use crate::clock::Timestamp;
use crate::credit::EntryKind;
use crate::id::AccountId;
use crate::store::{ActorId, AuditRow, StoreError};

/// Goes back from the newest entry of the account: each entry names the one before. The ledger has no index by account.
const NEWEST_ENTRIES: &str = "-- drop_ledger_of: which
    WITH RECURSIVE entries (id, kind, amount, previous, number) AS (
        SELECT l.id, l.kind, l.amount, l.previous, CAST(1 AS BIGINT)
        FROM ledger l
        WHERE l.id = (SELECT last_entry FROM accounts WHERE id = $1) AND l.account_id = $1
        UNION ALL
        SELECT l.id, l.kind, l.amount, l.previous, e.number + 1
        FROM entries e JOIN ledger l ON l.id = e.previous WHERE e.number < $2)
    SELECT id, kind, amount, previous FROM entries ORDER BY number";

/// Under which name the revision is kept at which an account was deleted last: the row of the account, which would have that
/// revision, is gone.
const LAST_DELETION: &str = "account deleted";

/// The sums of an account's ledger: the only thing that is kept of the account, for the books of the operator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct LedgerSums {
    granted: i64,
    spent: i64,
    refunded: i64,
    adjusted: i64,
}

impl Store {
    /// Deletes the newest entries of an account's ledger, and adds them to the sums that are kept. Answers how many; 0
    /// when there is none left.
    pub async fn drop_ledger_of(&self, account: AccountId, limit: u32) -> Result<u64, StoreError> {
        let mut tx = self.db.begin("drop_ledger_of").await?;
        let entries = sql(NEWEST_ENTRIES).bind(account).bind(limit).all(&mut tx).await?;
        let Some(oldest) = entries.last() else { return Ok(0) };
        let previous: Option<i64> = column(oldest, "previous")?;
        let mut sums = sums_of(&mut tx, account).await?;
        let mut ids: Vec<i64> = Vec::with_capacity(entries.len());
        for row in &entries {
            let kind = word(row, "ledger", "kind", EntryKind::from_name)?;
            sums.add(kind, column(row, "amount")?);
            ids.push(column(row, "id")?);
        }
        sql("-- drop_ledger_of: newest entry\nUPDATE accounts SET last_entry = $2 WHERE id = $1")
            .bind(account)
            .bind(previous)
            .run(&mut tx)
            .await?;
        sql("-- drop_ledger_of
             DELETE FROM ledger WHERE id IN (SELECT value FROM json_each($1))")
        .numbers(&ids)
        .run(&mut tx)
        .await?;
        sql("-- drop_ledger_of: sums
             INSERT INTO upkeep (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        .bind(note_of(account))
        .json(&sums)
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(u64::try_from(ids.len()).unwrap_or(u64::MAX))
    }

    /// Deletes the account itself, and writes down that it is gone and what its ledger came to. Answers whether it is
    /// gone: not where something was added to it meanwhile, which has to go before it.
    pub async fn finish_deletion(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("finish_deletion").await?;
        let row = sql("-- finish_deletion: what is left
             SELECT a.last_entry IS NOT NULL
                    OR EXISTS (SELECT 1 FROM periods p WHERE p.account_id = a.id)
                    OR EXISTS (SELECT 1 FROM audit u WHERE u.account_id = a.id) AS is_left
             FROM accounts a WHERE a.id = $1 AND a.state = 'deleting'")
        .bind(account)
        .optional(&mut tx)
        .await?;
        let Some(row) = row else { return Ok(true) };
        if column::<bool>(&row, "is_left")? {
            return Ok(false);
        }
        let sums = sums_of(&mut tx, account).await?;
        let deleted = sql("-- finish_deletion\nDELETE FROM accounts WHERE id = $1").bind(account);
        match deleted.run(&mut tx).await {
            Ok(_) => {}
            // A key, a domain, a person or another row refers to the account.
            Err(error) if error.is_constraint() => return Ok(false),
            Err(error) => return Err(error),
        }
        let moved = sql("-- finish_deletion: revision\nUPDATE revision SET value = value + 1");
        moved.run(&mut tx).await?;
        sql("-- finish_deletion: facts
             INSERT INTO upkeep (name, value)
             SELECT CAST($1 AS TEXT), CAST(value AS TEXT) FROM revision WHERE id = 1
             ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        .bind(LAST_DELETION)
        .run(&mut tx)
        .await?;
        sql("-- finish_deletion: sums\nDELETE FROM upkeep WHERE name = $1")
            .bind(note_of(account))
            .run(&mut tx)
            .await?;
        let row = AuditRow {
            at: now,
            account: None,
            actor: ActorId::Server,
            acting: false,
            actor_name: None,
            action: "account_deleted".to_owned(),
            subject: Some(format!("{account}: {}", sums.words())),
            ip: None,
        };
        insert_audit(&row).run(&mut tx).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Whether an account was deleted since that revision, whose facts are to be forgotten.
    pub(in crate::store) async fn were_accounts_deleted_since(
        &self,
        revision: i64,
    ) -> Result<bool, StoreError> {
        let noted = self.noted(LAST_DELETION).await?;
        Ok(noted.and_then(|it| it.parse::<i64>().ok()).is_some_and(|it| it > revision))
    }
}

impl LedgerSums {
    fn add(&mut self, kind: EntryKind, amount: i64) {
        match kind {
            EntryKind::Grant => self.granted += amount,
            EntryKind::Debit => self.spent -= amount,
            EntryKind::Refund => self.refunded += amount,
            EntryKind::Adjustment => self.adjusted += amount,
        }
    }

    fn words(self) -> String {
        let Self { granted, spent, refunded, adjusted } = self;
        let left = granted - spent + refunded + adjusted;
        format!(
            "{granted} credits granted, {spent} spent, {refunded} refunded, {adjusted} adjusted, {left} left"
        )
    }
}

/// What has been summed up of a ledger that is being deleted.
async fn sums_of(tx: &mut Tx, account: AccountId) -> Result<LedgerSums, StoreError> {
    let row = sql("-- sums_of\nSELECT value FROM upkeep WHERE name = $1")
        .bind(note_of(account))
        .optional(&mut *tx)
        .await?;
    row.map_or(Ok(LedgerSums::default()), |row| json(&row, "upkeep", "value"))
}

/// Under which name the sums stand until the account is gone.
fn note_of(account: AccountId) -> String {
    format!("ledger of {account}")
}
