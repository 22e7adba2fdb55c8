//! Directories that the server makes and writes: checked without a trace, by `serve` before it makes them and by
//! `check`, which makes nothing.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Why a directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum UnusableDirectory {
    #[error(
        "{setting}: {path} is not a directory; choose another name, or move what is there away"
    )]
    NoDirectory { setting: &'static str, path: PathBuf },
    #[error(
        "{setting}: {path} cannot be used, because no file can be made in {within} ({source}); choose \
         another directory, or give this one to the user that runs waxwing"
    )]
    Unwritable { setting: &'static str, path: PathBuf, within: PathBuf, source: io::Error },
    #[error("{setting}: {path} cannot be looked into: {source}")]
    Unreadable { setting: &'static str, path: PathBuf, source: io::Error },
}

/// The directory that a file is in; the working directory where the path names no other.
pub fn of_file(path: &Path) -> &Path {
    path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether files can be made in a directory, or, where it is missing, in the one that it will be made in. The file
/// that proves it has no name, and is gone at once.
pub fn check_writable(setting: &'static str, path: &Path) -> Result<(), UnusableDirectory> {
    let within = existing(setting, path)?;
    // The error would name the file that was not made.
    tempfile::tempfile_in(&within).map(drop).map_err(|error| UnusableDirectory::Unwritable {
        setting,
        path: path.to_owned(),
        within,
        source: error.kind().into(),
    })
}

/// As [`check_writable`], but a directory that exists needs only to be readable.
pub fn check_readable(setting: &'static str, path: &Path) -> Result<(), UnusableDirectory> {
    if !path.is_dir() {
        return check_writable(setting, path);
    }
    std::fs::read_dir(path).map(drop).map_err(|source| UnusableDirectory::Unreadable {
        setting,
        path: path.to_owned(),
        source,
    })
}

/// The directory itself, or the nearest one above it that is there.
fn existing(setting: &'static str, path: &Path) -> Result<PathBuf, UnusableDirectory> {
    for above in path.ancestors() {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        match std::fs::metadata(above) {
            Ok(found) if found.is_dir() => return Ok(above.to_owned()),
            // A link that leads nowhere is in the way, too.
            Err(error) if error.kind() == ErrorKind::NotFound && !above.is_symlink() => {}
            Ok(_) => {
                return Err(UnusableDirectory::NoDirectory { setting, path: above.to_owned() });
            }
            Err(source) if source.kind() == ErrorKind::NotADirectory => {}
            Err(source) => {
                let path = above.to_owned();
                return Err(UnusableDirectory::Unreadable { setting, path, source });
            }
        }
    }
    Ok(PathBuf::from("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_checked_without_a_trace() {
        let home = tempfile::tempdir().expect("a directory");
        let file = home.path().join("file");
        std::fs::write(&file, "").expect("written");
        let link = home.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).expect("linked");
        for good in [home.path().to_owned(), home.path().join("a/b"), PathBuf::from("new")] {
            assert!(check_writable("key", &good).is_ok(), "{}", good.display());
            assert!(check_readable("key", &good).is_ok(), "{}", good.display());
        }
        for bad in [file.clone(), file.join("below"), link.clone(), PathBuf::from("/proc/x")] {
            let said = check_writable("key", &bad).expect_err("refused").to_string();
            assert!(said.starts_with("key: /"), "{said}");
            assert!(check_readable("key", &bad).is_err(), "{}", bad.display());
        }
        let left: Vec<_> = std::fs::read_dir(home.path()).expect("read").flatten().collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert!(!Path::new("new").exists());
    }
}
