//! Files that a process has begun to write and that got no name of their own, because it was killed or the disk was full.

use std::fs;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// What stands behind the number of the process that writes.
const ENDING: &str = ".partial";

/// The end of the name of a file that this process writes.
pub fn ending_of_this_process() -> String {
    format!("{}{ENDING}", std::process::id())
}

/// Removes those of a directory whose process is gone, and whose name begins so. This process has none at its start: a
/// number that a process had before may be its own.
pub fn remove(directory: &Path, beginning: &str) {
    // Where there is no directory, nothing is left in it.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let process = name.to_str().filter(|it| it.starts_with(beginning)).and_then(process_of);
        if !process.is_some_and(is_gone) {
            continue;
        }
        let path = entry.path();
        match fs::remove_file(&path) {
            Ok(()) => tracing::info!(
                path = %path.display(),
                "removed a file that a process had begun to write before it ended"
            ),
            Err(error) => tracing::warn!(
                path = %path.display(),
                %error,
                "cannot remove a file that a process had begun to write before it ended; it may hold a secret: remove \
                 it by hand"
            ),
        }
    }
}

fn process_of(name: &str) -> Option<i32> {
    let (_, process) = name.strip_suffix(ENDING)?.rsplit_once('.')?;
    process.parse().ok()
}

fn is_gone(process: i32) -> bool {
    let is_own = u32::try_from(process) == Ok(std::process::id());
    let Some(process) = Pid::from_raw(process) else { return true };
    is_own || test_kill_process(process) == Err(Errno::SRCH)
}
