//! Template authoring: drafts, checks, previews, versions, layouts and partials.
//!
//! The HTTP API and the command line both come through here, so that nothing is published that was not checked. A
//! change is made on the edition that its author has read; where that has moved, it is refused and not merged.

mod agreement;
pub mod archive;
pub mod bounds;
pub mod brand;
pub mod breaking;
mod calls;
mod check;
pub mod contract;
pub mod diff;
pub mod error;
pub mod finding;
pub mod folder;
mod lint;
mod liquid;
pub mod import;
mod manage;
mod mjml;
mod parse;
pub mod preview;
mod probe;
mod publish;
mod resolve;
mod suggest;
pub mod test_recipients;
pub mod trial_send;

use std::sync::Arc;

use crate::clock::Clock;
use crate::fair_share::{FairShare, Share, ShareOwner};
use crate::plugin::Plugins;
use crate::store::{Store, TemplateOwner, TemplateRow};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use bounds::{ARCHIVE_WAIT, MAX_PARALLEL_ARCHIVES};
use check::Tenant;
use error::AuthoringError;

pub use agreement::read_at;
pub use manage::{Listed, Usage};
pub use mjml::documents as mjml_documents;
pub use parse::{merge, source};
pub use publish::{PublishOptions, PublishOutcome, RollbackOutcome, Validation};

/// What authors work with.
#[derive(Debug)]
pub struct Authoring {
    store: Store,
    plugins: Arc<Plugins>,
    clock: Clock,
    archives: Arc<FairShare>,
}

/// Which template, layout or partial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub owner: TemplateOwner,
    pub kind: TemplateKind,
    pub slug: Slug,
}

impl Authoring {
    #[must_use]
    pub fn new(store: Store, plugins: Arc<Plugins>, clock: Clock) -> Self {
        Self { store, plugins, clock, archives: FairShare::new(MAX_PARALLEL_ARCHIVES) }
    }

    /// The right to read or make an archive, which needs memory. An account has one at one time.
    ///
    /// # Errors
    /// Others have all of them for longer than [`ARCHIVE_WAIT`].
    pub async fn archive_permit(&self, owner: ShareOwner) -> Result<Share, AuthoringError> {
        let share = self.archives.take(owner, 1, ARCHIVE_WAIT).await;
        share.ok_or(AuthoringError::ArchivesBusy)
    }

    /// One with its draft and its published version.
    pub async fn find(&self, place: &Place) -> Result<TemplateRow, AuthoringError> {
        let row = self.store.template(place.owner, place.kind, &place.slug).await?;
        row.ok_or_else(|| AuthoringError::Missing { kind: place.kind, slug: place.slug.clone() })
    }

    /// The same, where its edition is the one that its author has seen.
    async fn find_at(
        &self,
        place: &Place,
        seen: Option<i64>,
    ) -> Result<TemplateRow, AuthoringError> {
        let row = self.find(place).await?;
        if seen.is_some_and(|seen| seen != row.edition) {
            return Err(AuthoringError::Changed { slug: place.slug.clone() });
        }
        Ok(row)
    }

    async fn tenant(&self, owner: TemplateOwner) -> Result<Tenant, AuthoringError> {
        let TemplateOwner::Account(id) = owner else {
            let (account, plan) = (String::new(), String::new());
            let brand = crate::account::brand::Brand::default();
            return Ok(Tenant { account, plan, brand, sender: None, strict: false });
        };
        let account = self.store.account(id, self.clock.now()).await?.account;
        Ok(Tenant {
            account: id.to_string(),
            plan: account.plan.name,
            brand: account.brand,
            sender: account.sender,
            strict: account.strict,
        })
    }
}

/// The newest that its author has written: the draft, else what is published.
#[must_use]
pub fn newest(row: &TemplateRow) -> &TemplateSource {
    static NOTHING: std::sync::LazyLock<TemplateSource> =
        std::sync::LazyLock::new(TemplateSource::default);
    let draft = row.draft.as_ref().map(|it| &it.source);
    draft.or(row.published.as_ref().map(|it| &it.source)).unwrap_or(&NOTHING)
}
