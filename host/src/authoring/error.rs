//! Why an author's change is not made.

use std::path::PathBuf;

use super::bounds::{MAX_TOUCHED, MAX_UNPACKED_BYTES};
use super::breaking::BreakingChange;
use super::finding::Finding;
use crate::journey::accept::refusal::{Fault, Refusal, Refused};
use crate::plugin::CallFailure;
use crate::plural::plural;
use crate::store::StoreError;
use crate::template::kind::TemplateKind;
use crate::template::locale::{InvalidLocale, LocaleTag};
use crate::template::slug::{InvalidSlug, Slug};

/// Why something was not done. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum AuthoringError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error("the server is shutting down; nothing was changed")]
    Stopping,
    #[error("other archives of templates are being read or made; try again in a few seconds")]
    ArchivesBusy,
    /// Files that somebody has brought.
    #[error(transparent)]
    Files(FolderError),
    /// The renderer or the compiler of MJML gave no answer.
    #[error(transparent)]
    Plugin(#[from] CallFailure),
    /// The journey refused a test, or a mail that asks a test recipient.
    #[error("{}", .0.refusal.message())]
    Refused(Refused),
    #[error("there is no {} `{slug}`", kind.as_str())]
    Missing { kind: TemplateKind, slug: Slug },
    #[error("there is no version {revision} of `{slug}`")]
    NoVersion { slug: Slug, revision: u64 },
    #[error("there is no example `{name}`; there are: {known}")]
    NoExample { name: String, known: String },
    #[error("there is no starter `{name}`; there are: {known}")]
    NoStarter { name: String, known: String },
    #[error("the account's test recipients do not have `{address}`")]
    NoRecipient { address: String },
    #[error(
        "`{address}` is on the account's suppression list, so no mail can ask its holder; take it off that list first"
    )]
    Suppressed { address: String },
    #[error("there is a {} `{slug}` already; choose another slug, or change that one", kind.as_str())]
    Taken { kind: TemplateKind, slug: Slug },
    #[error("there are {most} {}s, which is as many as there may be; delete one that is not used", kind.as_str())]
    Full { kind: TemplateKind, most: u32 },
    #[error(
        "the templates that are here have more than {MAX_UNPACKED_BYTES} bytes together, which is too much for one \
         step; export and import them one by one"
    )]
    Large,
    /// What was sent is wrong.
    #[error("{}", faults_in_words(.0))]
    Faults(Vec<Fault>),
    /// The template cannot be published like this.
    #[error("`{slug}` cannot be published: {}", findings_in_words(.findings))]
    Unfit { slug: Slug, findings: Vec<Finding> },
    /// Sends that are accepted today would be refused.
    #[error(
        "publishing `{slug}` would break senders ({}); {sent} {} sent with it in the last 30 days. \
         Change the template, or publish it with `force` (`--force` of the command) once its senders are ready",
        breaking_in_words(.changes),
        plural(*.sent, "message was", "messages were")
    )]
    Breaking { slug: Slug, changes: Vec<BreakingChange>, sent: u64 },
    #[error(
        "`{slug}` has been changed since it was read; read it again, and repeat the change on what it is now"
    )]
    Changed { slug: Slug },
    #[error(
        "others changed `{slug}`, or what it is made of, while this was done, several times; nothing was changed by this \
         request: read `{slug}`, and repeat the request if it is still wanted"
    )]
    Overtaken { slug: Slug },
    /// Something that a layout or partial touches would break.
    #[error("{} `{block}` cannot be published, because the template `{template}` is made of it: {}",
            kind.as_str(), findings_in_words(.findings))]
    Touched { kind: TemplateKind, block: Slug, template: String, findings: Vec<Finding> },
    #[error(
        "more than {MAX_TOUCHED} published templates are made of `{block}`, which is too many to publish in one step; \
         publish it under another name and move templates over"
    )]
    TooManyTouched { block: Slug },
    #[error("`{slug}` is in use by published templates ({}); publish these without it first", list(.by))]
    InUse { slug: Slug, by: Vec<Slug> },
    #[error(
        "`{slug}` has been sent, so it cannot be deleted: its messages and versions belong together; archive it"
    )]
    Sent { slug: Slug },
    #[error("`{slug}` has never been published; publish it first")]
    Unpublished { slug: Slug },
}

/// Why a folder cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    #[error("{path} cannot be read: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{path} is not valid:\n{fault}")]
    Malformed { path: PathBuf, fault: FileFault },
    #[error("{path} has faults:\n{}", lines(.faults))]
    Faults { path: PathBuf, faults: Vec<Fault> },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<FolderError>),
    #[error("the starter templates of this binary are not valid:\n{0}")]
    Starters(&'static FolderError),
}

/// What is wrong with one file of a folder.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    #[error("is no file of a template; known are {known}")]
    Unknown { known: String },
    #[error(transparent)]
    Slug(InvalidSlug),
    #[error(transparent)]
    Locale(InvalidLocale),
    #[error("the folder of this locale is called `{0}`")]
    LocaleFolder(LocaleTag),
    #[error("has {bytes} bytes; at most {most}")]
    TooLong { bytes: usize, most: usize },
    #[error("is not UTF-8")]
    NotUtf8,
    #[error("has a NUL character")]
    Nul,
    #[error("is a symbolic link, which is not followed")]
    SymbolicLink,
    #[error("line {line}, column {column}: {what}")]
    Toml { line: u32, column: u32, what: String },
    #[error("{}", faults_in_words(.0))]
    Json(Vec<Fault>),
    #[error(transparent)]
    Twice(#[from] SaidTwice),
    #[error("has no {name}, so it is no template")]
    NoDescription { name: &'static str },
    #[error("the layout `{name}` is not in {folder}")]
    NoLayout { name: Slug, folder: &'static str },
    #[error("{0}; delete the file, and pull")]
    State(serde_json::Error),
}

/// A member of a source that two files say.
#[derive(Debug, thiserror::Error)]
#[error("`{member}` stands in another file too")]
pub struct SaidTwice {
    pub member: String,
}

impl SaidTwice {
    /// The same, seen from the member that it stands below.
    #[must_use]
    pub fn below(self, name: &str) -> Self {
        Self { member: format!("{name}.{}", self.member) }
    }
}

impl FolderError {
    /// All of what is wrong, if anything is.
    pub fn of(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.pop() {
            None => Ok(()),
            Some(one) if errors.is_empty() => Err(one),
            Some(last) => {
                errors.push(last);
                Err(Self::Several(errors))
            }
        }
    }

    /// For an author whose files came over HTTP: the path of each, and what is wrong there.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        match self {
            Self::File { path, source } => {
                vec![Fault::new(&path.to_string_lossy(), "invalid", source.to_string())]
            }
            Self::Malformed { path, fault } => {
                vec![Fault::new(&path.to_string_lossy(), "invalid", fault.to_string())]
            }
            Self::Starters(broken) => broken.faults(),
            Self::Faults { path, faults } => {
                let below = |it: &Fault| {
                    let field = format!("{}: {}", path.display(), it.field);
                    Fault { field, ..it.clone() }
                };
                faults.iter().map(below).collect()
            }
            Self::Several(all) => all.iter().flat_map(Self::faults).collect(),
        }
    }
}

impl From<Refusal> for AuthoringError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal.into())
    }
}

impl AuthoringError {
    pub fn fault(field: &str, code: &str, message: impl Into<String>) -> Self {
        Self::Faults(vec![Fault::new(field, code, message)])
    }
}

fn list(slugs: &[Slug]) -> String {
    slugs.iter().map(Slug::as_str).collect::<Vec<_>>().join(", ")
}

fn faults_in_words(faults: &[Fault]) -> String {
    let one = |it: &Fault| match it.field.as_str() {
        "" => it.message.clone(),
        field => format!("{field}: {}", it.message),
    };
    faults.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn findings_in_words(findings: &[Finding]) -> String {
    let errors = findings.iter().filter(|it| it.is_error());
    errors.map(Finding::in_words).collect::<Vec<_>>().join("; ")
}

fn breaking_in_words(changes: &[BreakingChange]) -> String {
    changes.iter().map(BreakingChange::in_words).collect::<Vec<_>>().join("; ")
}

fn lines(faults: &[Fault]) -> String {
    let line = |it: &Fault| format!("  {}: {}", it.field, it.message);
    faults.iter().map(line).collect::<Vec<_>>().join("\n")
}
