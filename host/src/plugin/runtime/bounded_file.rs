//! Reads a file that somebody put among the plugins: only a regular one, and only up to a limit. A
//! pipe or a device could keep the reader for ever, or never end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::path::Path;

/// The bytes of a regular file; none where there is no such file.
///
/// # Errors
/// It is not a regular file, it is longer than `limit` bytes, or it cannot be read.
pub fn read(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(refused("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has more than {limit} bytes"),
        ));
    }
    Ok(Some(bytes))
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

/// Without waiting: a pipe that nobody writes to would else hold the thread.
#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let nonblock = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    OpenOptions::new().read(true).custom_flags(nonblock).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_a_device_and_a_long_file_are_refused_at_once() {
        let directory = tempfile::tempdir().expect("a directory");
        let inside = |name: &str| directory.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(inside("pipe")).status();
        assert!(made.expect("mkfifo runs").success());
        assert_eq!(
            read(&inside("pipe"), 10).expect_err("a pipe").kind(),
            io::ErrorKind::InvalidInput
        );
        std::os::unix::fs::symlink("/dev/zero", inside("zeroes")).expect("a link");
        assert!(read(&inside("zeroes"), 10).is_err());
        std::fs::write(inside("long"), [0; 11]).expect("written");
        let error = read(&inside("long"), 10).expect_err("too long");
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&inside("long"), 11).expect("read").map(|it| it.len()), Some(11));
        assert_eq!(read(&inside("none"), 11).expect("no file"), None);
    }
}
