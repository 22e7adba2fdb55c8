//! Which layouts and partials a template is made of. An account's own stand before the server's of the same name.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::bounds::MAX_PARTIALS;
use super::calls::calls;
use super::error::AuthoringError;
use super::finding::Finding;
use super::suggest::nearest;
use crate::id::TemplateId;
use crate::store::{Store, TemplateFilter, TemplateOwner};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::version::{Block, Blocks};

/// Names that are looked through for one that was meant.
const MAX_NAMES: u32 = 500;

/// A layout or partial that is about to be published: what is made of it gets it instead of the published one.
#[derive(Debug, Clone)]
pub struct NewBlock {
    pub id: TemplateId,
    pub owner: TemplateOwner,
    pub kind: TemplateKind,
    pub block: Block,
}

/// What a template is made of.
#[derive(Debug, Default)]
pub struct Resolved {
    pub blocks: Blocks,
    /// The rows of `blocks`.
    pub uses: Vec<(TemplateId, u64)>,
    pub findings: Vec<Finding>,
}

/// Looks up layouts and partials, each once.
#[derive(Debug)]
pub struct Resolver<'a> {
    store: &'a Store,
    new: &'a [NewBlock],
    /// Whether a draft stands before what is published.
    with_drafts: bool,
    known: HashMap<(TemplateOwner, TemplateKind, Slug), Option<(TemplateId, Block)>>,
}

impl<'a> Resolver<'a> {
    pub fn new(store: &'a Store, new: &'a [NewBlock]) -> Self {
        Self { store, new, with_drafts: false, known: HashMap::new() }
    }

    /// Takes the newest that their authors have written, published or not.
    pub fn with_drafts(self) -> Self {
        Self { with_drafts: true, ..self }
    }

    /// What a source of that owner is made of. A partial that is not there is the renderer's to say, which knows where
    /// it is called.
    pub async fn resolve(
        &mut self,
        owner: TemplateOwner,
        source: &TemplateSource,
    ) -> Result<Resolved, AuthoringError> {
        let mut resolved = Resolved::default();
        let mut called: VecDeque<String> = calls(source).into();
        let mut seen: BTreeSet<String> = called.iter().cloned().collect();
        if let Some(name) = &source.layout {
            match self.find(owner, TemplateKind::Layout, name).await? {
                Some((id, block)) => {
                    resolved.uses.push((id, block.revision));
                    let more = calls(&block.source);
                    called.extend(more.into_iter().filter(|it| seen.insert(it.clone())));
                    resolved.blocks.layout = Some(block);
                }
                None => resolved.findings.push(self.unknown_layout(owner, name).await?),
            }
        }
        while let Some(name) = called.pop_front() {
            let Ok(slug) = name.parse::<Slug>() else { continue };
            let Some((id, block)) = self.find(owner, TemplateKind::Partial, &slug).await? else {
                continue;
            };
            if resolved.blocks.partials.len() == MAX_PARTIALS {
                let message = format!(
                    "more than {MAX_PARTIALS} partials are called, with those that partials call; put some together"
                );
                resolved.findings.push(Finding::error("html", "too_many_partials", message));
                break;
            }
            resolved.uses.push((id, block.revision));
            let more = calls(&block.source);
            called.extend(more.into_iter().filter(|it| seen.insert(it.clone())));
            resolved.blocks.partials.push(block);
        }
        Ok(resolved)
    }

    /// The partials that an owner can call, for a name that is not known.
    pub async fn partial_like(
        &self,
        owner: TemplateOwner,
        name: &str,
    ) -> Result<Option<String>, AuthoringError> {
        self.like(owner, TemplateKind::Partial, name).await
    }

    async fn unknown_layout(
        &self,
        owner: TemplateOwner,
        name: &Slug,
    ) -> Result<Finding, AuthoringError> {
        let meant = self.like(owner, TemplateKind::Layout, name.as_str()).await?;
        let message = format!("there is no published layout `{name}`");
        Ok(Finding::error("layout", "unknown_layout", message).suggesting(meant.as_deref()))
    }

    async fn like(
        &self,
        owner: TemplateOwner,
        kind: TemplateKind,
        name: &str,
    ) -> Result<Option<String>, AuthoringError> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        for owner in [owner, TemplateOwner::Server] {
            let filter = TemplateFilter { owner, kind, after: None, limit: MAX_NAMES };
            let rows = self.store.list_templates(&filter).await?;
            let usable =
                rows.into_iter().filter(|it| it.published.is_some() && it.archived_at.is_none());
            names.extend(usable.map(|it| it.slug.to_string()));
        }
        Ok(nearest(name, names.iter().map(String::as_str)).map(str::to_owned))
    }

    async fn find(
        &mut self,
        owner: TemplateOwner,
        kind: TemplateKind,
        slug: &Slug,
    ) -> Result<Option<(TemplateId, Block)>, AuthoringError> {
        for owner in [owner, TemplateOwner::Server] {
            let is_it = |it: &&NewBlock| (it.owner, it.kind, &it.block.name) == (owner, kind, slug);
            if let Some(new) = self.new.iter().find(is_it) {
                return Ok(Some((new.id, new.block.clone())));
            }
            let key = (owner, kind, slug.clone());
            if !self.known.contains_key(&key) {
                let found = self.published(owner, kind, slug).await?;
                self.known.insert(key.clone(), found);
            }
            if let Some(Some(found)) = self.known.get(&key) {
                return Ok(Some(found.clone()));
            }
        }
        Ok(None)
    }

    async fn published(
        &self,
        owner: TemplateOwner,
        kind: TemplateKind,
        slug: &Slug,
    ) -> Result<Option<(TemplateId, Block)>, AuthoringError> {
        let row = self.store.template(owner, kind, slug).await?;
        let row = row.filter(|it| it.archived_at.is_none());
        Ok(row.and_then(|row| {
            if let Some(draft) = row.draft.as_ref().filter(|_| self.with_drafts) {
                return Some((row.id, block(row.slug.clone(), row.newest + 1, &draft.source)));
            }
            let version = row.published?;
            Some((row.id, block(row.slug, version.revision, &version.rendered_source())))
        }))
    }
}

/// A layout or partial as versions keep it: what is rendered, or included, and not what is said of it.
pub fn block(name: Slug, revision: u64, source: &TemplateSource) -> Block {
    let source = TemplateSource {
        html: source.html.clone(),
        mjml: source.mjml.clone(),
        locale: source.locale.clone(),
        messages: source.messages.clone(),
        locales: source.locales.clone(),
        ..TemplateSource::default()
    };
    Block { name, revision, source }
}
