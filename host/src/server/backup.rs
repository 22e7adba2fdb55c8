//! Backups by the configuration: what of the data directory is in one, where they go, and the schedule.

use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::data_dir::{DataDir, DataDirError};
use super::tasks::Tasks;
use crate::backup::{BackupError, Destination, ObjectStoreSettings, Schedule, Source};
use crate::clock::Clock;
use crate::config::{self, Config};
use crate::store::Store;

/// Why no backup can be taken by this configuration.
#[derive(Debug, thiserror::Error)]
pub enum BackupSetupError {
    #[error(
        "the store is a database of PostgreSQL (store.url), which has backups of its own: pg_dump or pgBackRest; copy \
         master.key, plugin-state and plugins of {} beside them", .0.display()
    )]
    OnServer(PathBuf),
    #[error("backup.s3_secret_access_key_file: {path} cannot be read: {source}")]
    Secret { path: PathBuf, source: std::io::Error },
    #[error("backup.to: {0}")]
    Destination(BackupError),
    #[error(transparent)]
    DataDir(#[from] DataDirError),
}

/// What a backup is taken of.
pub fn source(config: &Config, data: &DataDir) -> Result<Source, BackupSetupError> {
    if config.store.url.is_some() {
        return Err(BackupSetupError::OnServer(config.store.data_dir.clone()));
    }
    let plugins = config.plugins.dir.clone();
    Ok(data.backup_source(plugins)?)
}

/// How an object store is reached.
pub fn object_store(config: &config::Backup) -> Result<ObjectStoreSettings, BackupSetupError> {
    let key = match (&config.s3_access_key_id, &config.s3_secret_access_key_file) {
        (Some(id), Some(path)) => {
            let secret = std::fs::read_to_string(path)
                .map_err(|source| BackupSetupError::Secret { path: path.clone(), source })?;
            Some((id.clone(), secret.trim().to_owned()))
        }
        (Some(_) | None, _) => None,
    };
    let (endpoint, region) = (config.s3_endpoint.clone(), config.s3_region.clone());
    Ok(ObjectStoreSettings { endpoint, region, key })
}

/// Whether the schedule could reach its destination; nobody is asked.
pub fn check(config: &Config) -> Result<(), BackupSetupError> {
    let Some(to) = &config.backup.to else { return Ok(()) };
    let data = DataDir::unopened(&config.store);
    destination(&config.backup, to, &data).map(drop)
}

fn destination(
    config: &config::Backup,
    to: &str,
    data: &DataDir,
) -> Result<Destination, BackupSetupError> {
    let settings = object_store(config)?;
    let destination = Destination::new(to, &settings);
    let destination = destination.map_err(BackupSetupError::Destination)?;
    let refused = destination.refuse_within(&data.backup_work());
    refused.map_err(BackupSetupError::Destination)?;
    Ok(destination)
}

/// Starts what takes backups, where the configuration says where they go.
pub fn start(
    config: &Config,
    data: &DataDir,
    (store, clock): (&Store, &Clock),
    (tasks, stop): (&Tasks, &CancellationToken),
) -> Result<(), BackupSetupError> {
    let settings = &config.backup;
    let Some(to) = &settings.to else { return Ok(()) };
    let destination = destination(settings, to, data)?;
    let schedule = Schedule {
        source: source(config, data)?,
        destination,
        recipients: settings.recipients.clone(),
        every: Duration::from_secs(settings.every_s),
        keep: settings.keep,
        store: store.clone(),
        clock: clock.clone(),
    };
    tasks.start("backup", schedule.run(stop.clone()));
    Ok(())
}
