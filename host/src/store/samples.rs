//! Samples: the sealed input and answer of some calls of plugins, a bounded number for each slot.

use serde::Serialize;

use super::Store;
use super::database::{Row, Tx, column, either, inconsistent, sql};
use crate::clock::Timestamp;
use crate::id::DecisionId;
use crate::store::StoreError;
use crate::store::seal::{Seal, SealError};

/// One call of a plugin, to be kept for a while.
#[derive(Debug, Clone)]
pub struct SampleRecord {
    /// The decision that the call was part of.
    pub decision_id: DecisionId,
    /// The plugin's kind, as one word.
    pub kind: &'static str,
    /// The slot that was called.
    pub slot: String,
    /// The component that was in it.
    pub digest: String,
    /// Whether it answered.
    pub outcome: SampleOutcome,
    /// Input and answer, sealed for [`sample_identity`].
    pub sealed: Vec<u8>,
}

/// A kept sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRow {
    /// The decision that the call was part of.
    pub decision_id: DecisionId,
    /// The plugin's kind, as one word.
    pub kind: String,
    /// The slot that was called.
    pub slot: String,
    /// The component that was in it.
    pub digest: String,
    /// Whether it answered.
    pub outcome: SampleOutcome,
    /// Input and answer; see [`SampleRow::open`].
    pub sealed: Vec<u8>,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// Whether a plugin answered a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SampleOutcome {
    /// It did, and be it with an error of the interface.
    Answered,
    /// It trapped, or came to a limit.
    Trapped,
}

/// The identity of a sample's row, for which it is sealed.
#[must_use]
pub fn sample_identity(decision: DecisionId, kind: &str) -> String {
    format!("{decision} {kind}")
}

impl SampleRow {
    /// What was recorded.
    pub fn open(&self, seal: &Seal) -> Result<Vec<u8>, SealError> {
        seal.open(&sample_identity(self.decision_id, &self.kind), &self.sealed)
    }
}

impl Store {
    /// Records samples, and drops all but the `keep` newest of each slot and outcome. Of two samples
    /// of one decision and kind the last one stays.
    ///
    /// # Errors
    /// The database failed; nothing was recorded.
    pub async fn record_samples(
        &self,
        samples: &[SampleRecord],
        now: Timestamp,
        keep: u32,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("record_samples").await?;
        let mut touched = Vec::new();
        for sample in samples {
            insert(&mut tx, sample, now).await?;
            let group = (sample.kind, sample.slot.as_str(), sample.outcome);
            if !touched.contains(&group) {
                touched.push(group);
            }
        }
        for (kind, slot, outcome) in touched {
            sql(either(
                "-- record_samples: drop the excess
                 DELETE FROM samples WHERE rowid IN
                     (SELECT rowid FROM samples WHERE kind = $1 AND slot = $2 AND outcome = $3
                      ORDER BY created_at DESC, rowid DESC LIMIT -1 OFFSET $4)",
                "-- postgres: record_samples: drop the excess
                 DELETE FROM samples WHERE (decision_id, kind) IN
                     (SELECT decision_id, kind FROM samples WHERE kind = $1 AND slot = $2 AND outcome = $3
                      ORDER BY created_at DESC, number DESC OFFSET $4)",
            ))
            .bind(kind)
            .bind(slot)
            .bind(outcome.as_str())
            .bind(keep)
            .run(&mut tx)
            .await?;
        }
        tx.commit().await
    }

    /// The newest samples of a kind, newest first; of one slot, or of all.
    pub async fn samples(
        &self,
        kind: &str,
        slot: Option<&str>,
        limit: u32,
    ) -> Result<Vec<SampleRow>, StoreError> {
        let query = match slot {
            Some(slot) => sql(either(
                "-- samples: of a slot
                 SELECT decision_id, kind, slot, digest, outcome, sealed, created_at FROM samples
                 WHERE kind = $1 AND slot = $2 ORDER BY created_at DESC, rowid DESC LIMIT $3",
                "-- postgres: samples: of a slot
                 SELECT decision_id, kind, slot, digest, outcome, sealed, created_at FROM samples
                 WHERE kind = $1 AND slot = $2 ORDER BY created_at DESC, number DESC LIMIT $3",
            ))
            .bind(kind)
            .bind(slot),
            None => sql(either(
                "-- samples
                 SELECT decision_id, kind, slot, digest, outcome, sealed, created_at FROM samples
                 WHERE kind = $1 ORDER BY created_at DESC, rowid DESC LIMIT $2",
                "-- postgres: samples
                 SELECT decision_id, kind, slot, digest, outcome, sealed, created_at FROM samples
                 WHERE kind = $1 ORDER BY created_at DESC, number DESC LIMIT $2",
            ))
            .bind(kind),
        };
        let rows = query.bind(limit).all(&self.db.readers).await?;
        rows.iter().map(sample_row).collect()
    }

    /// The samples of one decision, by kind; none where it was not sampled, or long ago.
    pub async fn sample(&self, decision: DecisionId) -> Result<Vec<SampleRow>, StoreError> {
        let rows = sql("-- sample
             SELECT decision_id, kind, slot, digest, outcome, sealed, created_at FROM samples
             WHERE decision_id = $1 ORDER BY kind")
        .bind(decision)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(sample_row).collect()
    }

    /// The digests of the components that samples name.
    pub async fn sampled_components(&self) -> Result<Vec<String>, StoreError> {
        let digests = sql("-- sampled_components\nSELECT DISTINCT digest FROM samples");
        let rows = digests.all(&self.db.readers).await?;
        rows.iter().map(|row| column(row, "digest")).collect()
    }

    /// Drops samples from before a moment, at most `limit`. Answers how many went.
    pub async fn drop_samples(&self, before: Timestamp, limit: u32) -> Result<u64, StoreError> {
        sql("-- drop_samples
             DELETE FROM samples WHERE (decision_id, kind) IN
                 (SELECT decision_id, kind FROM samples WHERE created_at < $1 LIMIT $2)")
        .bind(before.millis())
        .bind(limit)
        .run(&self.db.writer)
        .await
    }
}

async fn insert(tx: &mut Tx, sample: &SampleRecord, now: Timestamp) -> Result<(), StoreError> {
    sql("-- record_samples
         INSERT INTO samples (decision_id, kind, slot, digest, outcome, sealed, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (decision_id, kind) DO UPDATE SET slot = excluded.slot,
             digest = excluded.digest, outcome = excluded.outcome, sealed = excluded.sealed,
             created_at = excluded.created_at")
    .bind(sample.decision_id)
    .bind(sample.kind)
    .bind(&sample.slot)
    .bind(&sample.digest)
    .bind(sample.outcome.as_str())
    .bind(&sample.sealed)
    .bind(now.millis())
    .run(&mut *tx)
    .await
    .map(|_| ())
}

fn sample_row(row: &Row) -> Result<SampleRow, StoreError> {
    let outcome: String = column(row, "outcome")?;
    let outcome = match outcome.as_str() {
        "answered" => SampleOutcome::Answered,
        "trapped" => SampleOutcome::Trapped,
        _ => return Err(inconsistent("samples", "outcome", &outcome)),
    };
    Ok(SampleRow {
        decision_id: column(row, "decision_id")?,
        kind: column(row, "kind")?,
        slot: column(row, "slot")?,
        digest: column(row, "digest")?,
        outcome,
        sealed: column(row, "sealed")?,
        created_at: Timestamp::from_millis(column(row, "created_at")?),
    })
}

impl SampleOutcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Trapped => "trapped",
        }
    }
}

#[cfg(test)]
mod tests;
