//! What survives a restart: for each slot the component that was last known to be good, the one
//! before it, and what is in quarantine. A server starts from this, not from files that somebody
//! may have broken in the meantime.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::plugin::config::slot::{Activation, SlotName};
use crate::plugin::runtime::artifact::Artifact;

/// Revisions of settings that are remembered by content.
const MAX_REVISIONS: usize = 50;
/// No file takes longer to be written.
const MAX_WRITE_TIME: Duration = Duration::from_mins(10);
/// Digests in quarantine that are remembered.
const MAX_QUARANTINED: usize = 50;

/// The directory. Only this server writes it.
#[derive(Debug, Clone)]
pub struct StateDirectory(PathBuf);

/// What is remembered of a slot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SlotState {
    pub active: Option<Stored>,
    /// The version before it.
    pub previous: Option<Stored>,
    /// The component that the files last held.
    pub file: Option<String>,
    /// What may not run again until the operator says so.
    pub quarantined: Vec<Quarantined>,
    /// The settings of each revision.
    pub settings: Vec<Revision>,
    /// Whether the operator switched the slot off.
    pub disabled: bool,
    /// How a component that was installed becomes live, if not as the slot's file says.
    pub asked: Option<Asked>,
}

/// The operator's word about one component. It outlives a restart: a component that was to wait
/// waits again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    pub digest: String,
    /// How it becomes live.
    pub activation: Activation,
}

/// A generation, as far as it takes to make it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stored {
    /// The component; none for the one that is built in.
    pub digest: Option<String>,
    /// Its signature, as it was; checked again at each start.
    #[serde(default)]
    pub signature: Option<String>,
    /// `<slot>.toml`, as it was.
    pub config: String,
    pub settings_revision: u32,
    /// When it became active, RFC 3339.
    pub since: String,
}

/// A component that was rolled back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = QuarantinedPlugin)]
#[serde(rename_all = "camelCase")]
pub struct Quarantined {
    /// `sha256:<hex>`
    pub digest: String,
    /// Only with the settings of that revision; none for all.
    pub settings_revision: Option<u32>,
    /// Why it was rolled back.
    pub reason: String,
    /// When, RFC 3339.
    pub at: String,
}

/// Settings, by number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// The number; the empty settings are 0.
    pub revision: u32,
    pub settings: Value,
}

impl Stored {
    /// Whether it makes the same generation, whenever that became active.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let Self { digest, signature, config, settings_revision, since: _ } = self;
        *digest == other.digest
            && *signature == other.signature
            && *config == other.config
            && *settings_revision == other.settings_revision
    }

    /// The same of slots, each of which may have no version.
    #[must_use]
    pub fn are_same(one: Option<&Self>, other: Option<&Self>) -> bool {
        match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => one.is_same(other),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }
}

impl SlotState {
    /// The number of these settings: the same settings keep their number.
    pub fn revision_of(&mut self, settings: &Value) -> u32 {
        if settings.as_object().is_none_or(serde_json::Map::is_empty) {
            return 0;
        }
        if let Some(known) = self.settings.iter().find(|it| it.settings == *settings) {
            return known.revision;
        }
        let revision = self.settings.iter().map(|it| it.revision).max().unwrap_or(0) + 1;
        if self.settings.len() == MAX_REVISIONS {
            self.settings.remove(0);
        }
        self.settings.push(Revision { revision, settings: settings.clone() });
        revision
    }

    /// Why a component may not run with the settings of that revision.
    #[must_use]
    pub fn quarantined(&self, digest: &str, revision: u32) -> Option<&Quarantined> {
        self.quarantined.iter().find(|it| {
            it.digest == digest && it.settings_revision.is_none_or(|only| only == revision)
        })
    }

    /// Lets a component run again.
    pub fn forgive(&mut self, digest: &str, revision: u32) {
        self.quarantined.retain(|it| {
            it.digest != digest || it.settings_revision.is_some_and(|only| only != revision)
        });
    }

    /// Puts a component into quarantine.
    pub fn quarantine(&mut self, entry: Quarantined) {
        if self.quarantined.len() == MAX_QUARANTINED {
            self.quarantined.remove(0);
        }
        self.quarantined.push(entry);
    }
}

impl StateDirectory {
    /// The directory, made where it is missing, for its owner only.
    pub fn open(path: &Path) -> io::Result<Self> {
        crate::plugin::runtime::cache::private_directory(&path.join("components"))?;
        crate::plugin::runtime::cache::private_directory(path)?;
        remove_partial(path);
        remove_partial(&path.join("components"));
        Ok(Self(path.to_owned()))
    }

    /// All slots that are remembered. What cannot be read is reported and left out: a server must
    /// start without it.
    #[must_use]
    pub fn slots(&self) -> Vec<(SlotName, SlotState)> {
        let entries = match std::fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) => {
                tracing::error!(path = %self.0.display(), %error, "cannot read the state of plugin slots; starting with the built-in plugins");
                return Vec::new();
            }
        };
        let mut slots = Vec::new();
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            if path.extension().is_none_or(|it| it != "json") {
                continue;
            }
            let name = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
            let state: io::Result<SlotState> =
                std::fs::read(&path).and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
            match (name.parse::<SlotName>(), state) {
                (Ok(name), Ok(state)) => slots.push((name, state)),
                (_, Err(error)) => {
                    let path = path.display();
                    tracing::error!(%path, %error, "cannot read the state of a plugin slot; validating its files again");
                }
                (Err(_), Ok(_)) => {}
            }
        }
        slots.sort_by(|a, b| a.0.cmp(&b.0));
        slots
    }

    /// Remembers a slot: beside the old file, then by a rename, so that a crash leaves one of both.
    pub fn save(&self, slot: &SlotName, state: &SlotState) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(state)?;
        replace(&self.0.join(format!("{slot}.json")), &text)
    }

    /// Keeps a component's bytes.
    pub fn keep(&self, artifact: &Artifact) -> io::Result<()> {
        let path = self.component(artifact.digest());
        if path.exists() && self.load(artifact.digest()).is_some() {
            return Ok(());
        }
        replace(&path, artifact.bytes())
    }

    /// A component that was kept, if it is there and is still what its name says.
    #[must_use]
    pub fn load(&self, digest: &str) -> Option<Artifact> {
        let artifact = Artifact::new(std::fs::read(self.component(digest)).ok()?);
        (artifact.digest() == digest).then_some(artifact)
    }

    /// Forgets components that no slot names, but for the newest `spare` ones: those can still be
    /// asked for the decisions that they made.
    pub fn tidy(&self, named: &[String], spare: usize) {
        let Ok(entries) = std::fs::read_dir(self.0.join("components")) else { return };
        let mut others: Vec<(SystemTime, PathBuf)> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                let digest = format!("sha256:{}", path.file_stem()?.to_str()?);
                let modified = path.metadata().ok()?.modified().ok()?;
                (!named.contains(&digest)).then_some((modified, path))
            })
            .collect();
        others.sort();
        for (_, path) in others.iter().rev().skip(spare) {
            if let Err(error) = std::fs::remove_file(path) {
                tracing::warn!(path = %path.display(), %error, "cannot delete an unused plugin component");
            }
        }
    }

    fn component(&self, digest: &str) -> PathBuf {
        let name: String =
            digest.trim_start_matches("sha256:").chars().filter(char::is_ascii_hexdigit).collect();
        self.0.join("components").join(format!("{name}.wasm"))
    }
}

/// What a killed server was writing; another process may be writing the newest ones now.
fn remove_partial(directory: &Path) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let modified = path.metadata().and_then(|it| it.modified()).ok();
        let age = modified.and_then(|at| at.elapsed().ok()).unwrap_or_default();
        if path.extension().is_some_and(|it| it == "partial") && age > MAX_WRITE_TIME {
            // Where it cannot be removed, it is in nobody's way.
            drop(std::fs::remove_file(path));
        }
    }
}

/// Beside the old file, then by a rename.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    let mut file = std::fs::File::create(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&partial, path)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_settings_keep_their_revision() {
        let mut state = SlotState::default();
        assert_eq!(state.revision_of(&json!({})), 0);
        assert_eq!(state.revision_of(&json!({"price": 1})), 1);
        assert_eq!(state.revision_of(&json!({"price": 2})), 2);
        assert_eq!(state.revision_of(&json!({"price": 1})), 1);
    }

    #[test]
    fn a_component_that_was_changed_on_disk_is_not_loaded() {
        let directory = tempfile::tempdir().expect("a directory");
        let state = StateDirectory::open(directory.path()).expect("opened");
        let artifact = Artifact::new("component");
        state.keep(&artifact).expect("kept");
        assert_eq!(state.load(artifact.digest()).as_ref(), Some(&artifact));
        std::fs::write(state.component(artifact.digest()), "other").expect("written");
        assert_eq!(state.load(artifact.digest()), None);
        state.keep(&artifact).expect("kept again");
        assert_eq!(state.load(artifact.digest()), Some(artifact));
    }

    #[test]
    fn a_broken_state_does_not_stop_the_others() {
        let directory = tempfile::tempdir().expect("a directory");
        let state = StateDirectory::open(directory.path()).expect("opened");
        let slot: SlotName = "plan-policy".parse().expect("a name");
        state.save(&slot, &SlotState { disabled: true, ..SlotState::default() }).expect("kept");
        std::fs::write(directory.path().join("domain-policy.json"), "{").expect("written");
        let slots = state.slots();
        assert_eq!(slots.len(), 1);
        assert!(slots[0].1.disabled);
    }
}
