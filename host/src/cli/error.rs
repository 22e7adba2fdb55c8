//! Why a command fails. Each text says what happened, why, and what to do.

use std::path::PathBuf;
use std::process::ExitCode;

use super::installation::InstallationError;
use super::sync_error::SyncError;
use crate::authoring::error::{AuthoringError, FolderError};
use crate::backup::BackupError;
use crate::config::ConfigError;
use crate::dns::ResolverError;
use crate::inbox::InboxError;
use crate::management::accounts::AccountError;
use crate::management::credits::GrantError;
use crate::management::keys::KeyError;
use crate::people::MemberError;
use crate::plugin::{CallFailure, LoadError, PluginsError};
use crate::server::StartError;
use crate::server::backup::BackupSetupError;
use crate::server::data_dir::DataDirError;
use crate::server::domain_checks::VerifierError;
use crate::server::master_key::MasterKeyError;
use crate::server::master_key::rotation::RotationError;
use crate::server::restore::RestoreError;
use crate::server::webhooks::WebhooksError;
use crate::store::StoreError;
use crate::upkeep::verify_domains::{CheckError, DomainError};
use crate::webhooks::owner_operations::WebhookError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("the runtime cannot start: {0}")]
    Runtime(std::io::Error),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Installation(#[from] InstallationError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(
        "there is no Waxwing store in {}: name the server's --config, as in `--config \
         /etc/waxwing/waxwing.toml`, or --data-dir, and check [store] data_dir; a new store is made by `waxwing \
         serve`, `waxwing dev` and `waxwing account create`", .0.display()
    )]
    NoStore(PathBuf),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    #[error(
        "{open} of {all} DNS records of this host cannot be seen as they should be; the list says what to do"
    )]
    HostRecords { open: usize, all: usize },
    #[error(transparent)]
    Rotation(#[from] RotationError),
    #[error(transparent)]
    Verifier(#[from] VerifierError),
    #[error(transparent)]
    Domain(#[from] DomainError),
    #[error(transparent)]
    DomainCheck(#[from] CheckError),
    #[error(transparent)]
    Webhooks(#[from] WebhooksError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Plugins(#[from] PluginsError),
    #[error(transparent)]
    Component(#[from] LoadError),
    #[error(transparent)]
    PluginCommand(#[from] super::plugin::PluginCommandError),
    #[error(transparent)]
    Online(#[from] super::plugin::OnlineError),
    #[error("{error}{}", advice(error))]
    Account {
        #[from]
        error: AccountError,
    },
    #[error(transparent)]
    Member(#[from] MemberError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error(transparent)]
    Grant(#[from] GrantError),
    #[error(transparent)]
    Authoring(#[from] AuthoringError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Sync(#[from] SyncError),
    #[error(transparent)]
    Plugin(#[from] CallFailure),
    #[error("the template {slug} has faults:\n{faults}")]
    Template { slug: String, faults: String },
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    BackupSetup(#[from] BackupSetupError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error("{path} cannot be read: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error(
        "{path} sets nothing in {sections} any more, as it did when it was read last: the file was probably cut off while it was written; write the whole file, and reload again, or restart the server where that is meant"
    )]
    SectionsLost { path: PathBuf, sections: String },
    /// The answer of `waxwing doctor`, which has been printed.
    #[error("failing: {}; the lines above say what to do", .0.join(", "))]
    Unwell(Vec<String>),
    /// The command has run to its end.
    #[error(
        "the command is done, but what it prints could not be written to standard output: {0}. Look at the result with \
         the command that lists or shows it; where it is a key or a link that is shown once, make another"
    )]
    Unsaid(&'static std::io::Error),
    #[error("{path} cannot be written: {source}")]
    Unwritable { path: PathBuf, source: std::io::Error },
    #[error(
        "{path} could not be written to its end: {source}. The unfinished file, of {written} bytes, is removed{}",
        room(source)
    )]
    Unfinished { path: PathBuf, written: u64, source: std::io::Error },
    #[error("the export was stopped before it was whole, and nothing of it is kept; begin again")]
    Stopped,
    /// An argument that only makes sense with another value.
    #[error("{0}")]
    Usage(String),
}

/// `EX_CONFIG` of sysexits(3), which the unit of systemd names: each start would copy the whole database before it fails.
const NOT_AGAIN: u8 = 78;

impl CliError {
    /// That of diff(1) where nothing could be compared, and [`NOT_AGAIN`] where a further start cannot succeed.
    pub fn exit_code(&self) -> ExitCode {
        if matches!(self, Self::Sync(SyncError::NotCompared(_))) {
            ExitCode::from(2)
        } else if matches!(self, Self::Start(StartError::Store(StoreError::Migrate(_)))) {
            ExitCode::from(NOT_AGAIN)
        } else {
            ExitCode::FAILURE
        }
    }
}

/// What to do about a disk that is full.
fn room(error: &std::io::Error) -> &'static str {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    if matches!(error.kind(), StorageFull | QuotaExceeded) {
        "; the disk is full: free some of it, or name a file on another one"
    } else {
        ""
    }
}

/// What to do about a plan that is not known, or an account that is active, in words of the command line.
fn advice(error: &AccountError) -> &'static str {
    match error {
        AccountError::UnknownPlan { .. } => {
            ". If your own plan policy has a plan of this name, add --own-plan"
        }
        AccountError::NotSuspended => " (`waxwing account deactivate`)",
        AccountError::Name
        | AccountError::CreditsLow
        | AccountError::SenderNotVerified(_)
        | AccountError::OwnAccount
        | AccountError::BeingDeleted
        | AccountError::Store(_) => "",
    }
}
