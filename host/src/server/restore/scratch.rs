//! The directory in which a backup is unpacked, beside the place where it is to be: what is in it is not encrypted. One
//! that an interrupted restore has left is removed by the next one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;

use tempfile::TempDir;

const PREFIX: &str = ".waxwing-restore-";
/// How often another one is made where somebody has just taken it for left over.
const TRIES: usize = 4;

/// Its owner alone may look into it; it is removed where it is dropped.
#[derive(Debug)]
pub struct Scratch {
    directory: TempDir,
    /// Held as long as the directory is used; none where the file system knows no locks.
    _lock: Option<File>,
}

impl Scratch {
    /// Makes one in that directory, which is on the same disk, so that one rename gives what is in it its name.
    pub fn make_in(parent: &Path) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        for _ in 0..TRIES {
            let directory = builder.tempdir_in(parent)?;
            match lock(directory.path()) {
                Ok(lock) if directory.path().is_dir() => {
                    return Ok(Self { directory, _lock: Some(lock) });
                }
                // Another restore looked for what was left between the making and the lock.
                Ok(_) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::NotFound => {}
                Err(TryLockError::Error(_)) => return Ok(Self { directory, _lock: None }),
            }
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes what restores have left that were interrupted, and says so. What a restore holds that runs stays.
pub fn remove_left_over(parent: &Path) {
    // Where the directory cannot be read the restore says so itself.
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_scratch = entry.file_name().to_str().is_some_and(|it| it.starts_with(PREFIX));
        // A link is not followed.
        if !is_scratch || !entry.file_type().is_ok_and(|it| it.is_dir()) {
            continue;
        }
        let path = entry.path();
        let Ok(_lock) = lock(&path) else { continue };
        match fs::remove_dir_all(&path) {
            Ok(()) => tracing::warn!(
                path = %path.display(),
                "removed the unencrypted files that an interrupted restore had left"
            ),
            Err(error) => tracing::warn!(
                path = %path.display(),
                %error,
                "cannot remove the unencrypted files that an interrupted restore has left; remove the directory by hand"
            ),
        }
    }
}

fn lock(directory: &Path) -> Result<File, TryLockError> {
    let file = File::open(directory).map_err(TryLockError::Error)?;
    file.try_lock()?;
    Ok(file)
}
