//! Addresses that an account sends nothing more to. What has expired is as if it were not there.

use std::collections::{BTreeSet, HashSet};

use super::Store;
use super::database::{Row, Tx, args, column, each, moment, moment_or_none, sql, word};
use super::scan_batches::ScanBatches;
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::store::StoreError;
use crate::store::records::{NewSuppression, SuppressionKind};

/// An address on an account's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuppressionRow {
    /// The address in lower case throughout.
    pub address: String,
    pub kind: SuppressionKind,
    /// In the words of whoever put it there.
    pub reason: String,
    /// The message that bounced or was complained about.
    pub message_id: Option<MessageId>,
    /// When it was put there.
    pub created_at: Timestamp,
    /// When it is taken off; none for never.
    pub expires_at: Option<Timestamp>,
}

/// Which of these folded addresses are on their accounts' lists: one look for each, in the order of the list.
pub async fn suppressed(
    tx: &mut Tx,
    recipients: &BTreeSet<(AccountId, String)>,
    now: Timestamp,
) -> Result<HashSet<(AccountId, String)>, StoreError> {
    let found = each(
        "-- suppressed
         SELECT 1 AS is_there FROM suppressions
         WHERE account_id = $1 AND address = $2 AND (expires_at IS NULL OR expires_at > $3)",
        recipients.iter().map(|(account, address)| args![*account, address, now.millis()]),
    )
    .find(tx)
    .await?;
    let found = recipients.iter().zip(found);
    Ok(found.filter_map(|(it, row)| row.map(|_| it.clone())).collect())
}

/// What stands on the list after an address was to be put there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// How it stands there; what was there may have been stronger, and stayed.
    pub row: SuppressionRow,
    /// Whether it stood there before.
    pub before: bool,
}

/// Some addresses of a list, and where it goes on.
#[derive(Debug, Clone)]
pub struct SuppressionPage {
    /// In the order of the addresses.
    pub suppressions: Vec<SuppressionRow>,
    /// What the next page comes after; none where there is no more.
    pub next: Option<String>,
}

impl Store {
    /// Puts an address on an account's list.
    pub async fn suppress(&self, new: &NewSuppression, now: Timestamp) -> Result<(), StoreError> {
        self.suppress_all(std::slice::from_ref(new), now).await.map(|_| ())
    }

    /// Puts addresses on lists, all or none.
    pub async fn suppress_all(
        &self,
        new: &[NewSuppression],
        now: Timestamp,
    ) -> Result<Vec<Suppressed>, StoreError> {
        let mut tx = self.db.begin("suppress_all").await?;
        let mut suppressed = Vec::with_capacity(new.len());
        for new in new {
            let before = in_tx(&mut tx, new, now).await?.is_some();
            put(&mut tx, new, now).await?;
            // What is put there with an end in the past is not there.
            let row = match in_tx(&mut tx, new, now).await? {
                Some(row) => row,
                None => SuppressionRow::of(new, now),
            };
            suppressed.push(Suppressed { row, before });
        }
        tx.commit().await?;
        Ok(suppressed)
    }

    /// Takes an address off an account's list; whether it was there.
    pub async fn unsuppress(
        &self,
        account: AccountId,
        address: &str,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        sql("-- unsuppress
             DELETE FROM suppressions WHERE account_id = $1 AND address = $2
             RETURNING expires_at IS NULL OR expires_at > $3 AS stood")
        .bind(account)
        .bind(address)
        .bind(now.millis())
        .optional(&self.db.writer)
        .await?
        .map_or(Ok(false), |row| column(&row, "stood"))
    }

    pub async fn suppression(
        &self,
        account: AccountId,
        address: &str,
        now: Timestamp,
    ) -> Result<Option<SuppressionRow>, StoreError> {
        sql(ONE)
            .bind(account)
            .bind(address)
            .bind(now.millis())
            .optional(&self.db.readers)
            .await?
            .map(|row| suppression_row(&row))
            .transpose()
    }

    /// An account's list in the order of the addresses, at most `limit`, behind `after`; of one kind,
    /// where one is given. A page may be short, or empty, and still have a next one.
    pub async fn suppressions(
        &self,
        account: AccountId,
        kind: Option<SuppressionKind>,
        after: Option<&str>,
        limit: u32,
        now: Timestamp,
    ) -> Result<SuppressionPage, StoreError> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut lower = after.unwrap_or_default().to_owned();
        let mut suppressions: Vec<SuppressionRow> = Vec::new();
        for batch in ScanBatches::new(limit) {
            let upper = self.batch(account, &lower, batch).await?;
            let range = (lower.as_str(), upper.as_deref());
            suppressions.extend(self.matching_suppressions(account, kind, range, now).await?);
            if suppressions.len() > wanted {
                suppressions.truncate(wanted);
                let next = suppressions.last().map(|row| row.address.clone());
                return Ok(SuppressionPage { suppressions, next });
            }
            let Some(upper) = upper else {
                return Ok(SuppressionPage { suppressions, next: None });
            };
            lower = upper;
        }
        Ok(SuppressionPage { suppressions, next: Some(lower) })
    }

    /// The last of the next `batch` addresses; none where there are fewer.
    async fn batch(
        &self,
        account: AccountId,
        after: &str,
        batch: u32,
    ) -> Result<Option<String>, StoreError> {
        sql("-- suppressions: a batch
             SELECT address FROM suppressions WHERE account_id = $1 AND address > $2
             ORDER BY address LIMIT 1 OFFSET $3")
        .bind(account)
        .bind(after)
        .bind(batch.saturating_sub(1))
        .optional(&self.db.pages)
        .await?
        .map(|row| column(&row, "address"))
        .transpose()
    }

    async fn matching_suppressions(
        &self,
        account: AccountId,
        kind: Option<SuppressionKind>,
        (lower, upper): (&str, Option<&str>),
        now: Timestamp,
    ) -> Result<Vec<SuppressionRow>, StoreError> {
        let mut query = sql("-- suppressions
             SELECT address, kind, reason, message_id, created_at, expires_at FROM suppressions
             WHERE account_id = ");
        query.push_bind(account).push(" AND address > ").push_bind(lower.to_owned());
        if let Some(upper) = upper {
            query.push(" AND address <= ").push_bind(upper.to_owned());
        }
        if let Some(kind) = kind {
            query.push(" AND kind = ").push_bind(kind.as_str());
        }
        query.push(" AND (expires_at IS NULL OR expires_at > ").push_bind(now.millis());
        query.push(") ORDER BY address");
        let rows = query.all(&self.db.pages).await?;
        rows.iter().map(suppression_row).collect()
    }
}

const ONE: &str = "-- suppression
     SELECT address, kind, reason, message_id, created_at, expires_at FROM suppressions
     WHERE account_id = $1 AND address = $2 AND (expires_at IS NULL OR expires_at > $3)";

impl SuppressionRow {
    fn of(new: &NewSuppression, now: Timestamp) -> Self {
        Self {
            address: new.address.clone(),
            kind: new.kind,
            reason: new.reason.clone(),
            message_id: new.message_id,
            created_at: now,
            expires_at: new.expires_at,
        }
    }
}

async fn in_tx(
    tx: &mut Tx,
    new: &NewSuppression,
    now: Timestamp,
) -> Result<Option<SuppressionRow>, StoreError> {
    sql(ONE)
        .bind(new.account_id)
        .bind(&new.address)
        .bind(now.millis())
        .optional(&mut *tx)
        .await?
        .map(|row| suppression_row(&row))
        .transpose()
}

fn suppression_row(row: &Row) -> Result<SuppressionRow, StoreError> {
    Ok(SuppressionRow {
        address: column(row, "address")?,
        kind: word(row, "suppressions", "kind", SuppressionKind::from_name)?,
        reason: column(row, "reason")?,
        message_id: column(row, "message_id")?,
        created_at: moment(row, "created_at")?,
        expires_at: moment_or_none(row, "expires_at")?,
    })
}

/// Puts an address on a list. An entry is replaced only by one that lasts longer, of a kind that may replace it
/// ([`SuppressionKind::replaces`]).
pub async fn put(tx: &mut Tx, new: &NewSuppression, now: Timestamp) -> Result<(), StoreError> {
    let replaced: Vec<&str> = new.kind.replaces().iter().map(|it| it.as_str()).collect();
    sql(
        "-- suppress
         INSERT INTO suppressions (account_id, address, kind, reason, message_id, created_at, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (account_id, address) DO UPDATE SET kind = excluded.kind,
             reason = excluded.reason, message_id = excluded.message_id,
             created_at = excluded.created_at, expires_at = excluded.expires_at
         WHERE suppressions.expires_at <= $6
            OR (suppressions.kind IN (SELECT value FROM json_each($8))
                AND (excluded.expires_at IS NULL OR excluded.expires_at > suppressions.expires_at))",
    )
    .bind(new.account_id)
    .bind(&new.address)
    .bind(new.kind.as_str())
    .bind(&new.reason)
    .bind(new.message_id)
    .bind(now.millis())
    .bind(new.expires_at.map(Timestamp::millis))
    .list(&replaced)
    .run(&mut *tx)
    .await.map(|_| ())
}
