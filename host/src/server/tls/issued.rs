//! The certificate that a CA has issued by ACME, as the server keeps it: the chain and its key in one file, so that nobody
//! reads a new one with the key of the old one.

use std::path::PathBuf;

use rustls::pki_types::CertificateDer;

use super::error::CertificateError;
use super::pem::{Files, Loaded, Pair, is_for};
use super::x509;
use crate::clock::Timestamp;
use crate::server::data_dir::{DataDir, DataDirError};

const FILE: &str = "certificate.pem";

/// A certificate of a CA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    certificate: CertificateDer<'static>,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
}

impl Issued {
    /// Where it is kept.
    pub fn path(data: &DataDir) -> Result<PathBuf, DataDirError> {
        Ok(data.acme()?.file(FILE))
    }

    /// The same where it is there; nothing is made.
    #[must_use]
    pub fn existing_path(data: &DataDir) -> Option<PathBuf> {
        Some(data.unopened_acme().file(FILE)).filter(|it| it.is_file())
    }

    /// The one that is kept; none where there is none yet.
    ///
    /// # Errors
    /// It cannot be used.
    pub fn read(data: &DataDir) -> Result<Option<Self>, CertificateError> {
        let path = Self::path(data)?;
        if !path.is_file() {
            return Ok(None);
        }
        let pair = Pair::in_one(&path);
        let files = pair.read()?;
        Self::of(&pair, &pair.load(&files)?).map(Some)
    }

    /// Keeps a chain and its key.
    ///
    /// # Errors
    /// They cannot be used, or not be written: what was kept stays.
    pub fn keep(data: &DataDir, chain: &str, key: &str) -> Result<Self, CertificateError> {
        let text = format!("{}\n{key}", chain.trim_end());
        let pair = Pair::in_one(&Self::path(data)?);
        let issued = Self::of(&pair, &pair.load(&Files::of_one(text.as_bytes()))?)?;
        data.acme()?.write_private(FILE, text.as_bytes())?;
        Ok(issued)
    }

    fn of(pair: &Pair, loaded: &Loaded) -> Result<Self, CertificateError> {
        let malformed = || CertificateError::Malformed(pair.certificate.clone());
        let certificate = loaded.key.cert.first().ok_or_else(malformed)?.clone();
        let fields = x509::fields(&certificate).ok_or_else(malformed)?;
        let (not_before, not_after) = (fields.not_before, fields.not_after);
        Ok(Self { certificate, not_before, not_after })
    }

    /// Whether a client would take it for each of these names.
    #[must_use]
    pub fn covers(&self, names: &[String]) -> bool {
        names.iter().all(|name| is_for(&self.certificate, name))
    }

    /// What names it to its CA: the identifier of the CA's key and the serial number.
    #[must_use]
    pub fn identifier(&self) -> Option<(&[u8], &[u8])> {
        let fields = x509::fields(&self.certificate)?;
        Some((fields.authority_key_identifier?, fields.serial_number))
    }
}
