//! Fields go through the encoder and then through a reader of mail.

use mail_parser::MessageParser;
use proptest::prelude::*;

use super::*;
use crate::field::Message;

fn encoded(line: &str) -> Result<String, NotEncodable> {
    let raw = format!("{line}\r\n\r\n");
    let message = Message::split(raw.as_bytes()).expect("a header");
    let field = message.fields.first().expect("a field");
    encode(field).map(|it| String::from_utf8(it).expect("UTF-8"))
}

/// What a reader shows of a field of free text.
fn read(field: &str) -> String {
    let raw = format!("{field}\r\n");
    let message = MessageParser::default().parse(raw.as_bytes()).expect("a message");
    message.subject().unwrap_or_default().to_owned()
}

#[test]
fn free_text_becomes_encoded_words_and_reads_the_same() {
    let long = "Grüße ".repeat(60);
    for text in
        ["Grüße", "Hello Grüße aus Köln and more", "日本語のお知らせ", "a ü b ö", long.trim()]
    {
        let field = encoded(&format!("Subject: {text}")).expect("encodable");
        assert!(field.is_ascii() && field.ends_with("\r\n"), "{field}");
        assert!(field.lines().all(|line| line.len() <= 78), "{field}");
        assert_eq!(read(&field), text, "{field}");
    }
    assert_eq!(
        encoded("Subject: Hello Grüße").as_deref(),
        Ok("Subject: Hello =?utf-8?b?R3LDvMOfZQ==?=\r\n")
    );
}

#[test]
fn encoded_words_beside_raw_letters_keep_their_blanks() {
    let field = encoded("Subject: =?utf-8?q?J=C3=BCrgen?= Müller").expect("encodable");
    assert_eq!(read(&field), "Jürgen Müller");
}

#[test]
fn names_and_comments_of_mailboxes_are_encoded_and_addresses_stay() {
    for (line, name, address) in [
        ("From: Jürgen Müller <j@example.com>", "Jürgen Müller", "j@example.com"),
        ("From: \"Müller, Jürgen\" <j@example.com>", "Müller, Jürgen", "j@example.com"),
        ("From: Dr. Jürgen Müller <j@example.com>", "Dr. Jürgen Müller", "j@example.com"),
        ("From: j@example.com (Jürgen)", "Jürgen", "j@example.com"),
    ] {
        let field = encoded(line).expect("encodable");
        assert!(field.is_ascii(), "{field}");
        let list = crate::mailbox::mailboxes(
            str::from_utf8(&unfold(field.trim_end().split_at(5).1.as_bytes())).expect("UTF-8"),
        );
        let list = list.expect("mailboxes");
        let [mailbox] = list.as_slice() else { panic!("one mailbox") };
        assert_eq!(mailbox.name.as_deref(), Some(name), "{field}");
        assert_eq!(mailbox.address.to_string(), address);
    }
    let several =
        encoded("To: Jürgen <j@example.com>, \"Ada\" <a@example.com>, Büro: b@example.com;");
    let several = several.expect("encodable");
    assert!(
        several.contains("<j@example.com>, \"Ada\" <a@example.com>,\r\n =?utf-8?b?"),
        "{several}"
    );
}

#[test]
fn what_has_no_form_in_ascii_is_refused() {
    for line in [
        "To: jürgen@example.com",
        "To: Ada <ada@bücher.example>",
        "To: \"jürgen\"@example.com",
        "To: jürgen @example.com",
        "Message-ID: <ü@example.com>",
        "List-Unsubscribe: <https://example.com/ü>",
        "Content-Type: text/plän",
        "Content-Type: text/plain; ü=1",
    ] {
        assert_eq!(encoded(line), Err(NotEncodable::Place), "{line}");
    }
    assert_eq!(encoded("To: \"Jürgen <j@example.com>"), Err(NotEncodable::Unclosed('"')));
    let raw = b"Subject: Gr\xfc\xdfe\r\n\r\n";
    let message = Message::split(raw).expect("a header");
    assert_eq!(encode(&message.fields[0]), Err(NotEncodable::NotUtf8));
}

#[test]
fn parameters_of_files_are_read_the_same() {
    let long = "ü".repeat(100);
    for name in ["Grüße.pdf", "a \\\"b\\\" ü; c.pdf", &long] {
        let line = format!("Content-Disposition: attachment; filename=\"{name}\"; size=3");
        let field = encoded(&line).expect("encodable");
        assert!(field.is_ascii() && field.lines().all(|line| line.len() <= 78), "{field}");
        let raw = format!("{field}\r\nabc\r\n");
        let message = MessageParser::default().parse(raw.as_bytes()).expect("a message");
        let disposition = message.parts[0].headers.iter().find_map(|it| it.value.as_content_type());
        let disposition = disposition.expect("a disposition");
        assert_eq!(disposition.attribute("filename"), Some(&*name.replace('\\', "")), "{field}");
        assert_eq!(disposition.attribute("size"), Some("3"), "{field}");
    }
}

proptest! {
    #[test]
    fn every_text_is_ascii_and_reads_the_same(text in "[a-zäöü€🐦=?,. ]{1,200}") {
        let text = text.trim();
        prop_assume!(!text.is_empty() && !text.contains("=?") && !text.contains("  "));
        let field = encoded(&format!("Subject: {text}")).expect("encodable");
        prop_assert!(field.is_ascii());
        prop_assert!(field.lines().all(|line| line.len() <= 300));
        if !text.is_ascii() {
            prop_assert_eq!(crate::field::text(field.strip_prefix("Subject:").unwrap_or_default().trim_end().as_bytes()), text);
        }
    }

    #[test]
    fn no_value_makes_a_panic_or_a_second_field(name in "To|Subject|Content-Type|Date", value in "\\PC{0,80}") {
        if let Ok(field) = encoded(&format!("{name}: x{value}")) {
            prop_assert!(field.is_ascii());
            for line in field.lines().skip(1) {
                prop_assert!(line.starts_with([' ', '\t']), "{}", field);
            }
        }
    }
}
