//! Where backups are kept: a directory, or the prefix of a bucket at an S3-compatible object store. Each is one file, whose
//! name says when it was taken; other files there are left alone.

mod bucket;

use std::fs::File;
use std::path::{Path, PathBuf};

use super::blocking::blocking;
use super::error::BackupError;
use crate::clock::Timestamp;
use crate::private_file::give_to_owner;
use bucket::Bucket;
pub use bucket::ObjectStoreSettings;

const PREFIX: &str = "waxwing-";
const SUFFIX: &str = ".tar.gz.age";
/// The end of the name of a file that is not whole yet.
const DRAFT: &str = ".partial";
const S3: &str = "s3://";

#[derive(Debug, Clone)]
pub enum Destination {
    Directory(PathBuf),
    Bucket(Bucket),
}

/// The name of a backup: `waxwing-20261126T081500Z.tar.gz.age`. Names in their order are backups in the order of their
/// times.
#[must_use]
pub fn name(taken_at: Timestamp) -> String {
    let whole = Timestamp::from_millis(taken_at.millis().div_euclid(1_000) * 1_000);
    let moment = whole.rfc3339().replace(['-', ':'], "");
    format!("{PREFIX}{moment}{SUFFIX}")
}

/// The time in a backup's name; none where the file is no backup.
#[must_use]
pub fn taken_at(name: &str) -> Option<Timestamp> {
    let moment = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (date, time) = moment.strip_suffix('Z')?.split_once('T')?;
    let part = |text: &str, from: usize, to: usize| text.get(from..to).map(str::to_owned);
    let date = [part(date, 0, 4)?, part(date, 4, 6)?, part(date, 6, 8)?].join("-");
    let time = [part(time, 0, 2)?, part(time, 2, 4)?, part(time, 4, 6)?].join(":");
    let found = Timestamp::parse_rfc3339(&format!("{date}T{time}Z"))?;
    (self::name(found) == name).then_some(found)
}

impl Destination {
    /// The directory or bucket of that name, as in `/var/backups/waxwing` and `s3://bucket/prefix`.
    pub fn new(to: &str, settings: &ObjectStoreSettings) -> Result<Self, BackupError> {
        match to.strip_prefix(S3) {
            Some(path) => Bucket::new(to, path, settings).map(Self::Bucket),
            None if to.is_empty() || to.contains("://") => {
                Err(BackupError::Destination { to: to.to_owned() })
            }
            None => Ok(Self::Directory(PathBuf::from(to))),
        }
    }

    /// Refuses a directory in which no backup stays: each one begins and ends by removing `work`.
    pub fn refuse_within(&self, work: &Path) -> Result<(), BackupError> {
        match self {
            Self::Directory(directory) if resolved(directory).starts_with(resolved(work)) => {
                Err(BackupError::WithinWork { to: directory.clone(), work: work.to_owned() })
            }
            Self::Directory(_) | Self::Bucket(_) => Ok(()),
        }
    }

    /// Where the archive is written before it has its place. A directory that root makes is the server's.
    pub(super) async fn draft(&self, work: &Path, name: &str) -> Result<PathBuf, BackupError> {
        let file = format!(".{name}{DRAFT}");
        match self {
            Self::Directory(directory) => {
                let (directory, data) =
                    (directory.clone(), work.parent().unwrap_or(work).to_owned());
                blocking(move || {
                    let is_new = !directory.exists();
                    std::fs::create_dir_all(&directory).map_err(BackupError::at(&directory))?;
                    if is_new {
                        let made = File::open(&directory).map_err(BackupError::at(&directory))?;
                        give_to_owner(&made, &data);
                    }
                    remove_drafts(&directory)?;
                    Ok(directory.join(file))
                })
                .await
            }
            Self::Bucket(_) => Ok(work.join(file)),
        }
    }

    /// Gives a whole archive its place. Where that fails, it is not there, or the log names what could not be deleted.
    pub(super) async fn place(
        &self,
        draft: &Path,
        name: &str,
        sha256: &str,
    ) -> Result<(), BackupError> {
        match self {
            Self::Directory(directory) => {
                let (draft, place) = (draft.to_owned(), directory.join(name));
                let directory = directory.clone();
                blocking(move || {
                    std::fs::rename(&draft, &place).map_err(BackupError::at(&place))?;
                    sync(&directory).inspect_err(|_| drop(std::fs::remove_file(&place)))
                })
                .await
            }
            Self::Bucket(bucket) => Box::pin(bucket.put(draft, name, sha256)).await,
        }
    }

    /// The backups that are there, the oldest first. Backups with a date in the future come before all others: a clock was
    /// ahead when they were made, and they must not pass for the newest.
    pub async fn names(&self, now: Timestamp) -> Result<Vec<String>, BackupError> {
        let mut names = match self {
            Self::Directory(directory) => {
                let directory = directory.clone();
                blocking(move || names_in(&directory)).await?
            }
            Self::Bucket(bucket) => Box::pin(bucket.names()).await?,
        };
        names.retain(|it| taken_at(it).is_some());
        names.sort_unstable();
        names.sort_by_key(|it| taken_at(it).is_some_and(|it| it <= now));
        Ok(names)
    }

    /// Deletes the oldest backups beyond the newest `keep`. Answers how many.
    pub async fn prune(&self, keep: usize, now: Timestamp) -> Result<usize, BackupError> {
        let names = self.names(now).await?;
        let old = names.len().saturating_sub(keep);
        for name in names.iter().take(old) {
            match self {
                Self::Directory(directory) => {
                    let file = directory.join(name);
                    blocking(move || std::fs::remove_file(&file).map_err(BackupError::at(&file)))
                        .await?;
                }
                Self::Bucket(bucket) => Box::pin(bucket.delete(name)).await?,
            }
        }
        Ok(old)
    }

    /// The file of a backup on this machine. From an object store it is fetched into `scratch`.
    pub async fn fetch(&self, name: &str, scratch: &Path) -> Result<PathBuf, BackupError> {
        match self {
            Self::Directory(directory) => Ok(directory.join(name)),
            Self::Bucket(bucket) => {
                let file = scratch.join(name);
                Box::pin(bucket.get(name, &file)).await?;
                Ok(file)
            }
        }
    }

    /// Its name, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Directory(directory) => directory.display().to_string(),
            Self::Bucket(bucket) => bucket.shown().to_owned(),
        }
    }
}

/// The path without links, as far as it is there.
fn resolved(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let found = path.ancestors().find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    found.unwrap_or(path)
}

fn names_in(directory: &Path) -> Result<Vec<String>, BackupError> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(BackupError::at(directory)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(BackupError::at(directory))?;
        names.extend(entry.file_name().into_string());
    }
    Ok(names)
}

/// Deletes what a backup that was interrupted has left: no other one is being taken.
fn remove_drafts(directory: &Path) -> Result<(), BackupError> {
    for name in names_in(directory)? {
        let whole = name.strip_prefix('.').and_then(|it| it.strip_suffix(DRAFT));
        if whole.is_some_and(|it| taken_at(it).is_some()) {
            let file = directory.join(&name);
            std::fs::remove_file(&file).map_err(BackupError::at(&file))?;
        }
    }
    Ok(())
}

/// Waits until the disk has what was made or renamed in a directory.
pub fn sync(directory: &Path) -> Result<(), BackupError> {
    let opened = File::open(directory).and_then(|it| it.sync_all());
    opened.map_err(BackupError::at(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_250);

    #[test]
    fn the_name_of_a_backup_says_when_it_was_taken() {
        assert_eq!(name(NOW), "waxwing-20270115T080000Z.tar.gz.age");
        assert_eq!(taken_at(&name(NOW)), Some(Timestamp::from_millis(1_800_000_000_000)));
        for other in [
            "waxwing-20270115T080000Z.tar.gz",
            "waxwing-2027.tar.gz.age",
            "waxwing-20271315T080000Z.tar.gz.age",
            ".waxwing-20270115T080000Z.tar.gz.age.partial",
            "waxwing-20270115T080000Zä.tar.gz.age",
        ] {
            assert_eq!(taken_at(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn only_the_oldest_backups_are_deleted_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let to = directory.path().to_str().expect("UTF-8");
        let destination = Destination::new(to, &ObjectStoreSettings::default()).expect("valid");
        let hours = |hours| NOW.after(std::time::Duration::from_hours(hours));
        let names: Vec<String> = (0..4).map(|it| name(hours(it))).collect();
        for file in names.iter().map(String::as_str).chain(["waxwing.toml", "a.tar.gz.age"]) {
            std::fs::write(directory.path().join(file), "").expect("written");
        }
        assert_eq!(destination.prune(2, hours(4)).await.expect("pruned"), 2);
        assert_eq!(destination.names(hours(4)).await.expect("read"), names[2..]);
        assert!(directory.path().join("waxwing.toml").exists());
        assert_eq!(std::fs::read_dir(directory.path()).expect("read").count(), 4);
    }

    #[tokio::test]
    async fn a_backup_of_a_clock_that_was_ahead_is_not_the_newest() {
        let directory = tempfile::tempdir().expect("a directory");
        let to = directory.path().to_str().expect("UTF-8");
        let destination = Destination::new(to, &ObjectStoreSettings::default()).expect("valid");
        let ahead = name(NOW.after(std::time::Duration::from_hours(24 * 1_000)));
        for file in [&ahead, &name(NOW)] {
            std::fs::write(directory.path().join(file), "").expect("written");
        }
        let names = destination.names(NOW).await.expect("read");
        assert_eq!(names, [ahead, name(NOW)]);
        assert_eq!(destination.prune(1, NOW).await.expect("pruned"), 1);
        assert_eq!(destination.names(NOW).await.expect("read"), [name(NOW)], "the fresh one stays");
    }

    #[test]
    fn a_destination_that_every_backup_removes_is_refused() {
        let home = tempfile::tempdir().expect("a directory");
        let [work, link] = ["backup-work", "link"].map(|it| home.path().join(it));
        std::os::unix::fs::symlink(home.path(), &link).expect("linked");
        let look = |to: PathBuf| {
            let to = to.to_str().expect("UTF-8");
            Destination::new(to, &ObjectStoreSettings::default())
                .expect("valid")
                .refuse_within(&work)
        };
        for is_made in [false, true] {
            if is_made {
                std::fs::create_dir(&work).expect("made");
            }
            for wrong in [work.clone(), work.join("a/b"), link.join("backup-work/a")] {
                let refused = look(wrong.clone());
                assert!(matches!(refused, Err(BackupError::WithinWork { .. })), "{wrong:?}");
            }
            for right in [home.path().join("backups"), home.path().join("backup-work-2")] {
                assert!(look(right.clone()).is_ok(), "{right:?}");
            }
        }
    }

    #[test]
    fn a_destination_of_another_kind_is_refused() {
        for wrong in ["", "ftp://host/backups", "s3://", "s3:///prefix"] {
            let refused = Destination::new(wrong, &ObjectStoreSettings::default());
            assert!(matches!(refused, Err(BackupError::Destination { .. })), "{wrong}");
        }
    }
}
