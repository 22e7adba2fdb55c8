//! A folder of templates as one zip file. The same files are the same bytes; a stranger's file is read within bounds.

use std::collections::BTreeSet;
use std::io::{Cursor, Read, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use super::bounds::{MAX_ARCHIVE_BYTES, MAX_ARCHIVE_FILES, MAX_FILE_BYTES, MAX_UNPACKED_BYTES};
use super::error::FolderError;
use super::folder::{Files, PathKind, look};

/// How an entry of the directory at the end of a zip file begins.
const DIRECTORY_ENTRY: &[u8] = b"PK\x01\x02";
/// Bytes of such an entry before its name.
const DIRECTORY_HEADER: usize = 46;
/// The type of a file in its Unix mode, and that of a regular one.
const TYPE_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// Why a zip file is not read.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("is no zip file that can be read: {0}")]
    Zip(#[from] ZipError),
    #[error("has {bytes} bytes; at most {MAX_ARCHIVE_BYTES} are allowed")]
    Large { bytes: usize },
    #[error("has more than {MAX_ARCHIVE_FILES} files")]
    Files,
    #[error("has files of more than {MAX_UNPACKED_BYTES} bytes together")]
    Unpacked,
    #[error("has a file named {name:?}, which is no path below a folder")]
    Name { name: String },
    #[error("has {name:?} twice, so it is not said which one is meant; leave one of them out")]
    Twice { name: String },
    #[error("has {name:?}, which is no plain file")]
    Special { name: String },
    #[error(
        "has no templates: a template is a folder with a template.toml, and stands at the top of the zip file"
    )]
    Empty,
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// The files as a zip file.
///
/// # Errors
/// It would be too large to be read again.
pub fn pack(files: &Files) -> Result<Vec<u8>, ArchiveError> {
    // No time and no owner, or the bytes would be others each time.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o644);
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let mut unpacked = 0;
    for (count, (path, text)) in files.iter().enumerate() {
        unpacked += text.len();
        if count >= MAX_ARCHIVE_FILES {
            return Err(ArchiveError::Files);
        }
        if unpacked > MAX_UNPACKED_BYTES {
            return Err(ArchiveError::Unpacked);
        }
        zip.start_file(path, options)?;
        zip.write_all(text.as_bytes()).map_err(ZipError::Io)?;
    }
    let bytes = zip.finish()?.into_inner();
    if bytes.len() > MAX_ARCHIVE_BYTES {
        return Err(ArchiveError::Large { bytes: bytes.len() });
    }
    Ok(bytes)
}

/// The files of a zip file that say something of templates.
///
/// # Errors
/// It is no such file, or is beyond a bound, or a name in it leads elsewhere.
pub fn unpack(bytes: &[u8]) -> Result<Files, ArchiveError> {
    if bytes.len() > MAX_ARCHIVE_BYTES {
        return Err(ArchiveError::Large { bytes: bytes.len() });
    }
    // The whole directory is read before it can be counted.
    let entries = bytes.windows(DIRECTORY_ENTRY.len()).filter(|it| *it == DIRECTORY_ENTRY).count();
    if entries > MAX_ARCHIVE_FILES {
        return Err(ArchiveError::Files);
    }
    let mut zip = ZipArchive::new(Cursor::new(bytes))?;
    if let Some(name) = repeated_name(bytes, zip.central_directory_start()) {
        return Err(ArchiveError::Twice { name });
    }
    let (mut files, mut unpacked) = (Files::default(), 0);
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index)?;
        let name = entry.name().to_owned();
        if !is_below(&name) {
            return Err(ArchiveError::Name { name });
        }
        let mode = entry.unix_mode().map(|mode| mode & TYPE_BITS);
        if entry.is_dir() && !entry.is_symlink() {
            continue;
        }
        if entry.is_symlink() || mode.is_some_and(|it| it != 0 && it != REGULAR) {
            return Err(ArchiveError::Special { name });
        }
        if matches!(look(&name), Ok(PathKind::Other)) {
            continue;
        }
        let mut text = Vec::new();
        let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
        // What the directory says of its size need not be true.
        (&mut entry).take(most + 1).read_to_end(&mut text).map_err(ZipError::Io)?;
        unpacked += text.len();
        if unpacked > MAX_UNPACKED_BYTES {
            return Err(ArchiveError::Unpacked);
        }
        files.add(name, text)?;
    }
    Ok(files)
}

/// A name that stands in the directory twice: the reader would take the last one of them, without a word.
fn repeated_name(bytes: &[u8], directory: u64) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut rest = bytes.get(usize::try_from(directory).ok()?..)?;
    while rest.starts_with(DIRECTORY_ENTRY) {
        let length =
            |at: usize| Some(usize::from(u16::from_le_bytes([*rest.get(at)?, *rest.get(at + 1)?])));
        let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
        let text = rest.get(DIRECTORY_HEADER..DIRECTORY_HEADER + name)?;
        if !seen.insert(text) {
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        rest = rest.get(DIRECTORY_HEADER + name + extra + comment..)?;
    }
    None
}

/// Whether a name stays below the folder that it is unpacked into, on every system.
fn is_below(name: &str) -> bool {
    let path = name.strip_suffix('/').unwrap_or(name);
    let is_step = |step: &str| !matches!(step, "" | "." | "..");
    path.split('/').all(is_step) && !name.contains(['\\', ':', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "name = 'Note'\ndescription = ''\n";

    fn zip_of(names: &[(&str, SimpleFileOptions)], text: &[u8]) -> Vec<u8> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, options) in names {
            zip.start_file(*name, *options).expect("started");
            zip.write_all(text).expect("written");
        }
        zip.finish().expect("ended").into_inner()
    }

    #[test]
    fn the_same_files_are_the_same_bytes_and_the_same_files_again() {
        let mut files = Files::default();
        for (path, text) in [("note/template.toml", TOML), ("_layouts/base.liquid", "é")] {
            files.add(path.to_owned(), text.as_bytes().to_vec()).expect("a file");
        }
        let bytes = pack(&files).expect("packed");
        assert_eq!(pack(&files).expect("packed"), bytes);
        assert_eq!(unpack(&bytes).expect("read"), files);
    }

    #[test]
    fn names_that_lead_elsewhere_are_refused_wherever_they_stand() {
        let plain = SimpleFileOptions::default();
        for name in [
            "../note/html.liquid",
            "note/../../html.liquid",
            "/etc/passwd",
            "note//html.liquid",
            "c:/note/html.liquid",
            "note\\html.liquid",
            "./README.md",
        ] {
            let zip = zip_of(&[(name, plain)], b"x");
            let refused = unpack(&zip);
            assert!(matches!(refused, Err(ArchiveError::Name { .. })), "{name}: {refused:?}");
        }
    }

    #[test]
    fn a_path_that_stands_twice_is_refused() {
        let plain = SimpleFileOptions::default();
        // The writer refuses to write a name again: the second one is renamed in the bytes.
        for (one, other) in [("note/a.liquid", "note/b.liquid"), ("README.mx", "README.my")] {
            let mut zip = zip_of(&[(one, plain), (other, plain), ("z.md", plain)], b"x");
            assert!(unpack(&zip).is_ok() || one.starts_with("note"));
            let places: Vec<usize> = (0..zip.len() - other.len())
                .filter(|at| zip[*at..].starts_with(other.as_bytes()))
                .collect();
            assert_eq!(places.len(), 2, "in its header and in the directory");
            for at in places {
                zip[at..at + one.len()].copy_from_slice(one.as_bytes());
            }
            let refused = unpack(&zip).expect_err("it stands there twice");
            assert!(matches!(&refused, ArchiveError::Twice { name } if name == one), "{refused}");
        }
    }

    #[test]
    fn links_bombs_and_junk_are_refused() {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let plain = SimpleFileOptions::default();
        zip.add_symlink("note/html.liquid", "/etc/passwd", plain).expect("added");
        let link = zip.finish().expect("ended").into_inner();
        assert!(matches!(unpack(&link), Err(ArchiveError::Special { .. })));
        let deflated = plain.compression_method(CompressionMethod::Deflated);
        let bomb = zip_of(&[("note/html.liquid", deflated)], &vec![b'x'; 64 << 20]);
        assert!(bomb.len() < 1 << 20, "{}", bomb.len());
        assert!(matches!(unpack(&bomb), Err(ArchiveError::Folder(_))));
        let names: Vec<String> = (0..40).map(|n| format!("n{n}/html.liquid")).collect();
        let many: Vec<_> = names.iter().map(|it| (it.as_str(), deflated)).collect();
        let many = zip_of(&many, &vec![b'x'; MAX_FILE_BYTES]);
        assert!(matches!(unpack(&many), Err(ArchiveError::Unpacked)));
        let names: Vec<String> = (0..=MAX_ARCHIVE_FILES).map(|n| n.to_string()).collect();
        let files: Vec<_> = names.iter().map(|it| (it.as_str(), plain)).collect();
        assert!(matches!(unpack(&zip_of(&files, b"")), Err(ArchiveError::Files)));
        let whole = zip_of(&[("note/html.liquid", deflated)], b"some text of a template");
        for end in 0..whole.len() {
            assert!(unpack(&whole[..end]).is_err(), "cut at {end}");
        }
        let ignored = zip_of(&[("README.md", plain), (".git/config", plain)], b"\xff");
        assert_eq!(unpack(&ignored).expect("read"), Files::default());
        for text in [&b"\xff"[..], b"a\0b"] {
            assert!(unpack(&zip_of(&[("note/html.liquid", plain)], text)).is_err());
        }
    }
}
