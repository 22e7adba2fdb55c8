//! The operator's directory: `<slot>.wasm`, `<slot>.toml`, `<slot>.sig`, and golden cases under
//! `<slot>.cases/`.
//!
//! The directory is watched, not the files: a rename into place, a copy over the old file and a
//! swapped symbolic link are all seen. Where the system reports nothing (a network file system,
//! a link whose target changes elsewhere), a look every second finds it.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use notify::event::{AccessKind, AccessMode};
use notify::{Event, EventKind, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::error::ReadError;
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::bounded_file;

/// Bytes of `<slot>.toml`.
const MAX_CONFIG_BYTES: u64 = 64 << 10;
/// Bytes of `<slot>.sig`.
const MAX_SIGNATURE_BYTES: u64 = 1 << 10;

#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
    complained: Arc<Mutex<HashSet<PathBuf>>>,
}

/// What a slot's files looked like, without reading them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stamp {
    wasm: Option<FileStamp>,
    toml: Option<FileStamp>,
    sig: Option<FileStamp>,
}

/// What a slot's files hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// `<slot>.wasm`.
    pub component: Option<Artifact>,
    /// `<slot>.toml`.
    pub config: Option<String>,
    /// `<slot>.sig`.
    pub signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct FileStamp {
    bytes: u64,
    modified: Option<SystemTime>,
    identity: u64,
}

impl Directory {
    /// A directory, made where it is missing.
    pub fn open(path: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(path)?;
        Ok(Self { path: path.to_owned(), complained: Arc::default() })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where a slot's golden cases are.
    #[must_use]
    pub fn cases(&self, slot: &SlotName) -> PathBuf {
        self.file(slot, "cases")
    }

    /// Which directory is there now; none where there is none. A watch is for one directory: where it
    /// was removed and made again, there is another.
    #[must_use]
    pub fn identity(&self) -> Option<u64> {
        std::fs::metadata(&self.path).ok().map(|it| FileStamp::of(&it).identity)
    }

    /// Tells `changed` of every change; ends when the answer is dropped.
    pub fn watch(&self, changed: Arc<Notify>) -> notify::Result<notify::RecommendedWatcher> {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // Our own reading is an event too.
            let is_reading =
                event.is_ok_and(|event| event.kind.is_access() && !is_written(event.kind));
            if !is_reading {
                changed.notify_one();
            }
        })?;
        watcher.watch(&self.path, RecursiveMode::NonRecursive)?;
        Ok(watcher)
    }

    /// The slots that have files. A file whose name is no slot's is complained about once.
    pub fn scan(&self) -> io::Result<BTreeMap<SlotName, Stamp>> {
        let mut slots: BTreeMap<SlotName, Stamp> = BTreeMap::new();
        for entry in std::fs::read_dir(&self.path)? {
            let path = entry?.path();
            let Some(extension) = path.extension().and_then(|it| it.to_str()) else { continue };
            if !["wasm", "toml", "sig"].contains(&extension) {
                continue;
            }
            let name = path.file_stem().and_then(|it| it.to_str()).unwrap_or_default();
            let slot = match name.parse::<SlotName>() {
                Ok(slot) => slot,
                Err(error) => {
                    self.complain(&path, &error);
                    continue;
                }
            };
            // A link is followed: what counts is the file that it leads to.
            let Some(stamp) = std::fs::metadata(&path).ok().map(|it| FileStamp::of(&it)) else {
                continue;
            };
            let seen = slots.entry(slot).or_default();
            match extension {
                "wasm" => seen.wasm = Some(stamp),
                "toml" => seen.toml = Some(stamp),
                _ => seen.sig = Some(stamp),
            }
        }
        // A signature alone is no plugin.
        slots.retain(|_, seen| seen.wasm.is_some() || seen.toml.is_some());
        Ok(slots)
    }

    /// Reads a slot's files.
    pub fn read(&self, slot: &SlotName, limit: u64) -> Result<Contents, ReadError> {
        let text = |extension, limit| {
            let bytes = optional(&self.file(slot, extension), limit)?;
            Ok(bytes.map(|it| String::from_utf8_lossy(&it).into_owned()))
        };
        let wasm = self.file(slot, "wasm");
        let component = match optional(&wasm, limit) {
            Err(ReadError::Io { source, .. }) if source.kind() == io::ErrorKind::FileTooLarge => {
                return Err(ReadError::TooLarge { path: wasm, limit });
            }
            other => other?.map(Artifact::new),
        };
        Ok(Contents {
            component,
            config: text("toml", MAX_CONFIG_BYTES)?,
            signature: text("sig", MAX_SIGNATURE_BYTES)?,
        })
    }

    /// Puts a component into a slot, by a rename, with its signature if it has one.
    pub fn install(
        &self,
        slot: &SlotName,
        component: &[u8],
        signature: Option<&str>,
    ) -> io::Result<()> {
        if let Some(signature) = signature {
            self.place(slot, "sig", signature.as_bytes())?;
        }
        self.place(slot, "wasm", component)
    }

    /// The text of a slot's file; none where there is none.
    pub fn config(&self, slot: &SlotName) -> io::Result<Option<String>> {
        let bytes = bounded_file::read(&self.file(slot, "toml"), MAX_CONFIG_BYTES)?;
        Ok(bytes.map(|it| String::from_utf8_lossy(&it).into_owned()))
    }

    /// Puts a text into the place of a slot's file, by a rename.
    ///
    /// # Errors
    /// It is too large, or cannot be written.
    pub fn configure(&self, slot: &SlotName, text: &str) -> io::Result<()> {
        check_config_size(slot, text)?;
        self.place(slot, "toml", text.as_bytes())
    }

    fn place(&self, slot: &SlotName, extension: &str, bytes: &[u8]) -> io::Result<()> {
        let partial = self.path.join(format!(".{slot}.{extension}.partial"));
        std::fs::write(&partial, bytes)?;
        std::fs::rename(&partial, self.file(slot, extension))
    }

    fn file(&self, slot: &SlotName, extension: &str) -> PathBuf {
        self.path.join(format!("{slot}.{extension}"))
    }

    fn complain(&self, path: &Path, error: &dyn std::fmt::Display) {
        let mut complained = self.complained.lock().unwrap_or_else(PoisonError::into_inner);
        if complained.insert(path.to_owned()) {
            tracing::warn!(path = %path.display(), %error, "plugin file ignored; the active version stays");
        }
    }
}

/// Refuses a text that is too large for a slot's file.
///
/// # Errors
/// It is.
pub fn check_config_size(slot: &SlotName, text: &str) -> io::Result<()> {
    if u64::try_from(text.len()).unwrap_or(u64::MAX) > MAX_CONFIG_BYTES {
        let message = format!("{slot}.toml would have more than {MAX_CONFIG_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(())
}

impl Contents {
    /// Whether there is nothing to run; a signature alone is no plugin.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.component.is_none() && self.config.is_none()
    }
}

impl FileStamp {
    #[cfg(unix)]
    fn of(metadata: &std::fs::Metadata) -> Self {
        let identity = std::os::unix::fs::MetadataExt::ino(metadata);
        Self { bytes: metadata.len(), modified: metadata.modified().ok(), identity }
    }

    #[cfg(not(unix))]
    fn of(metadata: &std::fs::Metadata) -> Self {
        Self { bytes: metadata.len(), modified: metadata.modified().ok(), identity: 0 }
    }
}

/// A file that was open for writing was closed.
fn is_written(kind: EventKind) -> bool {
    kind == EventKind::Access(AccessKind::Close(AccessMode::Write))
}

fn optional(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    let at = |source| ReadError::Io { path: path.to_owned(), source };
    bounded_file::read(path, limit).map_err(at)
}
