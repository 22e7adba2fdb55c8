//! Tests of templates that really leave: to addresses whose holders have agreed, and to nobody else.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_mx::{Behaviour, MxServer, Received};
use waxwing_tests::{Account, Answer, Launch, Server, name_server};

use crate::fixture::{Database, change, smarthosts};

const PATIENCE: Duration = Duration::from_secs(40);
const ADDRESS: &str = "Ada@recipient.example";
const PATH: &str = "/v1/test-recipients";

/// A server that really sends, through a smarthost.
struct Lab {
    _dns: DnsServer,
    smarthost: MxServer,
    server: Server,
    account: Account,
}

impl Lab {
    async fn new() -> Self {
        let (dns, smarthost) = (name_server().await, MxServer::start(Behaviour::new()));
        let launch = Launch::asking(&dns).with("delivery", "route", "smarthost").with(
            "delivery",
            "smarthosts",
            &smarthosts(&smarthost),
        );
        let server = Server::start(launch);
        let account = server.open_account("pro", 100);
        let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
        let account = Account { key_id, key, ..account };
        drop(server.verified_domain(&dns, &account.key, "sender.example").await);
        let lab = Self { _dns: dns, smarthost, server, account };
        let sender = json!({"sender": "hello@sender.example"});
        let changed = lab.call(Method::PATCH, "/v1/account", &sender).await;
        assert_eq!(changed.status, 200, "{}", changed.body);
        lab
    }

    async fn call(&self, method: Method, path: &str, body: &Value) -> Answer {
        call(&self.server, &self.account.key, method, path, body).await
    }

    async fn add(&self) -> Answer {
        self.call(Method::POST, PATH, &json!({"address": ADDRESS})).await
    }

    /// Adds the address; answers the path of the link in the mail.
    async fn asked(&self) -> String {
        let before = self.smarthost.message_count();
        let added = self.add().await;
        assert_eq!(
            (added.status, &added.body["confirmed"]),
            (201, &json!(false)),
            "{}",
            added.body
        );
        let mails = self.smarthost.wait_for_messages(before + 1, PATIENCE).await;
        link(mails.last().expect("a mail"))
    }

    /// Sends a test to the address; the subject and the warnings.
    async fn tried(&self) -> Answer {
        let body = json!({"to": [ADDRESS]});
        let path = "/v1/templates/verification-code/test";
        let answer = self.call(Method::POST, path, &body).await;
        assert_eq!(
            (answer.status, &answer.body["success"]),
            (200, &json!(true)),
            "{}",
            answer.body
        );
        answer
    }

    fn balance(&self) -> i64 {
        self.server.balance(&self.account.id)
    }
}

async fn call(server: &Server, key: &str, method: Method, path: &str, body: &Value) -> Answer {
    let request = server.request(method, path).header("x-api-key", key);
    server.answer(if body.is_null() { request } else { request.json(body) }).await
}

/// The path of the link in a confirmation mail, however its lines were folded.
fn link(mail: &Received) -> String {
    let text = String::from_utf8_lossy(&mail.data).replace("=\r\n", "");
    let (_, rest) = text.split_once("/test-recipients/").expect("a link");
    let secret = rest.split_whitespace().next().expect("a secret");
    format!("/test-recipients/{secret}")
}

/// A page behind a link: its status and text.
async fn page(server: &Server, method: Method, path: &str) -> (u16, String) {
    let request = server.request(method, path).header("sec-fetch-site", "same-origin");
    let response = request.send().await.expect("an answer");
    (response.status().as_u16(), response.text().await.expect("a text"))
}

fn subject(mail: &Received) -> String {
    let text = String::from_utf8_lossy(&mail.data).into_owned();
    let line = text.lines().find(|it| it.starts_with("Subject: ")).expect("a subject");
    line.trim_start_matches("Subject: ").to_owned()
}

#[tokio::test]
async fn a_test_leaves_for_an_address_once_its_holder_has_agreed() {
    let lab = Lab::new().await;
    let path = lab.asked().await;
    assert_eq!(lab.balance(), 99, "the mail that asks is a send of the account");
    // Looking at the link changes nothing.
    let (status, html) = page(&lab.server, Method::GET, &path).await;
    assert!(status == 200 && html.contains("ada@recipient.example"), "{status} {html}");
    assert!(page(&lab.server, Method::HEAD, &path).await.0 == 200);
    let tried = lab.tried().await;
    let warnings = tried.body["data"][0]["warnings"].to_string();
    assert!(warnings.contains("no confirmed test recipient"), "{warnings}");
    let mail = lab.server.wait_for_mail_to(ADDRESS).await;
    assert!(!mail.subject.starts_with("[Test]"), "{}", mail.subject);
    assert_eq!((lab.balance(), lab.smarthost.message_count()), (99, 1), "it stayed in the sandbox");

    let (status, html) = page(&lab.server, Method::POST, &path).await;
    assert!(status == 200 && html.contains("Done"), "{status} {html}");
    let listed = lab.call(Method::GET, PATH, &Value::Null).await;
    assert_eq!(listed.body["data"][0]["address"], "ada@recipient.example");
    assert_eq!(listed.body["data"][0]["confirmed"], true, "{}", listed.body);
    let tried = lab.tried().await;
    assert_eq!(tried.body["data"][0]["warnings"], Value::Null, "{}", tried.body);
    let mails = lab.smarthost.wait_for_messages(2, PATIENCE).await;
    let sent = mails.last().expect("a mail");
    assert!(subject(sent).starts_with("[Test] "), "{}", subject(sent));
    assert_eq!(lab.balance(), 98, "it costs what a send costs");

    // A suppressed address gets no test either, and is not asked again.
    let suppressed = json!({"address": ADDRESS});
    let added = lab.call(Method::POST, "/v1/suppressions", &suppressed).await;
    assert_eq!(added.status, 201, "{}", added.body);
    assert_eq!(lab.tried().await.body["data"][0]["state"], "suppressed");
    lab.add().await.assert_refused(409, "CONFLICT");
    Database::of(&lab.server).await.assert_sound().await;
}

#[tokio::test]
async fn a_link_works_once_for_a_day_and_until_its_address_goes() {
    let lab = Lab::new().await;
    let used = lab.asked().await;
    assert_eq!(page(&lab.server, Method::POST, &used).await.0, 200);
    for method in [Method::GET, Method::POST] {
        assert_eq!(page(&lab.server, method, &used).await.0, 410, "it was used");
    }
    // One that is confirmed is not asked again; one that was taken off is new.
    assert_eq!(lab.add().await.status, 200);
    let below = format!("{PATH}/{ADDRESS}");
    let gone = lab.call(Method::DELETE, &below, &Value::Null).await;
    assert_eq!((gone.status, &gone.body["deleted"]), (200, &json!(true)), "{}", gone.body);
    lab.call(Method::DELETE, &below, &Value::Null).await.assert_refused(404, "NOT_FOUND");
    let ended = lab.asked().await;
    assert_eq!(lab.call(Method::DELETE, &below, &Value::Null).await.status, 200);
    assert_eq!(page(&lab.server, Method::POST, &ended).await.0, 410, "its address is gone");
    let old = lab.asked().await;
    change(&lab.server, "UPDATE confirmation_mails SET created_at = created_at - 86400000").await;
    assert_eq!(page(&lab.server, Method::POST, &old).await.0, 410, "it is a day old");
    for wrong in
        ["/test-recipients/x", "/test-recipients/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]
    {
        assert_eq!(page(&lab.server, Method::POST, wrong).await.0, 410, "{wrong}");
    }
    let listed = lab.call(Method::GET, PATH, &Value::Null).await;
    assert_eq!(listed.body["data"][0]["confirmed"], false, "{}", listed.body);
    let foreign = lab.server.request(Method::POST, &old).header("sec-fetch-site", "cross-site");
    assert_eq!(foreign.send().await.expect("an answer").status().as_u16(), 403);
}

#[tokio::test]
async fn a_list_is_its_accounts_own_and_the_link_is_its_recipients() {
    let lab = Lab::new().await;
    let path = lab.asked().await;
    let other = lab.server.open_account("pro", 100);
    let (_, other_admin) = lab.server.make_key(&other.id, &["--scope", "admin"]);
    let as_other = |method, path: &'static str, body| {
        let (server, key) = (&lab.server, &other_admin);
        async move { call(server, key, method, path, &body).await }
    };
    assert_eq!(as_other(Method::POST, PATH, json!({"address": ADDRESS})).await.status, 201);
    // The holder agrees with one account, not with the other.
    assert_eq!(page(&lab.server, Method::POST, &path).await.0, 200);
    let listed = as_other(Method::GET, PATH, Value::Null).await;
    assert_eq!(listed.body["data"][0]["confirmed"], false, "{}", listed.body);
    let one = "/v1/test-recipients/ada@recipient.example";
    assert_eq!(as_other(Method::DELETE, one, Value::Null).await.status, 200);
    let own = lab.call(Method::GET, PATH, &Value::Null).await;
    assert_eq!(own.body["data"][0]["confirmed"], true, "{}", own.body);

    // Whoever manages the account sees that a mail went out, and not the link in it.
    lab.call(Method::DELETE, one, &Value::Null).await;
    let added = lab.add().await;
    let id = added.body["messageId"].as_str().expect("a message").to_owned();
    let shown = lab.call(Method::GET, &format!("/v1/messages/{id}"), &Value::Null).await;
    assert_eq!((&shown.body["channel"], shown.status), (&json!("server"), 200), "{}", shown.body);
    assert!(!shown.body.to_string().contains("/test-recipients/"), "{}", shown.body);
    let raw = lab.call(Method::GET, &format!("/v1/messages/{id}/raw"), &Value::Null).await;
    raw.assert_refused(404, "NOT_FOUND");
    let again = lab.call(Method::POST, &format!("/v1/messages/{id}/resend"), &Value::Null).await;
    again.assert_refused(409, "CONFLICT");

    // An author reads the list; a test key, and a key for one template, change nothing.
    let (_, author) = lab.server.make_key(&lab.account.id, &["--scope", "templates"]);
    let server = &lab.server;
    assert_eq!(call(server, &author, Method::GET, PATH, &Value::Null).await.status, 200);
    let (_, test) = server.make_key(&lab.account.id, &["--test", "--scope", "admin"]);
    let narrow = ["--scope", "admin", "--template", "verification-code"];
    let (_, narrow) = server.make_key(&lab.account.id, &narrow);
    for key in [&author, &test, &narrow] {
        for (method, path) in [(Method::POST, PATH), (Method::DELETE, one)] {
            let body = json!({"address": "eve@recipient.example"});
            let refused = call(server, key, method, path, &body).await;
            refused.assert_refused(403, "FORBIDDEN");
        }
    }
}

#[tokio::test]
async fn nobody_is_asked_often_and_what_is_refused_leaves_nothing() {
    let lab = Lab::new().await;
    for _ in 0..3 {
        assert_eq!(lab.add().await.status, 201);
        let below = format!("{PATH}/{ADDRESS}");
        assert_eq!(lab.call(Method::DELETE, &below, &Value::Null).await.status, 200);
    }
    // Not from another account either, nor with other letters.
    let other = lab.server.open_account("pro", 100);
    let (_, key) = lab.server.make_key(&other.id, &["--scope", "admin"]);
    let upper = json!({"address": ADDRESS.to_uppercase()});
    for key in [&lab.account.key, &key] {
        let refused = call(&lab.server, key, Method::POST, PATH, &upper).await;
        refused.assert_refused(429, "RATE_LIMITED");
        let wait: u64 = refused.header("retry-after").and_then(|it| it.parse().ok()).expect("s");
        assert!((86_000..=86_400).contains(&wait), "{wait}");
    }
    let add = async |name: &str| {
        let body = json!({"address": format!("{name}@recipient.example")});
        lab.call(Method::POST, PATH, &body).await
    };
    for number in 0..17 {
        assert_eq!(add(&format!("n{number}")).await.status, 201);
    }
    add("n17").await.assert_refused(429, "RATE_LIMITED");
    change(&lab.server, "UPDATE confirmation_mails SET created_at = created_at - 86400000").await;
    for number in 17..20 {
        assert_eq!(add(&format!("n{number}")).await.status, 201);
    }
    add("n20").await.assert_refused(403, "FORBIDDEN");
    assert_eq!(add("n0").await.status, 201, "one of the list is asked again");

    // Without credits, the list and the rates are as they were.
    let id = lab.server.in_sql(&other.id);
    change(
        &lab.server,
        &format!("INSERT INTO ledger (account_id, kind, amount, reason, created_at) VALUES ({id}, 'adjustment', -100, 'test', 1)"),
    )
    .await;
    let poor = json!({"address": "poor@recipient.example"});
    let refused = call(&lab.server, &key, Method::POST, PATH, &poor).await;
    refused.assert_refused(402, "INSUFFICIENT_BALANCE");
    let listed = call(&lab.server, &key, Method::GET, PATH, &Value::Null).await;
    assert_eq!(listed.body["data"], json!([]), "{}", listed.body);
    let asked = "SELECT count(*) FROM confirmation_mails WHERE address = 'poor@recipient.example'";
    assert_eq!(Database::of(&lab.server).await.number(asked).await, 0);
}

#[tokio::test]
async fn a_kill_loses_no_agreement_and_the_command_line_sees_the_list() {
    let mut lab = Lab::new().await;
    let path = lab.asked().await;
    lab.server.kill9();
    lab.server.restart();
    assert_eq!(page(&lab.server, Method::POST, &path).await.0, 200, "the link has survived");
    lab.server.kill9();
    lab.server.restart();
    let folder = lab.server.scratch("recipients");
    std::fs::create_dir_all(&folder).expect("a folder");
    let said = |arguments: &[&str]| {
        let all = [&["template", "recipients"], arguments].concat();
        let output = lab.server.cli_as(&lab.account.key, &folder, &all);
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success(), "{text}");
        text
    };
    assert!(said(&["list"]).starts_with("ada@recipient.example  confirmed "));
    assert!(said(&["add", "bo@recipient.example"]).contains("asked by msg_"));
    assert!(said(&["remove", ADDRESS]).contains("ada@recipient.example is off the list"));
    assert_eq!(said(&["list"]).trim(), "bo@recipient.example  not confirmed yet");
    let audited = "SELECT action FROM audit WHERE action LIKE '%test_recipient' ORDER BY id";
    let audited = Database::of(&lab.server).await.texts(audited).await;
    let wanted = [
        "add_test_recipient",
        "confirm_test_recipient",
        "add_test_recipient",
        "delete_test_recipient",
    ];
    assert_eq!(audited, wanted);
}
