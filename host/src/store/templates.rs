//! Templates, layouts and partials: drafts, versions, and which versions were made of which layouts and partials.

mod publish;

use super::Store;
use super::accounts::first_day;
use super::database::{
    Row, column, inconsistent, json, json_or_empty, moment, moment_or_none, parsed, sql, word,
};
use crate::clock::Timestamp;
use crate::id::{AccountId, TemplateId};
use crate::store::StoreError;
use crate::template::compiled::{Compiled, rendered_source};
use crate::template::contract::Contract;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::version::{Blocks, Dictionary, TemplateVersion, Variable};

pub use publish::{NewVersion, Publication, Published};

/// Whose a template, layout or partial is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TemplateOwner {
    Account(AccountId),
    /// All accounts share it; there are layouts and partials only.
    Server,
}

/// A template, layout or partial with its draft and its published version.
#[derive(Debug, Clone)]
pub struct TemplateRow {
    pub id: TemplateId,
    pub owner: TemplateOwner,
    pub kind: TemplateKind,
    pub slug: Slug,
    /// None where the published version is the newest.
    pub draft: Option<DraftRow>,
    /// Moves with each change.
    pub edition: i64,
    pub published: Option<VersionRow>,
    /// The newest of its versions, which need not be the published one; 0 where there is none.
    pub newest: u64,
    /// Since when it cannot be sent, or used.
    pub archived_at: Option<Timestamp>,
    pub is_sent: bool,
    pub created_at: Timestamp,
}

/// Times of which a page of versions tells that one was brought back, the newest.
const MAX_REPUBLICATIONS: u32 = 200;

/// What an author has left and not published.
#[derive(Debug, Clone)]
pub struct DraftRow {
    pub source: TemplateSource,
    pub at: Timestamp,
    /// A key, or `cli`.
    pub by: String,
}

/// A version as its author sees it.
#[derive(Debug, Clone)]
pub struct VersionRow {
    pub revision: u64,
    pub source: TemplateSource,
    /// What its MJML was compiled to.
    pub compiled: Option<Compiled>,
    pub blocks: Blocks,
    pub variables: Vec<Variable>,
    /// A key, or `cli`; none of a version that an earlier server published.
    pub author: Option<String>,
    /// Why, in the author's words.
    pub note: Option<String>,
    pub created_at: Timestamp,
    /// When it was brought back, newest first; of a page of versions at most 200.
    pub republications: Vec<Republication>,
}

/// A time at which a version was published again.
#[derive(Debug, Clone)]
pub struct Republication {
    pub at: Timestamp,
    /// A key, or `cli`.
    pub author: String,
    /// Why, in the author's words.
    pub note: Option<String>,
}

/// A template, layout or partial that nobody has published yet.
#[derive(Debug)]
pub struct NewTemplate<'a> {
    pub id: TemplateId,
    pub owner: TemplateOwner,
    pub kind: TemplateKind,
    pub slug: &'a Slug,
    pub draft: &'a TemplateSource,
    /// A key, or `cli`.
    pub by: &'a str,
}

/// What stands when a template, layout or partial is to be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddingTemplateFacts {
    /// Its owner has one of its kind and name.
    pub is_taken: bool,
    /// How many of its kind the owner has.
    pub of_kind: u32,
}

/// Which part of a list.
#[derive(Debug)]
pub struct TemplateFilter<'a> {
    pub owner: TemplateOwner,
    pub kind: TemplateKind,
    /// Those whose slug comes behind it.
    pub after: Option<&'a str>,
    pub limit: u32,
}

/// Sends of a template that came to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateFailures {
    /// Refused after a plugin was asked.
    pub refused: i64,
    /// Accepted, and bounced or failed.
    pub failed: i64,
}

/// A published template that was made of a layout or partial.
#[derive(Debug, Clone)]
pub struct UserRow {
    pub id: TemplateId,
    pub account: AccountId,
    pub slug: Slug,
    pub published: VersionRow,
    /// The newest of its versions, which need not be the published one.
    pub newest: u64,
}

impl TemplateOwner {
    /// The column `account_id`.
    fn column(self) -> Option<AccountId> {
        match self {
            Self::Account(id) => Some(id),
            Self::Server => None,
        }
    }
}

impl VersionRow {
    /// The source with HTML in place of its MJML.
    #[must_use]
    pub fn rendered_source(&self) -> TemplateSource {
        rendered_source(self.source.clone(), self.compiled.as_ref())
    }
}

impl Store {
    /// Adds one with its first draft, unless `decide` refuses it on what stands then.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn add_template<E>(
        &self,
        new: &NewTemplate<'_>,
        now: Timestamp,
        decide: impl Fn(AddingTemplateFacts) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("add_template").await?;
        let facts = sql("-- add_template: facts
             SELECT (SELECT count(*) FROM templates WHERE account_id IS NOT DISTINCT FROM $1 AND kind = $2) AS number,
                    EXISTS (SELECT 1 FROM templates
                            WHERE account_id IS NOT DISTINCT FROM $1 AND kind = $2 AND slug = $3) AS taken")
        .bind(new.owner.column())
        .bind(new.kind.as_str())
        .bind(new.slug.as_str())
        .one(&mut tx)
        .await?;
        let facts = AddingTemplateFacts {
            is_taken: column(&facts, "taken")?,
            of_kind: column(&facts, "number")?,
        };
        if let Err(refused) = decide(facts) {
            return Ok(Err(refused));
        }
        sql("-- add_template
             INSERT INTO templates (id, account_id, kind, slug, draft, draft_at, draft_by, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $6)")
        .bind(new.id)
        .bind(new.owner.column())
        .bind(new.kind.as_str())
        .bind(new.slug.as_str())
        .json(new.draft)
        .bind(now.millis())
        .bind(new.by)
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// One by its name, with its draft and its published version.
    pub async fn template(
        &self,
        owner: TemplateOwner,
        kind: TemplateKind,
        slug: &Slug,
    ) -> Result<Option<TemplateRow>, StoreError> {
        let row = sql("-- template of an owner
             SELECT t.id, t.account_id, t.kind, t.slug, t.draft, t.draft_at, t.draft_by, t.edition, t.archived_at,
                    t.is_sent, t.created_at, v.revision, v.source, v.compiled, v.blocks, v.variables, v.author, v.note,
                    v.created_at AS published_at,
                    (SELECT coalesce(max(revision), 0) FROM template_versions WHERE template_id = t.id) AS newest
             FROM templates t
             LEFT JOIN template_versions v ON v.template_id = t.id AND v.revision = t.published_revision
             WHERE t.account_id IS NOT DISTINCT FROM $1 AND t.kind = $2 AND t.slug = $3")
        .bind(owner.column())
        .bind(kind.as_str())
        .bind(slug.as_str())
        .optional(&self.db.readers)
        .await?;
        row.as_ref().map(with_versions).transpose()
    }

    /// Some in the order of their slugs.
    pub async fn list_templates(
        &self,
        filter: &TemplateFilter<'_>,
    ) -> Result<Vec<TemplateRow>, StoreError> {
        let rows = sql("-- list_templates
             SELECT t.id, t.account_id, t.kind, t.slug, t.draft, t.draft_at, t.draft_by, t.edition, t.archived_at,
                    t.is_sent, t.created_at, v.revision, v.source, v.compiled, v.blocks, v.variables, v.author, v.note,
                    v.created_at AS published_at,
                    (SELECT coalesce(max(revision), 0) FROM template_versions WHERE template_id = t.id) AS newest
             FROM templates t
             LEFT JOIN template_versions v ON v.template_id = t.id AND v.revision = t.published_revision
             WHERE t.account_id IS NOT DISTINCT FROM $1 AND t.kind = $2 AND t.slug > $3
             ORDER BY t.slug LIMIT $4")
        .bind(filter.owner.column())
        .bind(filter.kind.as_str())
        .bind(filter.after.unwrap_or_default())
        .bind(filter.limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(with_versions).collect()
    }

    /// Replaces the draft, where the edition is still `seen`. Answers the new edition.
    pub async fn save_draft(
        &self,
        id: TemplateId,
        source: &TemplateSource,
        by: &str,
        seen: i64,
        now: Timestamp,
    ) -> Result<Option<i64>, StoreError> {
        let saved = sql("-- save_draft
             UPDATE templates SET draft = $2, draft_at = $3, draft_by = $4, edition = edition + 1
             WHERE id = $1 AND edition = $5
             RETURNING edition")
        .bind(id)
        .json(source)
        .bind(now.millis())
        .bind(by)
        .bind(seen)
        .optional(&self.db.writer)
        .await?;
        saved.map(|row| column(&row, "edition")).transpose()
    }

    /// Takes one out of service, where the edition is still `seen`; otherwise nothing changes.
    pub async fn archive_template(
        &self,
        id: TemplateId,
        seen: i64,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let archived = sql("-- archive_template
             UPDATE templates SET archived_at = coalesce(archived_at, $2), edition = edition + 1
             WHERE id = $1 AND edition = $3")
        .bind(id)
        .bind(now.millis())
        .bind(seen)
        .run(&self.db.writer)
        .await?;
        Ok(archived == 1)
    }

    /// Deletes one with all of its versions, where it was never sent, no published version is made of it, and the
    /// edition is still `seen`.
    pub async fn delete_template(&self, id: TemplateId, seen: i64) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("delete_template").await?;
        let row = sql("-- delete_template: whether it may go
             SELECT 1 FROM templates t
             WHERE t.id = $1 AND t.edition = $2 AND t.is_sent = FALSE
               AND NOT EXISTS (SELECT 1 FROM template_uses u JOIN templates o
                                   ON o.id = u.template_id AND o.published_revision = u.revision
                               WHERE u.block_id = $1)")
        .bind(id)
        .bind(seen)
        .optional(&mut tx)
        .await?;
        if row.is_none() {
            return Ok(false);
        }
        for text in [
            "-- delete_template: uses\nDELETE FROM template_uses WHERE template_id = $1",
            "-- delete_template: uses of it\nDELETE FROM template_uses WHERE block_id = $1",
            "-- delete_template: dictionaries\nDELETE FROM dictionaries WHERE template_id = $1",
            "-- delete_template: republications\nDELETE FROM template_republications WHERE template_id = $1",
            "-- delete_template: versions\nDELETE FROM template_versions WHERE template_id = $1",
            "-- delete_template\nDELETE FROM templates WHERE id = $1",
        ] {
            sql(text).bind(id).run(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Some versions, newest first.
    pub async fn template_versions(
        &self,
        id: TemplateId,
        before: Option<u64>,
        limit: u32,
    ) -> Result<Vec<VersionRow>, StoreError> {
        let rows = sql("-- template_versions
             SELECT revision, source, compiled, blocks, variables, author, note, created_at AS published_at
             FROM template_versions WHERE template_id = $1 AND revision < $2
             ORDER BY revision DESC LIMIT $3")
        .bind(id)
        .bind(before.map_or(i64::MAX, |it| i64::try_from(it).unwrap_or(i64::MAX)))
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        let mut versions: Vec<VersionRow> =
            rows.iter().map(version_row).collect::<Result<_, _>>()?;
        self.read_republications(id, &mut versions).await?;
        Ok(versions)
    }

    pub async fn template_version(
        &self,
        id: TemplateId,
        revision: u64,
    ) -> Result<Option<VersionRow>, StoreError> {
        let row = sql("-- template_version
             SELECT revision, source, compiled, blocks, variables, author, note, created_at AS published_at
             FROM template_versions WHERE template_id = $1 AND revision = $2")
        .bind(id)
        .bind(i64::try_from(revision).unwrap_or(i64::MAX))
        .optional(&self.db.readers)
        .await?;
        let mut versions: Vec<VersionRow> =
            row.iter().map(version_row).collect::<Result<_, _>>()?;
        self.read_republications(id, &mut versions).await?;
        Ok(versions.pop())
    }

    /// Reads when these versions were brought back.
    async fn read_republications(
        &self,
        id: TemplateId,
        versions: &mut [VersionRow],
    ) -> Result<(), StoreError> {
        let revisions = || versions.iter().map(|it| i64::try_from(it.revision).unwrap_or(i64::MAX));
        let (Some(first), Some(last)) = (revisions().min(), revisions().max()) else {
            return Ok(());
        };
        let rows = sql("-- republications
             SELECT revision, at, author, note FROM template_republications
             WHERE template_id = $1 AND revision BETWEEN $2 AND $3 ORDER BY at DESC LIMIT $4")
        .bind(id)
        .bind(first)
        .bind(last)
        .bind(MAX_REPUBLICATIONS)
        .all(&self.db.pages)
        .await?;
        for row in &rows {
            let number = revision(row, "revision")?;
            if let Some(version) = versions.iter_mut().find(|it| it.revision == number) {
                version.republications.push(Republication {
                    at: moment(row, "at")?,
                    author: column(row, "author")?,
                    note: column(row, "note")?,
                });
            }
        }
        Ok(())
    }

    /// The published templates that are made of a layout or partial, at most `limit` of them.
    pub async fn users_of_block(
        &self,
        block: TemplateId,
        limit: u32,
    ) -> Result<Vec<UserRow>, StoreError> {
        let rows = sql("-- users_of_block
             SELECT t.id, t.account_id, t.slug, v.revision, v.source, v.compiled, v.blocks, v.variables, v.author, v.note,
                    v.created_at AS published_at,
                    (SELECT max(revision) FROM template_versions WHERE template_id = t.id) AS newest
             FROM template_uses u
             JOIN templates t ON t.id = u.template_id AND t.published_revision = u.revision
             JOIN template_versions v ON v.template_id = u.template_id AND v.revision = u.revision
             WHERE u.block_id = $1
             ORDER BY u.template_id LIMIT $2")
        .bind(block)
        .bind(limit)
        .all(&self.db.readers)
        .await?;
        let user = |row: &Row| {
            Ok(UserRow {
                id: column(row, "id")?,
                account: column(row, "account_id")?,
                slug: parsed(row, "templates", "slug")?,
                published: version_row(row)?,
                newest: revision(row, "newest")?,
            })
        };
        rows.iter().map(user).collect()
    }

    /// Messages of templates that were accepted in the last 30 days, by slug.
    pub async fn template_usage(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<Vec<(String, i64)>, StoreError> {
        let rows = sql("-- template_usage
             WITH RECURSIVE days (day) AS (SELECT CAST($3 AS BIGINT) UNION ALL SELECT day + 1 FROM days WHERE day < $2)
             SELECT u.slug, CAST(sum(u.sent) AS BIGINT) AS sent
             FROM days JOIN template_usage u ON u.day = days.day AND u.account_id = $1
             GROUP BY u.slug")
        .bind(account)
        .bind(now.day())
        .bind(first_day(now.day()))
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| Ok((column(row, "slug")?, column(row, "sent")?))).collect()
    }

    /// What came to nothing of templates in the last 30 days, by slug.
    pub async fn template_failures(
        &self,
        account: AccountId,
        now: Timestamp,
    ) -> Result<Vec<(String, TemplateFailures)>, StoreError> {
        let rows = sql("-- template_failures
             WITH RECURSIVE days (day) AS (SELECT CAST($3 AS BIGINT) UNION ALL SELECT day + 1 FROM days WHERE day < $2)
             SELECT f.slug, CAST(sum(f.refused) AS BIGINT) AS refused, CAST(sum(f.failed) AS BIGINT) AS failed
             FROM days JOIN template_failures f ON f.day = days.day AND f.account_id = $1
             GROUP BY f.slug")
        .bind(account)
        .bind(now.day())
        .bind(first_day(now.day()))
        .all(&self.db.readers)
        .await?;
        let failures = |row: &Row| {
            let (refused, failed) = (column(row, "refused")?, column(row, "failed")?);
            Ok((column(row, "slug")?, TemplateFailures { refused, failed }))
        };
        rows.iter().map(failures).collect()
    }

    /// The published versions of an account's templates that can be sent, by slug.
    pub async fn templates(&self, account: AccountId) -> Result<Vec<TemplateVersion>, StoreError> {
        let rows = sql("-- templates
             SELECT t.id, t.slug, t.archived_at, v.revision, v.source, v.compiled, v.blocks, v.variables, d.id AS dictionary,
                    d.bytes
             FROM templates t
             JOIN template_versions v ON v.template_id = t.id AND v.revision = t.published_revision
             LEFT JOIN dictionaries d ON d.template_id = v.template_id AND d.revision = v.revision
             WHERE t.account_id = $1 AND t.kind = 'template' AND t.archived_at IS NULL ORDER BY t.slug")
        .bind(account)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(template_row).collect()
    }
}

/// The statement that finds the published version of a template.
pub const TEMPLATE: &str = "-- template
    SELECT t.id, t.slug, t.archived_at, v.revision, v.source, v.compiled, v.blocks, v.variables, d.id AS dictionary, d.bytes
    FROM templates t
    JOIN template_versions v ON v.template_id = t.id AND v.revision = t.published_revision
    LEFT JOIN dictionaries d ON d.template_id = v.template_id AND d.revision = v.revision
    WHERE t.account_id = $1 AND t.kind = 'template' AND t.slug = $2";

/// Reads a row of [`TEMPLATE`].
pub fn template_row(row: &Row) -> Result<TemplateVersion, StoreError> {
    let dictionary = match column::<Option<i64>>(row, "dictionary")? {
        Some(id) => Some(Dictionary { id, bytes: column::<Vec<u8>>(row, "bytes")?.into() }),
        None => None,
    };
    let variables: Vec<Variable> = json(row, "template_versions", "variables")?;
    Ok(TemplateVersion {
        template_id: column(row, "id")?,
        slug: parsed(row, "templates", "slug")?,
        revision: revision(row, "revision")?,
        source: rendered_source(
            json(row, "template_versions", "source")?,
            json_or_empty::<Option<Compiled>>(row, "template_versions", "compiled")?.as_ref(),
        ),
        blocks: json(row, "template_versions", "blocks")?,
        contract: Contract::of(&variables),
        variables,
        dictionary,
        archived_at: moment_or_none(row, "archived_at")?,
    })
}

fn with_versions(row: &Row) -> Result<TemplateRow, StoreError> {
    let draft = match column::<Option<i64>>(row, "draft_at")? {
        Some(_) => Some(DraftRow {
            source: json(row, "templates", "draft")?,
            at: moment(row, "draft_at")?,
            by: column(row, "draft_by")?,
        }),
        None => None,
    };
    let published = match column::<Option<i64>>(row, "revision")? {
        Some(_) => Some(version_row(row)?),
        None => None,
    };
    let account: Option<AccountId> = column(row, "account_id")?;
    Ok(TemplateRow {
        id: column(row, "id")?,
        owner: account.map_or(TemplateOwner::Server, TemplateOwner::Account),
        kind: word(row, "templates", "kind", TemplateKind::from_name)?,
        slug: parsed(row, "templates", "slug")?,
        draft,
        edition: column(row, "edition")?,
        published,
        newest: revision(row, "newest")?,
        archived_at: moment_or_none(row, "archived_at")?,
        is_sent: column(row, "is_sent")?,
        created_at: moment(row, "created_at")?,
    })
}

fn version_row(row: &Row) -> Result<VersionRow, StoreError> {
    Ok(VersionRow {
        revision: revision(row, "revision")?,
        source: json(row, "template_versions", "source")?,
        compiled: json_or_empty(row, "template_versions", "compiled")?,
        blocks: json(row, "template_versions", "blocks")?,
        variables: json(row, "template_versions", "variables")?,
        author: column(row, "author")?,
        note: column(row, "note")?,
        created_at: moment(row, "published_at")?,
        republications: Vec::new(),
    })
}

fn revision(row: &Row, name: &'static str) -> Result<u64, StoreError> {
    let revision: i64 = column(row, name)?;
    u64::try_from(revision)
        .map_err(|_| inconsistent("template_versions", "revision", &revision.to_string()))
}
