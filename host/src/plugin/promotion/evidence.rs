//! What the server remembers, for comparing a candidate with the active version: recorded calls and
//! published templates.

use std::error::Error;
use std::fmt::Debug;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::plugin::config::binding::{Binding, Scope};
use crate::plugin::config::slot::SlotName;
use crate::plugin::records::{Call, Input};
use crate::plugin::runtime::kind::Kind;

/// Where the evidence is. The store is beside the plugins, not below them, so the server brings it.
pub trait Evidence: Debug + Send + Sync {
    /// Recorded calls of a kind that a slot answered, newest first.
    fn calls(&self, kind: Kind, slot: SlotName) -> BoxFuture<'static, Found<Vec<Call>>>;

    /// The components that recorded calls name: a replay needs them.
    fn components(&self) -> BoxFuture<'static, Found<Vec<String>>>;

    /// Some of the accounts whose mail a binding can cover: a page of bounded length, behind the cursor of the one
    /// before.
    fn accounts(
        &self,
        binding: Binding,
        after: Option<OwnersCursor>,
    ) -> BoxFuture<'static, Found<OwnersPage>>;

    /// What an account has published for plugins of a kind to turn into mail or HTML: templates for a renderer, their
    /// MJML for a compiler. The account of [`Owner::server`] has what all accounts share.
    fn templates(&self, kind: Kind, owner: Owner) -> BoxFuture<'static, Found<Vec<Published>>>;
}

/// Evidence, or why it cannot be had.
pub type Found<T> = Result<T, EvidenceError>;

/// Why the evidence cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
#[error("what it would change cannot be found out: {0}; try again once the store answers")]
pub struct EvidenceError(#[source] Arc<dyn Error + Send + Sync>);

/// Where the next page of accounts begins; it says something only to the [`Evidence`] that made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnersCursor(pub String);

#[derive(Debug)]
pub struct OwnersPage {
    /// There may be none, although there is a next page.
    pub owners: Vec<Owner>,
    pub next: Option<OwnersCursor>,
}

#[derive(Debug, Clone)]
pub struct Owner {
    pub account: String,
    pub plan: String,
}

/// A published version of a template, in one of its locales.
#[derive(Debug, Clone)]
pub struct Published {
    pub slug: String,
    pub revision: u64,
    /// As the plugin gets it. A renderer gets it with data that it can be tried with: its author's example.
    pub input: Input,
}

impl EvidenceError {
    /// For that reason.
    #[must_use]
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }
}

impl Owner {
    /// Nobody: what all accounts share.
    #[must_use]
    pub fn server() -> Self {
        Self { account: String::new(), plan: String::new() }
    }

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
