//! The examples of RFC 6376 and RFC 8463.

use super::*;

/// RFC 8463 appendix A.3.
const SIGNATURE: &str = " v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n \
     d=football.example.com; i=@football.example.com;\r\n \
     q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n \
     subject : date : message-id : from : subject : date;\r\n \
     bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n b=";
const SIGNED: [&str; 8] =
    ["from", "to", "subject", "date", "message-id", "from", "subject", "date"];
const DINNER: &str = "From: Joe SixPack <joe@football.example.com>\r\n\
     To: Suzie Q <suzie@shopping.example.net>\r\n\
     Subject: Is dinner ready?\r\n\
     Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)\r\n\
     Message-ID: <20030712040037.46341.5F8J@football.example.com>\r\n\r\n\
     Hi.\r\n\r\nWe lost the game.  Are you hungry yet?\r\n\r\nJoe.\r\n";

/// The example with its signature.
pub(super) fn signed_dinner() -> String {
    let signature =
        "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==";
    format!("DKIM-Signature:{SIGNATURE}{signature}\r\n{DINNER}")
}

fn body(body: &str) -> String {
    let mut canonical = Vec::new();
    canonical::body(body.as_bytes(), |piece| canonical.extend_from_slice(piece)).expect("lines");
    String::from_utf8(canonical).expect("UTF-8")
}

fn hash(body: &str) -> String {
    STANDARD.encode(canonical::hash_body(body.as_bytes()).expect("lines"))
}

#[test]
fn the_signature_of_the_example_is_made_again() {
    let message = Message::split(DINNER.as_bytes()).expect("a message");
    let body_hash = canonical::hash_body(message.body).expect("lines");
    assert_eq!(STANDARD.encode(body_hash), "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=");
    let header = hash_fields(&message.fields, &SIGNED);
    let signature = sign_header(header, SIGNATURE.as_bytes(), &rfc_key()).expect("a signature");
    assert_eq!(
        STANDARD.encode(signature),
        "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw=="
    );
}

/// RFC 6376 section 3.4.5.
#[test]
fn the_canonical_form_of_the_example_is_that_of_the_rfc() {
    let message = Message::split(b"A: X\r\nB : Y\t\r\n\tZ  \r\n\r\n C \r\nD \t E\r\n\r\n\r\n");
    assert!(message.is_err(), "a name before white space is nobody's");
    let message = Message::split(b"A: X\r\nB: Y\t\r\n\tZ  \r\n\r\n C \r\nD \t E\r\n\r\n\r\n")
        .expect("a message");
    let mut header = Vec::new();
    for field in &message.fields {
        canonical::field(field.name, field.value, |piece| header.extend_from_slice(piece));
        header.extend_from_slice(b"\r\n");
    }
    assert_eq!(String::from_utf8_lossy(&header), "a:X\r\nb:Y Z\r\n");
    assert_eq!(body(" C \r\nD \t E\r\n\r\n\r\n"), " C\r\nD E\r\n");
}

/// RFC 6376 section 3.4.4: the hash of nothing.
#[test]
fn a_body_of_white_space_is_empty() {
    for empty in ["", "\r\n", "\r\n\r\n\r\n", " ", "\t \r\n", " \r\n\t\r\n\r\n  ", "\r\n\t"] {
        assert_eq!(body(empty), "", "{empty:?}");
        assert_eq!(hash(empty), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "{empty:?}");
    }
}

#[test]
fn only_white_space_that_servers_may_change_is_lost() {
    assert_eq!(body("a"), "a\r\n");
    assert_eq!(body("a \t"), "a\r\n");
    assert_eq!(body("\r\n \r\na\t\tb  c d\t\r\n \t\r\n"), "\r\n\r\na b c d\r\n");
    assert_eq!(body(" \t a\r\n.\r\n..\u{a0} \r\n"), " a\r\n.\r\n..\u{a0}\r\n");
    assert_ne!(body("ab\r\n"), body("a b\r\n"));
    assert_ne!(body("a\r\nb\r\n"), body("a\r\n\r\nb\r\n"));
    assert_ne!(body("\r\na\r\n"), body("a\r\n"));
}

#[test]
fn a_field_without_a_value_is_its_name_alone() {
    for value in ["", " ", "\t \t", "\r\n ", " \r\n \r\n\t"] {
        let mut canonical = Vec::new();
        canonical::field("SUBJECT", value.as_bytes(), |piece| canonical.extend_from_slice(piece));
        assert_eq!(canonical, b"subject:", "{value:?}");
    }
}
