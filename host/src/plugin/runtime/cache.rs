//! Compiled code, kept between starts. It is code that the server will run, so each file carries
//! an HMAC-SHA256 under a secret of this server, and the directory is for its owner only.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use wasmtime::Engine;
use wasmtime::component::Component;

use super::engine::PluginEngine;

const TAG: usize = 32;
/// Compiled components that are kept, at most.
const MAX_CACHED_COMPONENTS: usize = 64;

/// The directory, and the secret that its files are keyed with.
#[derive(Clone)]
pub struct CompiledCache {
    directory: Option<PathBuf>,
    secret: Vec<u8>,
}

impl CompiledCache {
    /// Uses a directory, made where it is missing. Without one, everything is compiled anew.
    pub fn open(directory: &Path, secret: &[u8]) -> Self {
        let directory = match private_directory(directory) {
            Ok(()) => Some(directory.to_owned()),
            Err(error) => {
                let path = directory.display();
                tracing::warn!(%error, %path, "compiled plugin cache unavailable; every start compiles all plugins");
                None
            }
        };
        Self { directory, secret: secret.to_vec() }
    }

    pub fn none() -> Self {
        Self { directory: None, secret: Vec::new() }
    }

    /// The compiled component, if it is kept. Blocks while it is read.
    pub fn load(&self, engine: &PluginEngine, digest: &str) -> Option<Component> {
        let file = self.file(engine, digest)?;
        deserialize(engine.wasmtime(), &self.read(&file)?).ok()
    }

    /// Keeps the machine code of a component and makes it runnable. Blocks while it is written.
    ///
    /// # Errors
    /// The code is not for this engine.
    pub fn keep(
        &self,
        engine: &PluginEngine,
        digest: &str,
        code: &[u8],
    ) -> wasmtime::Result<Component> {
        if let Some(file) = self.file(engine, digest)
            && let Err(error) = self.write(&file, code)
        {
            let path = file.display();
            tracing::warn!(%error, %path, "cannot cache a compiled plugin");
        }
        deserialize(engine.wasmtime(), code)
    }

    /// Whether a component is kept; its file may still turn out to be changed.
    pub fn holds(&self, engine: &PluginEngine, digest: &str) -> bool {
        self.file(engine, digest).is_some_and(|file| file.exists())
    }

    fn file(&self, engine: &PluginEngine, digest: &str) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(file_name(engine.wasmtime(), digest)))
    }

    fn read(&self, file: &Path) -> Option<Vec<u8>> {
        let mut bytes = std::fs::read(file).ok()?;
        let tag = bytes.split_off(bytes.len().checked_sub(TAG)?);
        if self.keyed(file, &bytes).verify_slice(&tag).is_ok() {
            return Some(bytes);
        }
        let path = file.display();
        tracing::warn!(%path, "a cached compiled plugin fails authentication: the file was changed, or the master key was rotated; the plugin is compiled again");
        None
    }

    /// Writes beside the file and renames, so that a crash leaves no half of one.
    fn write(&self, file: &Path, code: &[u8]) -> io::Result<()> {
        let tag = self.keyed(file, code).finalize().into_bytes();
        let partial = file.with_extension(format!("{}.partial", std::process::id()));
        std::fs::write(&partial, [code, &tag].concat())?;
        std::fs::rename(&partial, file)?;
        self.tidy();
        Ok(())
    }

    /// A thousand reloads leave no thousand files: the newest ones stay.
    fn tidy(&self) {
        let Some(entries) = self.directory.as_ref().and_then(|it| std::fs::read_dir(it).ok())
        else {
            return;
        };
        let mut files: Vec<_> = entries
            .filter_map(|entry| {
                let path = entry.ok()?.path();
                Some((path.metadata().ok()?.modified().ok()?, path))
            })
            .collect();
        files.sort();
        for (_, old) in files.iter().rev().skip(MAX_CACHED_COMPONENTS) {
            // Somebody else may have removed it already.
            drop(std::fs::remove_file(old));
        }
    }

    /// Over the file's name too: another component's code is not this one's.
    fn keyed(&self, file: &Path, code: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"waxwing compiled plugin\0");
        mac.update(file.file_name().unwrap_or_default().as_encoded_bytes());
        mac.update(b"\0");
        mac.update(code);
        mac
    }
}

fn file_name(engine: &Engine, digest: &str) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{}-{:016x}.cwasm", digest.trim_start_matches("sha256:"), hasher.finish())
}

#[expect(unsafe_code, reason = "only code of this server's own compiler comes here")]
fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    // SAFETY: `code` was written by `Engine::precompile_component` of this very binary. Either it comes
    // straight from there, in this process or through the pipe of a child that runs this binary, or its
    // HMAC was checked on these very bytes, under a key in a file that only this server's user can read.
    unsafe { Component::deserialize(engine, code) }
}

#[cfg(unix)]
pub(in crate::plugin) fn private_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
pub(in crate::plugin) fn private_directory(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)
}
