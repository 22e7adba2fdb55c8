//! `waxwing backup`: an encrypted copy of the server's state, taken while it works.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;

use super::error::CliError;
use super::open::Target;
use super::output::{Output, note_act};
use crate::backup::age::{Identity, Recipient};
use crate::backup::{BackupError, Destination, Taken, back_up};
use crate::clock::{Clock, Timestamp};
use crate::config::LogFilter;
use crate::management::acts;
use crate::private_file;
use crate::server;
use crate::server::data_dir::DataDir;
use crate::telemetry;

/// Take a backup, while the server runs or not: the database, the master key, the plugins and their state
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  waxwing backup keygen --out backup-identity.txt
  waxwing backup --to /var/backups/waxwing --recipients-file backup-identity.txt
  waxwing backup --config /etc/waxwing/waxwing.toml   # as its [backup] says"
)]
pub struct Backup {
    #[command(subcommand)]
    command: Option<BackupCommand>,
    /// A directory, or `s3://bucket/prefix` [default: [backup] to of the configuration]
    #[arg(long)]
    to: Option<String>,
    /// A public key of age; several may be given [default: [backup] recipients of the configuration]
    #[arg(long = "recipient", value_name = "AGE1…")]
    recipients: Vec<Recipient>,
    /// A file with public keys of age, one a line; the file of `keygen` will do
    #[arg(long)]
    recipients_file: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

#[derive(Debug, Subcommand)]
enum BackupCommand {
    /// Make the pair of keys of backups: print the recipient, and write the identity, which opens them, into a file
    Keygen {
        /// The file to write the identity to; it must not exist. Keep the identity away from the server
        #[arg(long)]
        out: PathBuf,
        #[command(flatten)]
        output: Output,
    },
}

pub async fn run(backup: Backup) -> Result<(), CliError> {
    let Backup { command, to, mut recipients, recipients_file, target } = backup;
    if let Some(BackupCommand::Keygen { out, output }) = command {
        return keygen(&out, output, Clock::system().now());
    }
    let mut config = target.config()?;
    config.log.filter = LogFilter::level(tracing::Level::WARN);
    telemetry::logs::start(&config.log);
    if DataDir::existing_place(&config.store)?.is_none() || !config.store.data_dir.is_dir() {
        return Err(CliError::NoStore(config.store.data_dir));
    }
    let source = server::backup::source(&config, &DataDir::of(&config.store)?)?;
    let Some(to) = to.or_else(|| config.backup.to.clone()) else {
        return Err(CliError::Usage(
            "say where the backup goes: --to, or [backup] to in the configuration".to_owned(),
        ));
    };
    if let Some(path) = recipients_file {
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|source| CliError::File { path, source })?;
        recipients.extend(Recipient::all_of_file(&text).map_err(BackupError::from)?);
    } else if recipients.is_empty() {
        recipients.clone_from(&config.backup.recipients);
    }
    let destination = Destination::new(&to, &server::backup::object_store(&config.backup)?)?;
    let clock = Clock::system();
    let mut stops = server::StopSignals::listen_as_command().map_err(CliError::Runtime)?;
    // A process that a signal ends would leave the unencrypted copies.
    let taken = tokio::select! {
        taken = Box::pin(back_up(&source, &destination, &recipients, &clock)) => taken?,
        stop = stops.next() => {
            stop.map_err(CliError::Runtime)?;
            return Err(BackupError::Interrupted.into());
        }
    };
    let Taken { name, at, bytes, sha256, unpacked_bytes } = taken;
    note_act(acts::backed_up(&name, &destination.shown()));
    let answer = json!({
        "to": destination.shown(),
        "name": name,
        "takenAt": at.rfc3339(),
        "bytes": bytes,
        "unpackedBytes": unpacked_bytes,
        "sha256": sha256,
    });
    target.output.one(&answer, || format!("{name} in {to}: {bytes} bytes, verified"));
    Ok(())
}

fn keygen(file: &Path, output: Output, now: Timestamp) -> Result<(), CliError> {
    let identity = Identity::random().map_err(|error| CliError::Usage(error.to_string()))?;
    let recipient = identity.recipient().to_string();
    let unwritable = |source| CliError::Unwritable { path: file.to_owned(), source };
    let mut out = private_file::options().create_new(true).open(file).map_err(unwritable)?;
    let text = identity.to_file(now);
    out.write_all(text.as_bytes()).and_then(|()| out.sync_all()).map_err(unwritable)?;
    output.one(&json!({"recipient": recipient, "identityFile": file}), || recipient.clone());
    Ok(())
}
