//! What changes, what stays, and what is refused.

mod properties;
mod python;

use mail_parser::{MessageParser, MimeHeaders as _, PartType};

use super::*;
use crate::field::InvalidHeader;

/// CRLF for the line feeds of a text.
fn crlf(text: &str) -> String {
    text.replace('\n', "\r\n")
}

fn converted(text: &str) -> String {
    let raw = crlf(text);
    let output = to_seven_bit(raw.as_bytes()).expect("can be converted");
    assert!(output.is_ascii());
    String::from_utf8(output).expect("ASCII").replace("\r\n", "\n")
}

fn refused(text: &str) -> CannotConvert {
    to_seven_bit(crlf(text).as_bytes()).expect_err("cannot be converted")
}

/// The media type and the octets of every part that has no parts, as a reader decodes them.
pub(super) fn decoded(raw: &[u8]) -> Vec<(String, Vec<u8>)> {
    let parser = MessageParser::new();
    leaves(&parser.parse(raw).expect("a message"))
}

fn leaves(message: &mail_parser::Message<'_>) -> Vec<(String, Vec<u8>)> {
    let mut leaves = Vec::new();
    for part in &message.parts {
        let kind = part.content_type().map_or_else(String::new, |it| {
            format!("{}/{}", it.ctype(), it.subtype().unwrap_or_default())
        });
        match &part.body {
            PartType::Text(text) | PartType::Html(text) => {
                leaves.push((kind, text.as_bytes().to_vec()));
            }
            PartType::Binary(octets) | PartType::InlineBinary(octets) => {
                leaves.push((kind, octets.to_vec()));
            }
            PartType::Message(inner) => leaves.extend(self::leaves(inner)),
            PartType::Multipart(_) => {}
        }
    }
    leaves
}

#[test]
fn a_text_is_quoted_and_its_header_says_so() {
    let before = "Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\nMIME-Version: 1.0\n\
                  Content-type: text/plain;\n charset=utf-8\ncontent-transfer-encoding:  8bit \n\
                  X-Last: kept\n\nGrüße\n.\n trailing \t\na=b\n";
    let after = "Subject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?=\nMIME-Version: 1.0\n\
                 Content-type: text/plain;\n charset=utf-8\n\
                 Content-Transfer-Encoding: quoted-printable\nX-Last: kept\n\n\
                 Gr=C3=BC=C3=9Fe\n.\n trailing =09\na=3Db\n";
    assert_eq!(converted(before), after);
    assert_eq!(decoded(crlf(before).as_bytes()), decoded(crlf(after).as_bytes()));
}

#[test]
fn a_text_that_is_mostly_eight_bit_becomes_base64() {
    let after =
        converted("MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\n株式会社\n");
    let expected = "MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\
                    Content-Transfer-Encoding: base64\n\n5qCq5byP5Lya56S+DQo=\n";
    assert_eq!(after, expected);
}

#[test]
fn a_message_that_was_no_mime_becomes_mime() {
    let after = converted("Subject: x\n\ncaf\u{e9}\n");
    let expected = "Subject: x\nMIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\n\
                    caf=C3=A9\n";
    assert_eq!(after, expected);
    assert_eq!(
        converted("\n\u{e9} and more\n"),
        "MIME-Version: 1.0\n\
        Content-Transfer-Encoding: quoted-printable\n\n=C3=A9 and more\n",
        "without any field"
    );
}

#[test]
fn only_the_parts_with_eight_bits_change() {
    let before = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"a b\"\n\
                  Content-Transfer-Encoding: 8bit\n\npreämble\n--a b\nContent-Type: text/plain\n\n\
                  plain = plain \n--a b  \nContent-Transfer-Encoding: binary\n\nonly ASCII\n--a b\n\
                  Content-Type: multipart/alternative; boundary=in\n\n--in\n\nthe word is café\n\n\
                  --in\nContent-Transfer-Encoding: base64\n\n4pyT\n--in--\n\n--a b--\nepilögue\n";
    let after = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"a b\"\n\
                 Content-Transfer-Encoding: 7bit\n\npre??mble\n--a b\nContent-Type: text/plain\n\n\
                 plain = plain \n--a b  \nContent-Transfer-Encoding: 7bit\n\nonly ASCII\n--a b\n\
                 Content-Type: multipart/alternative; boundary=in\n\n--in\n\
                 Content-Transfer-Encoding: quoted-printable\n\nthe word is caf=C3=A9\n\n\
                 --in\nContent-Transfer-Encoding: base64\n\n4pyT\n--in--\n\n--a b--\nepil??gue\n";
    assert_eq!(converted(before), after);
    assert_eq!(decoded(crlf(before).as_bytes()), decoded(crlf(after).as_bytes()));
}

#[test]
fn an_attached_message_is_converted_inside() {
    for kind in ["mixed", "digest"] {
        let typed = if kind == "mixed" { "Content-Type: message/rfc822\n" } else { "" };
        let before = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary=b\n\n--b\n{typed}\
             Content-Transfer-Encoding: 8bit\n\nSubject: inner\n\nan inner café\n--b--\n"
        );
        let after = format!(
            "MIME-Version: 1.0\nContent-Type: multipart/{kind}; boundary=b\n\n--b\n{typed}\
             Content-Transfer-Encoding: 7bit\n\nSubject: inner\nMIME-Version: 1.0\n\
             Content-Transfer-Encoding: quoted-printable\n\nan inner caf=C3=A9\n--b--\n"
        );
        assert_eq!(converted(&before), after);
    }
    let global = "MIME-Version: 1.0\nContent-Type: message/global\n\nSubject: Grüße von uns\n\nx\n";
    assert!(converted(global).contains("Content-Transfer-Encoding: quoted-printable\n"));
}

#[test]
fn what_is_ascii_stays_as_it_is_however_malformed() {
    for text in [
        "Subject: x\n\nhello\n",
        "no header at all",
        "",
        "Content-Type: multipart/mixed\n\nno boundary\n",
        "Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64\n\nx",
        "Content-Type: multipart/signed; boundary=b\nContent-Transfer-Encoding: 8bit\n\n--b\n\nx\n",
        "Content-Transfer-Encoding: 8bit\n",
    ] {
        assert_eq!(converted(text), text);
    }
}

#[test]
fn a_message_that_was_cut_off_keeps_its_last_part() {
    let before = "Content-Type: multipart/mixed; boundary=b\n\n--b\n\nthe word is café\n";
    assert!(
        converted(before).ends_with(
            "--b\nContent-Transfer-Encoding: quoted-printable\n\nthe word is caf=C3=A9\n"
        )
    );
}

#[test]
fn binary_content_becomes_base64_octet_for_octet() {
    let content: Vec<u8> = (0..=255).chain(b"\r\n\0\r\n".iter().copied()).collect();
    let head = b"MIME-Version: 1.0\r\nContent-Type: application/x-thing\r\n\
                 Content-Transfer-Encoding: binary\r\n\r\n";
    let output = to_seven_bit(&[head, content.as_slice()].concat()).expect("can be converted");
    assert_eq!(decoded(&output), [("application/x-thing".to_owned(), content)]);
    let long = [head.as_slice(), &[b'x'; 2_000], b"\r\n"].concat();
    let output = to_seven_bit(&long).expect("can be converted");
    assert!(output.split(|byte| *byte == b'\n').all(|line| line.len() <= 78));
}

#[test]
fn what_would_change_the_message_is_refused() {
    let part = |head: &str| format!("MIME-Version: 1.0\n{head}\n\n--b\n\ncafé\n--b--\n");
    for (text, reason) in [
        ("Subject: Grüße\n\nx\n".to_owned(), CannotConvert::Header),
        (part("Content-Type: multipart/signed; boundary=b"), CannotConvert::Signed),
        (part("Content-Type: multipart/mixed"), CannotConvert::NoBoundary),
        (part("Content-Type: multipart/mixed; boundary=c"), CannotConvert::NoBoundary),
        (
            part("Content-Type: multipart/mixed; boundary=b\nContent-Transfer-Encoding: base64"),
            CannotConvert::Encoding,
        ),
        (part("Content-Transfer-Encoding: base64"), CannotConvert::Encoding),
        (part("Content-Transfer-Encoding: x-own"), CannotConvert::Encoding),
        (
            part("Content-Transfer-Encoding: 8bit\nContent-Transfer-Encoding: 8bit"),
            CannotConvert::Encoding,
        ),
        (part("Content-Type: text/plain\nContent-Type: text/html"), CannotConvert::Encoding),
        (part("Content-Type: message/partial; id=1"), CannotConvert::Encoding),
        (
            part(&format!("Content-Type: text/plain; x={}", "x".repeat(4_001))),
            CannotConvert::Encoding,
        ),
        ("Content-Type: message/rfc822\n\nSubject: Grüße\n\nx\n".to_owned(), CannotConvert::Header),
        (
            "no header\n\ncafé\n".to_owned(),
            CannotConvert::Malformed(InvalidHeader::NoField { line: 1 }),
        ),
    ] {
        assert_eq!(refused(&text), reason, "{text}");
    }
    let deep = "Content-Type: message/rfc822\n\n".repeat(60) + "Subject: x\n\ncafé\n";
    assert_eq!(refused(&deep), CannotConvert::TooDeep);
}

#[test]
fn eight_bits_are_found_anywhere() {
    assert!(!is_eight_bit(b"Subject: x\r\n\r\n\0\x7f"));
    assert!(is_eight_bit(b"Subject: x\r\n\r\n\x80"));
}
