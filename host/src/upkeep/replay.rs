//! Replays: a recorded call is made again, to the component that answered it or to another one.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::id::DecisionId;
use crate::plugin::Artifact;
use crate::plugin::evidence::Evidence;
use crate::plugin::impact::Impact;
use crate::plugin::records::{Call, differences};
use crate::plugin::sample::{Sample, SampleError};
use crate::plugin::slot::{BadSlotName, SlotConfig, SlotName};
use crate::plugin::validation::ValidationInput;
use crate::plugin::{Kind, LoadError, Plugins};
use crate::store::seal::{Seal, SealError};
use crate::store::{SampleRow, Store, StoreError};

const MAX_LINES: usize = 20;

/// A recorded call, made again.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    /// The kind of the plugin.
    pub kind: Kind,
    /// The slot that answered.
    pub slot: String,
    /// The component that answered.
    pub digest: String,
    /// The component that answered now.
    pub replayed_by: String,
    /// Whether both answers are the same.
    pub same: bool,
    /// Where they differ.
    pub differences: Vec<String>,
    /// What went in.
    pub input: Value,
    /// What came out.
    pub recorded: Value,
    /// What comes out now.
    pub answer: Value,
}

/// Why nothing could be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It was not one of the sample, or is too old.
    #[error(
        "the calls of this decision are not recorded: [plugins] sample_every and sample_days say \
         which are, and it takes a second until they are written"
    )]
    NotRecorded,
    /// The component is gone.
    #[error(
        "the component {digest} that decided this is no longer kept; replay with another one: \
         `waxwing plugin replay ID --with x.wasm`"
    )]
    ComponentGone { digest: String },
    /// It is of another kind than any recorded call.
    #[error("no call of this decision was for a plugin of that kind: {0}")]
    NoSuchCall(LoadError),
    /// The component cannot run.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Sample(#[from] SampleError),
    /// The record's seal.
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The record names no slot.
    #[error(transparent)]
    Slot(#[from] BadSlotName),
}

/// A component that somebody brings along.
#[derive(Debug, Clone)]
pub struct Brought {
    pub component: Artifact,
    pub signature: Option<String>,
}

/// Makes the recorded calls of a decision again; with another component, those of its kind.
pub async fn replay(
    plugins: &Plugins,
    store: &Store,
    seal: &Seal,
    id: DecisionId,
    with: Option<&Brought>,
) -> Result<Vec<Replayed>, ReplayError> {
    let rows = store.sample(id).await?;
    let mut replayed = Vec::new();
    let mut unfit = None;
    for row in &rows {
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.as_str() == row.kind) else {
            continue;
        };
        let (call, recorded) = open(seal, kind, row)?;
        let slot: SlotName = row.slot.parse()?;
        let mut config = SlotConfig { kind: Some(kind), ..SlotConfig::default() };
        if let Some(Value::Object(settings)) = &call.settings {
            config.settings = toml::Table::try_from(settings).unwrap_or_default();
        }
        let (component, signature) = if let Some(brought) = with {
            (brought.component.clone(), brought.signature.clone())
        } else {
            let gone = || ReplayError::ComponentGone { digest: row.digest.clone() };
            (plugins.component(&row.digest).await.ok_or_else(gone)?, None)
        };
        let candidate = ValidationInput {
            slot,
            component: Some(component),
            signature,
            config: Arc::new(config),
            settings_revision: 0,
        };
        let validated = match with {
            Some(_) => plugins.try_out(&candidate).await,
            None => plugins.try_again(&candidate).await,
        };
        let validated = match validated {
            Err(error @ LoadError::WrongKind { .. }) => {
                unfit = Some(error);
                continue;
            }
            other => other?,
        };
        let (answer, _) = validated.replay(&call).await;
        replayed.push(Replayed {
            kind,
            slot: row.slot.clone(),
            digest: row.digest.clone(),
            replayed_by: validated.identity().digest.clone(),
            same: answer == recorded,
            differences: differences(&recorded, &answer, MAX_LINES),
            input: call.to_json(),
            recorded,
            answer,
        });
    }
    match (replayed.is_empty(), unfit) {
        (false, _) => Ok(replayed),
        (true, Some(error)) => Err(ReplayError::NoSuchCall(error)),
        (true, None) => Err(ReplayError::NotRecorded),
    }
}

/// A recorded call as it was.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Recorded {
    pub kind: Kind,
    /// The slot that answered.
    pub slot: String,
    /// The component that answered.
    pub digest: String,
    /// What went in.
    pub input: Value,
    /// What came out.
    pub answer: Value,
}

/// The recorded calls of a decision.
///
/// # Errors
/// The database failed, or a record cannot be read.
pub async fn recorded(
    store: &Store,
    seal: &Seal,
    id: DecisionId,
) -> Result<Vec<Recorded>, ReplayError> {
    let mut calls = Vec::new();
    for row in store.sample(id).await? {
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.as_str() == row.kind) else {
            continue;
        };
        let (call, answer) = open(seal, kind, &row)?;
        let SampleRow { slot, digest, .. } = row;
        calls.push(Recorded { kind, slot, digest, input: call.to_json(), answer });
    }
    Ok(calls)
}

/// What a component would change, were it live in a slot.
///
/// # Errors
/// It cannot run, or the evidence cannot be had.
pub async fn impact(
    plugins: &Plugins,
    evidence: &dyn Evidence,
    slot: SlotName,
    brought: &Brought,
) -> Result<Impact, LoadError> {
    let candidate = ValidationInput {
        config: plugins.config_of(&slot),
        slot,
        component: Some(brought.component.clone()),
        signature: brought.signature.clone(),
        settings_revision: 0,
    };
    let validated = plugins.try_out(&candidate).await?;
    Ok(plugins.impact(&validated, evidence).await?)
}

/// The newest recorded calls of a kind that a slot answered. One that cannot be opened is left
/// out: the impact of a plugin is shown on those that can.
pub async fn newest(
    store: &Store,
    seal: &Seal,
    kind: Kind,
    slot: &str,
    limit: u32,
) -> Result<Vec<Call>, StoreError> {
    let rows = store.samples(kind.as_str(), Some(slot), limit).await?;
    Ok(rows.iter().filter_map(|row| Some(open(seal, kind, row).ok()?.0)).collect())
}

fn open(seal: &Seal, kind: Kind, row: &SampleRow) -> Result<(Call, Value), ReplayError> {
    Ok(Sample::read(kind, &row.open(seal)?)?)
}
