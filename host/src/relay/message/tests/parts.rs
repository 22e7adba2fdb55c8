//! Files and variables in the parts of a message.

use super::*;
use crate::mail::mime::Attachment;

/// A multipart of this kind with these parts.
fn multipart(kind: &str, parts: &[&str]) -> String {
    let parts = parts.iter().fold(String::new(), |parts, part| parts + "--b\n" + part + "\n");
    format!("Content-Type: multipart/{kind}; boundary=b\n\npreamble\n{parts}--b--\nepilogue\n")
}

fn send(parts: &str) -> String {
    format!("X-Waxwing-Template: t\nFrom: a@example.com\n{parts}")
}

fn attachments(parts: &str) -> Vec<Attachment> {
    filled(&send(parts)).1.attachments
}

fn names(parts: &str) -> Vec<String> {
    attachments(parts).into_iter().map(|it| it.filename).collect()
}

#[test]
fn files_are_decoded_and_bodies_left_out() {
    let files = attachments(&multipart(
        "mixed",
        &[
            "Content-Type: text/plain\n\nignored\n",
            "Content-Type: text/html; charset=utf-8\nContent-Disposition: inline\n\n<p>ignored</p>\n",
            "Content-Type: application/pdf\nContent-Transfer-Encoding: BASE64\n\
             Content-Disposition: attachment; filename=\"a b.pdf\"\n\nJVBE\n RGQ\n==\n",
            "Content-Type: text/csv; charset=iso-8859-1; name=x.csv\n\
             Content-Transfer-Encoding: quoted-printable\n\na;b=3D=\n1\nc",
            "Content-Type: image/png\nContent-ID: <logo@x>\nContent-Disposition: inline\n\n8bit",
            "Content-Disposition: attachment\n\ntext",
        ],
    ));
    let expected = [
        ("a b.pdf", "application/pdf", &b"%PDDd"[..], None),
        ("x.csv", "text/csv; charset=iso-8859-1", b"a;b=1\r\nc", None),
        ("attachment-3", "image/png", b"8bit", Some("logo@x")),
        ("attachment-4", "text/plain", b"text", None),
    ];
    let expected = expected.map(|(filename, content_type, content, content_id)| Attachment {
        filename: filename.to_owned(),
        content_type: content_type.to_owned(),
        content: content.to_vec(),
        content_id: content_id.map(str::to_owned),
    });
    assert_eq!(files, expected);
}

#[test]
fn the_first_json_without_a_file_name_holds_the_variables() {
    let json =
        |more: &str, value: &str| format!("Content-Type: application/json{more}\n\n{value}\n");
    let parts = multipart(
        "mixed",
        &[
            &json("; name=a.json", "{\"n\":1}"),
            &json("\nContent-Disposition: attachment", "{\"n\":2}"),
            &json("", "no JSON, just a file"),
        ],
    );
    let (_, filled) = filled(&send(&parts));
    assert_eq!(Value::Object(filled.data.parsed()), json!({"n": 2}));
    let names: Vec<_> = filled.attachments.into_iter().map(|it| it.filename).collect();
    assert_eq!(names, ["a.json", "attachment-2"]);
}

#[test]
fn only_what_belongs_to_the_html_is_inline() {
    let image = "Content-Type: image/png; name=i.png\nContent-ID: <i>\nContent-Disposition: attachment\n\nx\n";
    let of = |kind| attachments(&multipart(kind, &[image])).swap_remove(0).content_id;
    assert_eq!(of("related").as_deref(), Some("i"));
    assert_eq!(of("mixed"), None);
}

#[test]
fn parts_are_found_in_parts() {
    let file = |name: &str| format!("Content-Type: image/png; name={name}\n\nx\n");
    let inner = multipart("related", &[&file("2"), &file("3")]).replace("--b", "--bb");
    let inner = inner.replace("boundary=b", "boundary=\"bb\"");
    let outer = multipart("mixed", &[&file("1"), &inner, &file("4")]);
    assert_eq!(names(&outer), ["1", "2", "3", "4"]);

    let message =
        "Content-Type: message/rfc822\n\nFrom: x@y.example\nContent-Type: multipart/mixed\n\nx\n";
    let attached = attachments(&multipart("mixed", &[message])).swap_remove(0);
    assert!(attached.content.starts_with(b"From: x@y.example\r\n"));
    assert_eq!(attached.content_type, "message/rfc822");

    let cut_off = multipart("mixed", &[&file("1"), &file("2")]).replace("--b--\nepilogue\n", "");
    assert_eq!(names(&cut_off), ["1", "2"]);
}

#[test]
fn names_of_files_are_decoded() {
    for (parameters, expected) in [
        ("filename=plain.txt", "plain.txt"),
        ("filename=\"q \\\"x\\\".txt\"", "q \"x\".txt"),
        ("filename*=utf-8''Gr%C3%B6%C3%9Fe.txt", "Größe.txt"),
        ("filename*0*=utf-8''Gr%C3%B6;\n filename*1=\"n.txt\"", "Grön.txt"),
        ("filename=\"=?utf-8?q?Gr=C3=B6n.txt?=\"", "Grön.txt"),
        ("filename=../../etc/passwd", "../../etc/passwd"),
    ] {
        let part = format!(
            "Content-Type: image/png\nContent-Disposition: attachment; {parameters}\n\nx\n"
        );
        assert_eq!(names(&multipart("mixed", &[&part])), [expected]);
    }
}

#[test]
fn malformed_parts_are_refused() {
    let header = "Content-Type: image/png; name=x\n";
    let nested = (0..12).fold("Content-Type: text/plain\n\nx\n".to_owned(), |inner, level| {
        let boundary = format!("b{level}");
        format!("Content-Type: multipart/mixed; boundary={boundary}\n\n--{boundary}\n{inner}\n--{boundary}--\n")
    });
    let long =
        format!("{header}Content-Disposition: attachment; {}\n\nx\n", "a*='x';\n ".repeat(1_000));
    for parts in [
        "Content-Type: multipart/mixed\n\n--b\n\nx\n--b--\n",
        "Content-Type: multipart/mixed; boundary=b\n\nno line of it\n",
        "Content-Type: multipart/mixed; boundary=\"\"\n\n--\n\n----\n",
        &multipart("mixed", &["no header\n\nx\n"]),
        &multipart("mixed", &[&format!("{header}Content-Transfer-Encoding: base64\n\n%%%\n")]),
        &multipart(
            "mixed",
            &[&format!("{header}Content-Transfer-Encoding: quoted-printable\n\n=XY\n")],
        ),
        &multipart("mixed", &[&format!("{header}Content-Transfer-Encoding: x-uuencode\n\nx\n")]),
        &multipart("mixed", &["\nx"; 101]),
        &multipart("mixed", &[&long]),
        &nested,
    ] {
        assert_eq!(faults(&send(parts)), pairs(&[("", "malformed_mime")]), "{parts:.300}");
    }
}

#[test]
fn the_send_api_checks_files() {
    let named = |name: &str| format!("Content-Type: image/png; name=\"{name}\"\n\nx\n");
    let parts = vec![named("x"); 21];
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    assert_eq!(faults(&send(&multipart("mixed", &parts))), pairs(&[("attachments", "too_many")]));
    let control = named("=?utf-8?q?a=0D=0Ab?=");
    let found = faults(&send(&multipart("mixed", &[&control])));
    assert_eq!(found, pairs(&[("attachments[0].filename", "invalid")]));
}
