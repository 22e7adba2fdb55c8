//! Adding, changing, archiving and deleting.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::bounds::MAX_TEMPLATES;
use super::error::AuthoringError;
use super::{Authoring, Place, newest, parse};
use crate::id::TemplateId;
use crate::journey::accept::json::not_an_object;
use crate::store::{AddingTemplateFacts, NewTemplate, TemplateFilter, TemplateOwner, TemplateRow};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;

/// Attempts to put a patch over a draft that others change at the same time.
const MAX_ATTEMPTS: u32 = 3;

/// A page of a list.
#[derive(Debug)]
pub struct Listed {
    pub rows: Vec<TemplateRow>,
    pub has_more: bool,
    /// What became of their sends in the last 30 days, by slug.
    pub usage: HashMap<String, Usage>,
}

/// What became of the sends of a template in the last 30 days.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Messages accepted.
    pub sent: u64,
    /// Sends refused after a plugin was asked.
    pub refused: u64,
    /// Messages that bounced or failed.
    pub failed: u64,
}

impl Authoring {
    /// Some of an owner, by slug.
    pub async fn list(
        &self,
        owner: TemplateOwner,
        kind: TemplateKind,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Listed, AuthoringError> {
        let filter = TemplateFilter { owner, kind, after, limit: limit.saturating_add(1) };
        let mut rows = self.store.list_templates(&filter).await?;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        Ok(Listed { rows, has_more, usage: self.usage(owner, kind).await? })
    }

    /// Messages of an owner's templates that were accepted in the last 30 days, by slug.
    pub async fn sent(
        &self,
        owner: TemplateOwner,
        kind: TemplateKind,
    ) -> Result<HashMap<String, u64>, AuthoringError> {
        let (TemplateOwner::Account(account), TemplateKind::Template) = (owner, kind) else {
            return Ok(HashMap::new());
        };
        let sent = self.store.template_usage(account, self.clock.now()).await?;
        let counted = |(slug, sent)| (slug, u64::try_from(sent).unwrap_or_default());
        Ok(sent.into_iter().map(counted).collect())
    }

    /// What became of the sends of an owner's templates in the last 30 days, by slug.
    ///
    /// # Errors
    /// The store failed.
    pub async fn usage(
        &self,
        owner: TemplateOwner,
        kind: TemplateKind,
    ) -> Result<HashMap<String, Usage>, AuthoringError> {
        let (TemplateOwner::Account(account), TemplateKind::Template) = (owner, kind) else {
            return Ok(HashMap::new());
        };
        let mut usage: HashMap<String, Usage> = HashMap::new();
        for (slug, sent) in self.sent(owner, kind).await? {
            usage.entry(slug).or_default().sent = sent;
        }
        for (slug, it) in self.store.template_failures(account, self.clock.now()).await? {
            let of_slug = usage.entry(slug).or_default();
            of_slug.refused = u64::try_from(it.refused).unwrap_or_default();
            of_slug.failed = u64::try_from(it.failed).unwrap_or_default();
        }
        Ok(usage)
    }

    /// Of one of them.
    ///
    /// # Errors
    /// The store failed.
    pub async fn usage_of(&self, row: &TemplateRow) -> Result<Usage, AuthoringError> {
        let usage = self.usage(row.owner, row.kind).await?;
        Ok(usage.get(row.slug.as_str()).copied().unwrap_or_default())
    }

    /// Adds one with its first draft.
    ///
    /// # Errors
    /// There is one of its name, or as many as there may be.
    pub async fn create(
        &self,
        place: &Place,
        draft: &TemplateSource,
        author: &str,
    ) -> Result<TemplateRow, AuthoringError> {
        let now = self.clock.now();
        let Place { owner, kind, slug } = place;
        let (owner, kind) = (*owner, *kind);
        let new = NewTemplate { id: TemplateId::new(now), owner, kind, slug, draft, by: author };
        let decide = |facts: AddingTemplateFacts| {
            if facts.is_taken {
                Err(AuthoringError::Taken { kind, slug: slug.clone() })
            } else if facts.of_kind >= MAX_TEMPLATES {
                Err(AuthoringError::Full { kind, most: MAX_TEMPLATES })
            } else {
                Ok(())
            }
        };
        self.store.add_template(&new, now, decide).await??;
        self.find(place).await
    }

    /// Replaces the draft.
    ///
    /// # Errors
    /// It has been changed since it was `seen`.
    pub async fn replace_draft(
        &self,
        place: &Place,
        seen: Option<i64>,
        draft: &TemplateSource,
        author: &str,
    ) -> Result<TemplateRow, AuthoringError> {
        self.change_draft(place, seen, author, |_| Ok(draft.clone())).await
    }

    /// Puts a patch over the newest source (RFC 7396).
    ///
    /// # Errors
    /// What it makes is not a source, or it has been changed since it was `seen`.
    pub async fn patch_draft(
        &self,
        place: &Place,
        seen: Option<i64>,
        patch: &Value,
        author: &str,
    ) -> Result<TemplateRow, AuthoringError> {
        if !patch.is_object() {
            return Err(AuthoringError::Faults(vec![not_an_object("a change of a draft", patch)]));
        }
        self.change_draft(place, seen, author, |now| {
            let mut value = json!(now);
            parse::merge(&mut value, patch);
            parse::source(&value, place.kind).map_err(AuthoringError::Faults)
        })
        .await
    }

    async fn change_draft(
        &self,
        place: &Place,
        seen: Option<i64>,
        author: &str,
        change: impl Fn(&TemplateSource) -> Result<TemplateSource, AuthoringError>,
    ) -> Result<TemplateRow, AuthoringError> {
        for _ in 0..MAX_ATTEMPTS {
            let row = self.find_at(place, seen).await?;
            let draft = change(newest(&row))?;
            let now = self.clock.now();
            if self.store.save_draft(row.id, &draft, author, row.edition, now).await?.is_some() {
                return self.find(place).await;
            }
        }
        Err(AuthoringError::Overtaken { slug: place.slug.clone() })
    }

    /// Adds another one with the same source.
    ///
    /// # Errors
    /// There is one of that name, or as many as there may be.
    pub async fn duplicate(
        &self,
        place: &Place,
        slug: Slug,
        author: &str,
    ) -> Result<TemplateRow, AuthoringError> {
        let row = self.find(place).await?;
        let copy = Place { owner: place.owner, kind: place.kind, slug };
        self.create(&copy, newest(&row), author).await
    }

    /// Takes one out of service: its sends are refused, and new versions cannot be made of it. Publishing and rolling
    /// back bring it back.
    ///
    /// # Errors
    /// It was never published, it is in use, or it has been changed since it was `seen`.
    pub async fn archive(
        &self,
        place: &Place,
        seen: Option<i64>,
    ) -> Result<TemplateRow, AuthoringError> {
        let row = self.find_at(place, seen).await?;
        if row.published.is_none() {
            return Err(AuthoringError::Unpublished { slug: place.slug.clone() });
        }
        self.must_be_unused(&row).await?;
        if self.store.archive_template(row.id, row.edition, self.clock.now()).await? {
            return self.find(place).await;
        }
        Err(AuthoringError::Changed { slug: place.slug.clone() })
    }

    /// Deletes one that was never sent, with all of its versions.
    ///
    /// # Errors
    /// It was sent, it is in use, or it has been changed since it was `seen`.
    pub async fn delete(
        &self,
        place: &Place,
        seen: Option<i64>,
    ) -> Result<TemplateRow, AuthoringError> {
        let row = self.find_at(place, seen).await?;
        if row.is_sent {
            return Err(AuthoringError::Sent { slug: place.slug.clone() });
        }
        self.must_be_unused(&row).await?;
        if self.store.delete_template(row.id, row.edition).await? {
            return Ok(row);
        }
        Err(AuthoringError::Changed { slug: place.slug.clone() })
    }

    async fn must_be_unused(&self, row: &TemplateRow) -> Result<(), AuthoringError> {
        const NAMED: u32 = 10;
        let users = self.store.users_of_block(row.id, NAMED).await?;
        if users.is_empty() {
            return Ok(());
        }
        let by = users.into_iter().map(|it| it.slug).collect();
        Err(AuthoringError::InUse { slug: row.slug.clone(), by })
    }
}
