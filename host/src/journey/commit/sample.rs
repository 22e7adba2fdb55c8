//! The calls of plugins that are recorded are sealed before they leave for the store.

use crate::id::DecisionId;
use crate::journey::accept::decisions::Decisions;
use crate::plugin::sample::{CallEnd, Sample};
use crate::store::seal::Seal;
use crate::store::{SampleOutcome, SampleRecord, sample_identity};

/// The recorded calls of one decision, sealed. Of two of one kind the store keeps the last one: that of
/// the plugin that failed, rather than that of the built-in one which answered in its place.
pub fn seal(seal: &Seal, id: DecisionId, decisions: &Decisions) -> Vec<SampleRecord> {
    let record = |(kind, sample): (&'static str, &Sample)| SampleRecord {
        decision_id: id,
        kind,
        slot: sample.slot.clone(),
        digest: sample.digest.clone(),
        outcome: match sample.end {
            CallEnd::Failed => SampleOutcome::Trapped,
            CallEnd::Answered => SampleOutcome::Answered,
        },
        sealed: seal.seal(&sample_identity(id, kind), &sample.to_bytes()),
    };
    decisions.samples().rev().map(record).collect()
}
