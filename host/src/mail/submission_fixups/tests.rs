//! What is put right, and what is refused with words.

use mail_parser::MessageParser;

use super::*;

fn crlf(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}

fn carried(text: &str) -> Vec<u8> {
    carriable(crlf(text), Letters::Ascii).expect("carriable")
}

fn faults(text: &str) -> Vec<NotCarriable> {
    carriable(crlf(text), Letters::Ascii).expect_err("not carriable")
}

#[test]
fn what_is_in_order_stays_octet_for_octet() {
    for text in ["", "From: a@example.com\n\nGrüße\n", "Subject: x\n\n"] {
        assert_eq!(carried(text), crlf(text));
    }
    let utf8 = crlf("Subject: Grüße\n\nx\n");
    assert_eq!(carriable(utf8.clone(), Letters::Utf8), Ok(utf8));
    let own = "X-Waxwing-Tag: grün\nBcc: jürgen@example.com\n\nx\n";
    assert_eq!(carried(own), crlf(own), "fields that do not travel");
}

#[test]
fn a_raw_subject_is_encoded_and_the_body_stays() {
    let output = carried("From: Jürgen <j@example.com>\nSubject: Grüße\n\nGrüße\n");
    let message = MessageParser::default().parse(&output).expect("a message");
    assert_eq!(message.subject(), Some("Grüße"));
    assert!(output.ends_with("\r\n\r\nGrüße\r\n".as_bytes()));
    assert!(output.split(|it| *it == b'\n').take(2).all(<[u8]>::is_ascii));
}

#[test]
fn all_fields_that_cannot_be_encoded_are_named() {
    let found = faults("To: jürgen@example.com\nCc: ü@example.com\nSubject: ü\n\nx\n");
    let names: Vec<&str> = found.iter().map(NotCarriable::field).collect();
    assert_eq!(names, ["To", "Cc"]);
    let latin1 = carriable(b"Subject: Gr\xfc\xdfe\r\n\r\nx\r\n".to_vec(), Letters::Ascii);
    let reason = NotEncodable::NotUtf8;
    assert_eq!(latin1, Err(vec![NotCarriable::Field { name: "Subject".to_owned(), reason }]));
}

#[test]
fn a_field_under_a_dkim_signature_is_not_touched() {
    let signature = "DKIM-Signature: v=1; h=From:\n subject : Date; b=x\n";
    let found = faults(&format!("{signature}Subject: Grüße\n\nx\n"));
    assert_eq!(found, [NotCarriable::SignedField { name: "Subject".to_owned() }]);
    let output = carried(&format!("{signature}X-Note: Grüße\n\nx\n"));
    assert!(output.is_ascii(), "a field that it does not cover is encoded");
}

#[test]
fn a_long_line_of_a_text_is_encoded_and_reads_the_same() {
    let long = "Tschüß ".repeat(300);
    for kind in ["text/plain; charset=utf-8", "text/html; charset=utf-8"] {
        let output =
            carried(&format!("MIME-Version: 1.0\nContent-Type: {kind}\n\nHi\n{long}\nBye\n"));
        assert!(!has_long_line(&output));
        let message = MessageParser::default().parse(&output).expect("a message");
        let text = message.parts[0].text_contents().expect("a text").replace("\r\n", "\n");
        assert_eq!(text, format!("Hi\n{long}\nBye\n"));
    }
    let bare = carried(&format!("From: a@example.com\n\n{}\n", "x".repeat(2_000)));
    assert!(String::from_utf8_lossy(&bare).contains("\r\nMIME-Version: 1.0\r\n"));
}

#[test]
fn only_the_part_with_the_long_line_changes() {
    let long = "x".repeat(3_000);
    let text = |first: &str| {
        format!(
            "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\
             Content-Transfer-Encoding: 8bit\n\n--b\n{first}\n--b\n\
             Content-Transfer-Encoding: 8bit\n\nGrüße\n--b--\n"
        )
    };
    let output = carried(&text(&format!("Content-Type: text/html\n\n{long}")));
    let output = String::from_utf8(output).expect("UTF-8").replace("\r\n", "\n");
    let (head, tail) = output.split_once("--b\n").expect("parts");
    assert!(head.ends_with("Content-Transfer-Encoding: 8bit\n\n"));
    assert!(tail.ends_with("\n--b\nContent-Transfer-Encoding: 8bit\n\nGrüße\n--b--\n"), "{tail}");
    assert!(
        tail.starts_with("Content-Type: text/html\nContent-Transfer-Encoding: quoted-printable")
    );
}

#[test]
fn base64_without_line_breaks_gets_some() {
    let head =
        "MIME-Version: 1.0\nContent-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n";
    let output = carried(&format!("{head}{}\n", "QUJD".repeat(2_000)));
    assert!(!has_long_line(&output));
    let message = MessageParser::default().parse(&output).expect("a message");
    assert_eq!(message.parts[0].contents(), "ABC".repeat(2_000).as_bytes());
    let quoted =
        head.replace("base64", "quoted-printable").replace("application/pdf", "text/plain");
    let output = carried(&format!("{quoted}{}\n", "caf=E9 ".repeat(500)));
    assert!(!has_long_line(&output));
}

#[test]
fn a_long_line_in_a_header_or_under_a_signature_is_refused_with_words() {
    let long = "x".repeat(999);
    let found = faults(&format!("Subject: {long}\nX-Long: {long}\n\nx\n"));
    assert_eq!(found.iter().map(NotCarriable::field).collect::<Vec<_>>(), ["Subject", "X-Long"]);
    let found = faults(&format!("DKIM-Signature: v=1; h=From; b=x\n\nshort\n{long}\n"));
    assert_eq!(found, [NotCarriable::SignedLine { line: 4 }]);
    let signed = format!(
        "Content-Type: multipart/signed; boundary=b\n\n--b\n\n{long}\n--b\nContent-Type: \
         application/pgp-signature\n\nx\n--b--\n"
    );
    assert_eq!(faults(&signed), [NotCarriable::Line { line: 5, reason: CannotConvert::Signed }]);
    let words = faults(&signed)[0].to_string();
    assert!(words.starts_with("line 5 is longer than 998 octets, and a part"), "{words}");
}
