//! The encryption of backups: the format of age (age-encryption.org/v1) to X25519 recipients, so that the programs `age`
//! and `rage` open a backup too. Passphrases are not read: a server that encrypts by itself should not hold what decrypts.

mod derivation;
mod keys;
mod payload;

#[cfg(test)]
mod tests;

use std::io::{self, BufRead, Read, Write};

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::id::fill_random;
use derivation::{FileKey, NONCE, broken, derived};
use payload::PayloadKey;

pub use keys::{Identity, KeyError, Recipient};
pub use payload::{Decryptor, Encryptor};

const VERSION: &str = "age-encryption.org/v1\n";
/// Octets of the header that are read.
const MAX_HEADER_BYTES: usize = 64 * 1_024;
/// A longer line of a stanza is followed by another one.
const FULL_LINE: usize = 64;

/// Why a file cannot be decrypted.
#[derive(Debug, thiserror::Error)]
pub enum DecryptError {
    #[error("it is not a file that age has encrypted")]
    NotAge,
    #[error("it was encrypted to other recipients; give the identity of one of them")]
    OtherRecipients,
    #[error("its header was changed")]
    Changed,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Begins an encrypted file: what is written behind it is encrypted to all recipients.
pub fn encrypt<W: Write>(mut out: W, recipients: &[Recipient]) -> io::Result<Encryptor<W>> {
    let (mut file_key, mut nonce) = ([0; 16], [0; NONCE]);
    fill_random(&mut file_key);
    fill_random(&mut nonce);
    let mut header = VERSION.to_owned();
    for recipient in recipients {
        header.push_str(&recipient.wrap(&file_key).map_err(broken)?);
    }
    header.push_str("---");
    let code = hmac::sign(&header_key(&file_key).map_err(broken)?, header.as_bytes());
    header.extend([" ", &STANDARD_NO_PAD.encode(code), "\n"]);
    out.write_all(header.as_bytes())?;
    out.write_all(&nonce)?;
    let key = PayloadKey::new(&file_key, &nonce).map_err(broken)?;
    Ok(Encryptor::new(out, key))
}

/// Opens an encrypted file: what is read from it is authentic, and its end is there.
pub fn decrypt<R: BufRead>(
    mut input: R,
    identity: &Identity,
) -> Result<Decryptor<R>, DecryptError> {
    let header = Header::read(&mut input)?;
    let mut keys = header.stanzas.iter().filter_map(|it| identity.open(&it.arguments, &it.body));
    let file_key = keys.next().ok_or(DecryptError::OtherRecipients)?;
    let changed = |_: Unspecified| DecryptError::Changed;
    hmac::verify(&header_key(&file_key).map_err(changed)?, &header.covered, &header.code)
        .map_err(changed)?;
    let mut nonce = [0; NONCE];
    input.read_exact(&mut nonce)?;
    let key = PayloadKey::new(&file_key, &nonce).map_err(changed)?;
    Ok(Decryptor::new(input, key)?)
}

/// The header of a file.
#[derive(Default)]
struct Header {
    stanzas: Vec<Stanza>,
    /// What the code is about: the header up to it.
    covered: Vec<u8>,
    code: Vec<u8>,
}

/// How one recipient gets the key of the file.
struct Stanza {
    arguments: String,
    body: Vec<u8>,
}

impl Header {
    fn read(input: &mut impl BufRead) -> Result<Self, DecryptError> {
        let mut header = Self::default();
        if header.line(input)? != VERSION.trim_end() {
            return Err(DecryptError::NotAge);
        }
        loop {
            let line = header.line(input)?;
            if let Some(code) = line.strip_prefix("--- ") {
                header.code = decoded(code)?;
                // The code covers the dashes, and neither itself nor the blank before it.
                let own = code.len() + " \n".len();
                header.covered.truncate(header.covered.len() - own);
                return Ok(header);
            }
            let arguments = line.strip_prefix("-> ").ok_or(DecryptError::NotAge)?.to_owned();
            let mut body = Vec::new();
            loop {
                let line = header.line(input)?;
                body.extend(decoded(&line)?);
                if line.len() < FULL_LINE {
                    break;
                }
            }
            header.stanzas.push(Stanza { arguments, body });
        }
    }

    /// The next line, without its end.
    fn line(&mut self, input: &mut impl BufRead) -> Result<String, DecryptError> {
        let room = MAX_HEADER_BYTES.saturating_sub(self.covered.len());
        let mut line = Vec::new();
        input
            .by_ref()
            .take(u64::try_from(room).unwrap_or(u64::MAX))
            .read_until(b'\n', &mut line)?;
        self.covered.extend_from_slice(&line);
        let line = line.strip_suffix(b"\n").ok_or(DecryptError::NotAge)?;
        String::from_utf8(line.to_vec()).map_err(|_| DecryptError::NotAge)
    }
}

fn decoded(text: &str) -> Result<Vec<u8>, DecryptError> {
    STANDARD_NO_PAD.decode(text).map_err(|_| DecryptError::NotAge)
}

fn header_key(file_key: &FileKey) -> Result<hmac::Key, Unspecified> {
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &derived(file_key, &[], b"header")?))
}
