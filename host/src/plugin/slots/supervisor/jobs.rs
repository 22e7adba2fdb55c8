//! Slow jobs beside the supervisor's loop: validating a candidate, mirroring live calls to it (shadow), deciding who is
//! to blame for a failed call, deleting components that nothing names any more.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::machine::{PluginVersion, Settling};
use crate::fair_share::ShareOwner;
use crate::plugin::config::slot::{SlotConfig, SlotName};
use crate::plugin::kinds::renderer;
use crate::plugin::promotion::builtin;
use crate::plugin::promotion::error::{LoadError, ReadError};
use crate::plugin::promotion::evidence::Evidence;
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::shadow::ShadowCalls;
use crate::plugin::promotion::validation::{ValidationInput, Validator};
use crate::plugin::records::{Input, send_outcome};
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::log::SlotLog;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::files::{Contents, Directory};
use crate::plugin::slots::plugins::Plugins;
use crate::plugin::slots::shared::Given;
use crate::plugin::slots::slot_store::SlotStore;
use crate::plugin::slots::state::{SlotState, Stored};
use crate::plugin::slots::status::Statuses;
use crate::plugin::slots::table::FailureReport;

/// Between two readings of files that must be equal.
const STABLE_AFTER: Duration = Duration::from_millis(40);
/// How long files may be away before they are gone: some editors delete before they write.
const DELETED_AFTER: Duration = Duration::from_millis(300);

/// Components that nothing names any more and that are still kept.
const SPARE_COMPONENTS: usize = 8;

/// What came of work.
#[derive(Debug)]
pub enum JobOutcome {
    /// The files are as they were when the active version was read, or as a node has found them before.
    Unchanged {
        /// Their fingerprint, where nodes share the slot.
        found: Option<String>,
    },
    /// Newer work took its place.
    Superseded,
    /// Components that nothing names any more are gone.
    Tidied,
    /// The files are gone.
    Gone,
    /// A component came as far as it could.
    LoadedCandidate(Box<LoadedCandidate>),
    /// A version that other nodes run, or are about to, was loaded, or cannot be.
    LoadedVersion(Box<LoadedVersion>),
    /// All shadow calls were made.
    Shadowed,
    /// It is known who is to blame for a failed call.
    BlameFound {
        /// Whose call it was.
        plugin: InstalledPlugin,
        input: u64,
        /// The original failure: a trap, or the plugin gave up.
        failure: CallFailure,
        blame: Blame,
    },
}

/// A component that was validated.
#[derive(Debug)]
pub struct LoadedCandidate {
    /// Its digest, where it could be read.
    pub digest: Option<String>,
    /// What the files gave to a slot that nodes share, and their fingerprint.
    pub given: Option<Given>,
    pub found: Option<String>,
    /// The slot's state with the revision of its settings.
    pub state: SlotState,
    /// A generation and what would change, or why not.
    pub result: Result<(PluginVersion, Impact), LoadError>,
}

/// A version that was validated on another node.
#[derive(Debug)]
pub struct LoadedVersion {
    pub version: Stored,
    pub result: Result<InstalledPlugin, LoadError>,
}

/// What a candidate is made of.
#[derive(Debug)]
pub enum Source {
    /// The slot's files.
    Files,
    /// The slot's files on a node that shares the slot with others.
    Drop {
        /// What the slot was given before: what the files lack is as it was.
        before: Given,
        /// Fingerprints of files that nodes have found before.
        known: Vec<String>,
        /// Whether the node has just started: files that were found before are no new ones then.
        is_first: bool,
    },
    /// What a slot was given that nodes share.
    Given(Given),
}

/// The pipeline of one candidate: wait until its files are stable, read the settings, check the quarantine, validate,
/// measure the impact.
pub struct CandidateLoad {
    pub slot: SlotName,
    pub work: u64,
    pub newest: Arc<AtomicU64>,
    pub settling: Arc<Settling>,
    pub source: Source,
    pub directory: Directory,
    pub max_bytes: u64,
    pub validator: Validator,
    pub statuses: Statuses,
    pub slot_store: SlotStore,
    pub log: SlotLog,
    pub state: SlotState,
    pub active: Option<PluginVersion>,
    pub plugins: Arc<Plugins>,
    pub evidence: Arc<dyn Evidence>,
    pub now: String,
    /// Whether the operator lets a candidate run that is in quarantine.
    pub ignore_quarantine: bool,
}

impl CandidateLoad {
    /// Reads the slot's files until they stand still, and takes them as far as they go.
    pub async fn run(mut self) -> JobOutcome {
        let contents = match &self.source {
            Source::Files | Source::Drop { .. } => {
                self.read_until_stable().await.map_err(LoadError::from)
            }
            Source::Given(given) => {
                // It waits for no files: files that come now begin an examination of their own.
                while !self.settling.ends_at(self.settling.changes()) {}
                self.contents_of(given).await
            }
        };
        let mut contents = match contents {
            Ok(Some(contents)) => contents,
            Ok(None) => return JobOutcome::Gone,
            Err(error) => return self.unread(None, error),
        };
        let mut found = None;
        if let Source::Drop { before, known, is_first } = &self.source {
            let files = Given::of(&contents);
            let fingerprint = files.fingerprint();
            if *is_first && known.contains(&fingerprint) {
                return JobOutcome::Unchanged { found: None };
            }
            found = Some(fingerprint);
            contents = match self.completed(contents, files.over(before.clone())).await {
                Ok(contents) => contents,
                Err(error) => return self.unread(found, error),
            };
        }
        let digest = contents.component.as_ref().map(|it| it.digest().to_owned());
        if !self.ignore_quarantine && self.is_active(&contents, digest.as_deref()) {
            return JobOutcome::Unchanged { found };
        }
        let given = found.as_ref().map(|_| Given::of(&contents));
        if let (Some(_), Some(component)) = (&given, &contents.component) {
            // The slot will name it, whatever comes of its examination.
            self.keep(component).await;
        }
        let result = self.examine(contents).await;
        JobOutcome::LoadedCandidate(Box::new(LoadedCandidate {
            digest,
            given,
            found,
            state: self.state,
            result,
        }))
    }

    fn unread(self, found: Option<String>, error: LoadError) -> JobOutcome {
        JobOutcome::LoadedCandidate(Box::new(LoadedCandidate {
            digest: None,
            given: None,
            found,
            state: self.state,
            result: Err(error),
        }))
    }

    /// What a slot was given that nodes share; none where that was nothing.
    async fn contents_of(&self, given: &Given) -> Result<Option<Contents>, LoadError> {
        let nothing = Contents { component: None, config: None, signature: None };
        let contents = self.completed(nothing, given.clone()).await?;
        Ok((!contents.is_empty()).then_some(contents))
    }

    /// The contents of files with what they lack.
    async fn completed(&self, files: Contents, given: Given) -> Result<Contents, LoadError> {
        let component = match (files.component, &given.digest) {
            (None, Some(digest)) => {
                Some(self.slot_store.load(digest).await.ok_or_else(|| LoadError::Lost)?)
            }
            (component, _) => component,
        };
        Ok(Contents { component, config: given.config, signature: given.signature })
    }

    /// The same files twice in a row, and no change reported between; none where they are gone.
    async fn read_until_stable(&self) -> Result<Option<Contents>, ReadError> {
        loop {
            let changes = self.settling.changes();
            let before = self.read().await;
            let gone = before.as_ref().is_ok_and(Contents::is_empty);
            let pause = tokio::time::sleep(if gone { DELETED_AFTER } else { STABLE_AFTER });
            let is_same = tokio::select! {
                () = pause => match (&before, self.read().await) {
                    (Ok(before), Ok(now)) => *before == now,
                    (before, now) => before.is_err() && now.is_err(),
                },
                () = self.settling.change() => false,
            };
            if (is_same && self.settling.ends_at(changes)) || !self.advance_to(Stage::Settling) {
                return before.map(|it| (!it.is_empty()).then_some(it));
            }
        }
    }

    async fn read(&self) -> Result<Contents, ReadError> {
        let (directory, slot, limit) = (self.directory.clone(), self.slot.clone(), self.max_bytes);
        let read = tokio::task::spawn_blocking(move || directory.read(&slot, limit)).await;
        read.unwrap_or_else(|panicked| {
            let source = std::io::Error::other(panicked);
            Err(ReadError::Io { path: PathBuf::from(self.slot.as_str()), source })
        })
    }

    fn is_active(&self, contents: &Contents, digest: Option<&str>) -> bool {
        let config = contents.config.as_deref().unwrap_or_default();
        self.active.as_ref().is_some_and(|active| {
            active.stored.digest.as_deref() == digest && active.stored.config == config
        })
    }

    async fn examine(&mut self, contents: Contents) -> Result<(PluginVersion, Impact), LoadError> {
        if !self.advance_to(Stage::Settling) {
            return Err(LoadError::superseded());
        }
        let digest = contents.component.as_ref().map(|it| it.digest().to_owned());
        self.statuses.candidate(&self.slot, |it| it.digest.clone_from(&digest));
        let text = contents.config.unwrap_or_default();
        let config = Arc::new(SlotConfig::parse(&self.slot, &text)?);
        let settings_revision = self.state.revision_of(&config.settings());
        self.refuse_quarantined(digest.as_deref(), config.kind, settings_revision)?;
        let candidate = ValidationInput {
            slot: self.slot.clone(),
            component: contents.component,
            signature: contents.signature.clone(),
            config,
            settings_revision,
        };
        let cases = self.directory.cases(&self.slot);
        let progress = |stage| self.advance_to(stage);
        let validated =
            self.validator.validate(&candidate, self.log.clone(), Some(&cases), &progress).await?;
        // Where nodes share the slot, it was kept before anything named it.
        if let (Source::Files, Some(component)) = (&self.source, &candidate.component) {
            self.keep(component).await;
        }
        if !self.advance_to(Stage::Impact) {
            return Err(LoadError::superseded());
        }
        let impact = self.plugins.impact(&validated, &*self.evidence).await?;
        let since = self.now.clone();
        let stored = Stored {
            digest,
            signature: contents.signature,
            config: text,
            settings_revision,
            since,
        };
        Ok((PluginVersion { plugin: validated, stored, shadow: None }, impact))
    }

    fn refuse_quarantined(
        &self,
        digest: Option<&str>,
        kind: Option<Kind>,
        revision: u32,
    ) -> Result<(), LoadError> {
        let builtin = builtin::artifact(kind.or_else(|| self.slot.builtin_kind()));
        let Some(digest) = digest.or(builtin.as_ref().map(Artifact::digest)) else { return Ok(()) };
        match self.state.quarantined(digest, revision) {
            Some(quarantined) if !self.ignore_quarantine => Err(LoadError::Quarantined {
                slot: self.slot.clone(),
                reason: quarantined.reason.clone(),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Without its bytes a component is not there at the next start; it can run all the same.
    async fn keep(&self, component: &Artifact) {
        if let Err(error) = self.slot_store.keep(component).await {
            let slot = &self.slot;
            tracing::warn!(%slot, %error, "cannot keep a plugin component; the component runs now, and is missing after a restart");
        }
    }

    fn advance_to(&self, stage: Stage) -> bool {
        let is_newest = self.newest.load(Ordering::SeqCst) == self.work;
        if is_newest {
            self.statuses.candidate(&self.slot, |it| {
                it.stage = stage;
                it.rejected = None;
            });
        }
        is_newest
    }
}

/// Loads a version that was validated on another node: fetches it, verifies its digest and its signature, compiles and
/// configures it, and has it test itself.
pub async fn load(plugins: &Plugins, slot: &SlotName, version: Stored) -> JobOutcome {
    let result = plugins.make_again(slot, &version).await;
    JobOutcome::LoadedVersion(Box::new(LoadedVersion { version, result }))
}

/// Makes the calls of a shadow until all were made.
pub async fn run_shadow_calls(mut calls: ShadowCalls) -> JobOutcome {
    while calls.next().await {}
    JobOutcome::Shadowed
}

/// Forgets components that neither a slot nor a recorded call names.
pub async fn delete_unused_components(
    slot_store: SlotStore,
    mut named: Vec<String>,
    evidence: Arc<dyn Evidence>,
) -> JobOutcome {
    match evidence.components().await {
        Ok(sampled) => {
            named.extend(sampled);
            if let Err(error) = slot_store.tidy(named, SPARE_COMPONENTS).await {
                tracing::warn!(%error, "cannot delete unused plugin components; retrying after the next plugin change");
            }
        }
        Err(error) => {
            tracing::warn!(%error, "cannot read recorded calls; unused plugin components are kept");
        }
    }
    JobOutcome::Tidied
}

/// Who is to blame for a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The plugin: the generation before it, or the built-in plugin, answers the same call.
    Plugin,
    /// The input: the other generation traps on it too, and the template renders no other data; it goes into quarantine.
    Input,
    /// This one message: the other generation fails on it too, and the same template renders other data.
    Call,
    /// Nobody: the other generation gives up too, without a trap, and may answer the next call.
    Unknown,
}

/// Makes the call that one generation failed in to another one.
pub async fn find_blame(report: FailureReport, other: InstalledPlugin) -> JobOutcome {
    let blame = blame(&report, other).await;
    JobOutcome::BlameFound {
        plugin: report.plugin,
        input: report.input,
        failure: report.failure,
        blame,
    }
}

async fn blame(report: &FailureReport, other: InstalledPlugin) -> Blame {
    let (answer, failure) = other.dry_run(&report.call).await;
    let traps = failure.is_some_and(|failure| failure.is_trap());
    match (report.failure.is_trap(), send_outcome::is_failure(other.kind(), &answer)) {
        (true, _) if traps => {}
        (false, true) => return Blame::Unknown,
        (true | false, _) => return Blame::Plugin,
    }
    // The limits hold for every call: nobody has to be kept away from a template or a
    // document that comes to one.
    let is_document = matches!(report.plugin, InstalledPlugin::Mjml(_));
    if report.failure.is_limit_of("render") || is_document && report.failure.is_limit_of("compile")
    {
        return Blame::Call;
    }
    match (&report.plugin, &report.version, &report.call.input) {
        (InstalledPlugin::Renderer(it), Some(version), Input::Render { template, data }) => {
            let (key, example, owner) = (version.key, &version.example, ShareOwner::Operator);
            let template = || template.clone();
            match it.plugin.blame(owner, key, template, &report.call.context, data, example).await {
                renderer::Blame::Data => Blame::Call,
                renderer::Blame::Template => Blame::Input,
            }
        }
        (
            InstalledPlugin::Renderer(_)
            | InstalledPlugin::Domain(_)
            | InstalledPlugin::Plan(_)
            | InstalledPlugin::Mjml(_),
            _,
            _,
        ) => Blame::Input,
    }
}
