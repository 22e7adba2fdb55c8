//! The payload of age: chunks of 64 KiB, each sealed by ChaCha20-Poly1305 under its number; the last one says that it is the
//! last, so that a file that was cut off does not open.

use std::io::{self, BufRead, Read, Write};
use std::mem;

use aws_lc_rs::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::error::Unspecified;

use super::derivation::{FileKey, NONCE, broken, derived};

const CHUNK: usize = 64 * 1_024;
const TAG: usize = 16;
const SEALED_CHUNK: usize = CHUNK + TAG;

/// Where a chunk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Chunk {
    Further,
    Last,
}

/// Seals chunks in their order, or opens them.
pub struct PayloadKey {
    key: LessSafeKey,
    /// Of the next chunk.
    number: u64,
}

/// Encrypts what is written; without [`Self::finish`] the file does not open.
pub struct Encryptor<W: Write> {
    out: W,
    key: PayloadKey,
    chunk: Vec<u8>,
}

/// Decrypts what is read.
pub struct Decryptor<R: BufRead> {
    input: R,
    key: PayloadKey,
    /// The sealed chunk behind the one that is open; empty where there is none.
    ahead: Vec<u8>,
    chunk: Vec<u8>,
    /// Octets of the chunk that were read.
    taken: usize,
    is_over: bool,
}

impl PayloadKey {
    pub fn new(file_key: &FileKey, nonce: &[u8; NONCE]) -> Result<Self, Unspecified> {
        let key = derived(file_key, nonce, b"payload")?;
        let key = LessSafeKey::new(UnboundKey::new(&CHACHA20_POLY1305, &key)?);
        Ok(Self { key, number: 0 })
    }

    fn nonce(&mut self, chunk: Chunk) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce[3..NONCE_LEN - 1].copy_from_slice(&self.number.to_be_bytes());
        nonce[NONCE_LEN - 1] = match chunk {
            Chunk::Further => 0,
            Chunk::Last => 1,
        };
        self.number += 1;
        Nonce::assume_unique_for_key(nonce)
    }
}

impl<W: Write> Encryptor<W> {
    pub(super) fn new(out: W, key: PayloadKey) -> Self {
        Self { out, key, chunk: Vec::with_capacity(SEALED_CHUNK) }
    }

    /// Writes the last chunk.
    pub fn finish(mut self) -> io::Result<W> {
        self.seal(Chunk::Last)?;
        Ok(self.out)
    }

    fn seal(&mut self, chunk: Chunk) -> io::Result<()> {
        let nonce = self.key.nonce(chunk);
        let sealed = self.key.key.seal_in_place_append_tag(nonce, Aad::empty(), &mut self.chunk);
        let written = sealed.map_err(broken).and_then(|()| self.out.write_all(&self.chunk));
        // Also where that failed: the writers above write once more when they are dropped.
        self.chunk.clear();
        written
    }
}

impl<W: Write> Write for Encryptor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Only now is it known that the chunk is not the last one.
        if self.chunk.len() == CHUNK && !bytes.is_empty() {
            self.seal(Chunk::Further)?;
        }
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<R: BufRead> Decryptor<R> {
    pub(super) fn new(mut input: R, key: PayloadKey) -> io::Result<Self> {
        let ahead = sealed_chunk(&mut input)?;
        Ok(Self { input, key, ahead, chunk: Vec::new(), taken: 0, is_over: false })
    }

    fn open_next(&mut self) -> io::Result<()> {
        let next = sealed_chunk(&mut self.input)?;
        let mut chunk = mem::replace(&mut self.ahead, next);
        self.is_over = self.ahead.is_empty();
        let place = if self.is_over { Chunk::Last } else { Chunk::Further };
        let is_first = self.key.number == 0;
        let nonce = self.key.nonce(place);
        let opened = self.key.key.open_in_place(nonce, Aad::empty(), &mut chunk);
        let length = opened.map_err(|_| damaged())?.len();
        // Only a file without content has an empty chunk.
        if length == 0 && !is_first {
            return Err(damaged());
        }
        chunk.truncate(length);
        (self.chunk, self.taken) = (chunk, 0);
        Ok(())
    }
}

impl<R: BufRead> Read for Decryptor<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.chunk.len() {
            if self.is_over {
                return Ok(0);
            }
            self.open_next()?;
        }
        let rest = &self.chunk[self.taken..];
        let taken = rest.len().min(out.len());
        out[..taken].copy_from_slice(&rest[..taken]);
        self.taken += taken;
        Ok(taken)
    }
}

fn sealed_chunk(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::with_capacity(SEALED_CHUNK);
    let most = u64::try_from(SEALED_CHUNK).unwrap_or(u64::MAX);
    input.take(most).read_to_end(&mut chunk)?;
    Ok(chunk)
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file was changed, or its end is missing")
}
