//! Handshakes with what is live, before and after an exchange of the files.

mod handshake;
mod refused;
mod reload;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, HandshakeKind, RootCertStore, ServerConnection};
use rustls::{ProtocolVersion, SupportedProtocolVersion};
use tempfile::TempDir;

use super::*;

/// A directory with a certificate that is its own authority, and its key.
struct Given {
    directory: TempDir,
    smtp: Smtp,
}

/// What a client saw of a handshake.
struct Seen {
    certificate: CertificateDer<'static>,
    version: ProtocolVersion,
    kind: HandshakeKind,
}

impl Given {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let (certificate, private_key) = paths(directory.path());
        write_pair(directory.path());
        let smtp = Smtp {
            certificate: Some(certificate),
            private_key: Some(private_key),
            ..Smtp::default()
        };
        Self { directory, smtp }
    }

    fn open(&self) -> Result<Certificates, CertificateError> {
        let data = DataDir::open(self.directory.path()).expect("a data directory");
        let settings = (&self.smtp, &Acme::default());
        Certificates::open(settings, &data, &Hostname::localhost(), Clock::system())
    }

    fn certificate(&self) -> PathBuf {
        paths(self.directory.path()).0
    }

    fn private_key(&self) -> PathBuf {
        paths(self.directory.path()).1
    }
}

#[test]
fn a_certificate_tells_when_it_ends_and_which_hosts_it_names() {
    let given = Given::new();
    let live = given.open().expect("loads");
    assert!(live.names("localhost") && !live.names("mail.example.net"));
    let (data, acme) = (DataDir::unopened_at(given.directory.path()), Acme::default());
    let look_at = |smtp: &Smtp| look((smtp, &acme), &data, "localhost");
    let seen = look_at(&given.smtp).expect("named").expect("usable");
    assert_eq!(seen, (live.expires_at().expect("its end"), true));
    std::fs::write(given.private_key(), "no key").expect("written");
    let faults = look_at(&given.smtp).expect("named").expect_err("unusable");
    assert_eq!(faults.len(), 1);
    assert!(look_at(&Smtp::default()).is_none(), "the server makes its own");
}

fn paths(directory: &Path) -> (PathBuf, PathBuf) {
    (directory.join("cert.pem"), directory.join("key.pem"))
}

fn write_pair(directory: &Path) {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    let (certificate_path, key_path) = paths(directory);
    std::fs::write(certificate_path, certificate.pem()).expect("written");
    std::fs::write(key_path, key.serialize_pem()).expect("written");
}

fn first_in(file: &Path) -> CertificateDer<'static> {
    CertificateDer::from_pem_file(file).expect("a certificate")
}

/// A client that trusts the first certificate in this file.
fn client(authority: &Path, versions: &[&'static SupportedProtocolVersion]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(first_in(authority)).expect("an authority");
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(versions)
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

/// Both sides of a handshake, and what the server wrote with it; in memory.
fn shake(client: &Arc<ClientConfig>, certificates: &Certificates) -> Result<Seen, rustls::Error> {
    let name = "localhost".try_into().expect("a name");
    let mut client = ClientConnection::new(Arc::clone(client), name)?;
    let mut server = ServerConnection::new(certificates.server_config())?;
    // Until the tickets have come, too.
    while client.is_handshaking() || server.is_handshaking() || server.wants_write() {
        let mut sent = Vec::new();
        client.write_tls(&mut sent).expect("a vector takes everything");
        server.read_tls(&mut sent.as_slice()).expect("read");
        server.process_new_packets()?;
        let mut sent = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut sent).expect("a vector takes everything");
        }
        client.read_tls(&mut sent.as_slice()).expect("read");
        client.process_new_packets()?;
    }
    let certificate = client.peer_certificates().and_then(<[_]>::first).expect("one");
    Ok(Seen {
        certificate: certificate.clone().into_owned(),
        version: client.protocol_version().expect("agreed"),
        kind: client.handshake_kind().expect("done"),
    })
}
