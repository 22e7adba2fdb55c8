//! `waxwing restore`: a data directory of a backup.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::error::CliError;
use super::output::Output;
use crate::backup::BackupError;
use crate::backup::age::Identity;
use crate::clock::Clock;
use crate::config::{Config, LogFilter};
use crate::server;
use crate::server::restore::{Existing, Restored};
use crate::telemetry;

/// Make a data directory of a backup; the server that starts on it holds delivery until `waxwing queue release`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing restore --from /var/backups/waxwing --identity backup-identity.txt --data-dir /var/lib/waxwing
  waxwing restore --from s3://backups/waxwing --identity backup-identity.txt --data-dir /var/lib/waxwing")]
pub struct Restore {
    /// A backup, or a directory or `s3://bucket/prefix` with backups, of which the newest is taken
    #[arg(long)]
    from: String,
    /// The file of `waxwing backup keygen` or `age-keygen`
    #[arg(long)]
    identity: PathBuf,
    /// The directory to make
    #[arg(long)]
    data_dir: PathBuf,
    /// Rename a directory that is there already
    #[arg(long)]
    force: bool,
    /// A configuration whose [backup] says how the object store is reached
    #[arg(long)]
    config: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

pub async fn run(restore: Restore) -> Result<(), CliError> {
    let Restore { from, identity, data_dir, force, config, output } = restore;
    let mut config = Config::load(config.as_deref(), std::env::vars())?;
    config.log.filter = LogFilter::level(tracing::Level::WARN);
    telemetry::logs::start(&config.log);
    let text = std::fs::read_to_string(&identity)
        .map_err(|source| CliError::File { path: identity, source })?;
    let identity = Identity::of_file(&text).map_err(BackupError::from)?;
    let object_store = server::backup::object_store(&config.backup)?;
    let existing = if force { Existing::MoveAside } else { Existing::Refuse };
    let (how, now) = ((existing, &object_store), Clock::system().now());
    let restored = Box::pin(server::restore::restore(&from, &data_dir, identity, how, now)).await?;
    let Restored { backup, manifest, moved_to } = restored;
    let taken_at = manifest.taken_at.rfc3339();
    let answer = json!({
        "backup": backup,
        "takenAt": taken_at,
        "version": manifest.version,
        "schema": manifest.schema,
        "dataDir": data_dir,
        "movedTo": moved_to,
        "deliveryHeld": true,
    });
    output.one(&answer, || {
        let moved = moved_to.map(|it| format!(" What was there is in {} now.", it.display()));
        format!(
            "{} holds the state of {taken_at}.{} Delivery is held, because mail that waited then may have gone out since: \
             start the server, then run `waxwing queue release`, or with --cancel-queued.",
            data_dir.display(),
            moved.unwrap_or_default()
        )
    });
    Ok(())
}
