//! Slots that several nodes share: what stands in their database of each slot, and what each node reports. The plugin
//! host alone knows what the texts say; the server brings the database.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use super::files::Contents;
use super::state::{SlotState, Stored};
use super::status::CandidateStatus;
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::shadow::Report;
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::stage::Stage;

/// Fingerprints of files that are remembered; an older file would count as a new one at the next start.
const MAX_FOUND_FILES: usize = 50;

/// The database that nodes share. The store is beside the plugins, not below them, so the server brings it.
pub trait SharedSlots: Debug + Send + Sync {
    /// The name of this node, which no other one has.
    fn node(&self) -> &str;

    /// The names of all slots, each with the number of its last change.
    fn generations(&self) -> BoxFuture<'_, Shared<Vec<(String, i64)>>>;

    /// What stands there of a slot, with the number of its last change.
    fn slot<'a>(&'a self, slot: &'a str) -> BoxFuture<'a, Shared<Option<(i64, String)>>>;

    /// Writes a slot, if nobody has written it since the number `seen`, which is 0 for a new slot. Answers the new number;
    /// none where another node was first.
    fn save<'a>(
        &'a self,
        slot: &'a str,
        seen: i64,
        state: &'a str,
    ) -> BoxFuture<'a, Shared<Option<i64>>>;

    /// The bytes under that digest, which nobody has compared with it.
    fn component<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Shared<Option<Vec<u8>>>>;

    /// Keeps the bytes of a component.
    fn keep<'a>(&'a self, component: &'a Artifact) -> BoxFuture<'a, Shared<()>>;

    /// Drops components that were given some time ago and that are none of these.
    fn tidy<'a>(&'a self, named: &'a [String]) -> BoxFuture<'a, Shared<()>>;

    /// Says what this node runs, and that it lives.
    fn report<'a>(&'a self, report: &'a str) -> BoxFuture<'a, Shared<()>>;

    /// The nodes that live, this one among them, each with its report.
    fn nodes(&self) -> BoxFuture<'_, Shared<Vec<(String, String)>>>;

    /// This node stops: nobody waits for it any more.
    fn leave(&self) -> BoxFuture<'_, Shared<()>>;
}

/// What the database answers, or why it does not.
pub type Shared<T> = Result<T, SharedError>;

/// Why the database that nodes share does not answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the database with the plugins does not answer: {0}")]
pub struct SharedError(#[source] Arc<dyn Error + Send + Sync>);

/// What stands there of a slot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SharedSlot {
    pub state: SlotState,
    /// What the slot was given last, by an order or by files on one of the nodes.
    pub given: Option<Given>,
    /// Fingerprints of files that nodes have found in their folders: a node that starts does not take them for new ones.
    pub found: Vec<String>,
    pub candidate: Option<SharedCandidate>,
    pub promotion: Option<Promotion>,
}

/// What a slot is given: what `<slot>.wasm`, `<slot>.sig` and `<slot>.toml` are on a single server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Given {
    /// The component; none for the one that is built in.
    pub digest: Option<String>,
    pub signature: Option<String>,
    pub config: Option<String>,
}

/// A candidate that one node examines or has examined, as the others show it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedCandidate {
    /// The node that examines it: golden cases, impact and shadow are its work alone.
    pub node: String,
    pub digest: Option<String>,
    pub settings_revision: Option<u32>,
    pub name: Option<String>,
    pub stage: Stage,
    pub rejected: Option<String>,
    pub waits: Option<String>,
    pub impact: Option<Impact>,
    /// What it takes to make it, once it is validated.
    pub version: Option<Stored>,
    /// Live calls in the shadow, which another node was ordered to begin.
    pub shadow_calls: Option<u32>,
}

/// A validated version that becomes active as soon as all nodes have loaded it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Promotion {
    pub version: Stored,
    /// Its name and version, where they are known.
    pub name: Option<String>,
    /// The node that makes it active; another one does where that is gone.
    pub node: String,
    /// What came of its calls in the shadow.
    pub shadow: Option<Report>,
}

/// What a node says of all its slots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct NodeReport(pub BTreeMap<String, NodeSlot>);

/// What a node says of a slot.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSlot {
    /// What answers the slot's calls there; none for the built-in or a broader plugin.
    pub runs: Option<VersionMark>,
    /// The version of the promotion, where it is loaded.
    pub ready: Option<VersionMark>,
    /// The version that should run, or become active, and cannot be loaded.
    pub failed: Option<FailedVersion>,
}

/// Tells one version of a slot from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionMark {
    /// None for the component that is built in.
    pub digest: Option<String>,
    pub settings_revision: u32,
    /// The digest of the text of `<slot>.toml`.
    pub config: String,
}

/// A version that a node cannot load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedVersion {
    pub version: VersionMark,
    pub reason: String,
}

impl SharedError {
    /// For that reason.
    #[must_use]
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }
}

impl VersionMark {
    #[must_use]
    pub fn of(version: &Stored) -> Self {
        Self {
            digest: version.digest.clone(),
            settings_revision: version.settings_revision,
            config: Artifact::new(version.config.clone()).digest().to_owned(),
        }
    }
}

impl Given {
    /// What files, or an order, hold.
    #[must_use]
    pub fn of(contents: &Contents) -> Self {
        Self {
            digest: contents.component.as_ref().map(|it| it.digest().to_owned()),
            signature: contents.signature.clone(),
            config: contents.config.clone(),
        }
    }

    /// What a version was made of.
    #[must_use]
    pub fn of_version(version: &Stored) -> Self {
        let Stored { digest, signature, config, .. } = version.clone();
        Self { digest, signature, config: Some(config) }
    }

    /// The same with what it lacks from what was given before: whoever drops a component keeps the slot's settings, and
    /// whoever drops settings keeps its component.
    #[must_use]
    pub fn over(self, before: Self) -> Self {
        let Self { digest, signature, config } = self;
        let config = config.or(before.config);
        match digest {
            Some(_) => Self { digest, signature, config },
            None => Self { digest: before.digest, signature: before.signature, config },
        }
    }

    /// Tells these files from others.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let all = [&self.digest, &self.signature, &self.config];
        let [digest, signature, config] = all.map(|it| it.as_deref().unwrap_or_default());
        Artifact::new(format!("{digest}\n{signature}\n{config}")).digest().to_owned()
    }
}

impl SharedSlot {
    /// Remembers files that a node has found; answers whether they were new.
    pub fn remember(found: &mut Vec<String>, fingerprint: String) -> bool {
        if found.contains(&fingerprint) {
            return false;
        }
        if found.len() == MAX_FOUND_FILES {
            found.remove(0);
        }
        found.push(fingerprint);
        true
    }
}

impl SharedCandidate {
    /// A candidate that `node` begins to examine.
    #[must_use]
    pub fn begun(node: &str, digest: Option<String>) -> Self {
        let shown = CandidateStatus { digest, ..CandidateStatus::new() };
        Self::examined(node, shown, None)
    }

    /// A candidate of `node` as it is shown there, and what it takes to make it.
    #[must_use]
    pub fn examined(node: &str, shown: CandidateStatus, version: Option<Stored>) -> Self {
        Self {
            node: node.to_owned(),
            digest: shown.digest,
            settings_revision: shown.settings_revision,
            name: shown.name,
            stage: shown.stage,
            rejected: shown.rejected,
            waits: shown.waits,
            impact: shown.impact,
            version,
            shadow_calls: None,
        }
    }

    /// As another node shows it.
    #[must_use]
    pub fn status(&self) -> CandidateStatus {
        CandidateStatus {
            node: Some(self.node.clone()),
            digest: self.digest.clone(),
            settings_revision: self.settings_revision,
            name: self.name.clone(),
            stage: self.stage,
            rejected: self.rejected.clone(),
            waits: self.waits.clone(),
            impact: self.impact.clone(),
            shadow: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(digest: Option<&str>, config: Option<&str>) -> Given {
        let text = |it: Option<&str>| it.map(str::to_owned);
        let signature = text(digest.map(|_| "wxsig_1"));
        Given { digest: text(digest), signature, config: text(config) }
    }

    #[test]
    fn what_files_lack_is_as_it_was_given_before() {
        let before = given(Some("one"), Some("a = 1"));
        assert_eq!(
            given(Some("two"), None).over(before.clone()),
            given(Some("two"), Some("a = 1")),
        );
        assert_eq!(given(None, Some("a = 2")).over(before), given(Some("one"), Some("a = 2")));
    }

    #[test]
    fn the_same_files_are_new_once() {
        let mut found = Vec::new();
        let files = given(Some("one"), None).fingerprint();
        assert!(SharedSlot::remember(&mut found, files.clone()));
        assert!(!SharedSlot::remember(&mut found, files));
        assert!(SharedSlot::remember(&mut found, given(Some("two"), None).fingerprint()));
        for number in 0..MAX_FOUND_FILES {
            SharedSlot::remember(&mut found, number.to_string());
        }
        assert_eq!(found.len(), MAX_FOUND_FILES);
    }
}
