//! Rotation of the master key: a new key seals from now on, and what earlier keys have sealed is sealed again with it.
//!
//! The new key is in the file before anything is sealed with it, and an earlier key leaves the file only when nothing needs
//! it: whatever interrupts a rotation, every value still opens. A server that runs reads the file again where a value does
//! not open, and every few seconds.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{MasterKeyError, PROOF, verify};
use crate::clock::Timestamp;
use crate::domain::key::identity as dkim_key_identity;
use crate::id::{DecisionId, DomainId, Identifier as _, UserId, WebhookId};
use crate::people::factor_identity;
use crate::server::data_dir::{DataDir, DataDirError, Lock};
use crate::server::key_file::{MAX_MASTER_KEYS, MasterKey};
use crate::store::seal::{KeyRing, Purpose, Seal, SealError, key_name};
use crate::store::{
    NodeRow, NodeState, ResealedValue, SealedColumn, SealedValue, Store, StoreError,
    sample_identity,
};
use crate::webhooks::owner_operations::identity as webhook_identity;

/// Values that are read at one time, and sealed again in one transaction.
const BATCH_ROWS: u32 = 100;
/// How long reports may take to come back to a return path: days in the queue here and in another server's, and weeks until
/// somebody complains.
pub const RETURN_PATHS_COME_BACK: Duration = Duration::from_hours(24 * 30);

#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(
        "{path} has {MAX_MASTER_KEYS} keys, and more are not kept; drop those that nothing needs with \
         `waxwing master-key drop`, and rotate then"
    )]
    TooMany { path: PathBuf },
    #[error("servers work with the database; stop them all before you drop a master key at once")]
    ServersRun,
}

/// A master key, and what still needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyStatus {
    pub name: String,
    /// Since when it seals; none for the key of the first start.
    pub since: Option<Timestamp>,
    /// Since when a newer one seals; none for the newest.
    pub retired_at: Option<Timestamp>,
    /// What is sealed with it.
    pub values: u64,
}

/// The master keys, the newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overview {
    pub keys: Vec<KeyStatus>,
    /// Values that open with none of them.
    pub unreadable: u64,
}

/// What was sealed again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resealed {
    /// The name of the key that seals.
    pub key: String,
    pub values: u64,
    /// Values that open with no key; they are as they were.
    pub unreadable: u64,
}

/// When an earlier key goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Haste {
    /// When nothing is sealed with it, and its return paths cannot come back any more.
    WhenUnneeded,
    /// When nothing is sealed with it: reports to its return paths are lost.
    AtOnce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    Count,
    Reseal,
}

#[derive(Debug, Default)]
struct Counts {
    /// What was found sealed, by the number of the key.
    by_key: Vec<u64>,
    unreadable: u64,
    resealed: u64,
}

impl KeyStatus {
    /// When its last return path has come back; none for the newest, which makes them.
    #[must_use]
    pub fn needed_until(&self) -> Option<Timestamp> {
        self.retired_at.map(|it| it.after(RETURN_PATHS_COME_BACK))
    }

    fn can_go(&self, haste: Haste, now: Timestamp) -> bool {
        let is_over = match haste {
            Haste::WhenUnneeded => self.needed_until().is_some_and(|it| it <= now),
            Haste::AtOnce => self.retired_at.is_some(),
        };
        is_over && self.values == 0
    }
}

/// The master keys, and how many values are sealed with each.
pub async fn overview(data: &DataDir, store: &Store) -> Result<Overview, RotationError> {
    let counts = pass(data, store, Pass::Count).await?;
    let keys = data.master_keys()?;
    let newer = std::iter::once(None).chain(keys.iter().map(|it| it.since));
    let status =
        |(number, (key, retired_at)): (usize, (&MasterKey, Option<Timestamp>))| KeyStatus {
            name: key_name(&key.bytes),
            since: key.since,
            retired_at,
            values: counts.by_key.get(number).copied().unwrap_or_default(),
        };
    let keys = keys.iter().zip(newer).enumerate().map(status).collect();
    Ok(Overview { keys, unreadable: counts.unreadable })
}

/// Makes a new master key, and seals everything again with it.
pub async fn rotate(
    data: &DataDir,
    store: &Store,
    now: Timestamp,
) -> Result<Resealed, RotationError> {
    let _alone = data.lock_keys()?;
    verify(data, store).await?;
    let mut keys = data.master_keys()?;
    if keys.len() >= MAX_MASTER_KEYS {
        return Err(RotationError::TooMany { path: data.master_key_path() });
    }
    keys.insert(0, MasterKey::random(Some(now)));
    data.write_master_keys(&keys)?;
    reseal_all(data, store).await
}

/// The names of the other nodes of the database that are not gone: each needs a copy of the file.
pub async fn other_nodes(data: &DataDir, store: &Store) -> Result<Vec<String>, RotationError> {
    if store.has_file() {
        return Ok(Vec::new());
    }
    let own = data.identity()?;
    let is_other = |it: &NodeRow| it.state != NodeState::Gone && it.directory != own;
    Ok(store.nodes().await?.into_iter().filter(is_other).map(|it| it.name).collect())
}

/// Seals with the newest key what an interrupted rotation has left, or a server that had not read the new key yet.
pub async fn reseal(data: &DataDir, store: &Store) -> Result<Resealed, RotationError> {
    let _alone = data.lock_keys()?;
    verify(data, store).await?;
    reseal_all(data, store).await
}

async fn reseal_all(data: &DataDir, store: &Store) -> Result<Resealed, RotationError> {
    let counts = pass(data, store, Pass::Reseal).await?;
    Ok(Resealed {
        key: key_name(&data.master_key()?),
        values: counts.resealed,
        unreadable: counts.unreadable,
    })
}

/// Takes earlier keys out of the file that nothing needs; answers their names. At once it needs servers that are stopped:
/// one that runs could still seal with them.
pub async fn drop_earlier(
    data: &DataDir,
    store: &Store,
    (haste, now): (Haste, Timestamp),
) -> Result<Vec<String>, RotationError> {
    let _alone = data.lock_keys()?;
    let _without_backups = data.lock_backups()?;
    let _stopped = match haste {
        Haste::WhenUnneeded => None,
        Haste::AtOnce => Some(without_servers(data, store).await?),
    };
    verify(data, store).await?;
    reseal_all(data, store).await?;
    let found = overview(data, store).await?;
    let (gone, kept): (Vec<_>, Vec<_>) = data
        .master_keys()?
        .into_iter()
        .zip(found.keys)
        .partition(|(_, status)| status.can_go(haste, now));
    if !gone.is_empty() {
        let kept: Vec<MasterKey> = kept.into_iter().map(|(key, _)| key).collect();
        data.write_master_keys(&kept)?;
    }
    Ok(gone.into_iter().map(|(_, status)| status.name).collect())
}

/// Keeps a server off the directory; where nodes share a database, none of them may work.
async fn without_servers(data: &DataDir, store: &Store) -> Result<Lock, RotationError> {
    let lock = data.lock()?;
    let works = |it: &NodeRow| !matches!(it.state, NodeState::Late | NodeState::Gone);
    if !store.has_file() && store.nodes().await?.iter().any(works) {
        return Err(RotationError::ServersRun);
    }
    Ok(lock)
}

async fn pass(data: &DataDir, store: &Store, pass: Pass) -> Result<Counts, RotationError> {
    let ring = data.key_ring()?;
    let mut counts = Counts::default();
    pass_proof(&ring, store, pass, &mut counts).await?;
    for column in SealedColumn::ALL {
        let seal = Seal::of(&ring, purpose(column));
        let mut after: Option<SealedValue> = None;
        loop {
            let mut batch = store.sealed_values(column, after.as_ref(), BATCH_ROWS).await?;
            let mut resealed = Vec::new();
            for value in &batch {
                let identity = identity(column, value);
                counts.add(seal.key_of(&identity, &value.sealed));
                if pass == Pass::Reseal
                    && let Ok(Some(sealed)) = seal.resealed(&identity, &value.sealed)
                {
                    resealed.push(ResealedValue { before: value.clone(), sealed });
                }
            }
            if !resealed.is_empty() {
                counts.resealed += store.reseal(column, &resealed).await?;
            }
            after = batch.pop();
            if after.is_none() {
                break;
            }
        }
    }
    Ok(counts)
}

async fn pass_proof(
    ring: &KeyRing,
    store: &Store,
    pass: Pass,
    counts: &mut Counts,
) -> Result<(), RotationError> {
    let Some(noted) = store.noted(PROOF).await? else { return Ok(()) };
    let (seal, sealed) =
        (Seal::of(ring, Purpose::DkimKeys), STANDARD.decode(noted).unwrap_or_default());
    counts.add(seal.key_of(PROOF, &sealed));
    if pass == Pass::Reseal
        && let Ok(Some(resealed)) = seal.resealed(PROOF, &sealed)
    {
        store.note(PROOF, &STANDARD.encode(resealed)).await?;
        counts.resealed += 1;
    }
    Ok(())
}

impl Counts {
    fn add(&mut self, key: Result<usize, SealError>) {
        let Ok(key) = key else {
            self.unreadable += 1;
            return;
        };
        if self.by_key.len() <= key {
            self.by_key.resize(key + 1, 0);
        }
        self.by_key[key] += 1;
    }
}

fn purpose(column: SealedColumn) -> Purpose {
    match column {
        SealedColumn::DkimKeys => Purpose::DkimKeys,
        SealedColumn::WebhookSecrets | SealedColumn::EarlierWebhookSecrets => Purpose::Webhooks,
        SealedColumn::Factors => Purpose::Factors,
        SealedColumn::Samples => Purpose::Samples,
    }
}

/// For which row a value is sealed.
fn identity(column: SealedColumn, value: &SealedValue) -> String {
    match column {
        SealedColumn::DkimKeys => dkim_key_identity(DomainId::from_bytes(value.id), &value.name),
        SealedColumn::WebhookSecrets | SealedColumn::EarlierWebhookSecrets => {
            webhook_identity(WebhookId::from_bytes(value.id))
        }
        SealedColumn::Factors => factor_identity(UserId::from_bytes(value.id)),
        SealedColumn::Samples => sample_identity(DecisionId::from_bytes(value.id), &value.name),
    }
}

#[cfg(test)]
mod tests;
