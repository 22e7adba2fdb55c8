//! The certificate authorities that Waxwing's own clients trust: SMTP, webhooks, MTA-STS and the
//! command line.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};
use rustls::{ClientConfig, RootCertStore};

/// Why no certificate can be verified.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// The file with further authorities is not there, or is not PEM.
    #[error("{} cannot be read as PEM: {}", path.display(), pem_fault(source))]
    Unreadable {
        /// The PEM file.
        path: PathBuf,
        /// What reading the file failed with.
        source: pem::Error,
    },
    /// The file holds no certificate, or one that is no authority.
    #[error("{} holds no certificate of an authority", .0.display())]
    NoAuthority(PathBuf),
    /// The cryptographic library.
    #[error("TLS cannot be set up: {0}")]
    Library(#[from] rustls::Error),
}

/// The system's authorities (or those in `SSL_CERT_FILE`), and those in the PEM file `further`. A
/// system without authorities is no error: no certificate is valid then, and the log says so.
///
/// # Errors
/// `further` holds no authorities.
pub fn authorities(further: Option<&Path>) -> Result<RootCertStore, TrustError> {
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "some CA certificates of the system cannot be read; servers with certificates of these CAs are not trusted");
    }
    roots.add_parsable_certificates(found.certs);
    if let Some(path) = further {
        add(path, &mut roots)?;
    }
    if roots.is_empty() {
        tracing::warn!(
            "the system trusts no certificate authority, so that no server's certificate is valid; \
             install ca-certificates, or name a file in SSL_CERT_FILE"
        );
    }
    Ok(roots)
}

/// How an HTTPS client trusts: TLS 1.2 or 1.3, [`authorities`].
///
/// # Errors
/// `further` holds no authorities.
pub fn https(further: Option<&Path>) -> Result<ClientConfig, TrustError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(authorities(further)?)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// What is wrong with a PEM file, in words: the library shows the octets of a label as numbers.
#[must_use]
pub fn pem_fault(error: &pem::Error) -> String {
    if let pem::Error::MissingSectionEnd { end_marker } = error {
        let label = String::from_utf8_lossy(end_marker);
        return format!("the line `-----END {label}-----` is missing");
    }
    if let pem::Error::IllegalSectionStart { line } = error {
        let line = String::from_utf8_lossy(line);
        return format!("the line `{}` does not end with five hyphens", line.trim());
    }
    error.to_string()
}

fn add(path: &Path, roots: &mut RootCertStore) -> Result<(), TrustError> {
    let unreadable = |source| TrustError::Unreadable { path: path.to_owned(), source };
    let before = roots.len();
    for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
        let certificate = certificate.map_err(unreadable)?;
        roots.add(certificate).map_err(|_| TrustError::NoAuthority(path.to_owned()))?;
    }
    if roots.len() == before {
        return Err(TrustError::NoAuthority(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_pem_file_is_told_in_words() {
        let fault = |text: &str| {
            let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
            pem_fault(&read.expect_err("broken"))
        };
        let cut_off = fault("-----BEGIN CERTIFICATE-----\nAAAA\n");
        assert_eq!(cut_off, "the line `-----END CERTIFICATE-----` is missing");
        let begins_wrong = fault("-----BEGIN CERTIFICATE--\nAAAA\n");
        assert!(begins_wrong.contains("`-----BEGIN CERTIFICATE--`"), "{begins_wrong}");
    }
}
