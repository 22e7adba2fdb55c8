//! What the server remembers, for comparing a candidate with the active version: recorded calls and
//! published templates.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::plugin::config::binding::{Binding, Scope};
use crate::plugin::config::slot::SlotName;
use crate::plugin::kinds::renderer::Template;
use crate::plugin::records::Call;
use crate::plugin::runtime::kind::Kind;

/// Where the evidence is. The store is beside the plugins, not below them, so the server brings it.
pub trait Evidence: Debug + Send + Sync {
    /// Recorded calls of a kind that a slot answered, newest first.
    fn calls(&self, kind: Kind, slot: SlotName) -> BoxFuture<'static, Found<Vec<Call>>>;

    /// The components that recorded calls name: a replay needs them.
    fn components(&self) -> BoxFuture<'static, Found<Vec<String>>>;

    /// The accounts whose mail a binding can cover.
    fn accounts(&self, binding: Binding) -> BoxFuture<'static, Found<Vec<Owner>>>;

    /// The templates that an account has published.
    fn templates(&self, owner: Owner) -> BoxFuture<'static, Found<Vec<Published>>>;
}

/// Evidence, or why it cannot be had.
pub type Found<T> = Result<T, EvidenceError>;

/// Why the evidence cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
#[error("what it would change cannot be found out: {0}; try again once the store answers")]
pub struct EvidenceError(#[source] Arc<dyn Error + Send + Sync>);

#[derive(Debug, Clone)]
pub struct Owner {
    pub account: String,
    pub plan: String,
}

/// A published version of a template.
#[derive(Debug, Clone)]
pub struct Published {
    /// As the renderer gets it.
    pub template: Template,
    /// Data that it can be tried with, as JSON text: its author's example.
    pub trial_data: String,
}

impl EvidenceError {
    /// For that reason.
    #[must_use]
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }
}

impl Owner {
    /// A call for this account that a plugin with that binding could answer.
    #[must_use]
    pub fn scope<'a>(&'a self, binding: &'a Binding) -> Scope<'a> {
        let domain = match binding {
            Binding::Domain(domain) => Some(domain.as_str()),
            Binding::Server | Binding::Plan(_) | Binding::Account(_) => None,
        };
        Scope { plan: &self.plan, account: &self.account, domain }
    }
}
