//! Takes a backup while the server works: copies of the databases, the master key, the plugins and their state, as one
//! encrypted file, which is read again before it counts.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use super::age::{Identity, Recipient};
use super::archive::{self, FORM, Manifest, Member};
use super::blocking::blocking;
use super::destination::{self, Destination};
use super::error::BackupError;
use crate::clock::{Clock, Timestamp};
use crate::private_file::{self, give_to_owner};
use crate::store::{SPARE_BYTES, Store, bytes_in_use, copy_other_file, file_damage, free_disk};

/// Directories within directories that are copied.
const MAX_DEPTH: usize = 8;

/// What a backup is taken of; names are paths in the data directory.
#[derive(Debug, Clone)]
pub struct Source {
    pub database: (&'static str, PathBuf),
    /// The sandbox inbox; left out where it is missing.
    pub inbox: (&'static str, PathBuf),
    /// The master key: without it nothing that is sealed in the database opens, so no backup is without it.
    pub key: (&'static str, PathBuf),
    /// Files and directories that are copied as they are; left out where they are missing.
    pub files: Vec<(&'static str, PathBuf)>,
    /// A directory of its own for unencrypted copies, beside the database; it is made, and removed.
    pub work: PathBuf,
}

/// A backup that was taken, and read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    pub name: String,
    pub at: Timestamp,
    /// Of the encrypted file.
    pub bytes: u64,
    pub sha256: String,
    /// Of all members.
    pub unpacked_bytes: u64,
}

/// The directory of unencrypted copies, of this process alone, and the archive until it has its place. Both are removed
/// where this is dropped.
struct Work {
    path: PathBuf,
    draft: Option<PathBuf>,
    _lock: File,
}

/// Takes a backup. Where this fails, or is dropped, the destination has none more than before; the log names a file that
/// could not be deleted there.
pub async fn back_up(
    source: &Source,
    destination: &Destination,
    recipients: &[Recipient],
    clock: &Clock,
) -> Result<Taken, BackupError> {
    if recipients.is_empty() {
        return Err(BackupError::NoRecipient);
    }
    destination.refuse_within(&source.work)?;
    let path = source.work.clone();
    let mut work = blocking(move || Work::open(path)).await?;
    let now = clock.now();
    let name = destination::name(now);
    let draft = destination.draft(&work.path, &name).await?;
    let (of, room) = (source.clone(), (work.path.clone(), draft.clone()));
    blocking(move || {
        let needed = needed_room(&of)?.saturating_mul(copies_on_disk(&room.0, &room.1));
        refuse_little_room(&room.0, needed, free_disk(&room.0))
    })
    .await?;
    let schema = copy_databases(source, &work.staged(), clock).await?;
    work.draft = Some(draft.clone());
    // The thread that packs would go on when this is dropped, and the process would not end before it.
    let stop = CancellationToken::new();
    let _stop_when_dropped = stop.clone().drop_guard();
    let packing = Packing {
        work,
        key: source.key.clone(),
        files: source.files.clone(),
        draft: draft.clone(),
        recipients: recipients.to_vec(),
        schema,
        now,
        stop,
    };
    let (packed, work) = blocking(move || Ok((packing.run()?, packing.work))).await?;
    let Packed { bytes, sha256, unpacked_bytes } = packed;
    destination.place(&draft, &name, &sha256).await?;
    blocking(move || {
        drop(work);
        Ok(())
    })
    .await?;
    Ok(Taken { name, at: now, bytes, sha256, unpacked_bytes })
}

/// The octets of the copies of the databases.
fn needed_room(source: &Source) -> Result<u64, BackupError> {
    let database = bytes_in_use(&source.database.1)?;
    let inbox = &source.inbox.1;
    let inbox = if inbox.is_file() { bytes_in_use(inbox)? } else { 0 };
    Ok(database.saturating_add(inbox))
}

/// An archive may be as large as what is in it.
fn copies_on_disk(work: &Path, draft: &Path) -> u64 {
    let disk = |path: Option<&Path>| rustix::fs::stat(path?).ok().map(|it| it.st_dev);
    if disk(Some(work)) == disk(draft.parent()) { 2 } else { 1 }
}

fn refuse_little_room(path: &Path, copies: u64, free: Option<u64>) -> Result<(), BackupError> {
    let needed = copies.saturating_add(SPARE_BYTES);
    match free {
        Some(free) if free < needed => {
            Err(BackupError::Disk { path: path.to_owned(), needed, free })
        }
        Some(_) | None => Ok(()),
    }
}

async fn copy_databases(source: &Source, staged: &Path, clock: &Clock) -> Result<i64, BackupError> {
    let (name, file) = &source.database;
    let copy = staged.join(name);
    let schema = Store::copy(file, &copy, clock).await?;
    refuse_damage(name, &copy).await?;
    let (name, file) = &source.inbox;
    if file.is_file() {
        let copy = staged.join(name);
        copy_other_file(file, &copy).await?;
        refuse_damage(name, &copy).await?;
    }
    Ok(schema)
}

async fn refuse_damage(name: &str, copy: &Path) -> Result<(), BackupError> {
    match file_damage(copy).await? {
        None => Ok(()),
        Some(found) => Err(BackupError::DamagedCopy { name: name.to_owned(), found }),
    }
}

/// What becomes one file.
struct Packing {
    work: Work,
    key: (&'static str, PathBuf),
    files: Vec<(&'static str, PathBuf)>,
    draft: PathBuf,
    recipients: Vec<Recipient>,
    schema: i64,
    now: Timestamp,
    /// Cancelled where nobody waits for the backup any more.
    stop: CancellationToken,
}

struct Packed {
    bytes: u64,
    sha256: String,
    unpacked_bytes: u64,
}

impl Packing {
    fn run(&self) -> Result<Packed, BackupError> {
        let staged = self.work.staged();
        let (name, path) = &self.key;
        let no_key = |source| BackupError::NoMasterKey { path: path.clone(), source };
        fs::copy(path, staged.join(name)).map_err(no_key)?;
        for (name, path) in &self.files {
            copy(path, &staged.join(name), 0)?;
        }
        let mut members = Vec::new();
        self.list(&staged, &staged, &mut members)?;
        let unpacked_bytes = members.iter().map(|it| it.bytes).sum();
        let manifest = Manifest {
            form: FORM,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            schema: self.schema,
            taken_at: self.now,
            members,
        };
        let at_draft = || BackupError::at(&self.draft);
        // The server has no identity of the recipients. This one proves that the file opens, and is forgotten then.
        let witness = Identity::random().map_err(|_| BackupError::Interrupted)?;
        let recipients = [&self.recipients[..], &[witness.recipient()]].concat();
        let out = private_file::options().create(true).truncate(true).open(&self.draft);
        let out = out.map_err(at_draft())?;
        give_to_owner(&out, self.draft.parent().unwrap_or(&self.draft));
        archive::pack(&staged, &manifest, out, &recipients, &self.stop).map_err(at_draft())?;
        let found = archive::verify(&self.draft, &witness, &self.stop);
        if self.stop.is_cancelled() {
            return Err(BackupError::Interrupted);
        }
        if !found.is_ok_and(|it| it == manifest) {
            return Err(BackupError::NotKept { place: self.draft.display().to_string() });
        }
        let (bytes, sha256) = archive::digest(&self.draft, &self.stop).map_err(at_draft())?;
        Ok(Packed { bytes, sha256, unpacked_bytes })
    }

    /// The files below a directory, in the order of their names.
    fn list(
        &self,
        root: &Path,
        directory: &Path,
        members: &mut Vec<Member>,
    ) -> Result<(), BackupError> {
        let entries = fs::read_dir(directory).map_err(BackupError::at(directory))?;
        let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
        let mut paths = paths.map_err(BackupError::at(directory))?;
        paths.sort_unstable();
        for path in paths {
            if path.is_dir() {
                self.list(root, &path, members)?;
                continue;
            }
            let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) else {
                let source = io::ErrorKind::InvalidFilename.into();
                return Err(BackupError::Io { path, source });
            };
            let (bytes, sha256) =
                archive::digest(&path, &self.stop).map_err(BackupError::at(&path))?;
            members.push(Member { name: name.to_owned(), bytes, sha256 });
        }
        Ok(())
    }
}

impl Work {
    fn open(path: PathBuf) -> Result<Self, BackupError> {
        let lock_file = path.with_extension("lock");
        let lock = private_file::options().create(true).truncate(false).open(&lock_file);
        let lock = lock.map_err(BackupError::at(&lock_file))?;
        // Where root takes a backup by hand, the server's user must be able to lock the same file for the next one.
        let data = path.parent().unwrap_or(&path);
        give_to_owner(&lock, data);
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(BackupError::UnderWay),
            Err(TryLockError::Error(source)) => {
                return Err(BackupError::Io { path: lock_file, source });
            }
        }
        // Of a process that was killed.
        match fs::remove_dir_all(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(BackupError::Io { path, source });
            }
            Ok(()) | Err(_) => {}
        }
        let work = Self { path, draft: None, _lock: lock };
        for directory in [&work.path, &work.staged()] {
            private_directory(directory).map_err(BackupError::at(directory))?;
        }
        Ok(work)
    }

    /// What becomes the members of the archive.
    fn staged(&self) -> PathBuf {
        self.path.join("members")
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if let Some(draft) = &self.draft {
            // It may have its place by now, or never have been made.
            drop(fs::remove_file(draft));
        }
        if let Err(error) = fs::remove_dir_all(&self.path) {
            let path = self.path.display();
            tracing::warn!(%path, %error, "the unencrypted copies of a backup cannot be removed; the next backup does it");
        }
    }
}

/// Copies a file, or a directory with what is in it; what disappears meanwhile is left out.
fn copy(from: &Path, to: &Path, depth: usize) -> Result<(), BackupError> {
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    // A link is followed: its target may lie outside.
    let about = match fs::metadata(from) {
        Ok(about) => about,
        Err(error) if is_missing(&error) => return Ok(()),
        Err(error) => return Err(BackupError::at(from)(error)),
    };
    if about.is_file() {
        return match fs::copy(from, to) {
            Err(error) if !is_missing(&error) => Err(BackupError::at(from)(error)),
            Ok(_) | Err(_) => Ok(()),
        };
    }
    if !about.is_dir() || depth == MAX_DEPTH {
        return Ok(());
    }
    private_directory(to).map_err(BackupError::at(to))?;
    for entry in fs::read_dir(from).map_err(BackupError::at(from))? {
        let entry = entry.map_err(BackupError::at(from))?;
        copy(&entry.path(), &to.join(entry.file_name()), depth + 1)?;
    }
    Ok(())
}

/// Makes a directory that only its owner can look into, with those above it.
pub fn private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    // The server's user must be able to remove what a killed backup of root has left.
    give_to_owner(&File::open(path)?, path.parent().unwrap_or(path));
    Ok(())
}

#[cfg(test)]
mod tests;
