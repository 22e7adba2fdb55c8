//! Splitting, unfolding and decoding, on what programs write and on what they should not.

use proptest::prelude::*;

use super::*;

fn fields<'a>(message: &Message<'a>) -> Vec<(&'a str, &'a str)> {
    let text = |bytes: &'a [u8]| str::from_utf8(bytes).expect("the tests are UTF-8");
    message.fields.iter().map(|field| (field.name, text(field.value))).collect()
}

fn joined(message: &Message<'_>) -> Vec<u8> {
    let mut data: Vec<u8> = message.fields.iter().flat_map(|it| it.whole).copied().collect();
    data.extend_from_slice(message.tail);
    data
}

fn refused(data: &str) -> Option<InvalidHeader> {
    Message::split(data.as_bytes()).err()
}

#[test]
fn a_message_is_split_without_changing_a_byte() {
    let data =
        b"From: a@example.com\r\nSUBJECT:one\r\n\ttwo\r\n  three \r\nX:\r\n\r\nBody\r\n\r\nEnd";
    let message = Message::split(data).expect("valid");
    let expected = [("From", " a@example.com"), ("SUBJECT", "one\r\n\ttwo\r\n  three "), ("X", "")];
    assert_eq!(fields(&message), expected);
    assert_eq!(message.body, b"Body\r\n\r\nEnd");
    assert_eq!(joined(&message), data);
    assert_eq!(message.named("subject").count(), 1);
}

#[test]
fn the_header_ends_at_the_first_empty_line() {
    let body_only = Message::split(b"\r\nFrom: a@example.com\r\n").expect("valid");
    assert!(body_only.fields.is_empty());
    assert_eq!(body_only.body, b"From: a@example.com\r\n");

    let header_only = Message::split(b"From: a@example.com\r\nSubject: x").expect("valid");
    assert_eq!(fields(&header_only), [("From", " a@example.com"), ("Subject", " x")]);
    assert!(header_only.body.is_empty());

    // White space alone continues a field; nothing behind it hides from us.
    let blank = Message::split(b"A: b\r\n \r\nFrom: c\r\n\r\n").expect("valid");
    assert_eq!(fields(&blank), [("A", " b\r\n "), ("From", " c")]);
    assert!(Message::split(b"").expect("valid").fields.is_empty());
}

#[test]
fn a_line_that_is_no_field_is_named() {
    let no_field = |line| Some(InvalidHeader::NoField { line });
    let padded = |line| Some(InvalidHeader::SpaceBeforeColon { line });
    for (data, expected) in [
        ("no colon\r\n", no_field(1)),
        ("A: b\r\n c\r\nHello Ada,\r\n", no_field(3)),
        (": b\r\n", no_field(1)),
        ("A: b\r\nFrom ada@example.com Sat Nov 21 12:00:00 2026\r\n", no_field(2)),
        ("A: b\r\nÜber: c\r\n", no_field(2)),
        ("A\0: b\r\n", no_field(1)),
        ("A: b\r\nFrom : a@example.com\r\n", padded(2)),
        ("From\t:a@example.com\r\n", padded(1)),
        (" From: a@example.com\r\n", Some(InvalidHeader::NothingToContinue)),
        ("\tx\r\n", Some(InvalidHeader::NothingToContinue)),
    ] {
        assert_eq!(refused(data), expected, "{data:?}");
    }
    let error = InvalidHeader::SpaceBeforeColon { line: 2 }.to_string();
    assert_eq!(error, "line 2 has white space before the colon; write `Name: value`");
}

#[test]
fn the_header_is_bounded() {
    let most = "X: y\r\n".repeat(MAX_FIELDS);
    assert_eq!(Message::split(most.as_bytes()).expect("valid").fields.len(), MAX_FIELDS);
    let more = format!("{most}X: y\r\n");
    let line = MAX_FIELDS + 1;
    assert_eq!(refused(&more), Some(InvalidHeader::TooManyFields { line }));

    let long = format!("X: y\r\n{}", format!(" {}\r\n", "z".repeat(900)).repeat(300));
    assert_eq!(refused(&long), Some(InvalidHeader::TooLarge { line: 292 }));
    let large_body = format!("X: y\r\n\r\n{}", "z\r\n".repeat(100_000));
    assert!(refused(&large_body).is_none());
}

#[test]
fn unfolding_removes_line_ends_only() {
    for (folded, line) in [
        ("a b", "a b"),
        (" {\"a\":\r\n \"b\r\n  c\"}", " {\"a\": \"b  c\"}"),
        ("a\r\n\tb", "a\tb"),
        ("a\r\n \r\n b", "a  b"),
        ("", ""),
    ] {
        assert_eq!(unfold(folded.as_bytes()), line.as_bytes(), "{folded:?}");
    }
}

#[test]
fn encoded_words_are_decoded_where_the_rfc_has_them() {
    for (value, expected) in [
        (" Hello  World ", "Hello  World"),
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?= GmbH", "Grüße GmbH"),
        ("=?UTF-8?B?R3LDvMOfZQ==?=\r\n =?UTF-8?Q?_aus?=  Wien", "Grüße aus  Wien"),
        ("=?iso-8859-1?Q?Andr=E9?= =?ISO-8859-1*fr?q?e?=", "Andrée"),
        ("=?ISO-2022-JP?B?GyRCRnxLXBsoQg==?=", "日本"),
        ("{\"a\": =?utf-8?b?Ilpvw6si?=, \"b\": 1}", "{\"a\": =?utf-8?b?Ilpvw6si?=, \"b\": 1}"),
        ("{\"a\": =?utf-8?b?Ilpvw6siLA==?= \"b\": 1}", "{\"a\": \"Zoë\", \"b\": 1}"),
        ("x=?utf-8?q?y?=", "x=?utf-8?q?y?="),
        ("=?utf-8?q?a?==?utf-8?q?b?=", "=?utf-8?q?a?==?utf-8?q?b?="),
        ("=?utf-8?x?a?= =? ?= =?=", "=?utf-8?x?a?= =? ?= =?="),
        ("=?no-such-charset?q?abc?=", "abc"),
        ("=?utf-8?q??=", ""),
        ("plain Grüße", "plain Grüße"),
    ] {
        assert_eq!(text(value.as_bytes()), expected, "{value:?}");
    }
    assert_eq!(text(b"Gr\xfc\xdfe"), "Gr\u{fffd}\u{fffd}e");
    assert_eq!(text(b"=?utf-8?q?a=0D=0ABcc:_b=00?="), "a\r\nBcc: b\0");
}

proptest! {
    #[test]
    fn no_byte_is_lost_and_none_is_in_two_fields(
        lines in prop::collection::vec("[ \t]?[A-Za-z:]{0,6}[ \t]?:?[ -~é\t]{0,12}", 0..12)
    ) {
        let data = lines.iter().fold(String::new(), |data, line| data + line + "\r\n");
        if let Ok(message) = Message::split(data.as_bytes()) {
            prop_assert_eq!(joined(&message), data.as_bytes());
        }
    }

    #[test]
    fn no_bytes_make_it_panic(data in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = Message::split(&data) {
            prop_assert_eq!(joined(&message), data);
        }
    }

    #[test]
    fn no_text_makes_decoding_panic(value in "(=\\?|\\?=|\\?[qQbB]\\?|[ -~é\r\n\t]){0,20}") {
        let decoded = text(value.as_bytes());
        if !value.contains("=?") {
            prop_assert!(decoded.len() <= value.len());
        }
    }
}
