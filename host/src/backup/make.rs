//! Takes a backup while the server works: copies of the databases, the master key, the plugins and their state, as one
//! encrypted file, which is read again before it counts.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::age::{Identity, Recipient};
use super::archive::{self, FORM, Manifest, Member};
use super::blocking::blocking;
use super::destination::{self, Destination};
use super::error::BackupError;
use crate::clock::{Clock, Timestamp};
use crate::store::{Store, copy_other_file, file_damage, free_disk};

/// What stays free on the disk of the database, at least.
const SPARE_BYTES: u64 = 64 << 20;
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

/// The directory of unencrypted copies, of this process alone; removed where it is dropped.
struct Work {
    path: PathBuf,
    _lock: File,
}

/// Takes a backup. Where this fails, the destination has none more than before.
pub async fn back_up(
    source: &Source,
    destination: &Destination,
    recipients: &[Recipient],
    clock: &Clock,
) -> Result<Taken, BackupError> {
    if recipients.is_empty() {
        return Err(BackupError::NoRecipient);
    }
    let path = source.work.clone();
    let work = blocking(move || Work::open(path)).await?;
    let staged = work.path.join("members");
    let copies = destination.copies_beside_database();
    refuse_little_room(&work.path, needed_room(source).saturating_mul(copies), free_disk(&staged))?;
    let now = clock.now();
    let schema = copy_databases(source, &staged, clock).await?;
    let name = destination::name(now);
    let draft = destination.draft(&work.path, &name).await?;
    let packing = Packing {
        staged,
        key: source.key.clone(),
        files: source.files.clone(),
        draft: draft.clone(),
        recipients: recipients.to_vec(),
        schema,
        now,
    };
    let packed = blocking(move || packing.run()).await;
    let placed = match packed {
        Ok(packed) => destination.place(&draft, &name, &packed.sha256).await.map(|()| packed),
        Err(error) => Err(error),
    };
    if placed.is_err() {
        // It may never have been made.
        drop(blocking(move || fs::remove_file(&draft).map_err(BackupError::at(&draft))).await);
    }
    let Packed { bytes, sha256, unpacked_bytes } = placed?;
    blocking(move || {
        drop(work);
        Ok(())
    })
    .await?;
    Ok(Taken { name, at: now, bytes, sha256, unpacked_bytes })
}

/// A copy of the databases is not larger than they are.
fn needed_room(source: &Source) -> u64 {
    let files = [&source.database.1, &source.inbox.1];
    files.iter().filter_map(|it| fs::metadata(it).ok()).map(|it| it.len()).sum()
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
    staged: PathBuf,
    key: (&'static str, PathBuf),
    files: Vec<(&'static str, PathBuf)>,
    draft: PathBuf,
    recipients: Vec<Recipient>,
    schema: i64,
    now: Timestamp,
}

struct Packed {
    bytes: u64,
    sha256: String,
    unpacked_bytes: u64,
}

impl Packing {
    fn run(&self) -> Result<Packed, BackupError> {
        let (name, path) = &self.key;
        let no_key = |source| BackupError::NoMasterKey { path: path.clone(), source };
        fs::copy(path, self.staged.join(name)).map_err(no_key)?;
        for (name, path) in &self.files {
            copy(path, &self.staged.join(name), 0)?;
        }
        let mut members = Vec::new();
        list(&self.staged, &self.staged, &mut members)?;
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
        let out = private_file(&self.draft).map_err(at_draft())?;
        archive::pack(&self.staged, &manifest, out, &recipients).map_err(at_draft())?;
        let found = archive::verify(&self.draft, &witness);
        if !found.is_ok_and(|it| it == manifest) {
            return Err(BackupError::NotKept { place: self.draft.display().to_string() });
        }
        let (bytes, sha256) = archive::digest(&self.draft).map_err(at_draft())?;
        Ok(Packed { bytes, sha256, unpacked_bytes })
    }
}

impl Work {
    fn open(path: PathBuf) -> Result<Self, BackupError> {
        let lock_file = path.with_extension("lock");
        let lock = File::create(&lock_file).map_err(BackupError::at(&lock_file))?;
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
        private_directory(&path.join("members")).map_err(BackupError::at(&path))?;
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
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

/// The files below a directory, in the order of their names.
fn list(root: &Path, directory: &Path, members: &mut Vec<Member>) -> Result<(), BackupError> {
    let entries = fs::read_dir(directory).map_err(BackupError::at(directory))?;
    let paths: io::Result<Vec<PathBuf>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths.map_err(BackupError::at(directory))?;
    paths.sort_unstable();
    for path in paths {
        if path.is_dir() {
            list(root, &path, members)?;
            continue;
        }
        let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) else {
            let source = io::ErrorKind::InvalidFilename.into();
            return Err(BackupError::Io { path, source });
        };
        let (bytes, sha256) = archive::digest(&path).map_err(BackupError::at(&path))?;
        members.push(Member { name: name.to_owned(), bytes, sha256 });
    }
    Ok(())
}

/// Makes a directory that only its owner can look into, with those above it.
pub fn private_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a file that only its owner can read, in place of one that is there.
fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

#[cfg(test)]
mod tests;
