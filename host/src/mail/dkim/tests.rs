//! Signatures: their text, what they cover, and whether others verify them.

mod keys;
mod random;
mod rfc;
mod samples;
mod verifiers;
mod verify;

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::mail::field::InvalidHeader;

/// 2026-07-01: past, because verifiers refuse signatures of the future.
const AT: Timestamp = Timestamp::from_millis(1_782_864_000_999);
const MESSAGE: &str = "From: a@example.com\r\nSubject: x\r\n\r\nHello\r\n";

/// The key of RFC 8463 appendix A.
fn rfc_key() -> SigningKey {
    const SEED: &str = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=";
    let mut pkcs8 = vec![0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    pkcs8.extend(STANDARD.decode(SEED).expect("base64"));
    SigningKey::from_pkcs8(Algorithm::Ed25519, &pkcs8).expect("a key")
}

/// One RSA key for all tests: making one takes long.
fn rsa_key() -> &'static Generated {
    static KEY: OnceLock<Generated> = OnceLock::new();
    KEY.get_or_init(|| SigningKey::generate(Algorithm::Rsa).expect("a key"))
}

/// The signature fields of the RSA key, then of the Ed25519 key.
fn fields(message: &[u8]) -> Vec<u8> {
    let ed25519 = rfc_key();
    let signers = [("r", &rsa_key().key), ("e", &ed25519)].map(|(selector, key)| Signer {
        domain: "example.com",
        selector,
        key,
    });
    sign(message, &signers, AT).expect("it is signed")
}

fn fault(message: &str) -> Unsignable {
    let key = rfc_key();
    let signer = Signer { domain: "example.com", selector: "e", key: &key };
    sign(message.as_bytes(), &[signer], AT).expect_err("it is refused")
}

#[test]
fn a_signature_is_written_as_other_servers_write_it() {
    let key = rfc_key();
    let signer = Signer { domain: "example.com", selector: "wx1", key: &key };
    let field = sign(MESSAGE.as_bytes(), &[signer], AT).expect("it is signed");
    assert_eq!(
        String::from_utf8_lossy(&field),
        "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed; d=example.com;\r\n \
         s=wx1; t=1782864000; h=from:from:sender:reply-to:to:cc:subject:subject:\r\n \
         date:message-id:in-reply-to:references:mime-version:content-type:\r\n \
         content-transfer-encoding:content-disposition;\r\n \
         bh=Ba3gj8+xBPQLJTahTfzW6RbWQ/XPgESxkCi2B66PSQg=; b=\r\n \
         j1I/6/cUtYQlHdCE3By6AiVgc9DeO2wHIBJD/WGOQHsXN1ISEg/936w2h5C/L+P83S4on+2m\r\n \
         GcmYoYXHEGNPCw==\r\n"
    );
}

#[test]
fn each_signer_has_a_field_of_its_own_in_the_given_order() {
    let fields = String::from_utf8(fields(MESSAGE.as_bytes())).expect("ASCII");
    let (rsa, ed25519) = fields.split_once("\r\nDKIM-Signature: ").expect("two fields");
    assert!(rsa.contains("a=rsa-sha256;") && rsa.contains(" s=r;"), "{rsa}");
    assert!(ed25519.contains("a=ed25519-sha256;") && ed25519.contains(" s=e;"), "{ed25519}");
    let body_hash =
        |it: &str| it.split_once("bh=").map(|(_, rest)| rest.get(..44).map(str::to_owned));
    assert_eq!(body_hash(rsa), body_hash(ed25519));
    assert_eq!(sign(MESSAGE.as_bytes(), &[], AT), Ok(Vec::new()));
}

#[test]
fn no_line_of_a_signature_is_long() {
    let key = rfc_key();
    let domain = format!("{}.example", vec!["a".repeat(50); 4].join("."));
    let many = "References: <x@example.com>\r\n".repeat(200) + MESSAGE;
    let signers = [("a.b.c", domain.as_str(), &key), ("r", "example.com", &rsa_key().key)]
        .map(|(selector, domain, key)| Signer { domain, selector, key });
    let fields = sign(many.as_bytes(), &signers, AT).expect("it is signed");
    let fields = String::from_utf8(fields).expect("ASCII");
    for line in fields.split_terminator("\r\n") {
        assert!(line.len() <= 76 || line == format!(" d={domain};"), "{line}");
        assert!(!line.ends_with(' ') && !line.contains(['\r', '\n', '\t']), "{line:?}");
        assert!(line.starts_with([' ', 'D']) && line.trim() != "", "{line:?}");
    }
    assert_eq!(fields.matches("references").count(), 2 * 201);
}

#[test]
fn a_line_end_of_one_octet_is_refused_wherever_it_stands() {
    for message in [
        "From: a@example.com\r\n\r\nx\ny\r\n",
        "From: a@example.com\r\n\r\nx\ry\r\n",
        "From: a@example.com\r\n\r\nx\r",
        "From: a@example.com\r\n\r\nx\r\r\n",
        "From: a@example.com\r\n\r\n\n\r\n",
        "From: a@example.com\nSubject: x\r\n\r\n",
        "From: a@example.com\r\nSubject: x\ry\r\n\r\n",
        "From: a@example.com\r\nSubject: x\r\n y\n\r\n\r\n",
        "From: a@example.com\r",
    ] {
        assert_eq!(fault(message), Unsignable::BareLineEnd, "{message:?}");
    }
}

#[test]
fn a_message_without_one_author_field_is_refused() {
    assert_eq!(fault(""), Unsignable::From { count: 0 });
    assert_eq!(fault("Subject: x\r\n\r\nFrom: x\r\n"), Unsignable::From { count: 0 });
    assert_eq!(fault(&format!("FROM: b@example.com\r\n{MESSAGE}")), Unsignable::From { count: 2 });
}

#[test]
fn a_malformed_header_is_refused() {
    let expected = InvalidHeader::NoField { line: 2 };
    assert_eq!(fault("From: a@example.com\r\nno field\r\n\r\n"), Unsignable::Header(expected));
}

#[test]
fn a_name_that_would_add_tags_is_refused() {
    let key = rfc_key();
    let long = vec!["a".repeat(63); 4].join(".");
    for name in ["", ".", "a..b", "a.", "x; l=0", "a b", "a\r\nX: y", "mäil.example", "a:b", &long]
    {
        for (domain, selector) in [(name, "s"), ("example.com", name)] {
            let signed = sign(MESSAGE.as_bytes(), &[Signer { domain, selector, key: &key }], AT);
            assert_eq!(signed, Err(Unsignable::Name { name: name.to_owned() }));
        }
    }
}

#[test]
fn every_signed_field_is_listed_once_more_than_it_is_there() {
    let names = |header: &str| {
        coverage::headers_to_sign(&Message::split(header.as_bytes()).expect("a header").fields)
            .join(":")
    };
    let absent = "from:sender:reply-to:to:cc:subject:date:message-id:in-reply-to:references:\
                  mime-version:content-type:content-transfer-encoding:content-disposition";
    assert_eq!(names(""), absent);
    assert_eq!(names("TO: a\r\nto: b\r\n"), absent.replace(":to:", ":to:to:to:"));
    let listed = names("List-Unsubscribe: <https://example.com>\r\nList-ID: x\r\n");
    assert_eq!(listed, format!("{absent}:list-id:list-id:list-unsubscribe:list-unsubscribe"));
    let never = "Received: x\r\nReturn-Path: x\r\nDKIM-Signature: x\r\nBcc: x\r\nX-Extra: x\r\n\
                 Authentication-Results: x\r\nResent-From: x\r\nResent-Bcc: x\r\nComments: x\r\n\
                 ARC-Seal: x\r\nKeywords: x\r\nDelivered-To: x\r\nPrecedence: bulk\r\n";
    assert_eq!(names(never), absent);
}

#[test]
fn the_lowest_field_of_a_name_comes_first() {
    let message = Message::split(b"To: 1\r\nCc: 2\r\nto: 3\r\nTO: 4\r\n").expect("a header");
    let selected =
        coverage::fields_for_names(&message.fields, &["to", "cc", "to", "cc", "to", "to"]);
    let values: Vec<_> = selected.iter().map(|field| field.value).collect();
    assert_eq!(values, [b" 4", b" 2", b" 3", b" 1"]);
}
