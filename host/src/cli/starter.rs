//! The starter templates, embedded, and templates from a folder of the same layout.

use std::path::{Path, PathBuf};

use include_dir::{Dir, include_dir};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::CliError;
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::journey::accept::json::object::ObjectText;
use crate::journey::accept::refusal::Refusal;
use crate::journey::accept::variables::Variables;
use crate::journey::render::dictionary;
use crate::journey::render::template::{for_plugin, parts};
use crate::message::address::EmailAddress;
use crate::plugin::binding::Scope;
use crate::plugin::table::Unrendered;
use crate::plugin::{Diagnostic, Plugins};
use crate::store::{Published, Store};
use crate::template::imported::with_unescaped_liquid;
use crate::template::slug::Slug;
use crate::template::version::{TemplateSource, Variable, VariableType, wrong_types};

static EMBEDDED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../templates/email");
const LAYOUTS: &str = "_layouts";

/// `template.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: String,
    #[serde(rename = "description")]
    purpose: String,
    #[serde(default)]
    tags: Vec<String>,
    layout: Option<String>,
    sender: Option<EmailAddress>,
    required_plan: Option<String>,
    #[serde(default)]
    strict: bool,
    #[serde(default, rename = "variable")]
    documented: Vec<Documented>,
    #[serde(default)]
    example: Map<String, Value>,
}

/// What a person says of a variable. It is held against what the renderer finds.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Documented {
    path: String,
    required: bool,
    #[serde(rename = "type")]
    value_type: String,
    #[serde(rename = "description")]
    _meaning: String,
}

/// A template folder, read.
#[derive(Debug)]
pub struct Folder {
    /// What will be published.
    pub source: TemplateSource,
    declared: Vec<Documented>,
}

/// All starter templates, by slug.
pub fn templates() -> Result<Vec<(Slug, Folder)>, CliError> {
    let folders = EMBEDDED.dirs().filter(|folder| folder.path() != Path::new(LAYOUTS));
    folders
        .map(|folder| {
            let name = folder.path().display().to_string();
            let read = |path: PathBuf| {
                let file = EMBEDDED.get_file(&path);
                Ok(file.and_then(|file| file.contents_utf8()).map(str::to_owned))
            };
            let slug = name.parse().map_err(|error: crate::template::slug::InvalidSlug| {
                CliError::Usage(format!("the folder {name} is not a slug: {error}"))
            })?;
            Ok((slug, load(folder.path(), Path::new(LAYOUTS), read)?))
        })
        .collect()
}

/// A template from a folder on disk; its layout is in `_layouts` beside the folder.
pub fn from_folder(folder: &Path) -> Result<Folder, CliError> {
    let layouts = folder.parent().unwrap_or(Path::new(".")).join(LAYOUTS);
    load(folder, &layouts, |path| match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CliError::File { path, source }),
    })
}

/// Checks a template with the renderer and publishes it.
pub async fn publish(
    store: &Store,
    plugins: &Plugins,
    account: AccountId,
    slug: &Slug,
    folder: &Folder,
    now: Timestamp,
) -> Result<Published, CliError> {
    let template = for_plugin(slug.as_str(), 0, &folder.source);
    let owner = store.account(account, now).await?.account;
    let (plan, id) = (owner.plan.name.as_str(), account.to_string());
    let scope = Scope { plan, account: &id, domain: None };
    let table = plugins.table();
    let compiled = table.variables(&scope, &template).await?;
    let found = compiled.map_err(|faults| CliError::template(slug.as_str(), &faults))?;
    let variables: Vec<Variable> = found
        .into_iter()
        .map(|variable| Variable {
            value_type: folder.declared_type(&variable.path),
            path: variable.path,
            required: variable.required,
        })
        .collect();
    let mut faults = folder.disagreements(&variables);
    let mut dictionary = dictionary::of_source(&folder.source);
    let example = &folder.source.example;
    if !example.is_empty() {
        let wrong = wrong_types(&variables, example);
        faults.extend(
            wrong.iter().map(|it| {
                format!("[example] {} must be of the type {}", it.path, it.wanted.as_str())
            }),
        );
        let data = ObjectText::from(example);
        let data = Variables::new(&data, &owner.brand).to_json();
        let context = plugins.context(format!("publish {slug}"));
        match table.preview(&scope, &template, &context, &data).await? {
            Ok(output) => match parts(output.bodies, &output.missing) {
                Ok(parts) => dictionary = dictionary::of_example(&parts),
                Err(refusal) => faults.extend(as_lines(refusal)),
            },
            Err(Unrendered::Data(found)) => faults.extend(found.iter().map(example_fault)),
            Err(Unrendered::Template(found)) => {
                return Err(CliError::template(slug.as_str(), &found));
            }
            Err(Unrendered::TooMuchWork(_, failure)) => return Err(failure.into()),
        }
    }
    if !faults.is_empty() {
        let faults = faults.iter().map(|fault| format!("  {fault}")).collect::<Vec<_>>().join("\n");
        return Err(CliError::Template { slug: slug.to_string(), faults });
    }
    Ok(store.publish_template(account, slug, &folder.source, &variables, &dictionary, now).await?)
}

fn example_fault(it: &Diagnostic) -> String {
    match (it.code.as_str(), &it.path) {
        ("missing_variable", Some(path)) => {
            format!("[example] leaves out `{path}`, which the template requires")
        }
        (_, Some(_) | None) => format!("[example] {}", it.message),
    }
}

fn as_lines(refusal: Refusal) -> Vec<String> {
    if let Refusal::BadRequest { faults } = refusal {
        return faults.into_iter().map(|it| format!("[example] {}", it.message)).collect();
    }
    vec![refusal.message()]
}

fn load(
    folder: &Path,
    layouts: &Path,
    read: impl Fn(PathBuf) -> Result<Option<String>, CliError>,
) -> Result<Folder, CliError> {
    let toml = folder.join("template.toml");
    let missing = |path: &Path| CliError::File {
        path: path.to_owned(),
        source: std::io::ErrorKind::NotFound.into(),
    };
    let text = read(toml.clone())?.ok_or_else(|| missing(&toml))?;
    let description: Description = toml::from_str(&text)
        .map_err(|error| CliError::Malformed { path: toml, message: error.to_string() })?;
    let subject = folder.join("subject.liquid");
    let layout = match description.layout {
        None => None,
        Some(name) => {
            let path = layouts.join(format!("{name}.liquid"));
            Some(read(path.clone())?.ok_or_else(|| missing(&path))?)
        }
    };
    let source = TemplateSource {
        name: description.name,
        description: description.purpose,
        subject: read(subject.clone())?.ok_or_else(|| missing(&subject))?,
        preheader: read(folder.join("preheader.liquid"))?,
        html: read(folder.join("html.liquid"))?.as_deref().map(with_unescaped_liquid),
        text: read(folder.join("text.liquid"))?,
        layout,
        sender: description.sender,
        required_plan: description.required_plan,
        strict: description.strict,
        tags: description.tags,
        example: description.example,
    };
    Ok(Folder { source, declared: description.documented })
}

impl Folder {
    fn declared_type(&self, path: &str) -> Option<VariableType> {
        let declared = self.declared.iter().find(|it| it.path == path)?;
        VariableType::from_name(&declared.value_type)
    }

    /// Faults of what is declared, and where it and the template do not say the same. A description
    /// without any variable says nothing.
    fn disagreements(&self, read: &[Variable]) -> Vec<String> {
        if self.declared.is_empty() {
            return Vec::new();
        }
        let mut faults = Vec::new();
        for (index, Documented { path, required, value_type, .. }) in
            self.declared.iter().enumerate()
        {
            if self.declared.iter().take(index).any(|it| it.path == *path) {
                faults.push(format!("template.toml declares `{path}` twice"));
                continue;
            }
            if VariableType::from_name(value_type).is_none() {
                let known = VariableType::ALL.map(VariableType::as_str).join(", ");
                faults.push(format!(
                    "`{path}` has the type `{value_type}`, which is none of {known}"
                ));
            }
            let found = read.iter().find(|variable| variable.path == *path);
            match found.map(|variable| variable.required) {
                None => {
                    faults.push(format!("template.toml declares `{path}`, and nothing reads it"));
                }
                Some(true) if !required => faults
                    .push(format!("`{path}` is required, and template.toml says it is optional")),
                Some(false) if *required => faults
                    .push(format!("`{path}` is optional, and template.toml says it is required")),
                Some(_) => {}
            }
        }
        let declared = |path: &str| self.declared.iter().any(|it| it.path == path);
        let undeclared = read.iter().filter(|variable| !declared(&variable.path));
        faults.extend(undeclared.map(|it| format!("`{}` is read and not declared", it.path)));
        faults
    }
}
