//! The certificate for who has none yet: signed by an authority of its own, whose key is thrown
//! away, so that nothing else can ever be signed in its name.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use rustls::RootCertStore;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use time::OffsetDateTime;

use super::error::CertificateError;
use super::pem::Pair;
use super::provider::provider;
use super::setting::{File, Setting};
use crate::clock::Timestamp;
use crate::config::Hostname;
use crate::server::data_dir::DataDir;

const VALIDITY: Duration = Duration::from_hours(24 * 365);
/// Made anew when it has no longer to live.
const RENEWED_BEFORE_END: Duration = Duration::from_hours(24 * 30);
/// For clients whose clock is slow.
const BACKDATED: Duration = Duration::from_hours(24);

const AUTHORITY: &str = "ca.pem";
const CERTIFICATE: &str = "cert.pem";
const PRIVATE_KEY: &str = "key.pem";

/// Where a self-signed certificate is kept, and for which names.
#[derive(Debug)]
pub(super) struct SelfSignedCertificate {
    directory: DataDir,
    names: Vec<String>,
}

impl SelfSignedCertificate {
    /// For this host name, and for this machine from inside.
    pub fn new(directory: DataDir, hostname: &Hostname) -> Self {
        let mut names = vec![hostname.to_string()];
        let inside = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        names.extend(inside.into_iter().filter(|name| name != hostname.as_str()));
        Self { directory, names }
    }

    pub fn pair(&self) -> Pair {
        let file = |name| File { setting: Setting::SelfSigned, path: self.directory.file(name) };
        Pair { certificate: file(CERTIFICATE), private_key: file(PRIVATE_KEY) }
    }

    pub fn ca_file(&self) -> PathBuf {
        let path = self.directory.file(AUTHORITY);
        std::path::absolute(&path).unwrap_or(path)
    }

    /// Makes it where there is none that serves for the next 30 days.
    pub fn keep_fresh(&self, now: Timestamp) -> Result<(), CertificateError> {
        if self.serves(now.after(RENEWED_BEFORE_END)) {
            return Ok(());
        }
        tracing::info!(names = ?self.names, "generating a self-signed certificate for the TLS listeners");
        self.make(now)
    }

    /// Whether a client that trusts the authority would take it, at that time and by every name.
    fn serves(&self, at: Timestamp) -> bool {
        let Ok(loaded) = self.pair().read().and_then(|files| self.pair().load(&files)) else {
            return false;
        };
        let mut roots = RootCertStore::empty();
        let authority = CertificateDer::from_pem_file(self.directory.file(AUTHORITY));
        if !authority.is_ok_and(|authority| roots.add(authority).is_ok()) {
            return false;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider());
        let (Ok(verifier), Some(certificate)) = (verifier.build(), loaded.key.cert.first()) else {
            return false;
        };
        let at = UnixTime::since_unix_epoch(Duration::from_millis(at.unsigned_millis()));
        self.names.iter().all(|name| {
            ServerName::try_from(name.as_str()).is_ok_and(|name| {
                verifier.verify_server_cert(certificate, &[], &name, &[], at).is_ok()
            })
        })
    }

    fn make(&self, now: Timestamp) -> Result<(), CertificateError> {
        let authority_key = KeyPair::generate()?;
        let mut params = params(Vec::new(), "Waxwing self-signed authority", now)?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority = params.self_signed(&authority_key)?;
        let issuer = Issuer::from_params(&params, authority_key);

        let key = KeyPair::generate()?;
        let mut params = self::params(self.names.clone(), "Waxwing relay", now)?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &issuer)?;

        let write = |name, text: String| self.directory.write_private(name, text.as_bytes());
        write(PRIVATE_KEY, key.serialize_pem())?;
        write(CERTIFICATE, certificate.pem())?;
        write(AUTHORITY, authority.pem())?;
        Ok(())
    }
}

fn params(
    names: Vec<String>,
    common_name: &str,
    now: Timestamp,
) -> Result<CertificateParams, rcgen::Error> {
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name.remove(DnType::CommonName);
    params.distinguished_name.push(DnType::CommonName, common_name);
    params.not_before = date(now).saturating_sub(BACKDATED.try_into().unwrap_or_default());
    params.not_after = date(now.after(VALIDITY));
    Ok(params)
}

fn date(moment: Timestamp) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(moment.millis() / 1_000)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
