//! `waxwing template`.

mod disk;
mod life;
mod recipients;
mod sync;
mod types;

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::text;
use super::publish_folder::publish;
use crate::authoring::PublishOptions;
use crate::authoring::folder::{self, ExistingLayout, Folder};
use crate::id::AccountId;
use crate::store::StoreError;
use crate::template::slug::Slug;
use crate::template::version::TemplateVersion;
use recipients::RecipientsCommand;
use types::TypesCommand;

/// Templates, layouts and partials: in a folder, and on a server.
#[derive(Debug, Subcommand)]
pub enum TemplateCommand {
    /// Check a template folder and publish it as the first or the next version
    Create {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// The name by which it is sent
        #[arg(long)]
        slug: Slug,
        /// A folder with template.toml, subject.liquid and html.liquid or text.liquid
        #[arg(long, conflicts_with = "starter", required_unless_present = "starter")]
        folder: Option<PathBuf>,
        /// Take the starter template of that slug instead of a folder
        #[arg(long)]
        starter: bool,
        /// The plan that it needs, e.g. `pro`, or `paid` for any paid one
        #[arg(long)]
        required_plan: Option<String>,
        /// Refuse every send that would leave a variable blank; template.toml may say the same
        #[arg(long)]
        strict: bool,
        /// Publish it also where sends that are accepted today would be refused
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        target: Target,
    },
    /// List the published templates of an account
    List {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        #[command(flatten)]
        target: Target,
    },
    /// Show a published template: source, variables, example data
    Show {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// The name by which it is sent
        slug: Slug,
        #[command(flatten)]
        target: Target,
    },
    /// Print the types of the data of all published templates, for TypeScript or Python
    Types(TypesCommand),
    Push(sync::Push),
    Pull(sync::Pull),
    Diff(sync::Diff),
    Check(sync::Check),
    Publish(life::Publish),
    Rollback(life::Rollback),
    /// Take one out of service: its sends are refused until it is published or rolled back
    Archive(life::Which),
    Duplicate(life::Duplicate),
    /// Delete one that was never sent, with its versions
    Delete(life::Which),
    /// List the versions, newest first
    Versions(life::Which),
    Preview(life::Preview),
    #[command(subcommand)]
    Recipients(RecipientsCommand),
}

pub async fn run(command: TemplateCommand) -> Result<(), CliError> {
    match command {
        TemplateCommand::Push(it) => sync::push(it).await?,
        TemplateCommand::Pull(it) => sync::pull(it).await?,
        TemplateCommand::Diff(it) => sync::diff(it).await?,
        TemplateCommand::Check(it) => sync::check(it).await?,
        TemplateCommand::Publish(it) => life::publish(it).await?,
        TemplateCommand::Rollback(it) => life::roll_back(it).await?,
        TemplateCommand::Archive(it) => life::archive(it).await?,
        TemplateCommand::Duplicate(it) => life::duplicate(it).await?,
        TemplateCommand::Delete(it) => life::delete(it).await?,
        TemplateCommand::Versions(it) => life::versions(it).await?,
        TemplateCommand::Preview(it) => Box::pin(life::preview(it)).await?,
        TemplateCommand::Recipients(it) => recipients::run(it).await?,
        TemplateCommand::Create {
            account,
            slug,
            folder,
            starter: _,
            required_plan,
            strict,
            force,
            target,
        } => {
            let mut template = match folder {
                Some(folder) => (folder::from_disk(&folder, &slug)?, ExistingLayout::Replaced),
                None => (embedded(&slug)?, ExistingLayout::Kept),
            };
            if required_plan.is_some() {
                template.0.source.required_plan = required_plan;
            }
            template.0.source.strict |= strict;
            let opened = target.open().await?;
            let now = opened.clock.now();
            opened.store.account(account, now).await?;
            let authoring = opened.authoring().await?;
            let options = PublishOptions { force, ..PublishOptions::default() };
            let (folder, existing) = &template;
            let outcome = publish(&authoring, account, &slug, folder, *existing, &options).await?;
            let versions = opened.store.templates(account).await?;
            let mut value = to_json(&published(versions, &slug)?);
            value["unchanged"] = json!(outcome.unchanged);
            value["warnings"] = json!(outcome.warnings);
            value["breaking"] = json!(outcome.breaking);
            target.output.one(&value, || {
                let note = if outcome.unchanged {
                    "  (unchanged: it stays the published version)"
                } else {
                    ""
                };
                let warnings =
                    outcome.warnings.iter().map(|it| format!("\n  warning: {}", it.in_words()));
                format!("{}{note}{}", line(&value), warnings.collect::<String>())
            });
        }
        TemplateCommand::Types(types) => types.run().await?,
        TemplateCommand::List { account, target } => {
            let versions = target.open().await?.store.templates(account).await?;
            target.output.list(&versions.iter().map(to_json).collect::<Vec<_>>(), line);
        }
        TemplateCommand::Show { account, slug, target } => {
            let versions = target.open().await?.store.templates(account).await?;
            let version = published(versions, &slug)?;
            let mut value = to_json(&version);
            value["source"] = json!(version.source);
            target.output.one(&value, || {
                let variable = |it: &crate::template::version::Variable| {
                    let needed = if it.required { "required" } else { "optional" };
                    let of_format = it.format.map(|it| format!("  ({})", it.as_str()));
                    let of = it.value_type.map(|it| format!("  ({})", it.as_str()));
                    let of = of_format.or(of);
                    format!("  {needed}  {}{}", it.path, of.unwrap_or_default())
                };
                let variables: Vec<String> = version.variables.iter().map(variable).collect();
                format!("{}\n{}", line(&value), variables.join("\n"))
            });
        }
    }
    Ok(())
}

fn published(versions: Vec<TemplateVersion>, slug: &Slug) -> Result<TemplateVersion, CliError> {
    let version = versions.into_iter().find(|version| version.slug == *slug);
    let missing = || StoreError::Missing { noun: "template", name: slug.to_string() };
    version.ok_or_else(|| missing().into())
}

fn embedded(slug: &Slug) -> Result<Folder, CliError> {
    let all = folder::starters()?;
    let known: Vec<String> = all.iter().map(|(slug, _)| slug.to_string()).collect();
    all.into_iter().find(|(it, _)| it == slug).map(|(_, folder)| folder).ok_or_else(|| {
        let known = known.join(", ");
        CliError::Usage(format!("there is no starter template {slug}; there are: {known}"))
    })
}

fn to_json(version: &TemplateVersion) -> Value {
    json!({
        "id": version.template_id,
        "slug": version.slug,
        "revision": version.revision,
        "name": version.source.name,
        "description": version.source.description,
        "requiredPlan": version.source.required_plan,
        "strict": version.source.strict,
        "variables": version.variables,
        "exampleData": version.source.example(),
    })
}

fn line(value: &Value) -> String {
    let (slug, revision, name) =
        (text(value, "slug"), text(value, "revision"), text(value, "name"));
    format!("{slug}  version {revision}  {name}")
}
