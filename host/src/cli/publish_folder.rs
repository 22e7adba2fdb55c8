//! Publishes a template folder for `dev` and `template create`.

use super::error::CliError;
use crate::authoring::error::AuthoringError;
use crate::authoring::folder::{ExistingLayout, Folder};
use crate::authoring::{Authoring, Place, PublishOptions, PublishOutcome};
use crate::id::AccountId;
use crate::store::TemplateOwner;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;

/// Author recorded on versions that the command line publishes.
pub const AUTHOR: &str = "cli";

/// Checks a template with the renderer and publishes it.
pub async fn publish(
    authoring: &Authoring,
    account: AccountId,
    slug: &Slug,
    folder: &Folder,
    existing: ExistingLayout,
    options: &PublishOptions,
) -> Result<PublishOutcome, CliError> {
    let place = place(account, slug);
    authoring.publish_folder(&place, folder, existing, options, AUTHOR).await.map_err(to_cli_error)
}

/// A template of an account.
pub fn place(account: AccountId, slug: &Slug) -> Place {
    let owner = TemplateOwner::Account(account);
    Place { owner, kind: TemplateKind::Template, slug: slug.clone() }
}

/// The findings that block publishing, one a line.
fn to_cli_error(error: AuthoringError) -> CliError {
    let AuthoringError::Unfit { slug, findings } = error else { return error.into() };
    let faults = findings.iter().filter(|it| it.is_error());
    let faults: Vec<String> = faults.map(|it| format!("  {}", it.in_words())).collect();
    CliError::Template { slug: slug.to_string(), faults: faults.join("\n") }
}
