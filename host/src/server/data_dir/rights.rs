//! Who may read the files of the data directory.

use std::path::Path;

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
