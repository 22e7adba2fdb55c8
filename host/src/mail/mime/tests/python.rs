//! The same messages, read by the `email` package of Python's standard library.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use waxwing_tools::{Need, run_python};

use super::properties::{body, header_text, lines, one_line};
use super::*;

/// Reads cases from its standard input; prints what differs.
const CHECK: &str = include_str!("check.py");

const TEXTS: &[&str] = &[
    "Hello",
    "O'Neil, Ada (CEO)",
    "\"quoted\" back\\slash",
    "Grüße aus Köln",
    "株式会社ワックスウィング",
    "متجر إلكتروني",
    "👩‍👩‍👧‍👦 family 🎉",
    "=?utf-8?Q?not=20encoded?=",
    "a\r\nBcc: b@example.com",
    "a long subject of plain words that needs more than one line to be written down in full",
    "Ein längerer Betreff mit Umlauten, der auf mehr als eine Zeile gefaltet werden muss, und mehr",
    "長い件名は複数の行に折り返される必要があります。そして文字の途中で切れてはいけません。以上です。",
];

const BODIES: &[&str] = &[
    "Hello\nAda\n",
    "Grüße\n\n--=_m\nFrom here \n.\n..\n",
    "ご注文\nありがとう\nございます\n",
    "tab\tend\t\r\nx\ry\n",
    "A line of the text that is longer than seventy-eight characters has to be encoded somehow = so\n",
];

#[test]
fn python_reads_every_message_without_a_defect() {
    let mut cases: Vec<Value> = TEXTS
        .iter()
        .enumerate()
        .flat_map(|(at, text)| BODIES.iter().map(move |body| (at, *text, *body)))
        .map(|(at, text, body)| case(text, body, at % 3))
        .collect();
    let mut runner = TestRunner::deterministic();
    let random = (header_text(), body());
    cases.extend((0..300).map(|_| {
        let (text, body) = random.new_tree(&mut runner).expect("a random case").current();
        case(&text, &body, 0)
    }));
    if !Need::Python.is_met("composed messages, by Python's email package") {
        return;
    }
    let input = json!(cases).to_string();
    let output = run_python(Path::new("python3"), CHECK, input.as_bytes());
    assert_eq!(output, format!("{} messages read\n", cases.len()));
}

fn case(text: &str, body: &str, files: usize) -> Value {
    let name = text.replace(['"', '\\', '?', ':', '/'], "");
    let attachments = [
        file(&format!("{name}.bin"), "application/x-thing; x=1", body.as_bytes(), None),
        file("logo.png", "image/png", b"\x89PNG\r\n\0", Some("logo@shop")),
    ];
    let attachments = &attachments[..files];
    let headers = [("X-Campaign".to_owned(), text.to_owned())];
    let message = with_outgoing(|it| {
        compose(&Outgoing {
            from_name: Some(text),
            subject: text,
            text: Some(body),
            html: Some(body),
            attachments,
            headers: &headers,
            ..it
        })
    });
    let files: Vec<_> = attachments
        .iter()
        .map(|it| json!([one_line(&it.filename), STANDARD.encode(&it.content), it.content_id]))
        .collect();
    json!({ "message": STANDARD.encode(message), "text": one_line(text), "body": lines(body), "files": files })
}
