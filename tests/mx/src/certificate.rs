//! Certificates: of an authority that a test may trust, and all the wrong ones.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};

/// What a server shows in its handshake.
#[derive(Debug, Clone)]
pub struct Certificate(pub(crate) Arc<ServerConfig>);

/// An authority of a test's own.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Certificate {
    /// Signed by nobody but itself, for these names (host names or addresses).
    ///
    /// # Panics
    /// A name is none.
    #[must_use]
    pub fn self_signed(names: &[&str]) -> Self {
        let key = KeyPair::generate().expect("a key");
        let certificate = params(names).self_signed(&key).expect("signed");
        Self::of(certificate.der().clone(), &key)
    }

    fn of(certificate: CertificateDer<'static>, key: &KeyPair) -> Self {
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .expect("a key and its certificate");
        Self(Arc::new(config))
    }
}

impl Authority {
    /// A new one, which nobody trusts yet.
    ///
    /// # Panics
    /// No key can be made.
    #[must_use]
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = params(&[]);
        params.distinguished_name.push(DnType::CommonName, "An authority of the tests");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let pem = params.self_signed(&key).expect("signed").pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    /// What a client needs to trust it.
    #[must_use]
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// A good certificate for these names (host names or addresses).
    #[must_use]
    pub fn issue(&self, names: &[&str]) -> Certificate {
        self.sign(&params(names))
    }

    /// One that has expired long ago.
    #[must_use]
    pub fn issue_expired(&self, names: &[&str]) -> Certificate {
        let mut params = params(names);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Certificate {
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        Certificate::of(certificate.der().clone(), &key)
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|it| (*it).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names of hosts, or addresses");
    params.distinguished_name.push(DnType::CommonName, "A server of the tests");
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params
}
