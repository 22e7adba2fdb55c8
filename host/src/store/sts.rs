//! MTA-STS policies of the domains that mail goes to. Expired ones leave as others come.

use super::Store;
use super::database::{column, sql};
use crate::clock::Timestamp;
use crate::store::StoreError;

/// How many expired policies leave for one that comes.
const EXPIRED_PER_NEW: u32 = 16;

/// A policy that was fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StsRow {
    /// As the domain's record announced it.
    pub id: String,
    pub policy: String,
    pub fetched_at: Timestamp,
    /// Until when it holds.
    pub expires_at: Timestamp,
}

impl Store {
    /// The policy of a domain that holds at `now`.
    pub async fn sts_policy(
        &self,
        domain: &str,
        now: Timestamp,
    ) -> Result<Option<StsRow>, StoreError> {
        let row = sql("-- sts_policy
             SELECT id, policy, fetched_at, expires_at FROM sts_policies
             WHERE domain = $1 AND expires_at > $2")
        .bind(domain)
        .bind(now.millis())
        .optional(&self.db.readers)
        .await?;
        let read = |row| {
            Ok(StsRow {
                id: column(&row, "id")?,
                policy: column(&row, "policy")?,
                fetched_at: Timestamp::from_millis(column(&row, "fetched_at")?),
                expires_at: Timestamp::from_millis(column(&row, "expires_at")?),
            })
        };
        row.map(read).transpose()
    }

    /// Keeps the policy of a domain in the place of any other.
    pub async fn keep_sts_policy(&self, domain: &str, new: &StsRow) -> Result<(), StoreError> {
        let mut tx = self.db.begin("keep_sts_policy").await?;
        sql("-- keep_sts_policy
             INSERT INTO sts_policies (domain, id, policy, fetched_at, expires_at)
             VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (domain) DO UPDATE SET id = excluded.id, policy = excluded.policy,
                 fetched_at = excluded.fetched_at, expires_at = excluded.expires_at")
        .bind(domain)
        .bind(&new.id)
        .bind(&new.policy)
        .bind(new.fetched_at.millis())
        .bind(new.expires_at.millis())
        .run(&mut tx)
        .await?;
        sql("-- keep_sts_policy
             DELETE FROM sts_policies WHERE domain IN
                 (SELECT domain FROM sts_policies WHERE expires_at <= $1 LIMIT $2)")
        .bind(new.fetched_at.millis())
        .bind(EXPIRED_PER_NEW)
        .run(&mut tx)
        .await?;
        tx.commit().await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn row(id: &str, fetched_at: Timestamp, holds: Duration) -> StsRow {
        let expires_at = fetched_at.after(holds);
        StsRow { id: id.to_owned(), policy: "version: STSv1".to_owned(), fetched_at, expires_at }
    }

    #[tokio::test]
    async fn a_policy_holds_until_it_expires_or_another_comes() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let hour = Duration::from_hours(1);
        let first = row("1", NOW, hour);
        store.keep_sts_policy("example.com", &first).await.expect("kept");
        let held = async |domain, now| store.sts_policy(domain, now).await.expect("readable");
        assert_eq!(held("example.com", NOW).await, Some(first));
        assert_eq!(held("example.net", NOW).await, None);
        assert_eq!(held("example.com", NOW.after(hour)).await, None);

        let second = row("2", NOW.after(hour), hour);
        store.keep_sts_policy("example.com", &second).await.expect("kept");
        assert_eq!(held("example.com", NOW).await, Some(second));

        let later = row("3", NOW.after(hour * 3), hour);
        store.keep_sts_policy("example.net", &later).await.expect("kept");
        assert_eq!(held("example.com", NOW).await, None, "expired ones are gone");
        assert_eq!(held("example.net", NOW).await, Some(later));
    }
}
