//! What names a file of a certificate: a setting, or the data directory.

use std::fmt;
use std::path::PathBuf;

/// A file, and what names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub setting: Setting,
    pub path: PathBuf,
}

/// What names a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    /// `smtp.certificate`.
    Certificate,
    /// `smtp.private_key`.
    PrivateKey,
    /// `acme.enabled`: certificate and key in one file of the data directory.
    Issued,
    /// Neither: the server makes it.
    SelfSigned,
}

impl fmt::Display for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.setting, self.path.display())
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "smtp.certificate",
            Self::PrivateKey => "smtp.private_key",
            Self::Issued => "the certificate of [acme],",
            Self::SelfSigned => "the self-signed certificate,",
        })
    }
}
