//! HTTP/2 on the port with TLS, by clients that we did not write.

use std::cell::Cell;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use reqwest::{Client, Response, Version};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use waxwing_tests::{Account, Launch, Server, until};
use waxwing_tools::Need;

use crate::fixture::message;

const SOON: Duration = Duration::from_secs(30);

/// A server with a port for HTTPS, and an account that may send.
struct Site {
    server: Server,
    account: Account,
    https: SocketAddr,
}

impl Site {
    fn start(limits: &str) -> Self {
        let sections = format!("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n{limits}");
        let launch = Launch::serve(&sections)
            .with("http", "tls_listen", "127.0.0.1:0")
            .with("smtp", "enabled", "true")
            .with("smtp", "listen_starttls", "127.0.0.1:0")
            .with("smtp", "listen_tls", "off");
        let server = Server::start(launch);
        let account = server.open_account("pro", 10_000);
        let https = until("the server listens", SOON, || {
            let lines = lines(&server);
            lines.iter().rev().find_map(|it| it["https"].as_str()?.parse().ok())
        });
        Self { server, account, https }
    }

    /// What a client must trust.
    fn authority(&self) -> PathBuf {
        self.server.data_dir().join("tls/ca.pem")
    }

    /// A client that trusts the server and keeps one connection for all of its requests.
    fn client(&self) -> Client {
        let trusted = fs::read(self.authority()).expect("a certificate");
        let trusted = reqwest::Certificate::from_pem(&trusted).expect("a certificate");
        let client = Client::builder().no_proxy().tls_certs_only([trusted]);
        client.timeout(Duration::from_mins(1)).build().expect("a client")
    }

    fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.https)
    }

    async fn send(&self, client: &Client, to: &str) -> reqwest::Result<Response> {
        let request = client.post(self.url("/messages/send"));
        request.header("x-api-key", &self.account.key).json(&message(to)).send().await
    }
}

/// The lines of the log.
fn lines(server: &Server) -> Vec<Value> {
    server.log().lines().filter_map(|it| serde_json::from_str(it).ok()).collect()
}

fn said(answer: &Response) -> (u16, Version) {
    (answer.status().as_u16(), answer.version())
}

#[tokio::test]
async fn curl_gets_the_version_of_http_that_it_asks_for() {
    if !Need::Curl.is_met("HTTP/2 by curl") {
        return;
    }
    let site = Site::start("");
    let key = format!("x-api-key: {}", site.account.key);
    for (option, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
        let mut curl = Command::new("curl");
        curl.args(["--disable", "--silent", "--show-error", "--noproxy", "*", option]);
        curl.arg("--cacert").arg(site.authority());
        curl.args(["--write-out", "\n%{http_version} %{http_code}", "-H", &key]);
        curl.args(["-H", "content-type: application/json", "--data"]);
        curl.arg(message("ada@example.com").to_string()).arg(site.url("/messages/send"));
        let output = curl.output().expect("curl runs");
        let printed = String::from_utf8(output.stdout).expect("UTF-8");
        let (answer, said) = printed.rsplit_once('\n').expect("two lines");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said, format!("{version} 201"), "{answer}{complaint}");
    }
    let protocols: Vec<Value> = lines(&site.server)
        .iter()
        .filter(|it| it["message"] == "request" && it["route"] == "/messages/send")
        .map(|it| it["protocol"].clone())
        .collect();
    assert_eq!(protocols, [json!("HTTP/2.0"), json!("HTTP/1.1")], "as the log has it");
}

#[tokio::test]
async fn sends_at_once_on_one_connection_are_all_accepted() {
    let site = Site::start("");
    let client = site.client();
    let first = site.send(&client, "first@example.com").await.expect("answered");
    assert_eq!(said(&first), (201, Version::HTTP_2));
    let to: Vec<String> = (0..90).map(|n| format!("n{n}@example.com")).collect();
    let sends = to.iter().map(|to| site.send(&client, to));
    for answer in join_all(sends).await {
        assert_eq!(said(&answer.expect("answered")), (201, Version::HTTP_2));
    }
    assert_eq!(site.server.messages(&site.account.id).len(), 91);
}

#[tokio::test]
async fn a_page_of_the_dashboard_comes_over_http2() {
    let site = Site::start("");
    let page = site.client().get(site.url("/login")).send().await.expect("answered");
    assert_eq!(said(&page), (200, Version::HTTP_2));
    assert!(page.headers().contains_key("strict-transport-security"));
}

#[tokio::test]
async fn requests_that_are_taken_back_do_not_stop_those_of_others() {
    let site = Site::start("");
    let (flood, other) = (site.client(), site.client());
    let ask = || flood.get(site.url("/v1/messages")).header("x-api-key", &site.account.key).send();
    assert_eq!(said(&ask().await.expect("answered")).1, Version::HTTP_2);
    let is_over = Cell::new(false);
    let flooding = async {
        while !is_over.get() {
            let mut requests: Vec<_> = (0..50).map(|_| Box::pin(ask())).collect();
            for request in &mut requests {
                drop(request.as_mut().now_or_never());
            }
            tokio::task::yield_now().await;
            // What is dropped before its answer is taken back with RST_STREAM.
            drop(requests);
        }
    };
    let sending = async {
        for n in 0..50 {
            let answer = site.send(&other, &format!("n{n}@example.com")).await.expect("answered");
            assert_eq!(answer.status().as_u16(), 201, "{n}");
        }
        is_over.set(true);
    };
    tokio::join!(sending, flooding);
}

#[tokio::test]
async fn a_stop_answers_each_send_of_http2_that_it_has_accepted() {
    let mut site = Site::start("");
    let client = site.client();
    let accepted = Cell::new(0);
    let sending = (0..20).map(|_| async {
        while let Ok(answer) = site.send(&client, "ada@example.com").await {
            if answer.status().as_u16() != 201 {
                break;
            }
            accepted.set(accepted.get() + 1);
            if accepted.get() == 100 {
                site.server.ask_to_stop();
            }
        }
    });
    drop(join_all(sending).await);
    assert!(site.server.wait_for_exit().success());
    assert!(accepted.get() >= 100);
    site.server.restart();
    assert_eq!(site.server.messages(&site.account.id).len(), accepted.get());
}

#[tokio::test]
async fn probes_get_in_over_tls_while_an_address_has_all_its_connections() {
    let site = Site::start("[limits]\nconnections = 20\nheader_seconds = 600\n");
    let mut silent = Vec::new();
    for _ in 0..150 {
        silent.push(TcpStream::connect(site.https).await.expect("connected"));
    }
    // Beyond the bounds there is one answer for each connection, over HTTP/1.1.
    let client = site.client();
    let healthy = client.get(site.url("/healthz")).send().await.expect("answered");
    assert_eq!(said(&healthy), (200, Version::HTTP_11));
    let refused = site.send(&client, "a@example.com").await.expect("answered");
    assert_eq!(said(&refused), (503, Version::HTTP_11));
    drop(silent);
}

#[tokio::test]
async fn a_port_without_tls_speaks_no_http2() {
    let server = Server::dev();
    let mut stranger = TcpStream::connect(server.address()).await.expect("connected");
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    stranger.write_all(preface).await.expect("written");
    let mut answer = Vec::new();
    // A reset after an answer is the kernel's way to say that not everything was read.
    stranger.read_to_end(&mut answer).await.ok();
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    assert_eq!(server.get("/healthz").await.status, 200);
}
