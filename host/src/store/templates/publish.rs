//! Publishes versions: one, or that of a layout or partial with those of everything that is made of it, in one
//! transaction. What was decided on is repeated as conditions: where one does not hold, nothing is written.

use std::collections::BTreeSet;

use serde_json::json;

use super::super::Store;
use super::super::database::{Tx, column, sql};
use super::super::event_kind::EventKind;
use super::super::events::{About, record_event};
use super::{TemplateOwner, TemplateRow, UserRow};
use crate::clock::Timestamp;
use crate::id::{AccountId, TemplateId};
use crate::store::StoreError;
use crate::template::compiled::Compiled;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::version::{Blocks, Variable};

/// Versions to publish, and what they were decided on.
#[derive(Debug)]
pub struct Publication<'a> {
    /// What its author publishes, with its edition when it was read.
    pub template: &'a TemplateRow,
    pub published: Published<'a>,
    /// Every template that is made of it, each with its next version.
    pub touched: &'a [(UserRow, NewVersion)],
    /// How many more are made of it, and stay what they are until they are published themselves.
    pub left: usize,
    /// A key, or `cli`.
    pub author: &'a str,
    pub note: Option<&'a str>,
}

/// What is published of the one that its author names.
#[derive(Debug)]
pub enum Published<'a> {
    /// Its draft.
    New(&'a NewVersion),
    /// A version that was published before.
    Again(u64),
}

/// A version that is not published yet.
#[derive(Debug, Clone)]
pub struct NewVersion {
    /// One more than the newest.
    pub revision: u64,
    pub source: TemplateSource,
    /// What its MJML was compiled to.
    pub compiled: Option<Compiled>,
    pub blocks: Blocks,
    /// The layouts and partials of `blocks`, each with the revision that is published.
    pub uses: Vec<(TemplateId, u64)>,
    pub variables: Vec<Variable>,
    /// What bodies have in common; a layout or partial has none.
    pub dictionary: Option<Vec<u8>>,
}

impl Store {
    /// Publishes all versions or none; answers whether. None are published where something has changed since it was
    /// read.
    pub async fn publish(
        &self,
        publication: &Publication<'_>,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let Publication { template, published, touched, author, note, left: _ } = publication;
        let mut tx = self.db.begin("publish").await?;
        if !stands(&mut tx, publication).await? {
            return Ok(false);
        }
        let revision = match published {
            Published::New(version) => {
                if !write(&mut tx, template.id, version, (author, *note), now).await? {
                    return Ok(false);
                }
                version.revision
            }
            Published::Again(revision) => *revision,
        };
        let statement = match published {
            Published::New(_) => sql("-- publish: the draft
                 UPDATE templates SET published_revision = $2, archived_at = NULL, edition = edition + 1,
                     draft = NULL, draft_at = NULL, draft_by = NULL
                 WHERE id = $1 AND edition = $3"),
            Published::Again(_) => sql("-- publish: an earlier version
                 UPDATE templates SET published_revision = $2, archived_at = NULL, edition = edition + 1
                 WHERE id = $1 AND edition = $3
                   AND EXISTS (SELECT 1 FROM template_versions WHERE template_id = $1 AND revision = $2)"),
        };
        let statement = statement.bind(template.id).bind(number(revision));
        if statement.bind(template.edition).run(&mut tx).await? != 1 {
            return Ok(false);
        }
        if let Published::Again(_) = published {
            sql("-- publish: who brought it back
                 INSERT INTO template_republications (template_id, revision, at, author, note)
                 VALUES ($1, $2, $3, $4, $5)")
            .bind(template.id)
            .bind(number(revision))
            .bind(now.millis())
            .bind(*author)
            .bind(*note)
            .run(&mut tx)
            .await?;
        }
        if let (TemplateKind::Template, TemplateOwner::Account(account)) =
            (template.kind, template.owner)
        {
            tell(&mut tx, account, (template.id, &template.slug), revision, now).await?;
        }
        let why = format!("{} {}, version {revision}", template.kind.as_str(), template.slug);
        for (user, version) in *touched {
            let is_written = write(&mut tx, user.id, version, (author, Some(&why)), now).await?;
            // Its draft stays: it is checked again when it is published.
            let changed = sql("-- publish: a template that is made of it
                 UPDATE templates SET published_revision = $2 WHERE id = $1 AND published_revision = $3")
            .bind(user.id)
            .bind(number(version.revision))
            .bind(number(user.published.revision))
            .run(&mut tx)
            .await?;
            if !is_written || changed != 1 {
                return Ok(false);
            }
            tell(&mut tx, user.account, (user.id, &user.slug), version.revision, now).await?;
        }
        tx.commit().await?;
        Ok(true)
    }
}

/// Whether what was decided on is still so: the layouts and partials that a version is made of, and how many templates
/// are made of the one that is published. Each of these is held against its revision when it is written.
async fn stands(tx: &mut Tx, publication: &Publication<'_>) -> Result<bool, StoreError> {
    let own = match publication.published {
        Published::New(version) => Some(version),
        Published::Again(_) => None,
    };
    let versions = own.into_iter().chain(publication.touched.iter().map(|(_, version)| version));
    let blocks: BTreeSet<(TemplateId, u64)> =
        versions.flat_map(|version| version.uses.iter().copied()).collect();
    for (block, revision) in
        blocks.into_iter().filter(|(block, _)| *block != publication.template.id)
    {
        let row = sql("-- publish: a layout or partial
             SELECT 1 FROM templates WHERE id = $1 AND published_revision = $2 AND archived_at IS NULL")
        .bind(block)
        .bind(number(revision))
        .optional(&mut *tx)
        .await?;
        if row.is_none() {
            return Ok(false);
        }
    }
    let users = sql("-- publish: users
         SELECT count(*) AS number FROM template_uses u
         JOIN templates t ON t.id = u.template_id AND t.published_revision = u.revision
         WHERE u.block_id = $1")
    .bind(publication.template.id)
    .one(&mut *tx)
    .await?;
    let users: i64 = column(&users, "number")?;
    Ok(usize::try_from(users)
        .is_ok_and(|users| users == publication.touched.len() + publication.left))
}

/// Writes a version; answers whether its revision was free.
async fn write(
    tx: &mut Tx,
    id: TemplateId,
    version: &NewVersion,
    (author, note): (&str, Option<&str>),
    now: Timestamp,
) -> Result<bool, StoreError> {
    let revision = number(version.revision);
    let written = sql("-- publish: a version
         INSERT INTO template_versions
             (template_id, revision, source, compiled, blocks, variables, author, note, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING")
    .bind(id)
    .bind(revision)
    .json(&version.source)
    .bind(version.compiled.as_ref().map(|it| json!(it).to_string()))
    .json(&version.blocks)
    .json(&version.variables)
    .bind(author)
    .bind(note)
    .bind(now.millis())
    .run(&mut *tx)
    .await?;
    if written != 1 {
        return Ok(false);
    }
    if let Some(dictionary) = &version.dictionary {
        sql("-- publish: what bodies are compressed with
             INSERT INTO dictionaries (template_id, revision, bytes) VALUES ($1, $2, $3)")
        .bind(id)
        .bind(revision)
        .bind(dictionary)
        .run(&mut *tx)
        .await?;
    }
    for (block, _) in &version.uses {
        sql("-- publish: uses
             INSERT INTO template_uses (block_id, template_id, revision) VALUES ($1, $2, $3)")
        .bind(*block)
        .bind(id)
        .bind(revision)
        .run(&mut *tx)
        .await?;
    }
    Ok(true)
}

async fn tell(
    tx: &mut Tx,
    account: AccountId,
    (id, slug): (TemplateId, &Slug),
    revision: u64,
    now: Timestamp,
) -> Result<(), StoreError> {
    let facts = json!({"templateId": id, "slug": slug.as_str(), "revision": revision});
    let (kind, about) = (EventKind::TemplatePublished, About::of(id));
    record_event(tx, kind, about, Some(account), &facts.to_string(), now).await
}

fn number(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}
