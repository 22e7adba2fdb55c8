//! STARTTLS, TLS from the first octet, certificates.

use rustls::HandshakeKind;

use super::peer::{TRUST, shown};
use super::*;
use crate::trust::TrustError;

const OFFER: &str = "
    S: 220 mx.example ready
    C: EHLO out.example
    S: 250-mx.example
    S: 250-PIPELINING
    S: 250 STARTTLS
";

const UPGRADE: &str = "
    C: STARTTLS
    S: 220 go ahead
    TLS
    C: EHLO out.example
    S: 250-mx.example
    S: 250 SIZE 5
";

#[tokio::test]
async fn starttls_is_followed_by_another_ehlo_that_counts_alone() {
    let peer = Peer::plays(&[OFFER, UPGRADE, "wait"].concat()).await;
    let mut session = peer.open(Security::Verified).await.expect("a session");
    assert_eq!(session.tls(), Some("TLS 1.3, verified"));
    let after = Extensions { size: Some(5), ..Extensions::default() };
    assert_eq!(session.extensions(), &after, "PIPELINING was offered before the handshake");
    let expected = dialog(&[OFFER, &UPGRADE.replace("TLS\n", "*: TLS 1.3, verified\n")]);
    let expected = expected.replace("START*: TLS 1.3, verified", "STARTTLS");
    assert_eq!(shown(&session.take_transcript()), expected);
    drop(session);
    peer.heard().await;
}

#[tokio::test]
async fn an_old_version_is_named() {
    let peer = Peer::plays_with(&[OFFER, UPGRADE].concat(), &TRUST.old_server).await;
    let session = peer.open(Security::Opportunistic).await.expect("a session");
    assert_eq!(session.tls(), Some("TLS 1.2, unverified"));
}

#[tokio::test]
async fn a_second_handshake_with_a_server_continues_the_first() {
    // With a server of its own: no other test's tickets.
    let server = std::sync::Arc::new(rustls::ServerConfig::clone(&TRUST.server));
    let script = ["TLS", HELLO, "C: QUIT\nS: 221 bye"].join("\n");
    let client = TlsClient::clone(&TRUST.client);
    let mut kinds = Vec::new();
    for _ in 0..2 {
        let peer = Peer::plays_with(&script, &server).await;
        let dial = peer.dial(Security::Implicit);
        let session = Session::open(&dial, &client, &Timeouts::default()).await;
        session.expect("a session").quit().await;
        kinds.extend(peer.heard().await.handshakes);
    }
    assert_eq!(kinds.last(), Some(&HandshakeKind::Resumed));
}

#[tokio::test]
async fn tls_from_the_first_octet_has_a_greeting_inside() {
    let peer = Peer::plays(&["TLS", HELLO, "wait"].join("\n")).await;
    let session = peer.open(Security::Implicit).await.expect("a session");
    assert_eq!(session.tls(), Some("TLS 1.3, verified"));
    drop(session);
    peer.heard().await;
}

#[tokio::test]
async fn a_certificate_of_another_name_counts_only_where_none_is_asked_for() {
    for (security, is_taken) in
        [(Security::Opportunistic, true), (Security::Verified, false), (Security::Implicit, false)]
    {
        let script = match security {
            Security::Implicit => ["TLS", HELLO].join("\n"),
            Security::Plain | Security::Opportunistic | Security::Verified => {
                [OFFER, UPGRADE].concat()
            }
        };
        let peer = Peer::plays(&script).await;
        let dial = Dial { host: "other.example", ..peer.dial(security) };
        match peer.open_with(&dial).await {
            Ok(session) => {
                assert!(is_taken, "{security:?}");
                assert_eq!(session.tls(), Some("TLS 1.3, unverified"));
            }
            Err(broken) => {
                assert!(!is_taken, "{security:?}");
                assert_eq!((broken.stage, &broken.tls), (Stage::Handshake, &None));
                assert!(matches!(&broken.cause, Cause::Certificate(_)), "{broken:?}");
                let last = broken.transcript.lines().last().expect("a line");
                assert!(last.starts_with("*: invalid peer certificate"), "{last}");
            }
        }
    }
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_not_valid() {
    let strangers = TlsClient::new(None).expect("a client");
    let peer = Peer::plays(&[OFFER, UPGRADE].concat()).await;
    let dial = peer.dial(Security::Verified);
    let broken = Session::open(&dial, &strangers, &Timeouts::default()).await;
    let broken = broken.expect_err("no session");
    assert_eq!(broken.stage, Stage::Handshake);
    assert!(matches!(broken.cause, Cause::Certificate(_)), "{broken:?}");
}

#[tokio::test]
async fn a_server_without_starttls_is_used_only_where_none_is_asked_for() {
    let peer = Peer::plays(HELLO).await;
    assert_eq!(peer.open(Security::Opportunistic).await.expect("a session").tls(), None);
    let peer = Peer::plays(&[HELLO, "C: QUIT\nS: 221 bye"].concat()).await;
    let broken = peer.open(Security::Verified).await.expect_err("no session");
    assert_eq!(broken.stage, Stage::StartTls);
    assert_eq!(broken.cause, Cause::Unsupported(Unsupported::StartTls));
    peer.heard().await;
}

#[tokio::test]
async fn a_refused_starttls_is_borne_only_where_none_is_asked_for() {
    let refusal = "C: STARTTLS\nS: 454 4.7.0 not now\n";
    let peer = Peer::plays(&[OFFER, refusal, "wait"].concat()).await;
    let session = peer.open(Security::Opportunistic).await.expect("a session");
    assert_eq!((session.tls(), session.extensions().pipelining), (None, true));
    drop(session);
    peer.heard().await;
    let peer = Peer::plays(&[OFFER, refusal, "C: QUIT\nS: 221 bye"].concat()).await;
    let broken = peer.open(Security::Verified).await.expect_err("no session");
    assert_eq!(broken.stage, Stage::StartTls);
    peer.heard().await;
}

#[tokio::test]
async fn plain_text_behind_the_reply_to_starttls_ends_the_session() {
    let script = [OFFER, "C: STARTTLS\nS| 220 go\\r\\n250 STARTTLS was never said\\r\\n\nwait"];
    for security in [Security::Opportunistic, Security::Verified] {
        let peer = Peer::plays(&script.concat()).await;
        let broken = peer.open(security).await.expect_err("no session");
        assert_eq!(broken.stage, Stage::StartTls);
        assert_eq!(broken.cause, Cause::Protocol(Violation::Injected));
        peer.heard().await;
    }
}

#[tokio::test]
async fn a_handshake_that_fails_says_so_and_leaves_the_choice() {
    let peer = Peer::plays(&[OFFER, "C: STARTTLS\nS: 220 go", "close"].join("\n")).await;
    let broken = peer.open(Security::Opportunistic).await.expect_err("no handshake");
    assert_eq!(broken.stage, Stage::Handshake);

    let script = [OFFER, "C: STARTTLS\nS: 220 go", "octets 50\nS: 554 no TLS here\nlinger"];
    let peer = Peer::plays(&script.join("\n")).await;
    let broken = peer.open(Security::Opportunistic).await.expect_err("no handshake");
    assert_eq!(broken.stage, Stage::Handshake);
    assert!(matches!(broken.cause, Cause::Tls(_) | Cause::UnnameableHost { .. }), "{broken:?}");

    let script = [OFFER, "C: STARTTLS\nS: 220 go", "octets 50\nlinger"];
    let peer = Peer::plays(&script.join("\n")).await.with_little_time();
    let broken = peer.open(Security::Opportunistic).await.expect_err("no handshake");
    assert_eq!((broken.stage, broken.cause), (Stage::Handshake, Cause::Timeout));
}

#[tokio::test]
async fn a_host_without_a_name_has_no_valid_certificate() {
    let peer = Peer::plays(&[OFFER, "C: STARTTLS\nS: 220 go"].concat()).await;
    let dial = Dial { host: "no name", ..peer.dial(Security::Verified) };
    let broken = peer.open_with(&dial).await.expect_err("no session");
    assert_eq!(broken.stage, Stage::Handshake);
    let peer = Peer::plays(&[OFFER, UPGRADE].concat()).await;
    let dial = Dial { host: "no name", ..peer.dial(Security::Opportunistic) };
    assert!(peer.open_with(&dial).await.expect("a session").tls().is_some());
}

#[test]
fn a_file_without_authorities_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ca.pem");
    assert!(matches!(TlsClient::new(Some(&path)), Err(TrustError::Unreadable { .. })));
    std::fs::write(&path, "no PEM at all").expect("written");
    assert!(matches!(TlsClient::new(Some(&path)), Err(TrustError::NoAuthority(_))));
}
