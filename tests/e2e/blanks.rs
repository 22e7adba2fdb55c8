//! What a template needs and a send leaves out never goes out blank without a word.

use serde_json::{Value, json};
use waxwing_tests::{Port, Server, Smtp};

use crate::fixture::{Template, publish, with};

/// A note that prints `total` where it is shown, and `name` with a default.
const NOTE: Template<'_> = Template {
    subject: "Your note",
    html: Some("<p>Hi {{ name | default: 'there' }}: {% if show %}{{ total }}{% endif %}</p>"),
    text: Some("Hi {% if name %}{{ name }}{% endif %}: {% if show %}{{ total }}{% endif %}"),
};

fn note(to: &str, data: &Value) -> Value {
    json!({"to": to, "type": "EMAIL", "template": "note", "data": data})
}

fn published(server: &Server, arguments: &[&str]) {
    drop(publish(server, server.dev_output("accountId"), "note", &NOTE, arguments));
}

fn warnings(body: &Value) -> Vec<&str> {
    body["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The blank variables in a message's decision record, and its first event.
fn recorded(message: &Value) -> (Vec<Value>, String) {
    let decisions = message["decisions"].as_array().expect("decisions");
    let blank = decisions.iter().filter_map(|it| it["blank"].as_array()).flatten().cloned();
    let first = message["events"][0]["detail"].as_str().expect("an event says why");
    (blank.collect(), first.to_owned())
}

#[tokio::test]
async fn a_blank_variable_is_warned_of_and_stands_in_the_messages_record() {
    let server = Server::dev();
    published(&server, &[]);
    let body = note("ada@example.com", &json!({"show": true}));
    let answer = server.send_once(server.key(), &body, "once").await;
    let id = answer.message_id();
    let told = warnings(&answer.body);
    assert!(matches!(told.as_slice(), [one] if one.contains("data.total")), "{told:?}");
    let again = server.send_once(server.key(), &body, "once").await;
    assert_eq!(again.body, answer.body, "the first answer again, with its warnings");

    let by_key = server.get_as(server.key(), &format!("/v1/messages/{id}")).await;
    for message in [server.message(&id), by_key.body] {
        let (blank, first) = recorded(&message);
        assert_eq!(blank, [json!("total")], "{message}");
        assert!(first.contains("left blank: total"), "{first}");
    }
    let shown = server.cli_text(&["message", "show", &id]);
    assert!(shown.contains("left blank: total") && shown.contains("blank: total"), "{shown}");

    let good = server
        .send(server.key(), &note("ada@example.com", &json!({"show": true, "total": "1"})))
        .await;
    assert!(warnings(&good.body).is_empty(), "what has a default or a condition is no blank");
    let (blank, first) = recorded(&server.message(&good.message_id()));
    assert!(blank.is_empty() && first == "accepted", "{blank:?} {first}");
}

#[tokio::test]
async fn a_batch_and_a_message_over_smtp_name_their_blanks_too() {
    let server = Server::dev();
    published(&server, &[]);
    let batch = json!([
        note("a@example.com", &json!({"show": false})),
        note("b@example.com", &json!({"show": true})),
    ]);
    let answer = server.send_batch(server.key(), &batch).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let results = answer.body["data"].as_array().expect("results");
    assert!(warnings(&results[0]).is_empty(), "{}", results[0]);
    assert!(warnings(&results[1]).iter().any(|it| it.contains("data.total")), "{}", results[1]);

    let from = server.dev_output("from");
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let message = format!(
        "From: {from}\r\nX-Waxwing-Template: note\r\nX-Waxwing-Data: {{\"show\": true}}\r\n\r\n\r\n"
    );
    let sent = client.send(from, &["c@example.com"], &message).await;
    let (blank, first) = recorded(&server.message(&sent.message_id()));
    assert_eq!(blank, [json!("total")]);
    assert!(first.contains("left blank: total"), "{first}");
    let line = server.log();
    let line = line.lines().find(|line| line.contains("left variables blank"));
    assert!(line.is_some_and(|line| line.contains("note") && line.contains("total")), "{line:?}");
}

#[tokio::test]
async fn a_strict_template_or_account_refuses_what_would_go_out_blank() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let body = note("ada@example.com", &json!({"show": true}));
    published(&server, &["--strict"]);
    server.send(server.key(), &body).await.assert_faults(&["data.total"]);
    let whole = with(body.clone(), "data", json!({"show": true, "total": "1"}));
    server.send(server.key(), &whole).await.message_id();

    published(&server, &[]);
    server.send(server.key(), &body).await.message_id();
    let updated = server.cli(&["account", "update", account, "--strict", "true"]);
    assert_eq!(updated["strict"], true, "{updated}");
    server.send(server.key(), &body).await.assert_faults(&["data.total"]);
    drop(server.cli(&["account", "update", account, "--strict", "false"]));
    server.send(server.key(), &body).await.message_id();
}

#[tokio::test]
async fn a_message_without_a_subject_or_with_nothing_to_see_is_refused() {
    let server = Server::dev();
    let account = server.dev_output("accountId");
    let template = Template {
        subject: "{% if title %}{{ title }}{% endif %}",
        html: Some(
            "<title>t</title><style>p { margin: 0 }</style><p style=\"display:none\">preview</p>\
             <p>&nbsp;{% if words %}{{ words }}{% endif %}<a href=\"https://example.com\"></a></p>",
        ),
        text: None,
    };
    drop(publish(&server, account, "note", &template, &[]));
    for (data, codes) in [
        (json!({}), vec!["empty_subject", "empty_message"]),
        (json!({"title": " \u{200b}", "words": "a"}), vec!["empty_subject"]),
        (json!({"title": "Hi", "words": "\u{a0}"}), vec!["empty_message"]),
    ] {
        let answer = server.send(server.key(), &note("ada@example.com", &data)).await;
        answer.assert_refused(400, "BAD_REQUEST");
        let found: Vec<&Value> = answer.body["errors"]
            .as_array()
            .expect("errors")
            .iter()
            .map(|it| &it["code"])
            .collect();
        assert_eq!(found, codes, "{}", answer.body);
    }
    let good = json!({"title": "Hi", "words": "there"});
    server.send(server.key(), &note("ada@example.com", &good)).await.message_id();
}
