//! The certificate that a CA has issued by ACME, as the server keeps it: the CA, the chain and its key in one file, so that
//! nobody reads a new one with the key, or the origin, of the old one.

use std::path::PathBuf;

use rustls::pki_types::CertificateDer;

use super::error::CertificateError;
use super::pem::{Files, Pair, is_for};
use super::x509;
use crate::clock::Timestamp;
use crate::server::data_dir::{DataDir, DataDirError};

const FILE: &str = "certificate.pem";
/// What the first line says, before the directory of the CA. Readers of PEM skip what stands before the first block (RFC
/// 7468 section 2).
const ORIGIN: &str = "Issued by ";

/// A certificate of a CA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issued {
    certificate: CertificateDer<'static>,
    /// The directory of its CA; none in a file of a version that did not note it.
    directory: Option<String>,
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
        Self::of(&pair, &files).map(Some)
    }

    /// Keeps a chain and its key, with the directory of the CA that has issued it.
    ///
    /// # Errors
    /// They cannot be used, or not be written: what was kept stays.
    pub fn keep(
        data: &DataDir,
        directory: &str,
        (chain, key): (&str, &str),
    ) -> Result<Self, CertificateError> {
        let text = format!("{ORIGIN}{directory}\n{}\n{key}", chain.trim_end());
        let pair = Pair::in_one(&Self::path(data)?);
        let issued = Self::of(&pair, &Files::of_one(text.as_bytes()))?;
        data.acme()?.write_private(FILE, text.as_bytes())?;
        Ok(issued)
    }

    fn of(pair: &Pair, files: &Files) -> Result<Self, CertificateError> {
        let loaded = pair.load(files)?;
        let origin = files.first_line().and_then(|it| it.strip_prefix(ORIGIN));
        let malformed = || CertificateError::Malformed(pair.certificate.clone());
        let certificate = loaded.key.cert.first().ok_or_else(malformed)?.clone();
        let fields = x509::fields(&certificate).ok_or_else(malformed)?;
        let (not_before, not_after) = (fields.not_before, fields.not_after);
        Ok(Self { certificate, directory: origin.map(str::to_owned), not_before, not_after })
    }

    /// Whether another CA than the one with this directory has issued it.
    #[must_use]
    pub fn is_of_another_ca(&self, directory: &str) -> bool {
        self.directory.as_ref().is_some_and(|it| it != directory)
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
