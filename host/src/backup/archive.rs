//! The archive of a backup: the members of a data directory as `tar`, compressed by gzip, encrypted by age. The first
//! member lists the others with their lengths and SHA-256 digests.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Component, Path};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tar::{Builder, Entry, EntryType, Header};
use tokio_util::sync::CancellationToken;

use super::age::{self, Identity, Recipient};
use super::error::ArchiveError;
use crate::clock::Timestamp;
use crate::hexadecimal::hexadecimal;

/// The form of archives that this version writes and reads.
pub const FORM: u32 = 1;
const MANIFEST: &str = "manifest.json";
/// Octets of the list of members that are read.
const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub form: u32,
    /// Of the server that took the backup.
    pub version: String,
    /// The last migration of its database.
    pub schema: i64,
    /// Milliseconds since the Unix epoch; what was committed by then is in the backup.
    pub taken_at: Timestamp,
    /// In the order of the archive.
    pub members: Vec<Member>,
}

/// A file of the data directory.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub struct Member {
    /// Its path in the data directory.
    pub name: String,
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: String,
}

/// Writes the members, which are files below `root`, and waits until the disk has them.
pub fn pack(
    root: &Path,
    manifest: &Manifest,
    out: File,
    recipients: &[Recipient],
    stop: &CancellationToken,
) -> io::Result<()> {
    let encrypted = age::encrypt(BufWriter::new(out), recipients)?;
    let mut tar = Builder::new(GzEncoder::new(encrypted, Compression::fast()));
    let list = serde_json::to_vec_pretty(manifest)?;
    let (length, at) = (u64::try_from(list.len()).unwrap_or(u64::MAX), manifest.taken_at);
    append(&mut tar, MANIFEST, (length, at), &*list)?;
    for member in &manifest.members {
        let file = File::open(root.join(&member.name))?;
        append(&mut tar, &member.name, (member.bytes, at), Stoppable { inner: file, stop })?;
    }
    let out = tar.into_inner()?.finish()?.finish()?;
    out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

fn append(
    tar: &mut Builder<impl Write>,
    name: &str,
    (length, at): (u64, Timestamp),
    content: impl Read,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(length);
    header.set_mode(0o600);
    header.set_mtime(at.unsigned_millis() / 1_000);
    tar.append_data(&mut header, name, content)
}

/// Reads an archive to its end and hands each member to `take`, by its name. What `take` has got by the time of an error is
/// not to be used.
pub fn read(
    archive: &Path,
    identity: &Identity,
    take: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> Result<Manifest, ArchiveError> {
    let decrypted = age::decrypt(BufReader::new(File::open(archive)?), identity)?;
    let mut tar = tar::Archive::new(GzDecoder::new(decrypted));
    let manifest = read_members(&mut tar, take)?;
    // The end of each layer proves that nothing is missing behind the last member.
    let mut unpacked = tar.into_inner();
    io::copy(&mut unpacked, &mut io::sink())?;
    io::copy(&mut unpacked.into_inner(), &mut io::sink())?;
    Ok(manifest)
}

/// Reads an archive and compares every member with the list.
pub fn verify(
    archive: &Path,
    identity: &Identity,
    stop: &CancellationToken,
) -> Result<Manifest, ArchiveError> {
    read(archive, identity, &mut |_, content| {
        io::copy(&mut Stoppable { inner: content, stop }, &mut io::sink()).map(drop)
    })
}

/// Reads until the work is called off.
struct Stoppable<'a, R> {
    inner: R,
    stop: &'a CancellationToken,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("the work on the backup was called off"));
        }
        self.inner.read(out)
    }
}

fn read_members(
    tar: &mut tar::Archive<impl Read>,
    take: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> Result<Manifest, ArchiveError> {
    let mut entries = tar.entries()?;
    let first = entries.next().ok_or(ArchiveError::NoManifest)??;
    let manifest = read_manifest(first)?;
    for member in &manifest.members {
        let entry = entries.next().ok_or_else(|| ArchiveError::Missing(member.name.clone()))??;
        read_member(member, entry, take)?;
    }
    match entries.next() {
        None => Ok(manifest),
        Some(entry) => Err(ArchiveError::Unlisted(name_of(&entry?))),
    }
}

fn read_manifest(entry: Entry<'_, impl Read>) -> Result<Manifest, ArchiveError> {
    /// The form alone: the rest of a newer one may be otherwise.
    #[derive(Deserialize)]
    struct Form {
        form: u32,
    }

    if name_of(&entry) != MANIFEST {
        return Err(ArchiveError::NoManifest);
    }
    let mut list = Vec::new();
    entry.take(MAX_MANIFEST_BYTES).read_to_end(&mut list)?;
    let Form { form } = serde_json::from_slice(&list).map_err(|_| ArchiveError::NoManifest)?;
    if form != FORM {
        return Err(ArchiveError::Form(form));
    }
    let manifest: Manifest = serde_json::from_slice(&list).map_err(|_| ArchiveError::NoManifest)?;
    match manifest.members.iter().find(|it| !stays_inside(&it.name)) {
        Some(member) => Err(ArchiveError::Name(member.name.clone())),
        None => Ok(manifest),
    }
}

fn read_member(
    member: &Member,
    entry: Entry<'_, impl Read>,
    take: &mut dyn FnMut(&str, &mut dyn Read) -> io::Result<()>,
) -> Result<(), ArchiveError> {
    if name_of(&entry) != member.name {
        return Err(ArchiveError::Missing(member.name.clone()));
    }
    let mut content = Digesting::new(entry);
    take(&member.name, &mut content)?;
    io::copy(&mut content, &mut io::sink())?;
    if content.finish() == (member.bytes, member.sha256.clone()) {
        Ok(())
    } else {
        Err(ArchiveError::Unequal(member.name.clone()))
    }
}

fn name_of(entry: &Entry<'_, impl Read>) -> String {
    String::from_utf8_lossy(&entry.path_bytes()).into_owned()
}

fn stays_inside(name: &str) -> bool {
    let path = Path::new(name);
    !name.is_empty() && path.components().all(|it| matches!(it, Component::Normal(_)))
}

/// Counts and digests what is read through it.
pub struct Digesting<R> {
    inner: R,
    bytes: u64,
    digest: Sha256,
}

impl<R: Read> Digesting<R> {
    pub fn new(inner: R) -> Self {
        Self { inner, bytes: 0, digest: Sha256::new() }
    }

    /// The octets that were read, and their SHA-256 digest in hexadecimal digits.
    pub fn finish(self) -> (u64, String) {
        (self.bytes, hexadecimal(&self.digest.finalize()))
    }
}

impl<R: Read> Read for Digesting<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(out)?;
        self.digest.update(&out[..length]);
        self.bytes += u64::try_from(length).unwrap_or_default();
        Ok(length)
    }
}

/// Length and digest of a file.
pub fn digest(file: &Path, stop: &CancellationToken) -> io::Result<(u64, String)> {
    let mut content = Digesting::new(Stoppable { inner: File::open(file)?, stop });
    io::copy(&mut content, &mut io::sink())?;
    Ok(content.finish())
}

#[cfg(test)]
mod tests;
