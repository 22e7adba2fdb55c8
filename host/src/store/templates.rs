//! Templates and their versions.

use serde_json::json;

use super::Store;
use super::database::{Row, column, inconsistent, json, parsed, sql};
use super::event_kind::EventKind;
use super::events::{About, record_event};
use crate::clock::Timestamp;
use crate::id::{AccountId, TemplateId};
use crate::store::StoreError;
use crate::template::slug::Slug;
use crate::template::version::{Dictionary, TemplateSource, TemplateVersion, Variable};

/// What came of publishing a template.
#[derive(Debug, Clone)]
pub enum Published {
    /// A version that was not there before.
    New(TemplateVersion),
    /// The published version already says the same.
    Unchanged(TemplateVersion),
}

impl Store {
    /// Publishes a version: the first of a new template, or the next of one that is there. What is the
    /// same as the published version makes no new one. `dictionary` is what its messages have in common.
    pub async fn publish_template(
        &self,
        account: AccountId,
        slug: &Slug,
        source: &TemplateSource,
        variables: &[Variable],
        dictionary: &[u8],
        now: Timestamp,
    ) -> Result<Published, StoreError> {
        let mut tx = self.db.begin("publish_template").await?;
        let same = sql("-- publish_template: the same
             SELECT t.id, t.slug, v.revision, v.source, v.variables, d.id AS dictionary, d.bytes
             FROM templates t
             JOIN template_versions v ON v.template_id = t.id AND v.revision = t.published_revision
             LEFT JOIN dictionaries d ON d.template_id = v.template_id AND d.revision = v.revision
             WHERE t.account_id = $1 AND t.slug = $2 AND v.source = $3 AND v.variables = $4")
        .bind(account)
        .bind(slug.as_str())
        .json(source)
        .json(variables)
        .optional(&mut tx)
        .await?;
        if let Some(row) = same {
            return template_row(&row).map(Published::Unchanged);
        }
        let published = sql("-- publish_template
             INSERT INTO templates (id, account_id, slug, published_revision, created_at)
             VALUES ($1, $2, $3, 1, $4)
             ON CONFLICT (account_id, slug) DO UPDATE SET published_revision =
                 (SELECT max(revision) + 1 FROM template_versions WHERE template_id = templates.id)
             RETURNING id, published_revision")
        .bind(TemplateId::new(now))
        .bind(account)
        .bind(slug.as_str())
        .bind(now.millis())
        .one(&mut tx)
        .await?;
        let template_id: TemplateId = column(&published, "id")?;
        let revision: i64 = column(&published, "published_revision")?;
        sql("-- publish_template
             INSERT INTO template_versions (template_id, revision, source, variables, created_at)
             VALUES ($1, $2, $3, $4, $5)")
        .bind(template_id)
        .bind(revision)
        .json(source)
        .json(variables)
        .bind(now.millis())
        .run(&mut tx)
        .await?;
        let stored = sql("-- publish_template: what its bodies are compressed with
             INSERT INTO dictionaries (template_id, revision, bytes) VALUES ($1, $2, $3)
             RETURNING id")
        .bind(template_id)
        .bind(revision)
        .bind(dictionary)
        .one(&mut tx)
        .await?;
        let facts = json!({"templateId": template_id, "slug": slug.as_str(), "revision": revision});
        let (kind, about) = (EventKind::TemplatePublished, About::of(template_id));
        record_event(&mut tx, kind, about, Some(account), &facts.to_string(), now).await?;
        tx.commit().await?;
        Ok(Published::New(TemplateVersion {
            template_id,
            slug: slug.clone(),
            revision: u64::try_from(revision).unwrap_or(0),
            source: source.clone(),
            variables: variables.to_vec(),
            dictionary: Some(Dictionary { id: column(&stored, "id")?, bytes: dictionary.into() }),
        }))
    }

    /// The published versions of an account's templates, by slug.
    pub async fn templates(&self, account: AccountId) -> Result<Vec<TemplateVersion>, StoreError> {
        let rows = sql("-- templates
             SELECT t.id, t.slug, v.revision, v.source, v.variables, d.id AS dictionary, d.bytes
             FROM templates t
             JOIN template_versions v ON v.template_id = t.id AND v.revision = t.published_revision
             LEFT JOIN dictionaries d ON d.template_id = v.template_id AND d.revision = v.revision
             WHERE t.account_id = $1 ORDER BY t.slug")
        .bind(account)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(template_row).collect()
    }
}

/// The statement that finds the published version of a template.
pub const TEMPLATE: &str = "-- template
    SELECT t.id, t.slug, v.revision, v.source, v.variables, d.id AS dictionary, d.bytes
    FROM templates t
    JOIN template_versions v ON v.template_id = t.id AND v.revision = t.published_revision
    LEFT JOIN dictionaries d ON d.template_id = v.template_id AND d.revision = v.revision
    WHERE t.account_id = $1 AND t.slug = $2";

/// Reads a row of [`TEMPLATE`].
///
/// # Errors
/// This version of the server cannot read it.
pub fn template_row(row: &Row) -> Result<TemplateVersion, StoreError> {
    let revision: i64 = column(row, "revision")?;
    let dictionary = match column::<Option<i64>>(row, "dictionary")? {
        Some(id) => Some(Dictionary { id, bytes: column::<Vec<u8>>(row, "bytes")?.into() }),
        None => None,
    };
    Ok(TemplateVersion {
        template_id: column(row, "id")?,
        slug: parsed(row, "templates", "slug")?,
        revision: u64::try_from(revision)
            .map_err(|_| inconsistent("template_versions", "revision", &revision.to_string()))?,
        source: json(row, "template_versions", "source")?,
        variables: json(row, "template_versions", "variables")?,
        dictionary,
    })
}
