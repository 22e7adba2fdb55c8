//! What is taken for a signature, and what is not.

use super::*;
use crate::mail::dkim::{PublicKey, Signature, signatures};

const RSA: Algorithm = Algorithm::Rsa;
const ED25519: Algorithm = Algorithm::Ed25519;

fn rsa() -> PublicKey {
    PublicKey::from_base64(RSA, &rsa_key().key.public_base64()).expect("a key")
}

fn ed25519() -> PublicKey {
    PublicKey::from_base64(ED25519, &rfc_key().public_base64()).expect("a key")
}

/// What the first signature of a message that a key fits says: header, body.
fn verified(message: &[u8]) -> (bool, bool) {
    let message = Message::split(message).expect("a message");
    let both = |it: Signature<'_>| {
        let key = if it.algorithm == RSA { rsa() } else { ed25519() };
        (it.verifies_header(&message.fields, &key), it.verifies_body(message.body, AT))
    };
    signatures(&message).next().map_or((false, false), both)
}

#[test]
fn what_is_signed_here_verifies_here() {
    for (what, message) in samples::bodies().into_iter().chain(samples::headers()) {
        let signed = [fields(&message), message].concat();
        let read = Message::split(&signed).expect("a message");
        let found: Vec<Signature<'_>> = signatures(&read).collect();
        let [by_rsa, by_ed25519] = found.as_slice() else { panic!("two signatures: {what}") };
        assert!(by_rsa.verifies_header(&read.fields, &rsa()), "{what}");
        assert!(by_ed25519.verifies_header(&read.fields, &ed25519()), "{what}");
        assert!(!by_rsa.verifies_header(&read.fields, &ed25519()), "{what}");
        assert!(by_rsa.verifies_body(read.body, AT), "{what}");
        assert_eq!((by_rsa.domain.as_str(), by_rsa.selector.as_str()), ("example.com", "r"));
        assert!(["from", "to", "message-id"].iter().all(|it| by_rsa.covers(it)));
    }
}

#[test]
fn a_changed_header_does_not_verify_and_one_of_a_cut_body_does() {
    let message = "From: a@example.com\r\nMessage-ID: <1@example.com>\r\n\r\nHello\r\n";
    let signed = String::from_utf8([fields(message.as_bytes()), message.into()].concat());
    let signed = signed.expect("ASCII");
    assert_eq!(verified(signed.as_bytes()), (true, true));
    assert_eq!(verified(signed.replace("Hello", "Bye").as_bytes()), (true, false));
    assert_eq!(verified(signed.replace("\r\n\r\nHello\r\n", "\r\n").as_bytes()), (true, false));
    for (from, to) in [
        ("<1@", "<2@"),
        ("From: a@", "From: b@"),
        ("d=example.com", "d=example.net"),
        ("\r\nFrom: ", "\r\nTo: x@example.net\r\nFrom: "),
        ("\r\nMessage-ID: ", "\r\nMessage-ID: <2@example.com>\r\nMessage-ID: "),
    ] {
        assert!(!verified(signed.replacen(from, to, 1).as_bytes()).0, "{to}");
    }
}

/// RFC 8463 appendix A.3, whose signature is in the form relaxed/relaxed.
#[test]
fn the_example_of_the_rfc_verifies() {
    let message = rfc::signed_dinner();
    assert_eq!(verified(message.as_bytes()), (true, true));
}

#[test]
fn a_signature_in_the_simple_form_covers_every_octet() {
    // Signed by dkimpy 1.1.8 with the key of RFC 8463.
    let message = include_str!("simple.eml").replace("\r\n", "\n").replace('\n', "\r\n");
    assert_eq!(verified(message.as_bytes()), (true, true));
    assert_eq!(verified(format!("{message}\r\n\r\n").as_bytes()), (true, true));
    assert_eq!(verified(message.replace("To: ", "To:  ").as_bytes()), (false, true));
    assert_eq!(verified(message.replace("two  spaces", "two spaces").as_bytes()), (true, false));
}

#[test]
fn what_weakens_a_proof_is_no_proof() {
    let message = [fields(MESSAGE.as_bytes()), MESSAGE.into()].concat();
    let message = String::from_utf8(message).expect("ASCII");
    assert_eq!(verified(message.as_bytes()), (true, true));
    let body = |changed: String| {
        let read = Message::split(changed.as_bytes()).expect("a message");
        let now = AT.after(std::time::Duration::from_secs(100));
        signatures(&read).next().map(|it| it.verifies_body(read.body, now))
    };
    let tag = |tag: &str| message.replacen("v=1;", &format!("v=1; {tag};"), 1);
    assert_eq!(body(tag("x=1")), Some(false), "it has expired");
    assert_eq!(body(tag("l=3")), Some(false), "it covers a part of the body");
    assert_eq!(body(message.replacen("rsa-sha256", "rsa-sha1", 1)), Some(true), "the other one");
    let unread = message.replacen("v=1", "v=2", 1);
    assert_eq!(signatures(&Message::split(unread.as_bytes()).expect("one")).count(), 1);
}

#[test]
fn a_key_record_is_read_as_it_is_published() {
    let public = rfc_key().public_base64();
    let reads = |algorithm, record: &str| PublicKey::from_record(algorithm, record).is_some();
    assert!(reads(ED25519, &format!("v=DKIM1; k=ed25519; p={public}")));
    assert!(reads(ED25519, &format!("k=ed25519;h=sha1:sha256;p={public};")));
    assert!(reads(RSA, &format!("p={}", rsa_key().key.public_base64())));
    for refused in ["v=DKIM1; k=ed25519; p=", "v=DKIM2; k=ed25519; p=AA==", "k=ed25519; p=%", ""] {
        assert!(!reads(ED25519, refused), "{refused}");
    }
    assert!(!reads(ED25519, &format!("k=ed25519; h=sha1; p={public}")));
    assert!(!reads(RSA, &format!("k=ed25519; p={public}")));
}
