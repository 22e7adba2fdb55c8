//! The candidate of a slot: a version that waits for activation or was rejected; and the rule that decides (canary).

use std::sync::Arc;

use super::plugin_version::PluginVersion;
use crate::plugin::config::slot::{Activation, ImpactRule};
use crate::plugin::promotion::impact::Impact;
use crate::plugin::promotion::shadow::Shadow;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::status::CandidateStatus;
use crate::plural::plural;

/// An examination of newer files leaves the candidate as it is until its verdict.
#[derive(Debug, Default)]
pub enum Candidate {
    /// Nothing waits and nothing was rejected: the files are those of the active version or are gone, or an activation,
    /// a rollback, a switch-off or a restart ended the last candidate.
    #[default]
    None,
    /// Validated; waits for shadow calls or for the operator.
    Waiting(Box<Pending>),
    Rejected {
        shown: Box<CandidateStatus>,
        reason: RejectedFor,
    },
}

/// Why a candidate was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RejectedFor {
    /// The component or its configuration is at fault; only other files help.
    Fault,
    /// Another slot holds its binding. The files are examined again when that may be free.
    BindingTaken,
}

/// A validated version that is not live yet.
#[derive(Debug)]
pub struct Pending {
    pub version: PluginVersion,
    pub impact: Impact,
    pub shadow: Option<Arc<Shadow>>,
    pub activation: Activation,
}

impl Candidate {
    pub fn waiting(&self) -> Option<&Pending> {
        match self {
            Self::Waiting(pending) => Some(pending),
            Self::None | Self::Rejected { .. } => None,
        }
    }

    pub fn waiting_mut(&mut self) -> Option<&mut Pending> {
        match self {
            Self::Waiting(pending) => Some(pending),
            Self::None | Self::Rejected { .. } => None,
        }
    }

    /// Takes a waiting candidate out; a rejected one stays.
    pub fn take_waiting(&mut self) -> Option<Box<Pending>> {
        match std::mem::take(self) {
            Self::Waiting(pending) => Some(pending),
            other @ (Self::None | Self::Rejected { .. }) => {
                *self = other;
                None
            }
        }
    }

    /// The candidate's part of the slot's status.
    pub fn status(&self) -> Option<CandidateStatus> {
        match self {
            Self::None => None,
            Self::Waiting(pending) => Some(pending.status()),
            Self::Rejected { shown, .. } => Some((**shown).clone()),
        }
    }
}

impl Pending {
    /// Makes it live, with the report of its shadow run.
    #[must_use]
    pub fn into_version(self) -> PluginVersion {
        let shadow = self.shadow.map(|it| it.report());
        PluginVersion { shadow, ..self.version }
    }

    /// Why the candidate waits for the operator; none if it becomes live by its rule.
    #[must_use]
    pub fn waits_because(&self) -> Option<String> {
        let shadow = self.shadow.as_ref().map(|it| it.report()).unwrap_or_default();
        let changes = self.impact.would_change + self.impact.templates.changed + shadow.different;
        let counted = |number: u32, one: &str, several: &str, what: &str| {
            (number > 0).then(|| format!("{number} {} {what}", plural(number, one, several)))
        };
        let (templates, calls) = (self.impact.templates.failed, self.impact.would_fail);
        let as_now = "would not be served as now";
        let worse = [
            counted(templates, "published template", "published templates", as_now),
            counted(calls, "recorded call", "recorded calls", as_now),
            counted(
                shadow.failed,
                "shadow call was",
                "shadow calls were",
                "served worse than by the live plugin",
            ),
        ];
        let worse = worse.into_iter().flatten().collect::<Vec<_>>().join("; ");
        match self.activation.impact {
            ImpactRule::Ask => Some("its slot asks before each change".to_owned()),
            // Other answers are what a new policy is for; a send that is served worse is a defect.
            _ if !worse.is_empty() => Some(worse),
            // A stricter policy refuses some sends; one that refuses all of them is a mistake, most often.
            ImpactRule::Auto if self.impact.refuses_all() => {
                let pass = self.impact.pass;
                Some(format!("all {pass} recorded calls that pass now would be refused"))
            }
            ImpactRule::Auto if shadow.differs_always() => Some(format!(
                "all {} shadow calls were answered differently from now",
                shadow.compared
            )),
            ImpactRule::UpTo(most) if changes > most => {
                let answers = plural(changes, "answer", "answers");
                Some(format!("{changes} {answers} would change, and its slot allows {most}"))
            }
            ImpactRule::Auto | ImpactRule::UpTo(_) => None,
        }
    }

    fn status(&self) -> CandidateStatus {
        let identity = self.version.plugin.identity();
        CandidateStatus {
            node: None,
            digest: Some(identity.digest.clone()),
            settings_revision: Some(identity.settings_revision),
            name: Some(format!("{} {}", identity.name, identity.version)),
            stage: match &self.shadow {
                Some(shadow) if !shadow.is_done() => Stage::Shadow,
                Some(_) | None => Stage::Waiting,
            },
            rejected: None,
            waits: self.waits_because(),
            impact: Some(self.impact.clone()),
            shadow: self.shadow.clone(),
        }
    }
}
