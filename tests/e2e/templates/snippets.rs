//! The code that sends a template is run as it is given, and the message arrives.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_tests::Server;
use waxwing_tools::Need;

use super::{api, create, publish};

/// All that could end a text or become code somewhere, in values and in names.
const HOSTILE: &str = "\"'`\\ ${x} #{x} $x %DATE% <?=1?> </script> <!-- JSON\nJSON\r\n\tEOF \u{2028}\u{202e} ü 日本 🐦";

/// What some language takes for a number, a variable, a tag or a method.
const HOSTILE_NAMES: [&str; 28] = [
    "-0",
    "08",
    "1e3",
    "0x1",
    "9223372036854775808",
    "-9223372036854775808",
    "?>",
    "<?php exit(1);",
    "$this",
    "${x}",
    "#{exit 1}",
    "#$0",
    "constructor",
    "toString",
    "__class__",
    "\\",
    "\\u0041",
    " ",
    "\u{7f}",
    "=begin",
    "*/",
    "__END__",
    "'",
    "`id`",
    "$(id)",
    "%{x}",
    "{{ x }}",
    "\u{feff}",
];

#[tokio::test]
async fn every_snippet_runs_as_it_is_and_its_message_arrives_with_the_same_data() {
    let server = Server::dev();
    // Go writes names in their order.
    let names: BTreeMap<&str, usize> = HOSTILE_NAMES.into_iter().zip(1..).collect();
    let data = json!({
        "text": HOSTILE, "__proto__": {"0": "a", "1": "b"}, HOSTILE: HOSTILE, "empty": {}, "none": [],
        "list": [1, -2.5, true, false, "x", [], {"a": "b"}], "big": 9_007_199_254_740_991_i64,
        "12": {"": "empty name"},
        "names": names,
    });
    // Everything goes into the subject, as the renderer prints JSON.
    let draft = json!({
        "subject": "{{ text | json }} {{ __proto__ | json }} {{ empty | json }} {{ list | json }} {{ big | json }} {{ names | json }}",
        "text": "x", "examples": {"default": data},
    });
    create(&server, "/v1/templates", "hostile", draft).await;
    publish(&server, "/v1/templates/hostile", json!({})).await;
    let answer = api(&server, Method::GET, "/v1/templates/hostile/snippets", &Value::Null).await;
    assert_eq!((answer.status, &answer.body["revision"]), (200, &json!(1)), "{}", answer.body);
    let snippets = answer.body["snippets"].as_array().expect("a list").clone();
    assert_eq!(snippets.len(), 7);
    let message =
        json!({"to": "ada@example.com", "type": "EMAIL", "template": "hostile", "data": data});
    server.send(server.key(), &message).await.message_id();
    let wanted = server.wait_for_mails(1).await.remove(0).subject;
    assert!(wanted.contains("日本") && wanted.contains("-2.5"), "{wanted}");

    let mut count = 1;
    for snippet in &snippets {
        let text = |name: &str| snippet[name].as_str().expect("a text").to_owned();
        let lang = text("lang");
        if !is_here(&lang) {
            continue;
        }
        let folder = server.scratch(&format!("snippet-{lang}"));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(text("file")), text("code")).expect("written");
        let said = run(&server, &folder, &text("command"));
        count += 1;
        let mails = server.wait_for_mails(count).await;
        assert_eq!(mails[count - 1].subject, wanted, "{lang}: {said}");
        assert_eq!(mails[count - 1].to, "ada@example.com", "{lang}");
    }
}

#[tokio::test]
async fn one_language_can_be_asked_for_and_code_shows_where_the_server_is() {
    let server = Server::dev();
    let path = "/v1/templates/verification-code/snippets";
    let one = api(&server, Method::GET, &format!("{path}?lang=go"), &Value::Null).await;
    let snippets = one.body["snippets"].as_array().expect("a list");
    assert_eq!((snippets.len(), &snippets[0]["lang"]), (1, &json!("go")), "{}", one.body);
    let code = snippets[0]["code"].as_str().expect("code");
    assert!(code.contains(&format!("base = \"{}\"", server.url())), "{code}");
    assert!(!code.contains(server.key()), "a key stands in no code");
    let unknown = api(&server, Method::GET, &format!("{path}?lang=cobol"), &Value::Null).await;
    unknown.assert_faults(&["lang"]);
    assert!(unknown.body.to_string().contains("curl, node, python"), "{}", unknown.body);
}

/// Whether the interpreter is installed; where not, that is noted.
fn is_here(lang: &str) -> bool {
    let unproven = format!("code in {lang} that sends a template");
    match lang {
        "curl" => Need::Curl.is_met(&unproven),
        "node" => Need::Node.is_met(&unproven),
        "python" => Need::Python.is_met(&unproven),
        "php" => Need::Php.is_met(&unproven),
        "ruby" => Need::Ruby.is_met(&unproven),
        "smtp" => Need::Swaks.is_met(&unproven),
        "go" => Need::Go.is_met(&unproven),
        other => unreachable!("{other}"),
    }
}

fn run(server: &Server, folder: &std::path::Path, command: &str) -> String {
    let mut words = command.split(' ');
    let mut run = Command::new(words.next().expect("a program"));
    for proxy in
        ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    {
        run.env_remove(proxy);
    }
    let output = run
        .args(words)
        .current_dir(folder)
        .env("WAXWING_URL", server.url())
        .env("WAXWING_API_KEY", server.key())
        .env("WAXWING_SMTP", server.dev_output("smtpStarttls"))
        .env("WAXWING_FROM", server.dev_output("from"))
        .env("SWAKS_HOME", "/nonexistent")
        .output()
        .expect("the interpreter starts");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "`{command}` fails: {said}");
    said
}
