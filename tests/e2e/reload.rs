//! A hang-up: limits are exchanged under the running server, and what is not is named in its log.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use waxwing_tests::{Account, Launch, Server, until, until_async};

use crate::fixture::{Database, message};
use crate::health::{checked_with, finding};

const SOON: Duration = Duration::from_secs(30);
const BEGINNING: &str = "[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n[health]\ndkim_key_days = 365\n\
                         [limits]\nsends_per_second = 1\nsend_burst = 1000\nbody_bytes = 10000\n\
                         header_seconds = 600\n";
const READ: &str = "configuration reloaded";
const LATER: &str = "these keys of the configuration take effect after a restart";
const BROKEN: &str =
    "the configuration was not reloaded because it has faults; all settings stay as they were";

/// A server with a file of configuration, and the relay at a free port.
fn server() -> (Server, Account) {
    let launch = Launch::serve(BEGINNING)
        .with("smtp", "enabled", "true")
        .with("smtp", "listen_starttls", "127.0.0.1:0")
        .with("smtp", "listen_tls", "off");
    let server = Server::start(launch);
    let account = server.open_account("pro", 1_000);
    (server, account)
}

/// Puts other texts in the place of parts of the file, and tells the server. Answers how much of the
/// log was there before.
fn change(server: &Server, changes: &[(&str, &str)]) -> usize {
    let file = server.scratch("waxwing.toml");
    let mut text = fs::read_to_string(&file).expect("the file");
    for (from, to) in changes {
        assert!(text.contains(from), "{from} in {text}");
        text = text.replace(from, to);
    }
    fs::write(file, text).expect("written");
    let before = server.log().len();
    server.signal("HUP");
    before
}

/// The line of the log behind `before` that says this.
fn logged(server: &Server, before: usize, words: &str) -> Value {
    until(words, SOON, || {
        let log = server.log();
        let mut lines =
            log.get(before..)?.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
        lines.find(|it| it["message"].as_str().is_some_and(|it| it.starts_with(words)))
    })
}

/// `RateLimit-Limit` of the next send, and its status.
async fn send(server: &Server, account: &Account) -> (u16, Option<String>) {
    let answer = server.send(&account.key, &message("ada@example.com")).await;
    (answer.status, answer.header("ratelimit-limit").map(str::to_owned))
}

#[tokio::test]
async fn a_lower_rate_holds_at_once_and_a_new_address_is_named() {
    let (server, account) = server();
    assert_eq!(send(&server, &account).await, (201, Some("1000".to_owned())));
    let mut kept = Talk::with(server.address()).await;
    assert!(kept.asks_for_health().await);

    let address = ("listen = \"127.0.0.1:0\"\n[store]", "listen = \"127.0.0.1:1\"\n[store]");
    let before = change(&server, &[address, ("send_burst = 1000", "send_burst = 2")]);
    let later = logged(&server, before, LATER);
    assert_eq!((&later["level"], &later["keys"]), (&"WARN".into(), &"http.listen".into()));
    let mut refused = None;
    for _ in 0..50 {
        let (status, limit) = send(&server, &account).await;
        assert_eq!(limit.as_deref(), Some("2"));
        if status == 429 {
            refused = Some(status);
            break;
        }
        assert_eq!(status, 201);
    }
    assert_eq!(refused, Some(429), "fifty at once are more than two, and one a second");
    assert!(kept.asks_for_health().await, "the connection lives on");

    let before = change(&server, &[("body_bytes = 10000", "body_bytes = 10")]);
    assert_eq!(logged(&server, before, READ)["keys"], "limits.body_bytes");
    let database = Database::of(&server).await;
    let reloads = "SELECT actor || ': ' || subject FROM audit WHERE action = 'reload_configuration' ORDER BY id";
    let written = until_async("both reloads are in the audit log", SOON, async || {
        Some(database.texts(reloads).await).filter(|it| it.len() == 2)
    })
    .await;
    let of_both = ["limits.send_burst; after a restart: http.listen", "limits.body_bytes"];
    assert!(written[0].starts_with("server: ") && written[0].ends_with(of_both[0]), "{written:?}");
    assert!(written[1].contains(of_both[1]), "{written:?}");
    let too_large = server.send(&account.key, &message("ada@example.com")).await;
    too_large.assert_refused(413, "PAYLOAD_TOO_LARGE");
    let log = server.log();
    assert!(!log.contains(&account.key), "no key in the log");
}

#[tokio::test]
async fn levels_by_module_hold_at_once_for_what_is_logged_from_then_on() {
    let (server, account) = server();
    let quiet = change(&server, &[("format = \"json\"", "format = \"json\"\nfilter = \"warn\"")]);
    // Its own line is of level INFO: the filter holds as soon as a request is not logged any more.
    until_async("the filter holds", SOON, async || {
        let before = server.log().len();
        send(&server, &account).await;
        (server.log().len() == before).then_some(())
    })
    .await;
    let by_module = ("filter = \"warn\"", "filter = \"warn,waxwing::api=info\"");
    change(&server, &[by_module]);
    until_async("requests are logged again", SOON, async || {
        send(&server, &account).await;
        server.log().get(quiet..)?.contains("\"request\"").then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_health_checks_follow_their_settings_at_once() {
    let (server, account) = server();
    let (_id, operator) = server.make_key(&account.id, &["--scope", "operator"]);
    let key_ages = async || {
        let report = checked_with(&server, &operator).await;
        finding(&report, "key_ages")["what"].as_str().map(str::to_owned)
    };
    let before = key_ages().await.expect("a finding");
    assert!(before.contains("365 days"), "{before}");
    let changed = change(&server, &[("dkim_key_days = 365", "dkim_key_days = 0")]);
    assert_eq!(logged(&server, changed, READ)["keys"], "health.dkim_key_days");
    let after = key_ages().await.expect("a finding");
    assert!(after.contains("dkim_key_days is 0"), "{after}");
}

#[tokio::test]
async fn a_file_that_was_emptied_or_cut_off_changes_nothing() {
    let (server, account) = server();
    let file = server.scratch("waxwing.toml");
    let text = fs::read_to_string(&file).expect("the file");
    let (beginning, _) = text.split_once("[health]").expect("a section");
    let emptied = format!("{beginning}[health]\ndkim_key_days = 365\n[limits]\n");
    for (cut, lost) in [
        ("# being written\n", "[health], [http], [inbox], [limits], [log], [smtp], [store]"),
        (beginning, "[health], [limits]"),
        (emptied.as_str(), "[limits]"),
    ] {
        let before = server.log().len();
        fs::write(&file, cut).expect("written");
        server.signal("HUP");
        let line = logged(&server, before, BROKEN);
        let error = line["error"].as_str().expect("an error");
        let said = error.contains(&format!("sets nothing in {lost} any more"));
        assert!(said && error.contains("restart the server where that is meant"), "{error}");
        assert_eq!(send(&server, &account).await, (201, Some("1000".to_owned())));
    }
    fs::write(&file, text).expect("written");
    let before = server.log().len();
    server.signal("HUP");
    assert_eq!(logged(&server, before, READ)["level"], "INFO");
}

#[tokio::test]
async fn a_broken_file_changes_nothing_and_says_what_is_wrong() {
    let (server, account) = server();
    let before = change(&server, &[("send_burst = 1000", "send_burst = 0")]);
    let line = logged(&server, before, BROKEN);
    assert_eq!(line["level"], "ERROR");
    let error = line["error"].as_str().expect("an error");
    assert!(error.contains("at `limits.send_burst`") && error.contains("line "), "{error}");
    assert_eq!(send(&server, &account).await, (201, Some("1000".to_owned())));

    let before = change(&server, &[("send_burst = 0", "send_burst = 1000")]);
    let line = logged(&server, before, READ);
    assert_eq!((&line["level"], line.get("keys")), (&"INFO".into(), None), "{line}");
}

#[tokio::test]
async fn the_relays_limits_hold_for_sessions_that_begin_after_the_hang_up() {
    let (server, _) = server();
    let address = logged(&server, 0, "listening")["smtp_starttls"].clone();
    let address = address.as_str().expect("the relay listens");
    let mut old = Talk::with(address).await;
    let default = "SIZE 26214400";
    assert!(old.says_hello().await.contains(default));
    let closer = "[smtp]\nmessage_bytes = 70000\nconnections_per_ip = 2\n";
    let before = change(&server, &[("[smtp]\n", closer)]);
    let keys = logged(&server, before, READ)["keys"].clone();
    assert_eq!(keys, "smtp.message_bytes, smtp.connections_per_ip");
    assert!(old.says_hello().await.contains(default), "it goes on as it began");
    let mut new = Talk::with(address).await;
    assert!(new.says_hello().await.contains("SIZE 70000"));
    let third = Talk::with(address).await.line().await;
    assert!(third.starts_with("421"), "{third}");
}

/// A connection, line by line.
struct Talk(BufReader<TcpStream>);

impl Talk {
    async fn with(address: &str) -> Self {
        Self(BufReader::new(TcpStream::connect(address).await.expect("connected")))
    }

    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = tokio::time::timeout(SOON, self.0.read_line(&mut line)).await;
        read.expect("in time").expect("readable");
        line.trim_end().to_owned()
    }

    /// What the relay offers; a greeting before it is passed over.
    async fn says_hello(&mut self) -> String {
        self.0.write_all(b"EHLO client.example\r\n").await.expect("written");
        let mut offers = String::new();
        loop {
            let line = self.line().await;
            offers.push_str(&line);
            offers.push('\n');
            if line.starts_with("250 ") {
                return offers;
            }
            assert!(line.starts_with("250-") || line.starts_with("220"), "{line}");
        }
    }

    async fn asks_for_health(&mut self) -> bool {
        self.0.write_all(b"GET /healthz HTTP/1.1\r\nHost: waxwing\r\n\r\n").await.expect("written");
        let status = self.line().await;
        let mut length = 0;
        loop {
            let line = self.line().await.to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        let read = tokio::io::AsyncReadExt::read_exact(&mut self.0, &mut body).await;
        read.is_ok() && status.contains(" 200 ")
    }
}
