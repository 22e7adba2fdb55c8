//! Random messages of a small alphabet, and a second way to write the canonical form down.

use proptest::prelude::*;

use super::*;

/// Text with much white space, in lines.
fn text(longest: usize) -> impl Strategy<Value = String> {
    let atom = prop_oneof![
        3 => Just(" "),
        2 => Just("\t"),
        3 => Just("a"),
        1 => Just("."),
        1 => Just("é"),
        4 => Just("\r\n"),
    ];
    prop::collection::vec(atom, 0..longest).prop_map(|atoms| atoms.concat())
}

/// A header with one From, and a body; perhaps without an end of line, or an empty line between.
pub(super) fn message() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec![
        "To",
        "to",
        "Subject",
        "References",
        "REFERENCES",
        "List-Id",
        "Received",
        "X-A",
        "Cc",
    ]);
    // A line that begins with white space continues the field.
    let value = text(12).prop_map(|value| value.replace("\r\n", "\r\n "));
    let field = (name, value).prop_map(|(name, value)| format!("{name}:{value}\r\n"));
    let others = prop::collection::vec(field, 0..12);
    let tail = prop_oneof![1 => Just(None), 9 => text(60).prop_map(Some)];
    (others, tail).prop_map(|(others, body)| {
        let (above, below) = others.split_at(others.len() / 2);
        let header = format!("{}From: a@example.com\r\n{}", above.concat(), below.concat());
        body.map_or(header.clone(), |body| format!("{header}\r\n{body}"))
    })
}

/// RFC 6376 section 3.4.4, word by word.
fn relaxed_body(body: &str) -> String {
    let mut lines: Vec<String> = body
        .split("\r\n")
        .map(|line| {
            let mut line = line.replace('\t', " ");
            while line.contains("  ") {
                line = line.replace("  ", " ");
            }
            line.trim_end_matches(' ').to_owned()
        })
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.iter().flat_map(|line| [line.as_str(), "\r\n"]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_relaxed_body_matches_a_literal_reading_of_rfc_6376(body in text(60)) {
        let mut canonical = Vec::new();
        let read = canonical::body(body.as_bytes(), |piece| canonical.extend_from_slice(piece));
        prop_assert_eq!(read, Ok(()));
        prop_assert_eq!(String::from_utf8_lossy(&canonical), relaxed_body(&body));
    }

    #[test]
    fn any_bytes_are_signed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let key = rfc_key();
        let signer = Signer { domain: "example.com", selector: "e", key: &key };
        let message = [b"From: a@example.com\r\n", bytes.as_slice()].concat();
        if let Ok(fields) = sign(&message, &[signer], AT) {
            let signed = [fields, message].concat();
            let read = Message::split(&signed).expect("the field is one");
            prop_assert_eq!(read.named("DKIM-Signature").next().map(|it| it.name), Some("DKIM-Signature"));
        }
    }
}
