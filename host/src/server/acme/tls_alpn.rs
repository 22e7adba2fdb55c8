//! What the CA is shown in a TLS handshake (RFC 8737): a certificate with the digest of the key authorization, to a client
//! that wants `acme-tls/1` and nothing else. Everybody else gets the usual certificate.

use std::sync::Arc;

use rcgen::{CertificateParams, CustomExtension, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::challenges::Challenges;
use super::error::AcmeError;
use crate::config::{Acme, Challenge};
use crate::server::listeners::{HTTP_1, HTTP_2};

const ACME: &[u8] = b"acme-tls/1";

#[derive(Debug)]
struct Resolver {
    usual: Arc<dyn ResolvesServerCert>,
    challenges: Challenges,
}

/// What the port for HTTPS shows: the usual certificate, and the answers to the CA where it asks by TLS.
pub fn server_config(
    usual: &ServerConfig,
    acme: &Acme,
    challenges: &Challenges,
) -> Arc<ServerConfig> {
    let mut config = usual.clone();
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    if acme.enabled && acme.challenge == Challenge::TlsAlpn01 {
        config.alpn_protocols.push(ACME.to_vec());
        let usual = Arc::clone(&usual.cert_resolver);
        config.cert_resolver = Arc::new(Resolver { usual, challenges: challenges.clone() });
    }
    Arc::new(config)
}

/// The certificate that proves a name.
pub(super) fn certificate(name: &str, digest: &[u8]) -> Result<CertifiedKey, AcmeError> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(vec![name.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let certificate = params.self_signed(&key)?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    // Not checked as a server's certificate: its extension is critical, and no client but a CA knows it.
    Ok(CertifiedKey::new(vec![certificate.der().clone()], any_supported_type(&key)?))
}

impl ResolvesServerCert for Resolver {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let is_of_the_ca = hello
            .alpn()
            .is_some_and(|mut wanted| wanted.next() == Some(ACME) && wanted.next().is_none());
        if is_of_the_ca {
            return self.challenges.certificate(hello.server_name()?);
        }
        self.usual.resolve(hello)
    }
}
