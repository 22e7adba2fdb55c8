//! Accounts and their credits.

use std::collections::BTreeMap;

use super::Store;
use super::database::{Row, Statement, Tx, column, either, inconsistent, json, moment, sql, word};
use super::events::ACCEPTED;
use crate::account::brand::{Brand, BrandChanges, BrandField};
use crate::account::plan::Plan;
use crate::account::{Account, AccountState};
use crate::clock::Timestamp;
use crate::credit::{Credits, EntryKind};
use crate::id::{AccountId, Identifier, MessageId};
use crate::message::address::EmailAddress;
use crate::store::StoreError;

/// What a plan policy gets as the last month (`wit/v0/plan-policy.wit`).
const MONTH_DAYS: i64 = 30;

/// An account, its balance, and how much it has sent.
#[derive(Debug, Clone)]
pub struct AccountRow {
    pub account: Account,
    /// The sum of its ledger.
    pub balance: Credits,
    /// Messages accepted today (UTC).
    pub sent_today: u64,
    /// Messages accepted in the last 30 days, today included.
    pub sent_month: u64,
}

const HOUR_MS: i64 = 3_600_000;

/// What became of the messages that were accepted within an hour. A message that was delivered and came back counts as
/// both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentInHour {
    /// Its beginning.
    pub hour: Timestamp,
    pub accepted: u64,
    /// To a mail exchanger or a smarthost.
    pub delivered: u64,
    pub failed: u64,
    /// Suppressed or canceled.
    pub not_sent: u64,
}

impl SentInHour {
    /// What nothing has become of yet.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        self.accepted.saturating_sub(self.delivered + self.failed + self.not_sent)
    }
}

/// Hours that [`Store::sent_lately`] looks back.
const LATELY_HOURS: i64 = 7 * 24;
/// What an account has sent in the last seven days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SentLately {
    pub accepted: u64,
    pub bounced: u64,
}

impl SentLately {
    /// Rounded; none where nothing was accepted.
    #[must_use]
    pub fn bounced_per_mille(self) -> Option<u64> {
        (self.bounced * 1_000 + self.accepted / 2).checked_div(self.accepted)
    }
}

impl Store {
    /// What each of these accounts has sent in the last seven days; none of what has sent nothing.
    pub async fn sent_lately(
        &self,
        accounts: &[AccountId],
        now: Timestamp,
    ) -> Result<BTreeMap<AccountId, SentLately>, StoreError> {
        let period = now.millis() / 3_600_000;
        let rows = sql("-- sent_lately
             WITH RECURSIVE hours (period) AS (
                 SELECT CAST($1 AS BIGINT) UNION ALL SELECT period - 1 FROM hours WHERE period > $2)
             SELECT s.account_id, CAST(sum(CASE WHEN s.state = 'accepted' THEN s.changes ELSE 0 END) AS BIGINT) AS accepted,
                    CAST(sum(CASE WHEN s.state = 'bounced' THEN s.changes ELSE 0 END) AS BIGINT) AS bounced
             FROM hours JOIN sent s ON s.period = hours.period AND s.state IN ('accepted', 'bounced')
                  AND s.account_id IN (SELECT unhex(value) FROM json_each($3))
             GROUP BY s.account_id")
        .bind(period)
        .bind(period - LATELY_HOURS)
        .ids(accounts.iter().copied())
        .all(&self.db.pages)
        .await?;
        let row = |row: &Row| {
            let count = |name| column::<i64>(row, name).map(i64::unsigned_abs);
            let sent = SentLately { accepted: count("accepted")?, bounced: count("bounced")? };
            Ok((column(row, "account_id")?, sent))
        };
        rows.iter().map(row).collect()
    }

    /// Opens an account with a balance of 0 and no brand.
    pub async fn create_account(&self, account: &Account) -> Result<(), StoreError> {
        insert_account(account).run(&self.db.writer).await.map(|_| ())
    }

    /// What these accounts are called; none of what is not there.
    pub async fn account_names(
        &self,
        accounts: impl IntoIterator<Item = AccountId>,
    ) -> Result<BTreeMap<AccountId, String>, StoreError> {
        let rows = sql("-- account_names
             SELECT id, name FROM accounts WHERE id IN (SELECT unhex(value) FROM json_each($1))")
        .ids(accounts)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| Ok((column(row, "id")?, column(row, "name")?))).collect()
    }

    /// What became of the messages that an account has sent, by the hour in which each was accepted, oldest first;
    /// nothing of hours without a message.
    pub async fn sent_by_hour(
        &self,
        account: AccountId,
        hours: u32,
        now: Timestamp,
    ) -> Result<Vec<SentInHour>, StoreError> {
        let period = now.millis() / HOUR_MS;
        let rows = sql("-- sent_by_hour
             WITH RECURSIVE hours (period) AS (
                 SELECT CAST($1 AS BIGINT) UNION ALL SELECT period - 1 FROM hours WHERE period > $2)
             SELECT s.period, s.state, s.changes
             FROM hours JOIN sent s ON s.period = hours.period AND s.account_id = $3
                  AND s.state IN ('accepted', 'delivered', 'relayed', 'bounced', 'failed', 'suppressed', 'canceled')
             ORDER BY s.period")
        .bind(period)
        .bind(period - i64::from(hours.saturating_sub(1)))
        .bind(account)
        .all(&self.db.pages)
        .await?;
        let mut found: Vec<SentInHour> = Vec::new();
        for row in &rows {
            let hour =
                Timestamp::from_millis(column::<i64>(row, "period")?.saturating_mul(HOUR_MS));
            if found.last().is_none_or(|it| it.hour != hour) {
                found.push(SentInHour { hour, accepted: 0, delivered: 0, failed: 0, not_sent: 0 });
            }
            let Some(last) = found.last_mut() else { continue };
            let count = column::<i64>(row, "changes")?.unsigned_abs();
            match column::<String>(row, "state")?.as_str() {
                ACCEPTED => last.accepted += count,
                "delivered" | "relayed" => last.delivered += count,
                "bounced" | "failed" => last.failed += count,
                _ => last.not_sent += count,
            }
        }
        Ok(found)
    }

    /// All accounts, oldest first.
    pub async fn accounts(&self, now: Timestamp) -> Result<Vec<AccountRow>, StoreError> {
        let rows = sql("-- accounts
             WITH RECURSIVE days (day) AS (
                 SELECT CAST($1 AS BIGINT) UNION ALL SELECT day - 1 FROM days WHERE day > $2)
             SELECT id, name, plan, state, sender, brand, strict, credits_low, balance, created_at,
                    (SELECT CAST(coalesce(sum(u.sent), 0) AS BIGINT) FROM usage u
                     WHERE u.day = $1 AND u.account_id = accounts.id) AS today,
                    (SELECT CAST(coalesce(sum(u.sent), 0) AS BIGINT)
                     FROM days JOIN usage u ON u.day = days.day AND u.account_id = accounts.id) AS month
             FROM accounts ORDER BY id")
        .bind(now.day())
        .bind(first_day(now.day()))
        .all(&self.db.pages)
        .await?;
        rows.iter().map(account_row).collect()
    }

    /// One account.
    ///
    /// # Errors
    /// The database failed, or there is no such account.
    pub async fn account(&self, id: AccountId, now: Timestamp) -> Result<AccountRow, StoreError> {
        let row = account(id, now.day()).optional(&self.db.readers).await?;
        match row {
            Some(row) => account_row(&row),
            None => Err(StoreError::Missing { noun: "account", name: id.to_string() }),
        }
    }

    /// Changes an account, its identifier and its brand excepted.
    #[cfg(test)]
    pub async fn update_account(&self, account: &Account) -> Result<(), StoreError> {
        let done = update(account).run(&self.db.writer).await?;
        if done != 1 {
            return Err(StoreError::Missing { noun: "account", name: account.id.to_string() });
        }
        Ok(())
    }

    /// Accounts in the order of their opening, behind `after`.
    pub async fn accounts_after(
        &self,
        after: Option<AccountId>,
        limit: u32,
        now: Timestamp,
    ) -> Result<Vec<AccountRow>, StoreError> {
        let rows = sql("-- accounts_after
             WITH RECURSIVE days (day) AS (
                 SELECT CAST($1 AS BIGINT) UNION ALL SELECT day - 1 FROM days WHERE day > $4)
             SELECT id, name, plan, state, sender, brand, strict, credits_low, balance, created_at,
                    (SELECT CAST(coalesce(sum(u.sent), 0) AS BIGINT) FROM usage u
                     WHERE u.day = $1 AND u.account_id = accounts.id) AS today,
                    (SELECT CAST(coalesce(sum(u.sent), 0) AS BIGINT)
                     FROM days JOIN usage u ON u.day = days.day AND u.account_id = accounts.id) AS month
             FROM accounts WHERE id > $2 ORDER BY id LIMIT $3")
        .bind(now.day())
        .bind(after.unwrap_or(Identifier::MIN))
        .bind(limit)
        .bind(first_day(now.day()))
        .all(&self.db.pages)
        .await?;
        rows.iter().map(account_row).collect()
    }

    /// Whether an account is on that plan.
    pub async fn is_plan_used(&self, plan: &str) -> Result<bool, StoreError> {
        let row = sql("-- is_plan_used\nSELECT 1 AS used FROM accounts WHERE plan = $1 LIMIT 1");
        Ok(row.bind(plan).optional(&self.db.pages).await?.is_some())
    }

    /// Changes an account to what `decide` makes of it, its identifier and its brand excepted.
    ///
    /// # Errors
    /// The database failed, or there is no such account.
    pub async fn change_account(
        &self,
        id: AccountId,
        now: Timestamp,
        decide: impl Fn(Account) -> Account,
    ) -> Result<AccountRow, StoreError> {
        let mut tx = self.db.begin("change_account").await?;
        let row = account(id, now.day()).optional(&mut tx).await?;
        let missing = || StoreError::Missing { noun: "account", name: id.to_string() };
        let row = account_row(&row.ok_or_else(missing)?)?;
        let changed = decide(row.account.clone());
        // A change moves the revision of the facts, so that every fact is read again.
        if changed != row.account {
            update(&changed).run(&mut tx).await?;
            tx.commit().await?;
        }
        Ok(AccountRow { account: changed, ..row })
    }

    /// Changes the brand of an account: sets the named fields, clears those without a value, and leaves
    /// the others. Answers the brand as it is then.
    ///
    /// # Errors
    /// The database failed, or there is no such account.
    pub async fn change_brand(
        &self,
        id: AccountId,
        changes: &BrandChanges,
    ) -> Result<Brand, StoreError> {
        let values: BTreeMap<&str, Option<&str>> =
            changes.iter().map(|(field, value)| (field.variable(), value)).collect();
        let row = sql(either(
            "-- change_brand: a null in the patch takes a member away (RFC 7396)
             UPDATE accounts SET brand = json_patch(brand, $1) WHERE id = $2 RETURNING brand",
            "-- postgres: change_brand: a null in the patch takes a member away (RFC 7396)
             UPDATE accounts
             SET brand = CAST(jsonb_strip_nulls(CAST(brand AS JSONB) || CAST(CAST($1 AS TEXT) AS JSONB)) AS TEXT)
             WHERE id = $2 RETURNING brand",
        ))
        .json(&values)
        .bind(id)
        .optional(&self.db.writer)
        .await?;
        let missing = || StoreError::Missing { noun: "account", name: id.to_string() };
        brand(&row.ok_or_else(missing)?)
    }

    /// Adds an entry to the ledger and answers the new balance.
    ///
    /// # Errors
    /// The database failed, or the balance would go below zero.
    pub async fn add_credits(
        &self,
        account: AccountId,
        kind: EntryKind,
        amount: Credits,
        reason: &str,
        now: Timestamp,
    ) -> Result<Credits, StoreError> {
        let mut tx = self.db.begin("add_credits").await?;
        add_entry(&mut tx, account, kind, amount, reason, now).await?;
        let balance = balance(&mut tx, account).await?;
        tx.commit().await?;
        Ok(balance)
    }

    /// The newest entries of an account's ledger, newest first.
    pub async fn ledger(
        &self,
        account: AccountId,
        limit: u32,
    ) -> Result<Vec<LedgerRow>, StoreError> {
        self.ledger_from(account, None, limit).await
    }

    /// Entries of an account's ledger, newest first, from one of them on, or from the newest.
    pub async fn ledger_from(
        &self,
        account: AccountId,
        first: Option<i64>,
        limit: u32,
    ) -> Result<Vec<LedgerRow>, StoreError> {
        // From one entry to the one before it: no index by account is kept.
        let rows = sql("-- ledger
             WITH RECURSIVE entries (id, kind, amount, messages, message_id, reason, created_at, previous, number) AS (
                 SELECT l.id, l.kind, l.amount, l.messages, l.message_id, l.reason, l.created_at, l.previous,
                        CAST(1 AS BIGINT)
                 FROM ledger l
                 WHERE l.id = coalesce($3, (SELECT last_entry FROM accounts WHERE id = $1)) AND l.account_id = $1
                 UNION ALL
                 SELECT l.id, l.kind, l.amount, l.messages, l.message_id, l.reason, l.created_at, l.previous,
                        e.number + 1
                 FROM entries e JOIN ledger l ON l.id = e.previous WHERE e.number < $2)
             SELECT id, kind, amount, messages, message_id, reason, created_at FROM entries
             WHERE number <= $2 ORDER BY number")
        .bind(account)
        .bind(limit)
        .bind(first)
        .all(&self.db.pages)
        .await?;
        rows.iter()
            .map(|row| {
                Ok(LedgerRow {
                    number: column(row, "id")?,
                    kind: word(row, "ledger", "kind", EntryKind::from_name)?,
                    amount: Credits(column(row, "amount")?),
                    messages: column(row, "messages")?,
                    message_id: column(row, "message_id")?,
                    reason: column(row, "reason")?,
                    at: moment(row, "created_at")?,
                })
            })
            .collect()
    }
}

/// Adds an entry to the ledger, by which a trigger moves the balance.
pub async fn add_entry(
    tx: &mut Tx,
    account: AccountId,
    kind: EntryKind,
    amount: Credits,
    reason: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let added = sql("-- add_credits
         INSERT INTO ledger (account_id, kind, amount, reason, created_at)
         VALUES ($1, $2, $3, $4, $5)")
    .bind(account)
    .bind(kind.as_str())
    .bind(amount.0)
    .bind(reason)
    .bind(now.millis())
    .run(tx)
    .await;
    match added {
        Ok(_) => Ok(()),
        Err(error) if error.is_constraint() => Err(StoreError::NegativeBalance),
        Err(error) => Err(error),
    }
}

/// The balance of an account to which credits are added.
///
/// # Errors
/// The database failed, there is no such account, or it is being deleted.
pub async fn balance(tx: &mut Tx, account: AccountId) -> Result<Credits, StoreError> {
    let row = sql("-- balance
         SELECT balance FROM accounts WHERE id = $1 AND state <> 'deleting'");
    let row = row.bind(account).optional(tx).await?;
    let missing = || StoreError::Missing { noun: "account", name: account.to_string() };
    Ok(Credits(column(&row.ok_or_else(missing)?, "balance")?))
}

pub(super) fn insert_account(account: &Account) -> Statement<'_> {
    sql("-- create_account
         INSERT INTO accounts (id, name, plan, state, sender, strict, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)")
    .bind(account.id)
    .bind(&account.name)
    .bind(&account.plan.name)
    .bind(account.state.as_str())
    .bind(account.sender.as_ref().map(ToString::to_string))
    .bind(account.strict)
    .bind(account.created_at.millis())
}

fn update(account: &Account) -> Statement<'_> {
    sql("-- update_account
         UPDATE accounts SET name = $1, plan = $2, state = $3, sender = $4, strict = $5, credits_low = $6
         WHERE id = $7")
    .bind(&account.name)
    .bind(&account.plan.name)
    .bind(account.state.as_str())
    .bind(account.sender.as_ref().map(ToString::to_string))
    .bind(account.strict)
    .bind(account.credits_low)
    .bind(account.id)
}

/// One entry of a ledger.
#[derive(Debug, Clone)]
pub struct LedgerRow {
    /// Among those of all accounts.
    pub number: i64,
    pub kind: EntryKind,
    /// Negative for a debit.
    pub amount: Credits,
    /// How many messages a debit pays for: all of the account's that one transaction accepted.
    pub messages: Option<u32>,
    /// The message of a refund; of a debit where an earlier version has written it.
    pub message_id: Option<MessageId>,
    pub reason: Option<String>,
    pub at: Timestamp,
}

/// The statement that reads one account; the facts read it in a transaction of their own.
pub fn account(id: AccountId, today: i64) -> Statement<'static> {
    sql(ACCOUNT).bind(today).bind(id).bind(first_day(today))
}

/// The first of the days that count as the last month.
pub fn first_day(today: i64) -> i64 {
    today - (MONTH_DAYS - 1)
}

/// The days stand first in `usage`: each of the month is looked up.
const ACCOUNT: &str = "-- account
    WITH RECURSIVE days (day) AS (
        SELECT CAST($1 AS BIGINT) UNION ALL SELECT day - 1 FROM days WHERE day > $3)
    SELECT id, name, plan, state, sender, brand, strict, credits_low, balance, created_at,
           (SELECT CAST(coalesce(sum(u.sent), 0) AS BIGINT) FROM usage u
            WHERE u.day = $1 AND u.account_id = $2) AS today,
           (SELECT CAST(coalesce(sum(u.sent), 0) AS BIGINT)
            FROM days JOIN usage u ON u.day = days.day AND u.account_id = $2) AS month
    FROM accounts WHERE id = $2";

/// Reads a row of [`ACCOUNT`].
pub fn account_row(row: &Row) -> Result<AccountRow, StoreError> {
    let state = word(row, "accounts", "state", AccountState::from_name)?;
    let sender: Option<String> = column(row, "sender")?;
    let sender = sender
        .map(|text| {
            text.parse::<EmailAddress>().map_err(|_| inconsistent("accounts", "sender", &text))
        })
        .transpose()?;
    let plan: String = column(row, "plan")?;
    Ok(AccountRow {
        account: Account {
            id: column(row, "id")?,
            name: column(row, "name")?,
            plan: Plan::named(&plan),
            state,
            sender,
            brand: brand(row)?,
            strict: column(row, "strict")?,
            credits_low: column(row, "credits_low")?,
            created_at: Timestamp::from_millis(column(row, "created_at")?),
        },
        balance: Credits(column(row, "balance")?),
        sent_today: count(row, "today")?,
        sent_month: count(row, "month")?,
    })
}

fn brand(row: &Row) -> Result<Brand, StoreError> {
    let values: BTreeMap<String, String> = json(row, "accounts", "brand")?;
    let field = |(name, value): (String, String)| match BrandField::of_variable(&name) {
        Some(field) => Ok((field, value)),
        None => Err(inconsistent("accounts", "brand", &name)),
    };
    Ok(Brand::stored(values.into_iter().map(field).collect::<Result<_, _>>()?))
}

fn count(row: &Row, name: &'static str) -> Result<u64, StoreError> {
    column::<i64>(row, name).map(|count| u64::try_from(count).unwrap_or(0))
}
