//! The dashboard in a real browser: that it keeps the cookie, obeys the policy, and needs no script.

use std::process::{Command, Stdio};
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_guests::component;
use waxwing_mx::{Behaviour, MxServer, Reply};
use waxwing_tests::{Launch, Receiver, Server, name_server, until_async};
use waxwing_tools::{Need, node_packages};

use super::{Browser, PASSWORD, dev_person};
use crate::fixture::{message, smarthosts, with};

const UNPROVEN: &str = "the dashboard in a real browser, and that axe finds no fault in its pages";

#[tokio::test]
async fn a_browser_works_and_violates_no_policy_with_and_without_scripts() {
    if !Need::Chromium.is_met(UNPROVEN) {
        return;
    }
    let (package, lock) = (include_str!("package.json"), include_str!("package-lock.json"));
    let Some(folder) = node_packages("dashboard", package, lock, UNPROVEN) else { return };
    let script = folder.join("browser.mjs");
    std::fs::write(&script, include_str!("browser.mjs")).expect("the script is written");
    std::fs::write(folder.join("keys.mjs"), include_str!("keys.mjs")).expect("written");
    let dns = name_server().await;
    let receiver = Receiver::start().await;
    let smarthost = MxServer::start(hostile());
    let launch = Launch::posting_here().that_asks(&dns).with("delivery", "route", "smarthost");
    let server = Server::start(launch.with("delivery", "smarthosts", &smarthosts(&smarthost)));
    let sent = server.send(server.key(), &message("ada@example.com")).await.message_id();
    // Very long, and hostile: no page is too wide for it.
    let name = format!("<script>alert(1)</script>{}", "W".repeat(170));
    let made = server.cli(&["account", "create", "--name", &name]);
    let account = made["id"].as_str().expect("an account");
    server.grant(account, 1_000_000);
    let long = format!("{}@{}.example", "w".repeat(60), "w".repeat(60));
    drop(server.cli(&["user", "add", "--email", &long, "--account", account, "--role", "member"]));
    let dev = server.dev_account().id;
    drop(server.cli(&[
        "user",
        "add",
        "--email",
        "bo@example.com",
        "--account",
        &dev,
        "--role",
        "member",
    ]));
    hostile_template(&server, &name).await;
    let (domain, webhook) = mailing(&server, &receiver, &name).await;
    let empty = server.open_account("pro", 0);
    drop(Browser::invited(&server, "empty@example.com", &empty.id, "owner").await);
    let mut host = Browser::invited(&server, "host@example.com", account, "owner").await;
    let asked = [("email", "empty@example.com"), ("role", "member")];
    let waits = host.submit("/app/team", &asked).await;
    assert_eq!(waits.to.as_deref(), Some("/app/team?done=waits"), "{}", waits.html);
    // Whom the list offers two buttons for, beside the role.
    let asked = json!({"email": "cy@example.com", "role": "read-only"});
    let invited = server.post("/v1/team", server.key(), &asked, &[]).await;
    assert_eq!(invited.status, 201, "{}", invited.body);
    let asked = json!({"address": "w".repeat(60) + "@w.example"});
    let asked = server.post("/v1/test-recipients", server.key(), &asked, &[]).await;
    assert_eq!(asked.status, 201, "{}", asked.body);
    let hostile = hostile_replies(&server, &dns).await.join(",");
    server.install("plan-policy", "?impact=ask", &component("price-one")).await;
    let waits = async || {
        let slot = server.slot("plan-policy").await;
        slot["candidate"]["waits"].as_str().map(str::to_owned)
    };
    until_async("the component waits", Duration::from_mins(2), waits).await;
    let (email, password) = dev_person(&server);
    for scripts in ["on", "off"] {
        let output = Command::new("node")
            .arg(&script)
            .args([server.url(), &email, &password, &sent, account, scripts, &domain, &webhook])
            .env("API_KEY", server.key())
            .env("HOSTILE", &hostile)
            .env("EMPTY", "empty@example.com")
            .env("EMPTY_PASSWORD", PASSWORD)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .output()
            .expect("Node starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "scripts {scripts}: {said}\n{errors}");
        assert!(said.contains("all is well"), "scripts {scripts}: {said}\n{errors}");
    }
}

/// A smarthost that answers with all that no page may show as it is: markup, characters that turn or hide a text, and
/// lines of 10 KB.
fn hostile() -> Behaviour {
    let markup =
        "5.7.1 <script>alert(1)</script><img src=x onerror=alert(1)>\" style='color:red' &amp;<b>";
    let turned =
        b"451 4.7.1 \xe2\x80\xae\xe2\x81\xa6moc.knab\xe2\x80\x8b \x1b[31m\x07\x08\x7f end\r\n";
    let (long, line) = (format!("451 {}\r\n", "W".repeat(10_000)), "W".repeat(500));
    let lines = vec![line.as_str(); 20].join("\n");
    Behaviour::new()
        .reject_recipient("markup@hostile.example", 550, markup)
        .reject_recipient("lines@hostile.example", 550, &lines)
        .script(move |it| {
            let octets = match it.recipient? {
                "turned@hostile.example" => &turned[..],
                "long@hostile.example" => long.as_bytes(),
                _ => return None,
            };
            Some(Reply::octets(octets))
        })
}

/// A message for each of these replies; answers their identifiers.
async fn hostile_replies(server: &Server, dns: &DnsServer) -> Vec<String> {
    let key = server.key();
    drop(server.verified_domain(dns, key, "sender.example").await);
    let mut sent = Vec::new();
    for name in ["markup", "lines", "turned", "long"] {
        let mail = message(&format!("{name}@hostile.example"));
        let mail = with(mail, "from", json!("hello@sender.example"));
        sent.push(server.send(key, &mail).await.message_id());
    }
    for id in &sent {
        let tried = async || {
            let shown = server.get_as(key, &format!("/v1/messages/{id}")).await.body;
            let is_over = matches!(shown["state"].as_str(), Some("bounced" | "deferred"));
            is_over.then_some(())
        };
        until_async("the smarthost has answered", Duration::from_secs(30), tried).await;
    }
    sent
}

/// A domain, a webhook with a delivery, a suppression and a brand, of which everything is hostile and long; answers the
/// paths of the domain's and the webhook's page.
async fn mailing(server: &Server, receiver: &Receiver, name: &str) -> (String, String) {
    let key = server.key();
    let domain = format!("{0}.{0}.{0}.example", "w".repeat(60));
    let domain = server.add_domain(key, &domain).await;
    server.check_domain(key, domain.text("id")).await;
    let url = format!("{}/{}", receiver.url(), "w".repeat(400));
    let body = json!({"url": url, "description": name, "types": ["domain.*", "message.bounced"]});
    let webhook = server.webhooks(Method::POST, key, "", &body).await.body["id"].clone();
    let webhook = webhook.as_str().expect("a webhook").to_owned();
    server.webhooks(Method::POST, key, &format!("/{webhook}/test"), &Value::Null).await;
    let address = format!("{}@{}.example", "w".repeat(60), "w".repeat(60));
    for body in [json!({"address": address, "reason": name}), json!({"address": "bo@b.example"})] {
        let added = server.post("/v1/suppressions", key, &body, &[]).await;
        assert_eq!(added.status, 201, "{}", added.body);
    }
    let long = format!("https://example.com/{}", "w".repeat(400));
    let brand = json!({"brandColor": "#ffffff", "companyAddress": name, "logoUrl": long});
    let request = server.request(Method::PATCH, "/v1/brand").header("x-api-key", key);
    let changed = server.answer(request.json(&brand)).await;
    assert_eq!(changed.status, 200, "{}", changed.body);
    (format!("/app/domains/{}", domain.text("id")), format!("/app/webhooks/{webhook}"))
}

/// A template of the longest slug with a version and a draft that breaks senders, of which everything is hostile and long.
async fn hostile_template(server: &Server, name: &str) {
    let path = format!("/v1/templates/{}", "w".repeat(64));
    let call = async |method: Method, path: &str, body: Value| {
        let request = server.request(method, path).header("x-api-key", server.key());
        let answer = server.answer(request.json(&body)).await;
        assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.body);
    };
    let draft = json!({"name": name, "description": name, "subject": name, "html": "<p>{{ name }}</p>",
                       "examples": {"default": {"name": name}}});
    let new = json!({"slug": "w".repeat(64), "draft": draft});
    call(Method::POST, "/v1/templates", new).await;
    call(Method::POST, &format!("{path}/publish"), json!({"note": name})).await;
    let changed = json!({"html": format!("<p>{{{{ name }}}} {{{{ city }}}} {name}</p>"),
                         "examples": {"default": {"name": name, "city": name}, name: {"name": name, "city": name}}});
    call(Method::PATCH, &path, changed).await;
}
