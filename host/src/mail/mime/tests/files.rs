//! Names and media types of attachments, as they were given and as they are read.

use super::*;

#[test]
fn filenames_come_back_without_what_is_dangerous() {
    for (name, read) in [
        ("invoice 1.pdf", "invoice 1.pdf"),
        ("Rechnung für Müller.pdf", "Rechnung für Müller.pdf"),
        ("請求書.pdf", "請求書.pdf"),
        ("it's 100% \u{1f389}.pdf", "it's 100% \u{1f389}.pdf"),
        ("../../etc/passwd", ".._.._etc_passwd"),
        ("C:\\con\".exe", "C__con_.exe"),
        ("fdp.\u{202e}exe", "fdp.exe"),
        ("a\r\nb\0.txt", "a b .txt"),
        ("", "attachment"),
        ("..", "attachment"),
        ("\u{202e}", "attachment"),
    ] {
        assert_eq!(filename_of(name), read);
    }
    let long = filename_of(&format!("{}.pdf", "長".repeat(3_000)));
    assert_eq!((long.chars().count(), long.ends_with("長.pdf")), (120, true));
    assert_eq!(filename_of(&"l".repeat(3_000)).len(), 120);
}

#[test]
fn a_name_outside_ascii_has_a_fallback() {
    let attachments = [file("für Müller.pdf", "application/pdf", b"x", None)];
    let message = with_outgoing(|it| compose(&Outgoing { attachments: &attachments, ..it }));
    let text = String::from_utf8_lossy(&message);
    assert!(text.contains("Content-Type: application/pdf; name=\"f_r M_ller.pdf\"\r\n"), "{text}");
    assert!(text.contains("attachment; filename*=UTF-8''f%C3%BCr%20M%C3%BCller.pdf\r\n"), "{text}");
}

#[test]
fn content_types_are_checked() {
    let octets = "application/octet-stream";
    for (given, written) in [
        ("text/csv; charset=UTF-8", "text/csv; charset=\"UTF-8\""),
        ("Text/Calendar;method=REQUEST; name=x", "text/calendar; method=\"REQUEST\""),
        ("application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
        ("", octets),
        ("pdf", octets),
        ("text/", octets),
        ("a/b/c", octets),
        ("te xt/plain", octets),
        ("text/plain\r\nBcc: a", octets),
        ("text/plain; x=\"a\r\nb\"", octets),
        ("text/é", octets),
        ("multipart/mixed; boundary=x", octets),
        ("message/rfc822", octets),
    ] {
        let attachments = [file("f", given, b"x", None)];
        let message = with_outgoing(|it| compose(&Outgoing { attachments: &attachments, ..it }));
        assert_well_formed(&message);
        let text = String::from_utf8_lossy(&message);
        assert!(
            text.contains(&format!("Content-Type: {written}; name=\"f\"\r\n")),
            "{given}: {text}"
        );
    }
}

fn filename_of(filename: &str) -> String {
    let attachments = [file(filename, "application/pdf", b"%PDF", None)];
    let message = with_outgoing(|it| compose(&Outgoing { attachments: &attachments, ..it }));
    assert_well_formed(&message);
    let parsed = parse(&message);
    let name = parsed.attachment(0).and_then(|it| it.attachment_name()).expect("a name");
    name.to_owned()
}
