//! Bad input over HTTP: each request has a clear answer, and nothing is lost.

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::{Answer, Server};

use crate::fixture::{assert_unharmed, message, with};

async fn post(server: &Server, body: impl Into<reqwest::Body>) -> Answer {
    let request = server.request(Method::POST, "/messages/send").header("x-api-key", server.key());
    server.answer(request.header("content-type", "application/json").body(body)).await
}

#[tokio::test]
async fn fields_of_the_wrong_type_are_named() {
    let server = Server::dev();
    let good = message("a@example.com");
    for value in [json!(1), json!(true), json!(["a@example.com"]), json!({"a": 1}), Value::Null] {
        for field in ["to", "type", "template", "data"] {
            if field == "data" && value.is_object() {
                continue;
            }
            let answer = server.send(server.key(), &with(good.clone(), field, value.clone())).await;
            answer.assert_refused(400, "BAD_REQUEST");
            assert!(answer.faulty_fields().contains(&field), "{field}: {value}: {}", answer.body);
        }
        if value.is_null() {
            continue;
        }
        for field in ["fromName", "from", "replyTo", "sendAt"] {
            let answer = server.send(server.key(), &with(good.clone(), field, value.clone())).await;
            answer.assert_faults(&[field]);
        }
    }
    for (field, value) in [
        ("tags", json!("a")),
        ("metadata", json!([])),
        ("headers", json!([])),
        ("attachments", json!({})),
        ("type", json!("email")),
        ("type", json!("EMAIL ")),
        ("template", json!("../../etc/passwd")),
        ("template", json!("a".repeat(65))),
        ("template", json!("Verification-Code")),
        ("fromName", json!("n".repeat(201))),
        ("sendAt", json!("2020-13-01T00:00:00Z")),
        ("sendAt", json!("9999-01-01T00:00:00Z")),
        ("sendAt", json!("1700000000")),
        ("tags", json!(vec!["t"; 21])),
    ] {
        let answer = server.send(server.key(), &with(good.clone(), field, value.clone())).await;
        answer.assert_refused(400, "BAD_REQUEST");
        assert_eq!(answer.faulty_fields().first(), Some(&field), "{value}: {}", answer.body);
    }
    assert_unharmed(&server, 0).await;
}

#[tokio::test]
async fn what_is_no_proper_json_is_refused_with_its_place() {
    let server = Server::dev();
    let good = message("a@example.com").to_string();
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let deep_data = format!(
        r#"{{"to":"a@example.com","type":"EMAIL","template":"welcome","data":{}1{}}}"#,
        r#"{"a":"#.repeat(50_000),
        "}".repeat(50_000)
    );
    let twice = good.replacen('{', r#"{"to":"eve@example.com","#, 1);
    let twice_escaped = good.replacen('{', r#"{"\u0074o":"eve@example.com","#, 1);
    let mut not_utf8 = good.clone().into_bytes();
    not_utf8.splice(10..10, [0xff, 0xfe]);
    let bodies: Vec<(&str, Vec<u8>)> = vec![
        ("empty", Vec::new()),
        ("white space", b" \n ".to_vec()),
        ("half", good.get(..good.len() / 2).unwrap_or_default().into()),
        ("more than one", format!("{good}{good}").into()),
        ("a trailing comma", good.replacen('}', ",}", 1).into()),
        ("a comment", format!("/* hi */{good}").into()),
        ("a byte order mark", format!("\u{feff}{good}").into()),
        ("UTF-16", good.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("octets that are not UTF-8", not_utf8),
        ("a lone high surrogate", good.replace("481 902", r"\ud800").into()),
        ("a lone low surrogate", good.replace("481 902", r"\udc00 x").into()),
        ("surrogates in the wrong order", good.replace("481 902", r"\udc00\ud800").into()),
        ("a raw control character", good.replace("481 902", "a\u{1}b").into()),
        ("a number past all bounds", good.replace("\"481 902\"", "1e999").into()),
        ("not a number", good.replace("\"481 902\"", "NaN").into()),
        ("a name that stands twice", twice.into()),
        ("a name that stands twice, once escaped", twice_escaped.into()),
        ("too deep", deep.into()),
        ("too deep in the data", deep_data.into()),
        ("an unclosed text", br#"{"to":"aaaa"#.to_vec()),
    ];
    for (what, body) in bodies {
        let answer = post(&server, body).await;
        answer.assert_refused(400, "BAD_REQUEST");
        assert_eq!(answer.body["errors"][0]["code"], "malformed_json", "{what}: {}", answer.body);
        assert!(answer.body.to_string().len() < 2_000, "{what}: the answer is not a copy");
    }
    for body in ["null", "true", "1", "\"text\"", "[]", "[{}]"] {
        post(&server, body).await.assert_faults(&[""]);
    }
    assert_unharmed(&server, 0).await;
}

#[tokio::test]
async fn a_nul_is_refused_wherever_it_stands() {
    let server = Server::dev();
    for (field, place, value) in [
        ("to", "to", json!("a\0@example.com")),
        ("fromName", "fromName", json!("Ada\0")),
        ("data", "data.code", json!({"code": "1\0"})),
        ("data", "data.list[0].x", json!({"code": "1", "list": [{"x": "\0"}]})),
        ("data", "data", json!({"code": "1", "a\0b": 1})),
        ("tags", "tags[0]", json!(["\0"])),
        ("unknown", "unknown", json!("\0")),
    ] {
        let answer = server.send(server.key(), &with(message("a@example.com"), field, value)).await;
        answer.assert_refused(400, "BAD_REQUEST");
        assert!(answer.faulty_fields().contains(&place), "{place}: {}", answer.body);
    }
    assert_unharmed(&server, 0).await;
}

#[tokio::test]
async fn no_field_can_begin_a_new_header() {
    let server = Server::dev();
    let good = message("a@example.com");
    for injected in
        ["x\r\nBcc: eve@example.com", "x\nBcc: eve@example.com", "x\rBcc: e@x.org", "x\u{85}y"]
    {
        for field in ["fromName", "to", "from", "replyTo"] {
            let answer =
                server.send(server.key(), &with(good.clone(), field, json!(injected))).await;
            answer.assert_faults(&[field]);
        }
        let value = json!({"X-Mine": injected});
        let answer = server.send(server.key(), &with(good.clone(), "headers", value)).await;
        answer.assert_faults(&["headers.X-Mine"]);
        for member in ["filename", "contentType", "contentId"] {
            let mut file = json!({"filename": "a.txt", "contentType": "text/plain", "content": ""});
            file[member] = json!(injected);
            let body = with(good.clone(), "attachments", json!([file]));
            let answer = server.send(server.key(), &body).await;
            answer.assert_faults(&[&format!("attachments[0].{member}")]);
        }
    }
    for name in [
        "Bcc",
        "From",
        "to",
        "Subject",
        "Content-Type",
        "DKIM-Signature",
        "X-A: b\r\nC",
        "X-Waxwing-Template",
        "",
    ] {
        let value = json!({name: "x"});
        let answer = server.send(server.key(), &with(good.clone(), "headers", value)).await;
        answer.assert_refused(400, "BAD_REQUEST");
    }
    // Data may hold line breaks; in a subject they are no header's end.
    let data = json!({"code": "1\r\nBcc: eve@example.com\r\n\r\nbody"});
    server.send(server.key(), &with(message("b@example.com"), "data", data)).await.message_id();
    let mail = server.wait_for_mail_to("b@example.com").await;
    let raw = String::from_utf8(server.raw_mail(&mail).await).expect("ASCII");
    let (headers, _) = raw.split_once("\r\n\r\n").expect("headers and a body");
    assert!(!headers.lines().any(|line| line.to_ascii_lowercase().starts_with("bcc")), "{headers}");
    assert_unharmed(&server, 1).await;
}

#[tokio::test]
async fn unknown_fields_are_accepted_and_listed() {
    let server = Server::dev();
    let mut body = message("a@example.com");
    body["colour"] = json!({"deep": [1, 2]});
    body["__proto__"] = json!(1);
    let answer = server.send(server.key(), &body).await;
    answer.message_id();
    let warnings = answer.body["warnings"].to_string();
    assert!(warnings.contains("colour") && warnings.contains("__proto__"), "{warnings}");
    let plain = server.send(server.key(), &message("b@example.com")).await;
    assert!(plain.body.get("warnings").is_none(), "{}", plain.body);
}

#[tokio::test]
async fn ten_megabytes_get_a_clear_answer() {
    let server = Server::dev();
    let big = |megabytes: usize| json!({"code": "1", "unused": "x".repeat(megabytes << 20)});
    let mut accepted = 0;
    for megabytes in [9, 11] {
        let body = with(message("a@example.com"), "data", big(megabytes));
        let answer = server.send(server.key(), &body).await;
        match answer.status {
            201 => accepted += 1,
            400 | 413 | 503 => {
                let text = answer.body["message"].as_str().unwrap_or_default();
                assert!(text.len() > 20, "{text}");
            }
            status => assert_eq!(status, 201, "{}", answer.body),
        }
    }
    let file =
        json!([{"filename": "a", "contentType": "image/png", "content": "A".repeat(9_900_000)}]);
    let answer =
        server.send(server.key(), &with(message("a@example.com"), "attachments", file)).await;
    answer.assert_faults(&["attachments"]);
    let bomb = format!("[{}]", vec!["{}"; 1_000_000].join(","));
    let request =
        server.request(Method::POST, "/messages/send/batch").header("x-api-key", server.key());
    let request = request.header("content-type", "application/json").body(bomb);
    server.answer(request).await.assert_faults(&[""]);
    assert_unharmed(&server, accepted).await;
}

#[tokio::test]
async fn idempotency_keys_that_are_none_are_refused() {
    let server = Server::dev();
    let long = "k".repeat(257);
    for key in ["", "with space", "tab\there", "ümlaut", &long] {
        let answer = server.send_once(server.key(), &message("a@example.com"), key).await;
        answer.assert_faults(&["Idempotency-Key"]);
    }
    let longest = "k".repeat(256);
    server.send_once(server.key(), &message("a@example.com"), &longest).await.message_id();
    assert_unharmed(&server, 1).await;
}

#[tokio::test]
async fn a_number_is_never_changed_in_silence() {
    let server = Server::dev();
    for (number, wanted) in [
        ("7", "7"),
        ("-7", "-7"),
        ("0.1", "0.1"),
        ("9007199254740993", "9007199254740993"),
        ("9223372036854775807", "9223372036854775807"),
        ("18446744073709551615", "18446744073709551615"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ] {
        let body = message("a@example.com").to_string().replace("\"481 902\"", number);
        let answer = post(&server, body).await;
        if answer.status == 400 {
            // Refused is well: the sender can send it as a text.
            continue;
        }
        let subject = server.message(&answer.message_id())["subject"].clone();
        assert_eq!(subject, format!("{wanted} is your Waxwing code"));
    }
}

#[tokio::test]
async fn the_answer_to_a_million_faults_is_not_a_million_lines() {
    let server = Server::dev();
    let nul = r#""\u0000","#.repeat(1_000_000);
    let body = message("a@example.com").to_string();
    let answer = post(&server, body.replace("\"481 902\"", &format!("[{nul}1]"))).await;
    assert!(matches!(answer.status, 400 | 413), "{}", answer.status);
    let size = answer.body.to_string().len();
    assert!(size < 1 << 20, "the answer has {size} octets");
    assert_unharmed(&server, 0).await;
}
