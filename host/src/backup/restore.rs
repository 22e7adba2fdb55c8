//! Brings a backup back: the whole archive is verified before anything is written, and all of it is on the disk before the
//! directory has its name.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::age::Identity;
use super::archive::{self, Manifest};
use super::destination::sync;
use super::error::{ArchiveError, BackupError};
use super::make::private_directory;
use crate::private_file;

/// Unpacks an archive into a directory, which is made where it is missing, and must be empty.
pub fn unpack(file: &Path, identity: &Identity, into: &Path) -> Result<Manifest, BackupError> {
    let unreadable = |source| BackupError::Archive { path: file.to_owned(), source };
    archive::verify(file, identity, &CancellationToken::new()).map_err(unreadable)?;
    private_directory(into).map_err(BackupError::at(into))?;
    let mut directories = BTreeSet::from([into.to_owned()]);
    let mut unwritten = None;
    let manifest = archive::read(file, identity, &mut |name, content| {
        let path = into.join(name);
        write(&path, content).inspect_err(|_| unwritten = Some(path.clone()))?;
        let above = path.ancestors().skip(1).take_while(|it| it.starts_with(into));
        directories.extend(above.map(Path::to_owned));
        Ok(())
    });
    // The archive is whole: what fails by now is the disk of the new directory.
    let manifest = manifest.map_err(|error| match (error, unwritten) {
        (ArchiveError::Io(source), Some(path)) => BackupError::Io { path, source },
        (error, _) => unreadable(error),
    })?;
    for directory in &directories {
        sync(directory)?;
    }
    Ok(manifest)
}

fn write(path: &Path, content: &mut dyn Read) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        private_directory(directory)?;
    }
    let mut file = private_file::options().create_new(true).open(path)?;
    io::copy(content, &mut file)?;
    file.sync_all()
}
