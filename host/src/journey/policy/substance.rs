//! What an admitted message is made of.

use std::sync::Arc;

use crate::journey::accept::submission::{Again, Filled, Raw, TrialReach};
use crate::template::version::TemplateVersion;

/// What an admitted message is made of.
#[derive(Debug, Clone)]
pub enum Substance<'a> {
    /// A published template and what fills it.
    Template(Arc<TemplateVersion>, &'a Filled),
    /// A message that is whole.
    Raw(&'a Arc<Raw>),
    /// A message that was sent before, and its template as it is published now, if it still is.
    Again(&'a Arc<Again>, Option<Arc<TemplateVersion>>),
}

impl Substance<'_> {
    /// Whether it is an author's test that may reach the sandbox inbox only.
    pub(super) fn is_sandboxed_trial(&self) -> bool {
        match self {
            Self::Template(_, filled) => {
                filled.trial.as_ref().is_some_and(|it| it.reach == TrialReach::Sandbox)
            }
            Self::Raw(_) | Self::Again(..) => false,
        }
    }
}
