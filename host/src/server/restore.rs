//! Makes a data directory of a backup. A directory on which a server runs is refused, and what is in one is never changed.

mod scratch;

use std::io;
use std::path::{Path, PathBuf};

use scratch::Scratch;

use super::data_dir::{DataDir, DataDirError, Lock};
use super::directory;
use crate::backup::age::Identity;
use crate::backup::{
    BackupError, Destination, Manifest, ObjectStoreSettings, blocking, sync, taken_at, unpack,
};
use crate::clock::Timestamp;
use crate::management::acts::{self, Act};
use crate::store::{ActorId, Place, Store, StoreError};

/// Why a backup is not restored. The data directory is as it was.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error("the database of the backup cannot be used by this version: {0}")]
    Store(#[from] StoreError),
    #[error(
        "there is something in {path}: name a directory that does not exist, or move what is there aside with --force"
    )]
    NotEmpty { path: PathBuf },
    #[error(
        "{path} is a link, or a file system is mounted there, so no other directory can get its name: restore into a directory \
         inside of it, or beside it, and name that one in store.data_dir"
    )]
    NotReplaceable { path: PathBuf },
    #[error("{path}: {source}")]
    Io { path: PathBuf, source: io::Error },
}

/// What becomes of a data directory that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    Refuse,
    /// It is renamed.
    MoveAside,
}

/// What was restored.
#[derive(Debug)]
pub struct Restored {
    pub backup: String,
    pub manifest: Manifest,
    /// Where the directory went that was there.
    pub moved_to: Option<PathBuf>,
}

/// Restores the backup `from`: a file, the newest one of a directory or of `s3://bucket/prefix`, or one there by its name.
pub async fn restore(
    from: &str,
    data_dir: &Path,
    identity: Identity,
    (existing, object_store): (Existing, &ObjectStoreSettings),
    now: Timestamp,
) -> Result<Restored, RestoreError> {
    // Without a slash at its end, behind which a further name would lead into it.
    let data_dir = data_dir.components().as_path();
    let lock = check(data_dir, existing)?;
    if !is_replaceable(data_dir) {
        return Err(RestoreError::NotReplaceable { path: data_dir.to_owned() });
    }
    let parent = directory::of_file(data_dir);
    std::fs::create_dir_all(parent).map_err(at(parent))?;
    scratch::remove_left_over(parent);
    let scratch = Scratch::make_in(parent).map_err(at(parent))?;
    let (destination, backup) = find(from, object_store, now).await?;
    let file = destination.fetch(&backup, scratch.path()).await?;
    let unpacked = scratch.path().join("data");
    let manifest = {
        let unpacked = unpacked.clone();
        blocking(move || unpack(&file, &identity, &unpacked)).await?
    };
    let place = Place::File(DataDir::open(&unpacked)?.database()?);
    Store::check(&place).await?;
    record(&place, acts::restored(&backup, &destination.shown()), now).await?;
    let moved_to = put_in_place(&unpacked, data_dir, (existing, lock), now)?;
    sync(parent)?;
    Ok(Restored { backup, manifest, moved_to })
}

/// Writes into the audit log of the database that its state is that of a backup.
async fn record(place: &Place, act: Act, now: Timestamp) -> Result<(), StoreError> {
    let store = match Store::open(place.clone()).await {
        Err(StoreError::Earlier) => {
            tracing::warn!(
                "the restore is not written into the audit log, because the database is of an earlier version; the \
                 server brings it up to date at its start"
            );
            return Ok(());
        }
        opened => opened?,
    };
    let recorded = store.record_audit(&act.row(ActorId::CommandLine, now)).await;
    store.close().await;
    recorded
}

/// Gives what was unpacked the name of the data directory. Answers where the directory went that was there.
fn put_in_place(
    unpacked: &Path,
    data_dir: &Path,
    (existing, lock): (Existing, Option<Lock>),
    now: Timestamp,
) -> Result<Option<PathBuf>, RestoreError> {
    // Held to the end, so that no server starts on a directory that is being moved. Where there was none to lock, a server
    // may have started while the backup was unpacked.
    let _lock = match lock {
        Some(lock) => Some(lock),
        None => check(data_dir, existing)?,
    };
    let moved_to = match existing {
        Existing::Refuse => None,
        Existing::MoveAside => move_aside(data_dir, now)?,
    };
    // It fails where the directory has got files since then.
    if let Err(source) = std::fs::rename(unpacked, data_dir) {
        if let Some(aside) = &moved_to {
            std::fs::rename(aside, data_dir).map_err(at(aside))?;
        }
        return Err(RestoreError::Io { path: data_dir.to_owned(), source });
    }
    Ok(moved_to)
}

/// Takes a directory that is there, where nothing speaks against replacing it.
fn check(data_dir: &Path, existing: Existing) -> Result<Option<Lock>, RestoreError> {
    let is_empty = match std::fs::read_dir(data_dir) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(RestoreError::Io { path: data_dir.to_owned(), source }),
    };
    if is_empty {
        return Ok(None);
    }
    // First, because it is the more important of two reasons.
    let lock = DataDir::unopened_at(data_dir).lock_of_server()?;
    match existing {
        Existing::Refuse => Err(RestoreError::NotEmpty { path: data_dir.to_owned() }),
        Existing::MoveAside => Ok(lock),
    }
}

/// Whether a rename can put another directory into the place of this one. One that is not there yet can be made.
fn is_replaceable(data_dir: &Path) -> bool {
    let Ok(about) = std::fs::symlink_metadata(data_dir) else { return true };
    #[cfg(unix)]
    if let Ok(parent) = std::fs::metadata(directory::of_file(data_dir)) {
        use std::os::unix::fs::MetadataExt as _;
        if parent.dev() != about.dev() {
            return false;
        }
    }
    !about.is_symlink() && !is_mount_point(data_dir)
}

/// Also where a directory of the same disk is mounted, which has the number of the disk around it.
#[cfg(target_os = "linux")]
fn is_mount_point(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx};
    let about = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    about.is_ok_and(|it| it.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

#[cfg(not(target_os = "linux"))]
fn is_mount_point(_path: &Path) -> bool {
    false
}

/// The backup that is meant, and where it is.
async fn find(
    from: &str,
    object_store: &ObjectStoreSettings,
    now: Timestamp,
) -> Result<(Destination, String), BackupError> {
    let (directory, name) = from.rsplit_once('/').unwrap_or((".", from));
    if taken_at(name).is_some() || Path::new(from).is_file() {
        let directory = if directory.is_empty() { "/" } else { directory };
        return Ok((Destination::new(directory, object_store)?, name.to_owned()));
    }
    let destination = Destination::new(from, object_store)?;
    let newest = destination.names(now).await?.pop();
    let newest = newest.ok_or_else(|| BackupError::NoBackup { place: destination.shown() })?;
    Ok((destination, newest))
}

/// Renames a directory that is there and not empty.
fn move_aside(data_dir: &Path, now: Timestamp) -> Result<Option<PathBuf>, RestoreError> {
    let is_empty = std::fs::read_dir(data_dir).map_or(true, |mut it| it.next().is_none());
    if is_empty {
        return Ok(None);
    }
    let mut name = data_dir.as_os_str().to_owned();
    name.push(format!(".before-restore-{}", now.millis()));
    let aside = PathBuf::from(name);
    std::fs::rename(data_dir, &aside).map_err(at(data_dir))?;
    Ok(Some(aside))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.to_owned();
    move |source| RestoreError::Io { path, source }
}

#[cfg(test)]
mod tests;
