//! What HTTP clients may take of the server, with a key and without one, and what its answers say.

use std::fs;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Server, http_client, until};

use crate::fixture::message;
use crate::wire::{head, read_until};

const SOON: Duration = Duration::from_secs(30);
const MIB: usize = 1 << 20;

async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.address()).await.expect("connected")
}

/// Writes a request, and reads the head of its answer.
async fn answered(address: &str, request: &str) -> String {
    let mut client = TcpStream::connect(address).await.expect("connected");
    client.write_all(request.as_bytes()).await.expect("written");
    read_until(&mut client, "\r\n\r\n").await
}

/// The most memory that the server ever had, in MiB.
fn peak_memory(server: &Server) -> usize {
    let id = server.process_id().expect("it runs");
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("a process");
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:")).expect("a line");
    let kib: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib / 1_024
}

#[tokio::test]
async fn probes_are_answered_while_an_address_has_all_its_connections() {
    let server = Server::start(Launch::dev().with("limits", "connections", "20").with(
        "limits",
        "header_seconds",
        "600",
    ));
    let mut silent = Vec::new();
    for _ in 0..150 {
        silent.push(connect(&server).await);
    }
    for path in ["/healthz", "/readyz"] {
        let answer = server.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
    let refused = server.send(server.key(), &message("a@example.com")).await;
    refused.assert_refused(503, "UNAVAILABLE");
    let text = refused.body["message"].as_str().expect("a text");
    assert!(text.contains("one address"), "{text}");
    drop(silent);
    // The places are free a moment after the connections have ended.
    while server.send(server.key(), &message("a@example.com")).await.status != 201 {}
}

#[tokio::test]
async fn bodies_of_strangers_do_not_fill_the_memory() {
    let server = Server::dev();
    let before = peak_memory(&server);
    let body = vec![b' '; 31 * MIB];
    let mut sending = Vec::new();
    for _ in 0..8 {
        let head = head(&server, "no key", body.len(), "");
        let (mut client, body) = (connect(&server).await, &body);
        sending.push(async move {
            client.write_all(head.as_bytes()).await.expect("written");
            // The server may have answered and gone before it has everything.
            client.write_all(body).await.ok();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.ok();
            answer
        });
    }
    drop(futures_util::future::join_all(sending).await);
    let grown = peak_memory(&server).saturating_sub(before);
    assert!(grown < 48, "eight bodies of 31 MiB take {grown} MiB");
}

#[tokio::test]
async fn metrics_are_for_who_watches_the_server_and_not_for_everybody() {
    let launch = Launch::serve("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n");
    let server = Server::start(launch.clone().with("http", "metrics_listen", "127.0.0.1:0"));
    let address = until("the server listens", SOON, || {
        let log = server.log();
        let mut lines = log.lines().filter_map(|it| serde_json::from_str::<Value>(it).ok());
        lines.find_map(|it| it["metrics"].as_str().map(str::to_owned))
    });
    let page = async |path: &str| {
        let url = format!("http://{address}{path}");
        http_client().get(url).send().await.expect("answered").text().await.expect("a text")
    };
    assert!(page("/metrics").await.contains("waxwing_queue_length"));
    assert!(page("/readyz").await.contains("plan-policy"));
    assert!(page("/v1/messages").await.contains("NOT_FOUND"), "the API is not there");
    server.get("/metrics").await.assert_refused(404, "NOT_FOUND");
    let ready = server.get("/readyz").await;
    assert_eq!((ready.status, ready.body), (200, json!({"status": "ok"})));
    drop(server);

    let server = Server::start(launch);
    server.get("/metrics").await.assert_refused(404, "NOT_FOUND");
}

#[tokio::test]
async fn a_request_without_exactly_one_host_is_refused() {
    let server = Server::dev();
    for hosts in ["", "Host: a\r\nHost: a\r\n", "Host: a, b\r\n", "Host: a b\r\n", "Host: u@a\r\n"]
    {
        let request = format!("GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n");
        let answer = answered(server.address(), &request).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{hosts:?}: {answer}");
    }
    for request in [
        "GET /healthz HTTP/1.0\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost:\r\n\r\n",
    ] {
        let answer = answered(server.address(), request).await;
        assert!(answer.contains(" 200 OK"), "{request:?}: {answer}");
    }
}

#[tokio::test]
async fn a_compressed_body_is_refused_and_told_what_is_taken() {
    let server = Server::dev();
    let body = message("a@example.com");
    let gzip = server.post("/messages/send", server.key(), &body, &[("content-encoding", "gzip")]);
    let refused = gzip.await;
    refused.assert_refused(415, "UNSUPPORTED_MEDIA_TYPE");
    assert_eq!(refused.header("accept-encoding"), Some("identity"));
    let plain = [("content-encoding", "identity")];
    server.post("/messages/send", server.key(), &body, &plain).await.message_id();
}

#[tokio::test]
async fn answers_are_kept_by_no_cache_and_are_what_they_say() {
    let server = Server::dev();
    for path in ["/healthz", "/openapi.json", "/nowhere", "/v1/messages"] {
        let answer = server.get(path).await;
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
    }
}

#[tokio::test]
async fn large_json_is_compressed_for_clients_that_take_it() {
    let server = Server::dev();
    let batch: Vec<Value> = (0..100).map(|n| message(&format!("n{n}@example.com"))).collect();
    assert_eq!(server.send_batch(server.key(), &batch.into()).await.status, 200);
    for path in ["/openapi.json", "/v1/messages?limit=100"] {
        let ask = |coding: &str| {
            let request = server.request(Method::GET, path).header("x-api-key", server.key());
            let request = request.header("accept-encoding", coding.to_owned());
            async { request.send().await.expect("answered") }
        };
        let (plain, gzip) = (ask("identity").await, ask("gzip").await);
        assert_eq!(plain.headers().get("content-encoding"), None, "{path}");
        assert_eq!(gzip.headers()["content-encoding"], "gzip", "{path}");
        assert_eq!(gzip.headers()["vary"], "accept-encoding", "{path}");
        let (plain, gzip) = (plain.bytes().await.expect("read"), gzip.bytes().await.expect("read"));
        assert!(gzip.len() * 4 < plain.len(), "{path}: {} of {}", gzip.len(), plain.len());
    }
    let small = server.request(Method::GET, "/healthz").header("accept-encoding", "gzip");
    assert_eq!(server.answer(small).await.header("content-encoding"), None);
}

#[tokio::test]
async fn the_document_of_the_api_says_each_shape_once() {
    let server = Server::dev();
    let document = server.openapi().await.expect("a document");
    let length = document.to_string().len();
    assert!(length < 450_000, "{length} bytes");
    let refusal = &document["paths"]["/messages/send"]["post"]["responses"]["400"]["content"];
    let schema = &refusal["application/problem+json"]["schema"];
    assert_eq!(*schema, json!({"$ref": "#/components/schemas/Problem"}));
}

#[tokio::test]
async fn a_stop_does_not_wait_for_a_body_that_does_not_end() {
    let mut server = Server::start(Launch::dev().with("limits", "body_seconds", "600"));
    let mut client = connect(&server).await;
    let head = head(&server, server.key(), 100, "Expect: 100-continue\r\n");
    client.write_all(head.as_bytes()).await.expect("written");
    read_until(&mut client, "100 Continue").await;
    client.write_all(b"{").await.expect("written");
    server.ask_to_stop();
    let answer = read_until(&mut client, "requestId").await;
    assert!(answer.contains("HTTP/1.1 503 "), "{answer}");
    assert!(server.wait_for_exit().success());
    assert!(!server.log().contains("cut off"), "{}", server.log());
}
