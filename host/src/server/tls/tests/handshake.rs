//! Versions, names, and tickets.

use super::*;

#[test]
fn clients_of_both_versions_are_served() {
    let given = Given::new();
    let certificates = given.open().expect("loaded");
    for (version, name) in [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)]
    {
        let seen = shake(&client(&given.certificate(), &[version]), &certificates);
        assert_eq!(seen.expect("a handshake").version, name);
    }
}

#[test]
fn a_client_of_tls_1_1_is_refused_for_its_version() {
    let given = Given::new();
    let certificates = given.open().expect("loaded");
    let answer = |version| {
        let mut server = ServerConnection::new(certificates.server_config()).expect("a server");
        server.read_tls(&mut client_hello(version).as_slice()).expect("read");
        let result = server.process_new_packets().map(|_| ());
        let mut answer = Vec::new();
        server.write_tls(&mut answer).expect("written");
        (result, answer)
    };
    let (result, alert) = answer(0x0302);
    let expected = rustls::PeerIncompatible::Tls12NotOffered;
    assert_eq!(result, Err(rustls::Error::PeerIncompatible(expected)));
    assert_eq!(alert.last(), Some(&70), "protocol_version");
    assert_eq!(answer(0x0303).0, Ok(()), "the same hello, but for its version");
}

/// The smallest hello that a server of TLS 1.2 answers, of a version.
fn client_hello(version: u16) -> Vec<u8> {
    let mut body = version.to_be_bytes().to_vec();
    body.extend([7; 32]);
    // No session, ECDHE with ECDSA and AES-128-GCM, no compression.
    body.extend([0, 0, 2, 0xc0, 0x2b, 1, 0]);
    let (p_256, ecdsa) = ([0, 10, 0, 4, 0, 2, 0, 23], [0, 13, 0, 4, 0, 2, 4, 3]);
    body.extend([0, 16]);
    body.extend(p_256.into_iter().chain(ecdsa));
    let length = u8::try_from(body.len()).expect("short");
    let mut handshake = vec![1, 0, 0, length];
    handshake.extend(body);
    let length = u8::try_from(handshake.len()).expect("short");
    let mut record = vec![0x16, 3, 1, 0, length];
    record.extend(handshake);
    record
}

#[test]
fn a_client_that_comes_again_resumes() {
    let given = Given::new();
    let certificates = given.open().expect("loaded");
    for version in [&TLS12, &TLS13] {
        let client = client(&given.certificate(), &[version]);
        let kinds: Vec<_> =
            (0..2).map(|_| shake(&client, &certificates).expect("a handshake").kind).collect();
        assert_eq!(kinds, [HandshakeKind::Full, HandshakeKind::Resumed], "{version:?}");
    }
}

#[test]
fn without_settings_a_client_that_trusts_the_authority_is_served() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(directory.path()).expect("a data directory");
    let open = || {
        let (smtp, acme) = (Smtp::default(), Acme::default());
        let hostname = Hostname::localhost();
        Certificates::open((&smtp, &acme), &data, &hostname, Clock::system()).expect("made")
    };
    let certificates = open();
    let authority = certificates.ca_file().expect("self-signed");
    assert!(authority.is_absolute());
    let client = client(&authority, &[&TLS13]);
    let first = shake(&client, &certificates).expect("a handshake").certificate;
    let again = shake(&client, &open()).expect("after a restart").certificate;
    assert_eq!(first, again);
    assert!(certificates.expires_at().is_some_and(|it| it > Clock::system().now()));
}
