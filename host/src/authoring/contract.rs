//! What a template and its senders rely on: what is read, what is declared of it, and what is told of both to programs:
//! a JSON Schema, code in several languages that sends it, and types for compilers.

pub mod schema;
pub mod snippets;
pub mod types;

use serde_json::{Map, Value};

use super::agreement;
use super::check::{Checkable, Checker};
use super::error::AuthoringError;
use super::finding::Finding;
use super::preview::{Chosen, PreviewOf};
use super::{Authoring, Place};
use crate::account::brand::{Brand, BrandField};
use crate::message::address::EmailAddress;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;
use crate::template::trial::trial_data;
use crate::template::version::Variable;

/// What a template asks of the senders of one account.
#[derive(Debug)]
pub struct SenderContract {
    pub slug: Slug,
    /// None of a draft.
    pub revision: Option<u64>,
    pub source: TemplateSource,
    pub variables: Vec<Variable>,
    /// The sender where neither a send nor the template names one.
    pub account_sender: Option<EmailAddress>,
    /// What the account offers.
    pub brand: Brand,
}

impl Authoring {
    /// What a source asks of its senders.
    ///
    /// # Errors
    /// There is no such source, or it does not compile.
    pub async fn contract(
        &self,
        place: &Place,
        of: PreviewOf,
    ) -> Result<SenderContract, AuthoringError> {
        if matches!(of, PreviewOf::Draft | PreviewOf::Drafts) {
            return self.contract_of_draft(place).await;
        }
        let row = self.find(place).await?;
        let slug = row.slug.clone();
        let version = match of {
            PreviewOf::Revision(revision) => {
                let version = self.store.template_version(row.id, revision).await?;
                version.ok_or_else(|| AuthoringError::NoVersion { slug: slug.clone(), revision })?
            }
            PreviewOf::Draft | PreviewOf::Drafts | PreviewOf::Published => {
                row.published.ok_or_else(|| AuthoringError::Unpublished { slug: slug.clone() })?
            }
        };
        let tenant = self.tenant(row.owner).await?;
        Ok(SenderContract {
            slug,
            revision: Some(version.revision),
            source: version.source,
            variables: version.variables,
            account_sender: tenant.sender,
            brand: tenant.brand,
        })
    }

    async fn contract_of_draft(&self, place: &Place) -> Result<SenderContract, AuthoringError> {
        let Chosen { row, source, blocks, .. } = self.chosen(place, PreviewOf::Draft).await?;
        let tenant = self.tenant(row.owner).await?;
        let it = Checkable { slug: &row.slug, source: &source, blocks: &blocks };
        let mut findings = Vec::new();
        let read = Checker::new(&self.plugins).compile(&tenant, it, &mut findings).await?;
        if findings.iter().any(Finding::is_error) {
            return Err(AuthoringError::Unfit { slug: row.slug, findings });
        }
        let variables = agreement::agreed(&source, read).variables;
        let (slug, brand, account_sender) = (row.slug, tenant.brand, tenant.sender);
        Ok(SenderContract { slug, revision: None, source, variables, brand, account_sender })
    }
}

impl SenderContract {
    /// Whether the account's brand gives the variable where a send does not.
    #[must_use]
    pub fn is_offered(&self, path: &str) -> bool {
        BrandField::of_variable(path).is_some_and(|it| self.brand.value(it).is_some())
    }

    /// Data that the template accepts: its example, and a value for what the example leaves out and a send must give.
    #[must_use]
    pub fn sample(&self) -> Map<String, Value> {
        trial_data(&self.source, self.variables.iter().filter(|it| !self.is_offered(&it.path)))
    }
}
