//! Files that nobody but their owner can read: how they are made, and to whom they belong.

use std::fs::{File, OpenOptions};
use std::path::Path;

/// Options that write a file which only its owner can read. The caller adds whether an existing file is kept, emptied or
/// refused.
#[must_use]
pub fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// What root makes belongs to whoever owns the file that it replaces, or the directory: otherwise a command of root would leave
/// files that the server cannot open at its next start.
pub fn give_to_owner(file: &File, of: &Path) {
    #[cfg(unix)]
    if rustix::process::geteuid().is_root()
        && let Ok(about) = std::fs::metadata(of)
    {
        use std::os::unix::fs::MetadataExt as _;
        // A container's root may lack the right, and owns everything there.
        drop(std::os::unix::fs::fchown(file, Some(about.uid()), Some(about.gid())));
    }
}
