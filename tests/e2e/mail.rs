//! The e-mail that arrives, read by two parsers that we did not write: mail-parser, and Python's
//! own `email`, which also tells every defect.

use std::collections::BTreeSet;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use mail_parser::{Message, MessageParser, MimeHeaders};
use serde_json::{Value, json};
use waxwing_tests::Server;
use waxwing_tools::Need;

use crate::fixture::{Template, message, publish, run_python, with};

/// The variables that the account's brand supplies where a send leaves them out.
const BRAND: [&str; 6] =
    ["product_name", "product_url", "support_email", "company_address", "brand_color", "logo_url"];

/// Reads a message with Python and says what is in it, and what is wrong with it.
const PYTHON: &str = include_str!("mail.py");

struct Received {
    raw: Vec<u8>,
    python: Value,
}

impl Received {
    /// None where Python is not installed; that is noted.
    async fn to(server: &Server, to: &str) -> Option<Self> {
        if !Need::Python.is_met("sent messages, by Python's email package") {
            return None;
        }
        let mail = server.wait_for_mail_to(to).await;
        let raw = server.raw_mail(&mail).await;
        let python = run_python(Path::new("python3"), PYTHON, &raw);
        assert_eq!(python["defects"], json!([]), "{to}: {}", String::from_utf8_lossy(&raw));
        assert_lines_are_sound(&raw);
        Some(Self { raw, python })
    }

    fn parsed(&self) -> Message<'_> {
        MessageParser::default().parse(&self.raw).expect("a message")
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.python["headers"][name].as_str()
    }

    /// The part of that type, as Python decodes it.
    fn part(&self, kind: &str) -> &Value {
        let parts = self.python["parts"].as_array().expect("parts");
        parts.iter().find(|part| part["type"] == kind).expect("the part is there")
    }

    fn text(&self) -> &str {
        self.part("text/plain")["content"].as_str().expect("text")
    }

    fn html(&self) -> &str {
        self.part("text/html")["content"].as_str().expect("HTML")
    }
}

/// RFC 5322 section 2.1.1, RFC 5321 section 2.3.8: CRLF only, no long line, no NUL.
fn assert_lines_are_sound(raw: &[u8]) {
    assert!(raw.ends_with(b"\r\n"));
    let body = raw.windows(4).position(|it| it == b"\r\n\r\n").expect("an end of the headers");
    for (index, line) in raw.split(|octet| *octet == b'\n').enumerate() {
        let Some((last, line)) = line.split_last() else { continue };
        assert_eq!(*last, b'\r', "line {index} ends in CRLF");
        assert!(!line.contains(&b'\r') && !line.contains(&0), "line {index}");
        assert!(line.len() <= 998, "line {index} has {} octets", line.len());
    }
    let headers = String::from_utf8_lossy(raw.get(..body).unwrap_or_default()).into_owned();
    for line in headers.lines() {
        let value = line.split_once(": ").map_or(line, |(_, value)| value);
        let whole = line.len() <= 78 || !value.trim().contains(' ');
        assert!(whole, "a header that can be folded is: {line}");
    }
}

#[tokio::test]
async fn a_message_has_the_headers_that_were_asked_for_and_those_that_must_be() {
    let server = Server::dev();
    let mut body = message("ada@example.com");
    body["fromName"] =
        json!("Zoë \"Zed\" Müller, Größenwahn & Söhne <GmbH> — 東京支店 Kundenbetreuung");
    body["from"] = json!("support@sandbox.test");
    body["replyTo"] = json!("answers@example.org");
    body["headers"] = json!({
        "X-Order": "4711 – übermorgen", "List-Unsubscribe": "<https://example.org/u/1>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click", "X-Long": "word ".repeat(60).trim(),
    });
    let id = server.send(server.key(), &body).await.message_id();
    let Some(received) = Received::to(&server, "ada@example.com").await else { return };

    let parsed = received.parsed();
    let from = parsed.from().and_then(|it| it.first()).expect("From");
    assert_eq!(from.address(), Some("support@sandbox.test"));
    assert_eq!(from.name(), body["fromName"].as_str());
    let reply_to = parsed.reply_to().and_then(|it| it.first()).expect("Reply-To");
    assert_eq!(reply_to.address(), Some("answers@example.org"));
    let to = parsed.to().and_then(|it| it.first()).expect("To");
    assert_eq!(to.address(), Some("ada@example.com"));
    let ulid = id.trim_start_matches("msg_").to_lowercase();
    assert_eq!(parsed.message_id(), Some(format!("{ulid}@sandbox.test").as_str()));
    assert_eq!(parsed.subject(), Some("481 902 is your Tern & Co code"));

    // Python doubles the space where an encoded word ends in one and another follows.
    let name = received.python["from"]["name"].as_str().expect("a name").replace("  ", " ");
    assert_eq!(Some(name.as_str()), body["fromName"].as_str());
    assert_eq!(received.python["from"]["address"], "support@sandbox.test");
    assert_eq!(received.header("message-id"), Some(format!("<{ulid}@sandbox.test>").as_str()));
    assert_eq!(received.header("x-order"), Some("4711 – übermorgen"));
    assert_eq!(received.header("x-long"), body["headers"]["X-Long"].as_str());
    assert_eq!(received.header("list-unsubscribe"), Some("<https://example.org/u/1>"));
    assert_eq!(received.header("mime-version"), Some("1.0"));
    let age = received.python["age"].as_f64().expect("a Date that Python reads");
    assert!((-5.0..120.0).contains(&age), "the Date is now: {age} s ago");
    for name in ["from", "to", "subject", "date", "message-id", "reply-to", "mime-version"] {
        assert_eq!(received.python["counts"][name], 1, "{name} stands once");
    }
    assert_eq!(received.header("bcc"), None);
}

#[tokio::test]
async fn a_message_is_text_and_html_and_nothing_else() {
    let server = Server::dev();
    server.send(server.key(), &message("ada@example.com")).await.message_id();
    let Some(received) = Received::to(&server, "ada@example.com").await else { return };
    assert_eq!(received.python["type"], "multipart/alternative");
    let parts = received.python["parts"].as_array().expect("parts");
    let kinds: Vec<&str> = parts.iter().filter_map(|part| part["type"].as_str()).collect();
    assert_eq!(kinds, ["multipart/alternative", "text/plain", "text/html"], "the best stands last");
    for kind in ["text/plain", "text/html"] {
        assert_eq!(received.part(kind)["charset"], "utf-8");
        assert!(received.part(kind)["content"].as_str().is_some_and(|it| it.contains("481 902")));
    }
    let parsed = received.parsed();
    assert_eq!((parsed.text_body_count(), parsed.html_body_count()), (1, 1));
    assert_eq!(parsed.attachment_count(), 0);
    assert!(parsed.body_text(0).is_some_and(|text| text.contains("481 902")));
    assert!(parsed.body_html(0).is_some_and(|html| html.contains("481 902")));
}

#[tokio::test]
async fn data_is_escaped_in_html_and_left_as_it_is_in_text_and_subject() {
    let server = Server::dev();
    let template = Template {
        subject: "For {{ name }}",
        html: Some("<p title=\"{{ name }}\">Hello {{ name }}</p>"),
        text: Some("Hello {{ name }}"),
    };
    publish(&server, server.dev_output("accountId"), "greeting", &template, &[]);
    let name = "<script>alert(\"1\")</script> & O'Brien {{ x }} =3D ünï ≠ 🐦";
    let body = with(message("ada@example.com"), "template", json!("greeting"));
    server.send(server.key(), &with(body, "data", json!({"name": name}))).await.message_id();
    let Some(received) = Received::to(&server, "ada@example.com").await else { return };
    assert_eq!(received.header("subject"), Some(format!("For {name}").as_str()));
    assert_eq!(received.parsed().subject(), Some(format!("For {name}").as_str()));
    assert_eq!(received.text().trim_end(), format!("Hello {name}"));
    let html = received.html();
    assert!(!html.contains("<script>") && !html.contains("\"1\""), "{html}");
    assert!(html.contains("&lt;script&gt;") && html.contains("&amp; O"), "{html}");
    assert!(html.contains("{{ x }} =3D ünï ≠ 🐦"), "data is not a template: {html}");
}

#[tokio::test]
async fn a_subject_of_any_language_and_length_comes_back_as_it_was() {
    let server = Server::dev();
    let template = Template { subject: "{{ s }}", text: Some("t"), ..Template::default() };
    publish(&server, server.dev_output("accountId"), "subject", &template, &[]);
    let long = "Ein sehr langer Betreff, der gefaltet werden muss, weil er so lang ist ".repeat(5);
    for (index, subject) in [
        "plain",
        "Grüße aus Köln",
        "お客様の注文番号は四七一一です。ご確認のほどよろしくお願い申し上げます。ありがとうございます。",
        "👩‍👩‍👧‍👦 family — emoji with joiners 👍🏽👍🏽👍🏽👍🏽👍🏽👍🏽👍🏽👍🏽👍🏽👍🏽",
        "=?utf-8?q?not_an_encoded_word?=",
        "ends with a backslash \\ and \"quotes\" (and a comment) <and@more>",
        long.trim(),
        &"nospaces".repeat(30),
        &"ü".repeat(200),
    ]
    .into_iter()
    .enumerate()
    {
        let to = format!("s{index}@example.com");
        let body = with(message(&to), "template", json!("subject"));
        server.send(server.key(), &with(body, "data", json!({"s": subject}))).await.message_id();
        let Some(received) = Received::to(&server, &to).await else { return };
        assert_eq!(received.parsed().subject(), Some(subject));
        assert_eq!(received.header("subject"), Some(subject));
    }
}

#[tokio::test]
async fn files_arrive_octet_for_octet_and_inline_ones_beside_the_html() {
    let server = Server::dev();
    let template = Template { subject: "s", html: Some("<img src=\"cid:logo\">"), text: Some("t") };
    publish(&server, server.dev_output("accountId"), "picture", &template, &[]);
    let octets: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let files = [
        ("Rechnung März 2026.pdf", "application/pdf", octets.clone(), None),
        ("notes.txt", "text/plain; charset=utf-8", "zwölf\r\n.\r\nend".into(), None),
        ("logo.png", "image/png", vec![0x89, b'P', b'N', b'G', 0, 1, 2], Some("logo")),
        ("empty.bin", "application/octet-stream", Vec::new(), None),
    ];
    let attachments: Vec<Value> = files
        .iter()
        .map(|(filename, kind, content, id)| {
            let content = BASE64.encode(content);
            let mut file = json!({"filename": filename, "contentType": kind, "content": content});
            if let Some(id) = id {
                file["contentId"] = json!(id);
            }
            file
        })
        .collect();
    let body = with(message("ada@example.com"), "template", json!("picture"));
    let body = with(body, "attachments", Value::from(attachments));
    server.send(server.key(), &body).await.message_id();
    let Some(received) = Received::to(&server, "ada@example.com").await else { return };

    assert_eq!(received.python["type"], "multipart/mixed");
    let parts = received.python["parts"].as_array().expect("parts");
    for (filename, kind, content, id) in &files {
        let part = parts.iter().find(|part| part["filename"] == *filename);
        let part = part.expect("Python finds the file");
        assert_eq!(Some(part["type"].as_str().unwrap_or_default()), kind.split(';').next());
        let found = part["octets"].as_str().and_then(|it| BASE64.decode(it).ok());
        assert_eq!(found.as_ref(), Some(content), "{filename}");
        let (disposition, wanted_id) = match id {
            Some(id) => ("inline", json!(format!("<{id}>"))),
            None => ("attachment", Value::Null),
        };
        assert_eq!((&part["disposition"], &part["id"]), (&json!(disposition), &wanted_id));
    }
    let logo = parts.iter().find(|part| part["id"] == "<logo>").expect("the picture");
    assert_eq!(logo["inside"], "multipart/related", "beside the HTML that shows it");

    let parsed = received.parsed();
    let names: BTreeSet<&str> =
        parsed.attachments().filter_map(MimeHeaders::attachment_name).collect();
    assert_eq!(names, files.iter().map(|it| it.0).collect());
    let pdf = parsed.attachments().find(|it| it.attachment_name() == Some(files[0].0));
    assert_eq!(pdf.map(mail_parser::MessagePart::contents), Some(&octets[..]));
}

#[tokio::test]
async fn lines_of_any_length_and_dots_survive() {
    let server = Server::dev();
    let template = Template {
        subject: "s",
        html: Some("<p>{{ long }}</p>"),
        text: Some("{{ long }}\n.\n..dots\nFrom here\n-- \ntrailing  \nend"),
    };
    publish(&server, server.dev_output("accountId"), "long", &template, &[]);
    for (to, long) in
        [("x@example.com", "x".repeat(20_000)), ("y@example.com", "äß ".repeat(5_000))]
    {
        let long = long.trim();
        let body = with(message(to), "template", json!("long"));
        server.send(server.key(), &with(body, "data", json!({"long": long}))).await.message_id();
        let Some(received) = Received::to(&server, to).await else { return };
        let wanted = format!("{long}\n.\n..dots\nFrom here\n-- \ntrailing  \nend");
        assert_eq!(received.text().replace("\r\n", "\n").trim_end(), wanted);
        assert!(received.html().contains(long));
    }
}

#[tokio::test]
async fn a_text_part_is_made_from_the_html_where_the_template_has_none() {
    let server = Server::dev();
    let html =
        "<h1>Hello {{ name }}</h1><p>See <a href=\"https://example.org/x\">this page</a>.</p>";
    let template = Template { subject: "s", html: Some(html), ..Template::default() };
    publish(&server, server.dev_output("accountId"), "html-only", &template, &[]);
    let body = with(message("ada@example.com"), "template", json!("html-only"));
    server
        .send(server.key(), &with(body, "data", json!({"name": "<Ada> & co"})))
        .await
        .message_id();
    let Some(received) = Received::to(&server, "ada@example.com").await else { return };
    assert_eq!(received.python["type"], "multipart/alternative");
    let text = received.text();
    assert!(text.contains("<Ada> & co") && text.contains("https://example.org/x"), "{text}");
    assert!(!text.contains("<h1>") && !text.contains("&amp;"), "{text}");
}

#[tokio::test]
async fn every_starter_template_renders_with_and_without_optional_variables() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let list = server.cli(&["template", "list", "--account", account]);
    let templates = list.as_array().expect("a list");
    let slugs: BTreeSet<&str> = templates.iter().filter_map(|it| it["slug"].as_str()).collect();
    for wanted in [
        "verification-code",
        "password-reset",
        "welcome",
        "receipt",
        "team-invitation",
        "security-alert",
    ] {
        assert!(slugs.contains(wanted), "{wanted} in {slugs:?}");
    }
    for template in templates {
        let slug = template["slug"].as_str().expect("a slug");
        let to = format!("{slug}@example.com");
        let body = with(message(&to), "template", json!(slug));
        let body = with(body, "data", template["exampleData"].clone());
        server.send(server.key(), &body).await.message_id();
        let Some(received) = Received::to(&server, &to).await else { return };
        assert_eq!(received.python["type"], "multipart/alternative", "{slug}");
        assert!(received.header("subject").is_some_and(|it| it.len() > 5), "{slug}");
        for part in [received.text(), received.html()] {
            assert!(part.len() > 200, "{slug}: {part}");
            assert!(!part.contains("{{") && !part.contains("{%"), "{slug}: {part}");
        }
        assert!(received.html().contains("Tern &amp; Co"), "{slug}: the example's product");
        assert!(received.text().contains("Tern & Co"), "{slug}: the example's product");

        let required: Vec<&str> = template["variables"]
            .as_array()
            .expect("variables")
            .iter()
            .filter(|it| it["required"] == true)
            .filter_map(|it| it["path"].as_str())
            .filter(|path| !path.contains(['.', '[']))
            .collect();
        let mut data = template["exampleData"].clone();
        let members = data.as_object_mut().expect("an object");
        let left_out: Vec<String> = members
            .iter()
            .filter(|(name, _)| {
                !required.contains(&name.as_str()) && !BRAND.contains(&name.as_str())
            })
            .filter_map(|(_, value)| value.as_str().map(str::to_owned))
            .filter(|value| value.len() > 8)
            .collect();
        members.retain(|name, _| required.contains(&name.as_str()));
        let to = format!("only-{slug}@example.com");
        let body = with(message(&to), "template", json!(slug));
        server.send(server.key(), &with(body, "data", data)).await.message_id();
        let Some(received) = Received::to(&server, &to).await else { return };
        assert!(received.text().contains("Tern & Co"), "{slug}: the account's brand");
        for value in left_out {
            assert!(!received.text().contains(&value), "{slug}: {value} was left out");
        }
    }
}
