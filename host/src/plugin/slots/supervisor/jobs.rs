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
use crate::plugin::slots::state::{SlotState, StateDirectory, Stored};
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
    /// The files are as they were when the active version was read.
    Unchanged,
    /// Newer work took its place.
    Superseded,
    /// Components that nothing names any more are gone.
    Tidied,
    /// The files are gone.
    Gone,
    /// A component came as far as it could.
    LoadedCandidate(Box<LoadedCandidate>),
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
    /// The slot's state with the revision of its settings.
    pub state: SlotState,
    /// A generation and what would change, or why not.
    pub result: Result<(PluginVersion, Impact), LoadError>,
}

/// The pipeline of one candidate: wait until its files are stable, read the settings, check the quarantine, validate,
/// measure the impact.
pub struct CandidateLoad {
    pub slot: SlotName,
    pub work: u64,
    pub newest: Arc<AtomicU64>,
    pub settling: Arc<Settling>,
    pub directory: Directory,
    pub max_bytes: u64,
    pub validator: Validator,
    pub statuses: Statuses,
    pub state_directory: StateDirectory,
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
        let contents = match self.read_until_stable().await {
            Ok(Some(contents)) => contents,
            Ok(None) => return JobOutcome::Gone,
            Err(error) => return self.ended(None, Err(error.into())),
        };
        let digest = contents.component.as_ref().map(|it| it.digest().to_owned());
        if !self.ignore_quarantine && self.is_active(&contents, digest.as_deref()) {
            return JobOutcome::Unchanged;
        }
        let result = self.examine(contents).await;
        self.ended(digest, result)
    }

    fn ended(
        self,
        digest: Option<String>,
        result: Result<(PluginVersion, Impact), LoadError>,
    ) -> JobOutcome {
        JobOutcome::LoadedCandidate(Box::new(LoadedCandidate { digest, state: self.state, result }))
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
        if let Some(component) = candidate.component {
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
    async fn keep(&self, component: Artifact) {
        let state_directory = self.state_directory.clone();
        let result = tokio::task::spawn_blocking(move || state_directory.keep(&component)).await;
        if let Ok(Err(error)) = result {
            let slot = &self.slot;
            tracing::warn!(%slot, %error, "cannot write a plugin component to the data directory; the component runs now, and is missing after a restart");
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

/// Makes the calls of a shadow until all were made.
pub async fn run_shadow_calls(mut calls: ShadowCalls) -> JobOutcome {
    while calls.next().await {}
    JobOutcome::Shadowed
}

/// Forgets components that neither a slot nor a recorded call names.
pub async fn delete_unused_components(
    state: StateDirectory,
    mut named: Vec<String>,
    evidence: Arc<dyn Evidence>,
) -> JobOutcome {
    match evidence.components().await {
        Ok(sampled) => {
            named.extend(sampled);
            let tidied =
                tokio::task::spawn_blocking(move || state.tidy(&named, SPARE_COMPONENTS)).await;
            if let Err(error) = tidied {
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
