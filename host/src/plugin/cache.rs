//! Compiled code, kept between starts. It is code that the server will run, so each file carries
//! an HMAC-SHA256 under a secret of this server, and the directory is for its owner only.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use wasmtime::Engine;
use wasmtime::component::Component;

const TAG: usize = 32;

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
                tracing::warn!(%error, %path, "no cache for compiled plugins; starts will be slow");
                None
            }
        };
        Self { directory, secret: secret.to_vec() }
    }

    /// The compiled component, from the cache or compiled now. Blocks while it compiles.
    pub fn component(
        &self,
        engine: &Engine,
        wasm: &[u8],
        digest: &str,
    ) -> wasmtime::Result<Component> {
        let Some(directory) = &self.directory else { return Component::new(engine, wasm) };
        let file = directory.join(file_name(engine, digest));
        if let Some(code) = self.read(&file)
            && let Some(component) = deserialize(engine, &code)
        {
            return Ok(component);
        }
        let component = Component::new(engine, wasm)?;
        if let Err(error) = self.write(&file, &component.serialize()?) {
            let path = file.display();
            tracing::warn!(%error, %path, "a compiled plugin could not be kept");
        }
        Ok(component)
    }

    fn read(&self, file: &Path) -> Option<Vec<u8>> {
        let mut bytes = std::fs::read(file).ok()?;
        let tag = bytes.split_off(bytes.len().checked_sub(TAG)?);
        if self.keyed(&bytes).verify_slice(&tag).is_ok() {
            return Some(bytes);
        }
        let path = file.display();
        tracing::error!(%path, "a compiled plugin was changed by somebody else; compiling it anew");
        None
    }

    /// Writes beside the file and renames, so that a crash leaves no half of one.
    fn write(&self, file: &Path, code: &[u8]) -> io::Result<()> {
        let tag = self.keyed(code).finalize().into_bytes();
        let partial = file.with_extension(format!("{}.partial", std::process::id()));
        std::fs::write(&partial, [code, &tag].concat())?;
        std::fs::rename(&partial, file)
    }

    fn keyed(&self, code: &[u8]) -> Hmac<Sha256> {
        let mut mac =
            Hmac::<Sha256>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"waxwing compiled plugin\0");
        mac.update(code);
        mac
    }
}

fn file_name(engine: &Engine, digest: &str) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{}-{:016x}.cwasm", digest.trim_start_matches("sha256:"), hasher.finish())
}

#[expect(unsafe_code, reason = "only code with this server's own HMAC comes here")]
fn deserialize(engine: &Engine, code: &[u8]) -> Option<Component> {
    // SAFETY: `code` was written by `Component::serialize` of this server: its HMAC was checked on
    // these very bytes, and the key is in a file that only this server's user can read.
    unsafe { Component::deserialize(engine, code) }.ok()
}

#[cfg(unix)]
fn private_directory(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private_directory(directory: &Path) -> io::Result<()> {
    std::fs::create_dir_all(directory)
}
