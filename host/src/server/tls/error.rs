//! Why a certificate cannot be used.

use super::setting::File;
use crate::server::data_dir::DataDirError;
use crate::trust::pem_fault;

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file is not there.
    #[error(
        "{0} does not exist; correct the path, or leave out both settings for a self-signed \
         certificate"
    )]
    Missing(File),
    /// A file may not be read.
    #[error(
        "{0} may not be read by this user; give it to the user that runs waxwing, or its group"
    )]
    Denied(File),
    /// A file cannot be read.
    #[error("{file} cannot be read: {source}")]
    Unreadable { file: File, source: std::io::Error },
    /// A file is over 1 MiB.
    #[error("{0} has more than 1 MiB: it is not a certificate or a key")]
    TooLarge(File),
    /// A file is cut off or garbled.
    #[error("{file} is not whole PEM: {}; copy it again", pem_fault(source))]
    Garbled { file: File, source: rustls::pki_types::pem::Error },
    /// There is no certificate in the file.
    #[error(
        "{0} holds no `-----BEGIN CERTIFICATE-----`; where it is DER, \
         `openssl x509 -inform der -in FILE -out cert.pem` makes PEM of it"
    )]
    NoCertificate(File),
    /// There is no key in the file.
    #[error(
        "{0} holds no `-----BEGIN PRIVATE KEY-----`; where it is DER, \
         `openssl pkey -inform der -in FILE -out key.pem` makes PEM of it"
    )]
    NoKey(File),
    /// The key has a pass phrase.
    #[error(
        "{0} has a pass phrase, and there is nobody to ask for it; \
         `openssl pkey -in FILE -out key.pem` writes the key without"
    )]
    Encrypted(File),
    /// The first certificate is none.
    #[error("the first certificate in {0} is not a valid X.509 certificate; copy it again")]
    Malformed(File),
    /// The key is of a kind that TLS does not use.
    #[error(
        "the key in {file} cannot be used: {source}; RSA, ECDSA P-256 to P-521 and Ed25519 can"
    )]
    UnusableKey { file: File, source: rustls::Error },
    /// They do not belong together.
    #[error(
        "the first certificate in {certificate} was not made for the key in {private_key}; put the \
         server's own certificate first and its issuers after it, or name the key it was made for"
    )]
    Mismatch {
        /// The certificate's file.
        certificate: File,
        /// The key's file.
        private_key: File,
    },
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// The self-signed certificate.
    #[error("a self-signed certificate cannot be made: {0}")]
    Own(#[from] rcgen::Error),
    /// The TLS library.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}
