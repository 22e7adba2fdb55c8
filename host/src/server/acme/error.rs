//! Why an order brings no certificate.

use std::path::PathBuf;

use crate::server::data_dir::DataDirError;
use crate::server::tls::CertificateError;

/// Why an order brings no certificate.
#[derive(Debug, thiserror::Error)]
pub enum AcmeError {
    /// The CA refuses, or does not answer.
    #[error("the CA gives no certificate: {0}")]
    Ca(#[from] instant_acme::Error),
    #[error("no certificate came within {0} s")]
    Slow(u64),
    #[error("the CA offers no challenge {challenge} for {name}; choose another acme.challenge")]
    NoChallenge { challenge: &'static str, name: String },
    #[error("the CA cannot see that the names are this machine's: {0}")]
    Unproven(String),
    #[error("acme.dns_hook, {path} {action}, failed: {reason}")]
    Hook { path: PathBuf, action: &'static str, reason: String },
    #[error("the CA issued a certificate that does not hold for {0}")]
    OtherNames(String),
    #[error("the key of the certificate cannot be used: {0}")]
    Key(#[from] rcgen::Error),
    #[error("the certificate for the challenge cannot be used: {0}")]
    Tls(#[from] rustls::Error),
    #[error("what the CA issued is not used: {0}")]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    DataDir(#[from] DataDirError),
}
