//! All values that are sealed, as they are: a rotation of the master key seals them again.

use super::Store;
use super::database::{Row, args, column, each, inconsistent, sql};
use crate::store::StoreError;

/// A column with sealed values. Who may open them is decided above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SealedColumn {
    /// By the identifier of the domain, and the selector.
    DkimKeys,
    /// By the identifier of the webhook.
    WebhookSecrets,
    EarlierWebhookSecrets,
    /// By the identifier of the user.
    Factors,
    /// By the identifier of the decision, and the plugin's kind.
    Samples,
}

/// A sealed value, and the row that has it.
#[derive(Debug, Clone)]
pub struct SealedValue {
    pub id: [u8; 16],
    /// What tells the rows of one identifier apart; empty where there is one row.
    pub name: String,
    pub sealed: Vec<u8>,
}

/// Another form of a sealed value, and the one before it.
#[derive(Debug)]
pub struct ResealedValue {
    pub before: SealedValue,
    pub sealed: Vec<u8>,
}

impl SealedColumn {
    pub const ALL: [Self; 5] = [
        Self::DkimKeys,
        Self::WebhookSecrets,
        Self::EarlierWebhookSecrets,
        Self::Factors,
        Self::Samples,
    ];
}

impl Store {
    /// At most `limit` sealed values of a column in the order of their rows, behind `after`.
    pub async fn sealed_values(
        &self,
        of: SealedColumn,
        after: Option<&SealedValue>,
        limit: u32,
    ) -> Result<Vec<SealedValue>, StoreError> {
        let (id, name) = after.map_or(([0; 16], ""), |it| (it.id, it.name.as_str()));
        let statement = match of {
            SealedColumn::DkimKeys => sql("-- sealed_values: DKIM keys
                 SELECT domain_id AS id, selector AS name, private_key AS sealed FROM dkim_keys
                 WHERE (domain_id, selector) > ($1, $2) AND length(private_key) > 0
                 ORDER BY domain_id, selector LIMIT $3")
            .bind(id)
            .bind(name),
            SealedColumn::WebhookSecrets => sql("-- sealed_values: webhooks
                 SELECT id, '' AS name, secret AS sealed FROM webhooks
                 WHERE id > $1 ORDER BY id LIMIT $2")
            .bind(id),
            SealedColumn::EarlierWebhookSecrets => sql("-- sealed_values: earlier secrets
                 SELECT id, '' AS name, earlier_secret AS sealed FROM webhooks
                 WHERE id > $1 AND earlier_secret IS NOT NULL ORDER BY id LIMIT $2")
            .bind(id),
            SealedColumn::Factors => sql("-- sealed_values: factors
                 SELECT user_id AS id, '' AS name, secret AS sealed FROM factors
                 WHERE user_id > $1 AND kind = 'totp' ORDER BY user_id LIMIT $2")
            .bind(id),
            SealedColumn::Samples => sql("-- sealed_values: samples
                 SELECT decision_id AS id, kind AS name, sealed FROM samples
                 WHERE (decision_id, kind) > ($1, $2) ORDER BY decision_id, kind LIMIT $3")
            .bind(id)
            .bind(name),
        };
        let rows = statement.bind(limit).all(&self.db.readers).await?;
        rows.iter().map(sealed_value).collect()
    }

    /// Writes other forms of sealed values, unless a value has become another one since it was read. Answers how many were
    /// written.
    pub async fn reseal(
        &self,
        of: SealedColumn,
        values: &[ResealedValue],
    ) -> Result<u64, StoreError> {
        let by_name = values
            .iter()
            .map(|it| args![it.before.id, it.before.name.as_str(), &it.sealed, &it.before.sealed]);
        let by_id = values.iter().map(|it| args![it.before.id, &it.sealed, &it.before.sealed]);
        let mut tx = self.db.begin("reseal").await?;
        let written = match of {
            SealedColumn::DkimKeys => {
                let text = "-- reseal: DKIM keys
                     UPDATE dkim_keys SET private_key = $3
                     WHERE domain_id = $1 AND selector = $2 AND private_key = $4";
                each(text, by_name).run(&mut tx).await?
            }
            SealedColumn::WebhookSecrets => {
                let text = "-- reseal: webhooks
                     UPDATE webhooks SET secret = $2 WHERE id = $1 AND secret = $3";
                each(text, by_id).run(&mut tx).await?
            }
            SealedColumn::EarlierWebhookSecrets => {
                let text = "-- reseal: earlier secrets
                     UPDATE webhooks SET earlier_secret = $2 WHERE id = $1 AND earlier_secret = $3";
                each(text, by_id).run(&mut tx).await?
            }
            SealedColumn::Factors => {
                let text = "-- reseal: factors
                     UPDATE factors SET secret = $2
                     WHERE user_id = $1 AND kind = 'totp' AND secret = $3";
                each(text, by_id).run(&mut tx).await?
            }
            SealedColumn::Samples => {
                let text = "-- reseal: samples
                     UPDATE samples SET sealed = $3
                     WHERE decision_id = $1 AND kind = $2 AND sealed = $4";
                each(text, by_name).run(&mut tx).await?
            }
        };
        tx.commit().await?;
        Ok(written.iter().sum())
    }
}

fn sealed_value(row: &Row) -> Result<SealedValue, StoreError> {
    let id: &[u8] = column(row, "id")?;
    Ok(SealedValue {
        id: id.try_into().map_err(|_| inconsistent("sealed values", "id", ""))?,
        name: column(row, "name")?,
        sealed: column(row, "sealed")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::id::{DecisionId, Identifier as _};
    use crate::store::{SampleOutcome, SampleRecord};

    const AT: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn sample(decision_id: DecisionId, kind: &'static str) -> SampleRecord {
        SampleRecord {
            decision_id,
            kind,
            slot: "slot".to_owned(),
            digest: "sha256:0".to_owned(),
            outcome: SampleOutcome::Answered,
            sealed: b"before".to_vec(),
        }
    }

    fn resealed(before: &SealedValue) -> ResealedValue {
        ResealedValue { before: before.clone(), sealed: b"behind".to_vec() }
    }

    #[tokio::test]
    async fn every_value_is_read_once_in_batches_and_written_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let ids = [(); 3].map(|()| DecisionId::new(AT));
        let samples: Vec<SampleRecord> =
            ids.iter().flat_map(|id| ["plan", "renderer"].map(|kind| sample(*id, kind))).collect();
        store.record_samples(&samples, AT, 10).await.expect("recorded");
        let mut found: Vec<SealedValue> = Vec::new();
        loop {
            let batch = store.sealed_values(SealedColumn::Samples, found.last(), 2).await;
            let batch = batch.expect("readable");
            if batch.is_empty() {
                break;
            }
            let values: Vec<ResealedValue> = batch.iter().map(resealed).collect();
            let written = store.reseal(SealedColumn::Samples, &values).await.expect("written");
            assert_eq!(written, 2);
            found.extend(batch);
        }
        assert_eq!(found.len(), 6);
        for id in ids {
            let rows = store.sample(id).await.expect("readable");
            assert!(rows.len() == 2 && rows.iter().all(|it| it.sealed == b"behind"));
        }
        for column in SealedColumn::ALL.into_iter().filter(|it| *it != SealedColumn::Samples) {
            let values = store.sealed_values(column, None, 10).await.expect("readable");
            assert!(values.is_empty(), "{column:?}");
        }
    }

    #[tokio::test]
    async fn a_value_that_was_changed_since_it_was_read_stays() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let decision = DecisionId::new(AT);
        store.record_samples(&[sample(decision, "plan")], AT, 10).await.expect("recorded");
        let stale = SealedValue {
            id: decision.to_bytes(),
            name: "plan".to_owned(),
            sealed: b"long ago".to_vec(),
        };
        for column in SealedColumn::ALL {
            let written = store.reseal(column, &[resealed(&stale)]).await.expect("written");
            assert_eq!(written, 0, "{column:?}");
        }
        assert_eq!(store.sample(decision).await.expect("readable")[0].sealed, b"before");
    }
}
