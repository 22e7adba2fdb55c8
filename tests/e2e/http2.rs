//! HTTP/2 on the port with TLS, by clients that we did not write.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use reqwest::{Client, Version};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Server, until};
use waxwing_tools::Need;

use crate::fixture::message;

const SOON: Duration = Duration::from_secs(30);

fn launch() -> Launch {
    Launch::dev().with("http", "tls_listen", "127.0.0.1:0").with("log", "format", "json")
}

/// The lines of the log.
fn lines(server: &Server) -> Vec<Value> {
    server.log().lines().filter_map(|it| serde_json::from_str(it).ok()).collect()
}

/// Where the server listens with TLS.
fn https(server: &Server) -> SocketAddr {
    until("the server listens", SOON, || {
        let lines = lines(server);
        lines.iter().rev().find_map(|it| it["https"].as_str()?.parse().ok())
    })
}

/// A client that trusts the server and keeps one connection for all of its requests.
fn client(server: &Server) -> Client {
    let trusted = std::fs::read(server.ca_file()).expect("a certificate");
    let trusted = reqwest::Certificate::from_pem(&trusted).expect("a certificate");
    let client = Client::builder().no_proxy().tls_certs_only([trusted]);
    client.timeout(Duration::from_mins(1)).build().expect("a client")
}

async fn send(client: &Client, server: &Server, to: &str) -> reqwest::Response {
    let url = format!("https://{}/messages/send", https(server));
    let request = client.post(url).header("x-api-key", server.key()).json(&message(to));
    request.send().await.expect("answered")
}

/// Runs curl against the port with TLS.
fn curl(server: &Server, arguments: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.args(["--disable", "--silent", "--show-error", "--noproxy", "*", "--cacert"]);
    curl.arg(server.ca_file()).args(arguments);
    let output = curl.output().expect("curl runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[tokio::test]
async fn curl_gets_the_version_of_http_that_it_asks_for() {
    if !Need::Curl.is_met("HTTP/2 by curl") {
        return;
    }
    let server = Server::start(launch());
    let url = format!("https://{}/messages/send", https(&server));
    let key = format!("x-api-key: {}", server.key());
    for (option, version) in [("--http2", "2"), ("--http1.1", "1.1")] {
        let to = format!("http{version}@example.com");
        let body = message(&to).to_string();
        let mut arguments = vec![option, "--write-out", "\n%{http_version} %{http_code}"];
        arguments.extend(["-H", &key, "-H", "content-type: application/json"]);
        arguments.extend(["--data", &body, &url]);
        let printed = curl(&server, &arguments);
        let (answer, said) = printed.rsplit_once('\n').expect("two lines");
        assert_eq!(said, format!("{version} 201"), "{answer}");
        server.wait_for_mail_to(&to).await;
    }
    let protocols: Vec<Value> = lines(&server)
        .iter()
        .filter(|it| it["message"] == "request" && it["route"] == "/messages/send")
        .map(|it| it["protocol"].clone())
        .collect();
    assert_eq!(protocols, [json!("HTTP/2.0"), json!("HTTP/1.1")], "as the log has it");
}

#[tokio::test]
async fn sends_at_once_on_one_connection_are_all_accepted() {
    let server = Server::start(launch());
    let client = client(&server);
    let first = send(&client, &server, "first@example.com").await;
    assert_eq!((first.status().as_u16(), first.version()), (201, Version::HTTP_2));
    let to: Vec<String> = (0..90).map(|n| format!("n{n}@example.com")).collect();
    let sends = to.iter().map(|to| send(&client, &server, to));
    let mut messages = Vec::new();
    for answer in futures_util::future::join_all(sends).await {
        assert_eq!((answer.status().as_u16(), answer.version()), (201, Version::HTTP_2));
        let body: Value = answer.json().await.expect("JSON");
        messages.push(body["messageId"].as_str().expect("an identifier").to_owned());
    }
    messages.sort();
    messages.dedup();
    assert_eq!(messages.len(), to.len());
}

#[tokio::test]
async fn requests_that_are_taken_back_do_not_stop_those_of_others() {
    let server = Server::start(launch());
    let (flood, other) = (client(&server), client(&server));
    let url = format!("https://{}/v1/messages", https(&server));
    let flooding = async {
        loop {
            let asks = (0..50).map(|_| flood.get(&url).header("x-api-key", server.key()).send());
            // What is dropped before its answer is taken back with RST_STREAM.
            let mut asks: Vec<_> = asks.map(Box::pin).collect();
            for ask in &mut asks {
                drop(futures_util::poll!(ask));
            }
            tokio::task::yield_now().await;
        }
    };
    let sending = async {
        for n in 0..50 {
            let answer = send(&other, &server, &format!("n{n}@example.com")).await;
            assert_eq!(answer.status().as_u16(), 201, "{n}");
        }
    };
    tokio::select! {
        () = sending => {}
        () = flooding => {}
    }
}

#[tokio::test]
async fn a_stop_answers_the_requests_of_http2_that_run() {
    let mut server = Server::start(launch());
    let client = client(&server);
    assert_eq!(send(&client, &server, "a@example.com").await.status().as_u16(), 201);
    let batch: Vec<Value> = (0..200).map(|n| message(&format!("n{n}@example.com"))).collect();
    let url = format!("https://{}/messages/send/batch", https(&server));
    let request = client.post(url).header("x-api-key", server.key()).json(&batch);
    let mut asking = Box::pin(request.send());
    drop(futures_util::poll!(&mut asking));
    server.ask_to_stop();
    // A request that came too late was refused by GOAWAY or a closed port, and then nothing of it was accepted.
    if let Ok(answer) = asking.await {
        assert_eq!((answer.status().as_u16(), answer.version()), (200, Version::HTTP_2));
    }
    assert!(server.wait_for_exit().success());
    assert!(!server.log().contains("panicked"), "{}", server.log());
}

#[tokio::test]
async fn probes_get_in_over_tls_while_an_address_has_all_its_connections() {
    let server = Server::start(launch().with("limits", "connections", "20").with(
        "limits",
        "header_seconds",
        "600",
    ));
    let address = https(&server);
    let mut silent = Vec::new();
    for _ in 0..10 {
        silent.push(TcpStream::connect(address).await.expect("connected"));
    }
    // Beyond the bounds there is one answer for each connection, over HTTP/1.1.
    let client = client(&server);
    let healthy = client.get(format!("https://{address}/healthz")).send().await.expect("answered");
    assert_eq!((healthy.status().as_u16(), healthy.version()), (200, Version::HTTP_11));
    let refused = send(&client, &server, "a@example.com").await;
    assert_eq!((refused.status().as_u16(), refused.version()), (503, Version::HTTP_11));
}

#[tokio::test]
async fn a_port_without_tls_speaks_no_http2() {
    let server = Server::start(launch());
    let mut stranger = TcpStream::connect(server.address()).await.expect("connected");
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    stranger.write_all(preface).await.expect("written");
    let mut answer = Vec::new();
    // A reset after an answer is the kernel's way to say that not everything was read.
    stranger.read_to_end(&mut answer).await.ok();
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"), "{answer:?}");
    assert_eq!(server.get("/healthz").await.status, 200);
}
