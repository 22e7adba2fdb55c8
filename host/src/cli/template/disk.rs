//! Writes what a server says into an author's folder: nothing outside of it, and each file whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::super::sync_error::SyncError;
use crate::authoring::folder::{PathKind, look};
use crate::server::directory;

/// Puts a text at a path below a folder.
pub fn write(root: &Path, path: &str, text: &[u8]) -> Result<(), SyncError> {
    let target = below(root, path)?;
    let folder = target.parent().unwrap_or(root);
    place(folder, &target, text).map_err(|source| SyncError::Write { path: target, source })
}

/// The same for one file that the author has named.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), SyncError> {
    place(directory::of_file(path), path, bytes)
        .map_err(|source| SyncError::Write { path: path.to_owned(), source })
}

/// Deletes the file at a path below a folder, and the folders that are empty without it.
pub fn remove(root: &Path, path: &str) -> Result<(), SyncError> {
    let target = below(root, path)?;
    fs::remove_file(&target).map_err(|source| SyncError::Write { path: target.clone(), source })?;
    let folders = target.ancestors().skip(1).take_while(|it| *it != root);
    for folder in folders {
        if fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}

/// The place of a path of the format. Names come from a server, and folders may be links: neither leads elsewhere.
fn below(root: &Path, path: &str) -> Result<PathBuf, SyncError> {
    if !matches!(look(path), Ok(PathKind::File(..) | PathKind::State)) {
        return Err(SyncError::Outside { path: path.to_owned() });
    }
    let mut place = root.to_owned();
    let steps: Vec<&str> = path.split('/').collect();
    for (number, step) in steps.iter().enumerate() {
        place.push(step);
        let is_folder = number + 1 < steps.len();
        match place.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() || (is_folder && !metadata.is_dir()) => {
                return Err(SyncError::Link { path: place });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(SyncError::Write { path: place, source }),
        }
    }
    Ok(place)
}

fn place(folder: &Path, target: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    // As any file that a person makes: the umask says the rest.
    let mut builder = tempfile::Builder::new();
    let mut file = builder
        .prefix(".waxwing-")
        .permissions(fs::Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(target)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_written_or_deleted_outside_of_the_folder() {
        let around = tempfile::tempdir().expect("a directory");
        let (root, outside) = (around.path().join("root"), around.path().join("outside"));
        fs::create_dir_all(&root).expect("made");
        fs::create_dir_all(&outside).expect("made");
        fs::write(outside.join("html.liquid"), "mine").expect("written");
        std::os::unix::fs::symlink(&outside, root.join("note")).expect("linked");
        std::os::unix::fs::symlink(outside.join("html.liquid"), root.join(".waxwing.json"))
            .expect("linked");
        for path in [
            "note/html.liquid",
            ".waxwing.json",
            "../outside/html.liquid",
            "/etc/html.liquid",
            "note/../../outside/html.liquid",
            "README.md",
        ] {
            assert!(write(&root, path, b"theirs").is_err(), "{path}");
            assert!(remove(&root, path).is_err(), "{path}");
        }
        assert_eq!(fs::read_to_string(outside.join("html.liquid")).expect("there"), "mine");
        write(&root, "other/locales/de/html.liquid", b"new").expect("written");
        remove(&root, "other/locales/de/html.liquid").expect("deleted");
        assert!(!root.join("other").exists(), "empty folders go");
    }
}
