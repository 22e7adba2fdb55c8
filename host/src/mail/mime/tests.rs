//! What comes out, read back by mail-parser and looked at line by line.

mod files;
mod properties;
mod python;

use mail_parser::{Message, MessageParser, MimeHeaders, PartType};

use super::*;

fn address(text: &str) -> EmailAddress {
    text.parse().expect("a valid address")
}

/// Calls `check` with a plain message that it may change before composing.
fn with_outgoing<T>(check: impl FnOnce(Outgoing<'_>) -> T) -> T {
    let (from, to) = (address("shop@example.com"), address("ada@example.org"));
    check(Outgoing {
        message_id: "01JCZ0@example.com",
        date: Timestamp::from_millis(1_795_255_200_250),
        from_name: None,
        from: &from,
        to: &to,
        reply_to: None,
        subject: "Hello",
        text: Some("Hello Ada\n"),
        html: None,
        attachments: &[],
        headers: &[],
    })
}

fn file(filename: &str, content_type: &str, content: &[u8], id: Option<&str>) -> Attachment {
    Attachment {
        filename: filename.to_owned(),
        content_type: content_type.to_owned(),
        content: content.to_vec(),
        content_id: id.map(str::to_owned),
    }
}

fn parse(message: &[u8]) -> Message<'_> {
    let parser = MessageParser::new().with_minimal_headers().with_message_ids();
    parser.default_header_text().parse(message).expect("mail-parser reads it")
}

/// The rules of RFC 5322 section 2 and RFC 2045 that hold for every line of every message.
fn assert_well_formed(message: &[u8]) {
    assert!(message.ends_with(b"\r\n"));
    assert!(!message.contains(&0));
    let text = String::from_utf8(message.to_vec()).expect("UTF-8");
    for line in text.split("\r\n") {
        assert!(!line.contains(['\r', '\n']), "a bare CR or LF in {line:?}");
        assert!(line.len() <= 998, "{} octets", line.len());
    }
    let (head, _) = text.split_once("\r\n\r\n").expect("an empty line ends the header");
    let is_encoded = |word: &&str| {
        word.starts_with("=?") && word.ends_with("?=") && word.matches('?').count() == 4
    };
    for line in head.split("\r\n") {
        let longest = line.split(' ').filter(is_encoded).map(str::len).max();
        assert!(longest.is_none_or(|longest| longest <= 75 && line.len() <= 76), "{line:?}");
    }
    for name in ["Date", "From", "To", "Subject", "Message-ID", "MIME-Version", "Content-Type"] {
        let start = format!("{name}:");
        assert_eq!(head.split("\r\n").filter(|line| line.starts_with(&start)).count(), 1, "{name}");
    }
}

fn subject_of(subject: &str) -> String {
    let message = with_outgoing(|it| compose(&Outgoing { subject, ..it }));
    assert_well_formed(&message);
    parse(&message).subject().unwrap_or_default().to_owned()
}

fn sender_name_of(name: &str) -> String {
    let message = with_outgoing(|it| compose(&Outgoing { from_name: Some(name), ..it }));
    assert_well_formed(&message);
    let parsed = parse(&message);
    let from = parsed.from().and_then(|it| it.first()).expect("one sender");
    assert_eq!(from.address(), Some("shop@example.com"));
    from.name().unwrap_or_default().to_owned()
}

#[test]
fn a_text_message_is_one_part_with_its_headers_in_the_usual_order() {
    let message = with_outgoing(|it| compose(&it));
    assert_eq!(
        String::from_utf8_lossy(&message),
        "Date: Sat, 21 Nov 2026 10:00:00 +0000\r\n\
         From: <shop@example.com>\r\n\
         To: <ada@example.org>\r\n\
         Subject: Hello\r\n\
         Message-ID: <01JCZ0@example.com>\r\n\
         MIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: 7bit\r\n\
         \r\n\
         Hello Ada\r\n"
    );
}

#[test]
fn parts_nest_as_mixed_alternative_related() {
    let attachments = [
        file("invoice.pdf", "application/pdf", b"%PDF", None),
        file("logo.png", "image/png", b"\x89PNG", Some("logo@shop")),
    ];
    let message = with_outgoing(|it| {
        compose(&Outgoing {
            html: Some("<img src=cid:logo@shop>"),
            attachments: &attachments,
            ..it
        })
    });
    assert_well_formed(&message);
    let parsed = parse(&message);
    let types: Vec<_> = parsed
        .parts
        .iter()
        .filter_map(|part| part.content_type().and_then(|it| it.subtype()))
        .collect();
    assert_eq!(types, ["mixed", "alternative", "plain", "related", "html", "png", "pdf"]);
    let logo = &parsed.parts[5];
    assert_eq!(logo.content_id(), Some("logo@shop"));
    assert!(logo.content_disposition().is_some_and(|it| it.ctype() == "inline"));
    assert_eq!(logo.contents(), b"\x89PNG");
    assert!(parsed.parts[6].content_disposition().is_some_and(|it| it.ctype() == "attachment"));
    assert_eq!(
        message,
        with_outgoing(|it| {
            compose(&Outgoing {
                html: Some("<img src=cid:logo@shop>"),
                attachments: &attachments,
                ..it
            })
        })
    );
}

#[test]
fn levels_with_a_single_part_are_left_out() {
    let roots = |text: Option<&str>, html: Option<&str>, attachments: &[Attachment]| {
        let message = with_outgoing(|it| compose(&Outgoing { text, html, attachments, ..it }));
        assert_well_formed(&message);
        let parsed = parse(&message);
        (parsed.content_type().and_then(|it| it.subtype()).map(str::to_owned), parsed.parts.len())
    };
    let image = [file("a.png", "image/png", b"x", Some("a"))];
    let is = |subtype: &str, parts| (Some(subtype.to_owned()), parts);
    assert_eq!(roots(None, Some("<p>"), &[]), is("html", 1));
    assert_eq!(roots(Some("a"), Some("<p>"), &[]), is("alternative", 3));
    assert_eq!(roots(None, Some("<p>"), &image), is("related", 3));
    assert_eq!(roots(Some("a"), None, &image), is("mixed", 3));
    assert_eq!(roots(None, None, &image), is("png", 1));
    assert_eq!(roots(None, None, &[]), is("plain", 1));
}

#[test]
fn the_transfer_encoding_fits_the_text() {
    for (text, encoding) in [
        ("", "7bit"),
        ("short\r\nlines\n\nonly\r", "7bit"),
        ("trailing space \n", "quoted-printable"),
        ("Grüße aus Köln, bis bald und vielen Dank", "quoted-printable"),
        ("boundary --=_m", "quoted-printable"),
        (&format!("{}.", "long ".repeat(179)), "7bit"),
        (&format!("{}.", "long ".repeat(180)), "quoted-printable"),
        ("ご注文ありがとうございます\nまた\r\n", "base64"),
        ("Спасибо за заказ", "base64"),
    ] {
        let message = with_outgoing(|it| compose(&Outgoing { text: Some(text), ..it }));
        assert_well_formed(&message);
        let parsed = parse(&message);
        let written = parsed.root_part().content_transfer_encoding().expect("an encoding");
        assert_eq!(written, encoding, "{text:?}");
        assert!(message.is_ascii());
        let body = String::from_utf8_lossy(&message);
        if encoding == "quoted-printable" {
            assert!(body.split("\r\n").all(|line| line.len() <= 76));
        }
        let expected = text.replace("\r\n", "\n").replace('\r', "\n");
        let PartType::Text(read) = &parsed.root_part().body else { unreachable!("a text part") };
        assert_eq!(
            read.replace("\r\n", "\n").trim_end_matches('\n'),
            expected.trim_end_matches('\n')
        );
    }
}

#[test]
fn a_body_cannot_hold_a_boundary() {
    let probe = with_outgoing(|it| compose(&Outgoing { html: Some("<p>"), ..it }));
    let probe = String::from_utf8(probe).expect("ASCII");
    let boundary = probe.split('"').nth(1).expect("a boundary").to_owned();
    let text = format!("one\n--{boundary}\n\ntwo\n--{boundary}--\nthree\n");
    let message =
        with_outgoing(|it| compose(&Outgoing { text: Some(&text), html: Some(&text), ..it }));
    let written = String::from_utf8_lossy(&message);
    assert_eq!(written.matches(&format!("--{boundary}")).count(), 3);
    assert_eq!(parse(&message).body_text(0).as_deref(), Some(text.replace('\n', "\r\n").as_str()));
}

#[test]
fn names_and_subjects_of_all_scripts_come_back() {
    for text in [
        "O'Neil, Ada (CEO)",
        "\"quoted\" back\\slash",
        "a@b.example",
        "Ünï Çødé",
        "株式会社ワックスウィング",
        "متجر إلكتروني",
        "👩‍👩‍👧‍👦 family 🎉",
        "semi;colon:<angle>",
        "a=b?c_d",
        "=?utf-8?Q?not=20encoded?=",
        "=?utf-8?B?8J+OiQ==?= and more",
        "=? almost ?=",
    ] {
        assert_eq!(sender_name_of(text), text);
        assert_eq!(subject_of(text), text);
        let long = [text; 30].join(" ");
        assert_eq!(sender_name_of(&long), long);
        assert_eq!(subject_of(&long), long);
    }
    assert_eq!(subject_of(&"x".repeat(5_000)), "x".repeat(5_000));
    assert_eq!(sender_name_of(&"é".repeat(5_000)), "é".repeat(5_000));
}

#[test]
fn an_awkward_name_is_quoted() {
    let message =
        with_outgoing(|it| compose(&Outgoing { from_name: Some("O'Neil, Ada (CEO)"), ..it }));
    let text = String::from_utf8_lossy(&message);
    assert!(text.contains("\r\nFrom: \"O'Neil, Ada (CEO)\" <shop@example.com>\r\n"), "{text}");
}

#[test]
fn line_breaks_in_headers_become_spaces() {
    for attack in [
        "a\r\nBcc: b@example.com",
        "a\nBcc: b",
        "a\r\r\nBcc: b",
        "a\0\r\n\r\nBcc: b",
        "é\r\nBcc: b",
    ] {
        let headers = [
            ("X-Tag".to_owned(), attack.to_owned()),
            (attack.to_owned(), "x".to_owned()),
            ("BCC".to_owned(), "b@example.com".to_owned()),
            ("subject".to_owned(), "two".to_owned()),
            ("Content-Type".to_owned(), "text/html".to_owned()),
        ];
        let attachments = [file(attack, attack, b"x", Some(attack))];
        let message = with_outgoing(|it| {
            compose(&Outgoing {
                message_id: attack,
                from_name: Some(attack),
                subject: attack,
                headers: &headers,
                attachments: &attachments,
                ..it
            })
        });
        assert_well_formed(&message);
        let text = String::from_utf8_lossy(&message).to_ascii_lowercase();
        assert!(!text.contains("\nbcc"), "{text}");
        assert!(subject_of(attack).contains(" Bcc: b"));
    }
}

#[test]
fn long_headers_are_folded() {
    let unsubscribe =
        format!("<mailto:u@example.com?subject=x>, <https://example.com/u/{}>", "t".repeat(200));
    let headers = [
        ("List-Unsubscribe".to_owned(), unsubscribe.clone()),
        ("X-Words".to_owned(), "word ".repeat(100)),
        ("X-Long".to_owned(), "y".repeat(2_000)),
        (format!("X-{}", "n".repeat(70)), "Grüße".to_owned()),
        ("X-Empty".to_owned(), " ".to_owned()),
    ];
    let message = with_outgoing(|it| compose(&Outgoing { headers: &headers, ..it }));
    assert_well_formed(&message);
    let text = String::from_utf8_lossy(&message);
    let long: Vec<_> = text.split("\r\n").filter(|line| line.len() > 78).collect();
    assert_eq!(long.len(), 1, "{long:?}");
    let unfolded = text.replace("\r\n ", " ");
    assert!(unfolded.contains(&format!("\r\nList-Unsubscribe: {unsubscribe}\r\n")), "{text}");
    assert!(unfolded.contains(&format!("\r\nX-Words: {}\r\n", "word ".repeat(100).trim_end())));
    assert!(unfolded.contains("\r\nX-Empty:\r\n"));
    assert_eq!(
        parse(&message).header(headers[3].0.as_str()).and_then(|it| it.as_text()),
        Some("Grüße")
    );
}

#[test]
fn addresses_stand_as_they_are() {
    let (from, to, reply) = (
        address("用户@例え.example"),
        address("\"odd @ one\"@example.com"),
        address("re@[192.0.2.1]"),
    );
    let message = with_outgoing(|it| {
        compose(&Outgoing { from: &from, to: &to, reply_to: Some(&reply), ..it })
    });
    assert_well_formed(&message);
    let text = String::from_utf8(message).expect("UTF-8");
    assert!(
        text.contains("\r\nFrom: <用户@xn--r8jz45g.example>\r\nReply-To: <re@[192.0.2.1]>\r\n")
    );
    assert!(text.contains("\r\nTo: <\"odd @ one\"@example.com>\r\n"));
}
