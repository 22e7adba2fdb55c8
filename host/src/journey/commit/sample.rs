//! The calls of plugins that are recorded are sealed before they leave for the store.

use crate::id::DecisionId;
use crate::plugin::decision::Decision;
use crate::store::seal::Seal;
use crate::store::{SampleOutcome, SampleRecord, sample_identity};

/// The recorded calls of one decision, sealed. Of two of one kind the store keeps the last one: that of
/// the plugin that failed, rather than that of the built-in one which answered in its place.
pub fn seal(seal: &Seal, id: DecisionId, decisions: &[Decision]) -> Vec<SampleRecord> {
    let record = |it: &Decision| {
        let (kind, sample) = (it.kind.as_str(), it.sample.as_ref()?);
        Some(SampleRecord {
            decision_id: id,
            kind,
            slot: sample.slot.clone(),
            digest: sample.digest.clone(),
            outcome: if sample.trapped { SampleOutcome::Trapped } else { SampleOutcome::Answered },
            sealed: seal.seal(&sample_identity(id, kind), &sample.to_bytes()),
        })
    };
    decisions.iter().rev().filter_map(record).collect()
}
