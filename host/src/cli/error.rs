//! What a command can fail with. Each text says what happened, why, and what to do.

use std::path::PathBuf;

use crate::config::ConfigError;
use crate::inbox::InboxError;
use crate::plugin::{CallFailure, Diagnostic, LoadError, PluginsError};
use crate::server::StartError;
use crate::server::data_dir::DataDirError;
use crate::server::domains::{MasterKeyError, VerifierError};
use crate::server::webhooks::WebhooksError;
use crate::store::StoreError;
use crate::upkeep::verify_domains::{CheckError, DomainError};
use crate::webhooks::manage::WebhookError;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The asynchronous runtime.
    #[error("the runtime cannot start: {0}")]
    Runtime(std::io::Error),
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Files that the configuration names.
    #[error("{path}: the configuration is not valid:\n  {}", faults.join("\n  "))]
    Unusable {
        /// The configuration.
        path: PathBuf,
        /// Everything that is wrong.
        faults: Vec<String>,
    },
    /// The log filter.
    #[error("[log] filter is not valid: {0}")]
    LogFilter(#[from] tracing_subscriber::filter::ParseError),
    /// The server did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// There is no database.
    #[error(
        "there is no Waxwing store in {}: check --data-dir and [store] data_dir; a new store is made by \
         `waxwing serve`, `waxwing dev` and `waxwing account create`", .0.display()
    )]
    NoStore(PathBuf),
    /// The database.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The master key.
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// The name servers, or the master key.
    #[error(transparent)]
    Verifier(#[from] VerifierError),
    /// A sender domain is not added, or its keys are not rotated.
    #[error(transparent)]
    Domain(#[from] DomainError),
    /// A sender domain is not checked.
    #[error(transparent)]
    DomainCheck(#[from] CheckError),
    /// What posts to webhooks.
    #[error(transparent)]
    Webhooks(#[from] WebhooksError),
    /// A webhook is not as it was wanted.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The inbox.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    /// The plugins.
    #[error(transparent)]
    Plugins(#[from] PluginsError),
    /// A component cannot be used.
    #[error(transparent)]
    Component(#[from] LoadError),
    /// A command on a plugin.
    #[error(transparent)]
    PluginCommand(#[from] super::plugin::PluginCommandError),
    /// A running server.
    #[error(transparent)]
    Online(#[from] super::plugin::OnlineError),
    /// A plan that is most likely a typing error.
    #[error(
        "the plan `{plan}` is not known: the built-in plan policy knows {known}. If your own plan \
         policy has a plan of this name, add --own-plan"
    )]
    UnknownPlan {
        /// What was asked for.
        plan: String,
        /// The plans of the built-in policy.
        known: String,
    },
    /// A key that would stay in the sandbox and manage the server.
    #[error(
        "a test key cannot have the scope operator: it stays in the sandbox, and an operator manages \
         the whole server; leave out --test or --scope operator"
    )]
    OperatorTestKey,
    /// A plugin gave no answer.
    #[error(transparent)]
    Plugin(#[from] CallFailure),
    /// A template has faults.
    #[error("the template {slug} has faults:\n{faults}")]
    Template {
        /// Its slug.
        slug: String,
        /// One a line.
        faults: String,
    },
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{path} is not valid:\n{message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// An argument that only makes sense with another value.
    #[error("{0}")]
    Usage(String),
}

impl CliError {
    /// The faults of a template, one a line.
    pub fn template(slug: &str, faults: &[Diagnostic]) -> Self {
        let line = |it: &Diagnostic| {
            let part = it.part.as_deref().unwrap_or("template");
            format!("  {part}, line {}, column {}: {}", it.line, it.column, it.message)
        };
        let faults = faults.iter().map(line).collect::<Vec<_>>().join("\n");
        Self::Template { slug: slug.to_owned(), faults }
    }
}
