//! Who owns the files of the data directory, and who may read them.

use std::fs::File;
use std::path::Path;

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

/// The permissions of a file, where others than its owner have any.
#[cfg(unix)]
pub fn shared_mode(path: &Path) -> Option<u32> {
    let about = std::fs::metadata(path).ok()?;
    let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}

#[cfg(not(unix))]
pub fn shared_mode(_: &Path) -> Option<u32> {
    None
}
