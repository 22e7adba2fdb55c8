//! Is the server well? `waxwing doctor`, `/v1/health`, the page Health and alerts, with DNS and time as bad as they get.

use std::net::Ipv4Addr;
use std::process::{Command, Output};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_tests::{Launch, Mail, Posted, Receiver, Server, until};
use waxwing_tools::Need;

use crate::dashboard::Browser;

const SOON: Duration = Duration::from_secs(30);
const HOST: &str = "mail.waxwing.example";
/// A public address, which only the test's own name server knows.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(5, 9, 1, 7);
const POINTER: &str = "7.1.9.5.in-addr.arpa";
const LISTED: &str = "7.1.9.5.bl.example";

/// Makes all checks.
pub async fn checked(server: &Server) -> Value {
    checked_with(server, server.key()).await
}

/// The same with an operator's key of a server that has none of `dev`.
pub async fn checked_with(server: &Server, key: &str) -> Value {
    let answer = server.post("/v1/health/check", key, &json!({}), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

/// What a check found.
pub fn finding<'a>(report: &'a Value, check: &str) -> &'a Value {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().find(|it| it["check"] == check).expect("each check has one")
}

/// A name server that has all that a server should publish.
async fn names() -> DnsServer {
    let dns = DnsServer::start().await;
    dns.ip(HOST, ADDRESS.into());
    dns.record(POINTER, "PTR", &format!("{HOST}."));
    for name in [HOST.to_owned(), format!("spf.{HOST}"), format!("bounce.{HOST}")] {
        dns.txt(&name, &format!("v=spf1 a:{HOST} -all"));
    }
    dns
}

/// A server that delivers directly; its sandbox domain does not.
fn direct(dns: &DnsServer) -> Launch {
    let launch = Launch::asking(dns).with("delivery", "route", "direct");
    launch.with("health", "block_lists", "[\"bl.example\"]")
}

fn doctor(server: &Server, arguments: &[&str]) -> (Output, String) {
    let arguments = [&["doctor"][..], arguments].concat();
    let output = server.cli_as(server.key(), &server.data_dir(), &arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output, said)
}

#[tokio::test]
async fn a_master_key_that_breaks_while_the_server_runs_is_told() {
    let server = Server::dev();
    let key_file = server.data_dir().join("master.key");
    let whole = std::fs::read(&key_file).expect("readable");
    let rights = |report: &Value| finding(report, "file_rights").clone();
    assert_ne!(rights(&checked(&server).await)["state"], "failing");
    std::fs::write(&key_file, "half of it").expect("written");
    until("the fault is in the log", SOON, || {
        let log = server.log();
        (log.contains("the master key cannot be read any more")
            && log.contains("restore the file from your backup"))
        .then_some(())
    });
    let found = rights(&checked(&server).await);
    assert_eq!(found["state"], "failing", "{found}");
    assert!(found["todo"].as_str().is_some_and(|it| it.contains("Restore the file")), "{found}");
    std::fs::write(&key_file, whole).expect("written");
    until("its end is in the log", SOON, || {
        server.log().contains("the master key file is readable again").then_some(())
    });
    assert_ne!(rights(&checked(&server).await)["state"], "failing");
}

#[tokio::test]
async fn doctor_names_a_wrong_ptr_and_a_listing_with_what_to_do() {
    let dns = names().await;
    dns.remove_all(POINTER);
    dns.record(POINTER, "PTR", "host-7.provider.example.");
    dns.ip(LISTED, Ipv4Addr::new(127, 0, 0, 4).into());
    let server = Server::start(direct(&dns));
    let (output, said) = doctor(&server, &[]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "FAIL  Reverse DNS: 5.9.1.7 leads to host-7.provider.example, which does not lead back",
        "What to do: Whoever gave you the address sets its PTR record",
        "FAIL  Block lists: 5.9.1.7 is listed by bl.example (127.0.0.4)",
        "What to do: Find out why first",
        "ok    SPF: ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(error.contains("reverse_dns") && error.contains("block_lists"), "{error}");
    let shown = server.get_as(server.key(), "/v1/health").await.body;
    assert_eq!(finding(&shown, "reverse_dns")["state"], "failing", "{shown}");
    let mut browser = Browser::of_dev(&server).await;
    let page = browser.get("/ops").await;
    assert!(page.html.contains("is listed by bl.example"), "{}", page.html);

    // A list that answers with an error, as Spamhaus does to public resolvers, lists nobody.
    dns.remove_all(LISTED);
    dns.ip(LISTED, Ipv4Addr::new(127, 255, 255, 254).into());
    dns.remove_all(POINTER);
    dns.record(POINTER, "PTR", &format!("{HOST}."));
    browser.submit("/ops/check", &[]).await;
    let page = browser.get("/ops").await;
    assert!(page.html.contains("which is no listing"), "{}", page.html);
    let (_, said) = doctor(&server, &["--json"]);
    let report: Value = serde_json::from_str(&said).expect("JSON");
    for (check, state) in [("block_lists", "not_checked"), ("reverse_dns", "ok"), ("spf", "ok")] {
        assert_eq!(finding(&report, check)["state"], state, "{report}");
    }
}

/// The mails about block lists whose subjects end so.
fn about(mails: &[Mail], end: &str) -> usize {
    let end = format!("Block lists {end}");
    mails.iter().filter(|it| it.to == "ops@example.com" && it.subject.ends_with(&end)).count()
}

/// What was told of block lists.
fn events(posted: &[Posted]) -> Vec<Value> {
    let events = posted.iter().map(Posted::event);
    events.filter(|it| it["data"]["check"] == "block_lists").collect()
}

#[tokio::test]
async fn an_alert_comes_once_when_a_check_turns_and_once_when_it_is_over() {
    let (dns, receiver) = (names().await, Receiver::start().await);
    let mut server = Server::dev();
    let (_, mail_key) = server.make_key(&server.dev_account().id, &["--scope", "send"]);
    let launch = direct(&dns)
        .with("people", "url", "https://mail.test")
        .with("people", "mail_key", &mail_key)
        .with("health", "notify", "[\"ops@example.com\"]")
        .with("webhooks", "allow_http", "true")
        .with("webhooks", "allow_private", "[\"127.0.0.1/32\"]");
    server.restart_as(launch);
    let body = json!({"url": receiver.url(), "types": ["server.health"]});
    let made = server.webhooks(Method::POST, server.key(), "?owner=server", &body).await;
    assert_eq!(made.status, 201, "{}", made.body);

    dns.ip(LISTED, Ipv4Addr::new(127, 0, 0, 2).into());
    checked(&server).await;
    checked(&server).await;
    receiver.until("the event", |all| events(all).len() == 1).await;
    server.wait_for("the mail", |mails| about(mails, "is failing") == 1).await;
    assert!(server.log().contains("a health check fails"));
    let metrics = server.request(Method::GET, "/metrics").send().await.expect("answered");
    let metrics = metrics.text().await.expect("a text");
    let gauge = "waxwing_health_findings{check=\"block_lists\",state=\"failing\"} 1";
    assert!(metrics.contains(gauge), "{metrics}");

    // What was told stays told over a restart, however often it is seen.
    server.restart();
    for _ in 0..3 {
        checked(&server).await;
    }
    dns.remove_all(LISTED);
    checked(&server).await;
    checked(&server).await;
    let told = receiver.until("its end", |all| events(all).len() == 2).await;
    let data: Vec<Value> = events(&told).into_iter().map(|mut it| it["data"].take()).collect();
    assert_eq!((&data[0]["state"], &data[1]["state"]), (&json!("failing"), &json!("ok")));
    assert!(data[0]["todo"].is_string() && data[0]["why"].is_string(), "{data:?}");
    let mails = server.wait_for("the last", |all| about(all, "is failing no more") == 1).await;
    assert_eq!(about(&mails, "is failing"), 1, "each turn is told once");
}

#[tokio::test]
async fn an_alert_that_could_not_be_mailed_is_mailed_when_it_can_be() {
    let dns = names().await;
    let mut server = Server::dev();
    let (_, mail_key) = server.make_key(&server.dev_account().id, &["--scope", "send"]);
    let launch = direct(&dns)
        .with("people", "url", "https://mail.test")
        .with("people", "mail_key", &mail_key)
        .with("health", "notify", "[\"ops@example.com\"]");
    server.restart_as(launch);
    drop(server.cli(&["maintenance", "on", "--reason", "the disk is replaced"]));
    dns.ip(LISTED, Ipv4Addr::new(127, 0, 0, 2).into());
    checked(&server).await;
    checked(&server).await;
    let refused = "the e-mail about a health check was not sent; it is tried again";
    until(refused, SOON, || server.log().contains(refused).then_some(()));
    drop(server.cli(&["maintenance", "off"]));
    checked(&server).await;
    server.wait_for("the mail", |mails| about(mails, "is failing") == 1).await;
    checked(&server).await;
    let mails = server.inbox().await;
    assert_eq!(about(&mails, "is failing"), 1, "each turn is told once");
}

#[tokio::test]
async fn a_certificate_that_ends_tomorrow_fails_its_check() {
    if !Need::OpenSsl.is_met("what the health checks say of an old certificate") {
        return;
    }
    let home = tempfile::tempdir().expect("a folder");
    let (key, certificate) = (home.path().join("key.pem"), home.path().join("cert.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "1", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let path = |it: &std::path::Path| it.display().to_string();
    let launch = Launch::dev().with("smtp", "certificate", &path(&certificate)).with(
        "smtp",
        "private_key",
        &path(&key),
    );
    let server = Server::start(launch);
    let report = checked(&server).await;
    let found = finding(&report, "certificate");
    assert_eq!(found["state"], "failing", "{report}");
    assert!(found["todo"].as_str().is_some_and(|it| it.starts_with("Renew it")), "{found}");
}

#[tokio::test]
async fn certificate_files_that_break_while_the_server_runs_fail_their_check() {
    let (home, own) = (tempfile::tempdir().expect("a folder"), Server::dev());
    let [certificate, key] = ["cert.pem", "key.pem"].map(|name| {
        let file = home.path().join(name);
        std::fs::copy(own.data_dir().join("tls").join(name), &file).expect("copied");
        file.display().to_string()
    });
    let launch = Launch::dev().with("smtp", "certificate", &certificate);
    let server = Server::start(launch.with("smtp", "private_key", &key));
    let found = finding(&checked(&server).await, "certificate").clone();
    assert_eq!(found["state"], "ok", "{found}");
    std::fs::write(&certificate, "half of it").expect("written");
    server.signal("HUP");
    until("the files are refused", SOON, || {
        server.log().contains("the new TLS certificate is refused").then_some(())
    });
    let found = finding(&checked(&server).await, "certificate").clone();
    assert_eq!(found["state"], "failing", "{found}");
    let what = found["what"].as_str().expect("what is seen");
    assert!(what.contains(&certificate) && what.contains("the next start fails"), "{found}");
}

#[tokio::test]
async fn without_a_server_doctor_makes_the_checks_that_need_none() {
    let dns = names().await;
    dns.ip(LISTED, Ipv4Addr::new(127, 0, 0, 4).into());
    let sections = "[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n";
    let mut server = Server::start(Launch::serve(sections));
    server.kill9();
    let file = server.scratch("waxwing.toml");
    let text = std::fs::read_to_string(&file).expect("the configuration");
    let text = text.replace("enabled = false", &format!("enabled = false\nhostname = \"{HOST}\""));
    let more = format!(
        "[delivery]\nroute = \"direct\"\n[dns]\nnameservers = [\"{}\"]\n\
         [health]\nblock_lists = [\"bl.example\"]\n",
        dns.address()
    );
    std::fs::write(&file, text + &more).expect("written");
    let file = file.display().to_string();
    let output = server.cli_as("", &server.data_dir(), &["doctor", "--config", &file]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in [
        "FAIL  Block lists: 5.9.1.7 is listed by bl.example",
        "ok    Reverse DNS: ",
        "FAIL  Listeners: No server runs on",
        "-     Store: No server runs on",
        "ok    Certificate: No port of this server needs one",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
