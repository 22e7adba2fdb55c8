//! A certificate and its key, read from two PEM files or from one that holds both.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use rustls::client::verify_server_name;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::ParsedCertificate;
use rustls::sign::CertifiedKey;
use rustls::{Error, InconsistentKeys};
use sha2::{Digest as _, Sha256};

use super::error::CertificateError;
use super::provider::provider;
use super::setting::{File, Setting};
use super::x509;
use crate::clock::Timestamp;

const MAX_FILE_BYTES: u64 = 1 << 20;

/// Where a certificate and its key are.
#[derive(Debug, Clone)]
pub(super) struct Pair {
    pub certificate: File,
    pub private_key: File,
}

/// What is in both files.
pub(super) struct Files {
    certificate: Vec<u8>,
    private_key: Vec<u8>,
}

/// What tells files, or the failure to read them, from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest([u8; 32]);

/// A certificate with its issuers, and when it ends.
type Chain = (Vec<CertificateDer<'static>>, Timestamp);

/// A certificate that handshakes can show.
#[derive(Debug)]
pub(super) struct Loaded {
    pub key: Arc<CertifiedKey>,
    pub expires_at: Timestamp,
}

impl Pair {
    pub fn new(certificate: &Path, private_key: &Path) -> Self {
        let file = |setting, path: &Path| File { setting, path: path.to_owned() };
        Self {
            certificate: file(Setting::Certificate, certificate),
            private_key: file(Setting::PrivateKey, private_key),
        }
    }

    /// Both in one file, which is then never half new.
    pub fn in_one(file: &Path) -> Self {
        let file = File { setting: Setting::Issued, path: file.to_owned() };
        Self { certificate: file.clone(), private_key: file }
    }

    pub fn read(&self) -> Result<Files, CertificateError> {
        let (certificate, private_key) = (self.certificate.read()?, self.private_key.read()?);
        Ok(Files { certificate, private_key })
    }

    pub fn load(&self, files: &Files) -> Result<Loaded, CertificateError> {
        self.join(self.chain(&files.certificate)?, self.key(&files.private_key)?)
    }

    /// Why they cannot be used: what is wrong with each, or that they do not belong together.
    pub fn faults(&self) -> Vec<CertificateError> {
        let chain = self.certificate.read().and_then(|text| self.chain(&text));
        let key = self.private_key.read().and_then(|text| self.key(&text));
        match (chain, key) {
            (Ok(chain), Ok(key)) => self.join(chain, key).err().into_iter().collect(),
            (chain, key) => chain.err().into_iter().chain(key.err()).collect(),
        }
    }

    fn join(
        &self,
        (chain, expires_at): Chain,
        key: PrivateKeyDer<'static>,
    ) -> Result<Loaded, CertificateError> {
        let key = CertifiedKey::from_der(chain, key, &provider()).map_err(|source| {
            let (certificate, private_key) = (self.certificate.clone(), self.private_key.clone());
            if source == Error::InconsistentKeys(InconsistentKeys::KeyMismatch) {
                CertificateError::Mismatch { certificate, private_key }
            } else {
                CertificateError::UnusableKey { file: private_key, source }
            }
        })?;
        Ok(Loaded { key: Arc::new(key), expires_at })
    }

    fn chain(&self, text: &[u8]) -> Result<Chain, CertificateError> {
        let file = || self.certificate.clone();
        let chain = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
        let chain = chain.map_err(|source| CertificateError::Garbled { file: file(), source })?;
        if chain.is_empty() {
            return Err(CertificateError::NoCertificate(file()));
        }
        let malformed = || CertificateError::Malformed(file());
        let first = chain.first().ok_or_else(malformed)?;
        ParsedCertificate::try_from(first).map_err(|_| malformed())?;
        let expires_at = x509::not_after(first).ok_or_else(malformed)?;
        Ok((chain, expires_at))
    }

    fn key(&self, text: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
        let file = self.private_key.clone();
        // The old form says it in a header field, the new one in the label.
        let has_pass_phrase = ["BEGIN ENCRYPTED PRIVATE KEY", "Proc-Type: 4,ENCRYPTED"]
            .iter()
            .any(|mark| text.windows(mark.len()).any(|window| window == mark.as_bytes()));
        if has_pass_phrase {
            return Err(CertificateError::Encrypted(file));
        }
        PrivateKeyDer::from_pem_slice(text).map_err(|source| {
            if matches!(source, pem::Error::NoItemsFound) {
                CertificateError::NoKey(file)
            } else {
                CertificateError::Garbled { file, source }
            }
        })
    }

    /// Whether users other than the owner and its group can read the key.
    #[cfg(unix)]
    pub fn key_is_exposed(&self) -> bool {
        let metadata = std::fs::metadata(&self.private_key.path);
        metadata.is_ok_and(|it| std::os::unix::fs::MetadataExt::mode(&it) & 0o004 != 0)
    }

    #[cfg(not(unix))]
    pub fn key_is_exposed(&self) -> bool {
        false
    }
}

impl Loaded {
    /// Whether clients that connect to that host accept the certificate as its own.
    pub fn names(&self, host: &str) -> bool {
        self.key.end_entity_cert().is_ok_and(|it| is_for(it, host))
    }
}

/// Whether clients that connect to a host accept a certificate as the host's own.
pub(super) fn is_for(certificate: &CertificateDer<'_>, host: &str) -> bool {
    let Ok(certificate) = ParsedCertificate::try_from(certificate) else { return false };
    ServerName::try_from(host).is_ok_and(|it| verify_server_name(&certificate, &it).is_ok())
}

impl File {
    fn read(&self) -> Result<Vec<u8>, CertificateError> {
        let failed = |source: io::Error| {
            let file = self.clone();
            if source.kind() == io::ErrorKind::NotFound {
                CertificateError::Missing(file)
            } else if source.kind() == io::ErrorKind::PermissionDenied {
                CertificateError::Denied(file)
            } else {
                CertificateError::Unreadable { file, source }
            }
        };
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&self.path).map_err(failed)?;
        let read = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if u64::try_from(read).is_ok_and(|read| read <= MAX_FILE_BYTES) {
            Ok(bytes)
        } else {
            Err(CertificateError::TooLarge(self.clone()))
        }
    }
}

impl Files {
    /// What is in a file that holds both.
    pub fn of_one(text: &[u8]) -> Self {
        Self { certificate: text.to_vec(), private_key: text.to_vec() }
    }

    /// That of the certificate's file.
    pub fn first_line(&self) -> Option<&str> {
        let line = self.certificate.split(|it| *it == b'\n').next()?;
        std::str::from_utf8(line).ok()
    }

    pub fn digest(&self) -> Digest {
        let parts = [&self.certificate, &self.private_key].map(Sha256::digest);
        Digest(Sha256::digest(parts.concat()).into())
    }
}

impl Digest {
    pub fn of(error: &CertificateError) -> Self {
        Self(Sha256::digest(error.to_string()).into())
    }
}
