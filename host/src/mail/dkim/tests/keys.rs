//! Keys: what is published of them, and what is taken for one.

use aws_lc_rs::signature::{ED25519, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

use super::*;

/// `SubjectPublicKeyInfo` (RFC 5280) of an RSA key, down to the first octet of its modulus.
const RSA_2048: &str = "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA";

#[test]
fn a_stored_key_is_the_key_that_was_made() {
    for algorithm in [Algorithm::Rsa, Algorithm::Ed25519] {
        let made = SigningKey::generate(algorithm).expect("a key");
        let read = SigningKey::from_pkcs8(algorithm, &made.pkcs8).expect("the same key");
        assert_eq!((read.algorithm(), made.key.algorithm()), (algorithm, algorithm));
        assert_eq!(read.public_base64(), made.key.public_base64());
        let other = SigningKey::generate(algorithm).expect("a key");
        assert_ne!(other.key.public_base64(), made.key.public_base64());
    }
}

#[test]
fn an_rsa_key_is_published_with_2048_bits_and_the_usual_exponent() {
    let public = STANDARD.decode(rsa_key().key.public_base64()).expect("base64");
    assert!(rsa_key().key.public_base64().starts_with(RSA_2048));
    assert!(public.ends_with(&[2, 3, 1, 0, 1]));
    assert_eq!(public.len(), 294);
}

#[test]
fn an_ed25519_key_is_published_as_its_32_octets() {
    assert_eq!(rfc_key().public_base64(), "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
}

#[test]
fn what_a_key_signs_verifies_with_what_is_published() {
    let digest = aws_lc_rs::digest::digest(&SHA256, b"message");
    let rsa = &rsa_key().key;
    let published = STANDARD.decode(rsa.public_base64()).expect("base64");
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, published)
        .verify(b"message", &rsa.sign(&digest).expect("a signature"))
        .expect("RSA verifies the message");
    let ed25519 = SigningKey::generate(Algorithm::Ed25519).expect("a key").key;
    let published = STANDARD.decode(ed25519.public_base64()).expect("base64");
    UnparsedPublicKey::new(&ED25519, published)
        .verify(digest.as_ref(), &ed25519.sign(&digest).expect("a signature"))
        .expect("Ed25519 verifies the hash of the message");
}

#[test]
fn what_is_no_key_of_its_algorithm_is_refused() {
    let refused = |algorithm, pkcs8: &[u8]| {
        let error = SigningKey::from_pkcs8(algorithm, pkcs8).expect_err("it is refused");
        assert_eq!(error, KeyError::Refused { algorithm });
    };
    let ed25519 = SigningKey::generate(Algorithm::Ed25519).expect("a key");
    refused(Algorithm::Rsa, &ed25519.pkcs8);
    refused(Algorithm::Ed25519, &rsa_key().pkcs8);
    for algorithm in [Algorithm::Rsa, Algorithm::Ed25519] {
        refused(algorithm, b"");
        refused(algorithm, b"-----BEGIN PRIVATE KEY-----");
        let (start, _) = rsa_key().pkcs8.split_at(100);
        refused(algorithm, start);
    }
}

#[test]
fn the_debug_text_of_a_key_tells_nothing_secret() {
    let Generated { pkcs8, key } = SigningKey::generate(Algorithm::Ed25519).expect("a key");
    let text = format!("{:?}", Generated { pkcs8, key: rfc_key() });
    assert_eq!(
        text,
        "Generated { pkcs8: SecretDocument(…), key: SigningKey { algorithm: Ed25519, public: \
         \"11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\", .. } }"
    );
    assert_eq!(key.algorithm(), Algorithm::Ed25519);
}

#[test]
fn the_word_of_an_algorithm_is_read_back() {
    for algorithm in [Algorithm::Rsa, Algorithm::Ed25519] {
        assert_eq!(algorithm.as_str().parse(), Ok(algorithm));
        assert_eq!(algorithm.to_string(), algorithm.as_str());
    }
    let unknown = "rsa-sha1".parse::<Algorithm>().expect_err("it is unknown");
    assert!(unknown.to_string().starts_with("`rsa-sha1` is no signature algorithm"));
}
