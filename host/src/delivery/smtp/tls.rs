//! TLS towards other servers: with a certificate that is verified, or with any (RFC 7435).

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme};
use tokio_rustls::TlsConnector;

use super::{Dial, Security};
use crate::trust::{self, TrustError};

/// Servers whose session tickets are kept.
const TICKETS: usize = 1_024;

/// Both ways of a handshake, with the session tickets of each.
#[derive(Debug, Clone)]
pub struct TlsClient {
    verifying: Arc<ClientConfig>,
    lenient: Arc<ClientConfig>,
}

impl TlsClient {
    /// A client that trusts [`trust::authorities`].
    ///
    /// # Errors
    /// `further` holds no authorities.
    pub fn new(further: Option<&Path>) -> Result<Self, TrustError> {
        let roots = trust::authorities(further)?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = || {
            ClientConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&[&TLS13, &TLS12])
        };
        let verifying = builder()?.with_root_certificates(roots).with_no_client_auth();
        let any = Arc::new(AnyCertificate(Arc::clone(&provider)));
        let lenient =
            builder()?.dangerous().with_custom_certificate_verifier(any).with_no_client_auth();
        Ok(Self { verifying: with_tickets(verifying), lenient: with_tickets(lenient) })
    }

    /// The way that verifies, for other protocols.
    #[must_use]
    pub fn verifying(&self) -> ClientConfig {
        ClientConfig::clone(&self.verifying)
    }

    /// The way of this call; none without TLS.
    pub(super) fn connector(&self, security: Security) -> Option<TlsConnector> {
        let config = match security {
            Security::Plain => return None,
            Security::Opportunistic => &self.lenient,
            Security::Verified | Security::Implicit => &self.verifying,
        };
        Some(TlsConnector::from(Arc::clone(config)))
    }
}

/// The name that the certificate is verified for; without verification any will do.
pub(super) fn server_name(dial: &Dial<'_>) -> Option<ServerName<'static>> {
    let name = ServerName::try_from(dial.host.trim_end_matches('.').to_owned()).ok();
    let address = ServerName::from(dial.address.ip());
    match dial.security {
        Security::Plain | Security::Opportunistic => Some(name.unwrap_or(address)),
        Security::Verified | Security::Implicit => name,
    }
}

/// As people know it, e.g. `TLS 1.3, verified`.
pub(super) fn describe(version: Option<ProtocolVersion>, security: Security) -> String {
    let version = match version {
        Some(ProtocolVersion::TLSv1_3) => "TLS 1.3",
        Some(ProtocolVersion::TLSv1_2) => "TLS 1.2",
        Some(_) | None => "TLS",
    };
    let trust = match security {
        Security::Plain | Security::Opportunistic => "unverified",
        Security::Verified | Security::Implicit => "verified",
    };
    format!("{version}, {trust}")
}

fn with_tickets(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.resumption = Resumption::in_memory_sessions(TICKETS);
    Arc::new(config)
}

/// Takes every certificate: whoever can show a false one could as well take STARTTLS away.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
