//! Requests that no HTTP library would write, octet by octet.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures_util::future::select_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Server};

use crate::fixture::message;

const BOUND: Duration = Duration::from_secs(30);

/// The head of a send with a body of that length, and further header lines.
pub fn head(server: &Server, key: &str, length: usize, lines: &str) -> String {
    format!(
        "POST /messages/send HTTP/1.1\r\nHost: {}\r\nx-api-key: {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n{lines}\r\n",
        server.address(),
    )
}

/// Reads until the text has come.
pub async fn read_until(client: &mut TcpStream, wanted: &str) -> String {
    let mut read = Vec::new();
    let reading = async {
        while !String::from_utf8_lossy(&read).contains(wanted) {
            assert_ne!(client.read_buf(&mut read).await.expect("readable"), 0, "{wanted} comes");
        }
    };
    tokio::time::timeout(BOUND, reading).await.expect("it comes in time");
    String::from_utf8(read).expect("UTF-8")
}

/// Writes, and reads all that comes until the server closes the connection.
async fn exchange(server: &Server, octets: &[u8]) -> String {
    rest(written(server, octets).await).await
}

/// The same from a client that says at once that it has nothing more to send.
async fn exchange_and_end(server: &Server, octets: &[u8]) -> String {
    let mut client = written(server, octets).await;
    client.shutdown().await.ok();
    rest(client).await
}

async fn written(server: &Server, octets: &[u8]) -> TcpStream {
    let mut client = TcpStream::connect(server.address()).await.expect("connected");
    // The server may answer and close before it has read everything.
    client.write_all(octets).await.ok();
    client
}

async fn rest(mut client: TcpStream) -> String {
    let mut answer = Vec::new();
    // A reset after the answer is the kernel's way to say that not everything was read.
    let read = client.read_to_end(&mut answer);
    tokio::time::timeout(BOUND, read).await.expect("the server closes in time").ok();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn still_serves(server: &Server, to: &str) {
    server.send(server.key(), &message(to)).await.message_id();
    server.wait_for_mail_to(to).await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_a_message() {
    let server = Server::dev();
    let body = message("half@example.com").to_string();
    let head = head(&server, server.key(), body.len() + 100, "Connection: close\r\n");
    let answer = exchange_and_end(&server, format!("{head}{body}").as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    let half = exchange_and_end(&server, format!("{head}{{\"to\":").as_bytes()).await;
    assert!(half.is_empty() || half.starts_with("HTTP/1.1 400 "), "{half}");
    assert!(server.messages(server.dev_output("accountId")).is_empty());
    still_serves(&server, "whole@example.com").await;
}

#[tokio::test]
async fn a_body_that_comes_too_slowly_is_answered_with_408() {
    let server = Server::start(Launch::dev().with("limits", "body_seconds", "1"));
    let mut client = TcpStream::connect(server.address()).await.expect("connected");
    let head = head(&server, server.key(), 100, "");
    client.write_all(format!("{head}{{").as_bytes()).await.expect("written");
    let answer = read_until(&mut client, "requestId").await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("application/problem+json"), "{answer}");
    assert!(answer.contains("\"code\":\"REQUEST_TIMEOUT\""), "{answer}");
    drop(client);
    still_serves(&server, "fast@example.com").await;
}

#[tokio::test]
async fn headers_that_come_too_slowly_do_not_hold_a_connection() {
    let server = Server::start(Launch::dev().with("limits", "header_seconds", "1"));
    let mut client = TcpStream::connect(server.address()).await.expect("connected");
    client.write_all(b"POST /messages/send HTTP/1.1\r\nHost: x\r\n").await.expect("written");
    rest(client).await;
    still_serves(&server, "fast@example.com").await;
}

#[tokio::test]
async fn slow_clients_do_not_take_the_place_of_others() {
    let launch = Launch::dev().with("limits", "body_seconds", "5");
    let server = Server::start(launch);
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut client = TcpStream::connect(server.address()).await.expect("connected");
        let head = head(&server, server.key(), 4_000, "");
        client.write_all(format!("{head}{{").as_bytes()).await.expect("written");
        slow.push(client);
    }
    still_serves(&server, "between@example.com").await;
    for client in slow {
        let answer = rest(client).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
}

#[tokio::test]
async fn clients_that_announce_much_and_send_nothing_do_not_hold_up_others() {
    for announced in ["Content-Length: 10000000\r\n", "Transfer-Encoding: chunked\r\n"] {
        let server = Server::dev();
        let head = head(&server, server.key(), 0, announced).replace("Content-Length: 0\r\n", "");
        let head = head.replacen("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n", 1);
        let mut idle = Vec::new();
        for _ in 0..12 {
            idle.push(written(&server, head.as_bytes()).await);
        }
        // The server waits for bodies: it has asked at least one client to go on.
        let asked = idle.iter().map(|client| Box::pin(client.readable()));
        select_all(asked).await.0.expect("readable");
        for _ in 0..3 {
            let start = Instant::now();
            let answer = server.send(server.key(), &message("a@example.com")).await;
            let took = start.elapsed();
            assert!(
                took < Duration::from_secs(5),
                "{announced}: a send waited {took:?}: {answer:?}"
            );
            answer.message_id();
        }
    }
}

#[tokio::test]
async fn a_body_in_tiny_pieces_is_a_body_like_any_other() {
    let server = Server::dev();
    let body = message("tiny@example.com").to_string() + &" ".repeat(150_000);
    let head =
        head(&server, server.key(), 0, "Transfer-Encoding: chunked\r\nConnection: close\r\n");
    let mut octets = head.replace("Content-Length: 0\r\n", "");
    for octet in body.chars() {
        octets.push_str("1\r\n");
        octets.push(octet);
        octets.push_str("\r\n");
    }
    octets.push_str("0\r\n\r\n");
    let start = Instant::now();
    let answer = exchange(&server, octets.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 201 "), "after {:?}: {answer}", start.elapsed());
}

#[tokio::test]
async fn requests_in_one_packet_are_each_answered_in_order() {
    let server = Server::dev();
    let mut octets = String::new();
    for (to, lines) in
        [("a@example.com", ""), ("bad", ""), ("c@example.com", "Connection: close\r\n")]
    {
        let body = message(to).to_string();
        octets.push_str(&head(&server, server.key(), body.len(), lines));
        octets.push_str(&body);
    }
    let answers = exchange(&server, octets.as_bytes()).await;
    let statuses: Vec<&str> = answers
        .match_indices("HTTP/1.1 ")
        .filter_map(|(at, _)| answers.get(at + 9..at + 12))
        .collect();
    assert_eq!(statuses, ["201", "400", "201"], "{answers}");
    let mails = server.wait_for_mails(2).await;
    let to: BTreeSet<&str> = mails.iter().map(|mail| mail.to.as_str()).collect();
    assert_eq!(to, BTreeSet::from(["a@example.com", "c@example.com"]));
}

#[tokio::test]
async fn a_client_that_has_sent_everything_and_says_so_gets_its_answer() {
    let server = Server::dev();
    for n in 0..5 {
        let body = message(&format!("n{n}@example.com")).to_string();
        let head = head(&server, server.key(), body.len(), "Connection: close\r\n");
        let answer = exchange_and_end(&server, format!("{head}{body}").as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 201 "), "the send {n}: {answer:?}");
    }
}

#[tokio::test]
async fn a_flood_of_headers_is_refused_and_forgotten() {
    let server = Server::dev();
    let many = "X-Flood: 1\r\n".repeat(5_000);
    let long = format!("X-Long: {}\r\n", "a".repeat(1 << 20));
    for lines in [many, long] {
        let octets = head(&server, server.key(), 0, &lines);
        let answer = exchange(&server, octets.as_bytes()).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    }
    still_serves(&server, "after@example.com").await;
}

#[tokio::test]
async fn two_lengths_for_one_body_smuggle_nothing() {
    let server = Server::dev();
    let hidden = message("smuggled@example.com").to_string();
    let inner = head(&server, server.key(), hidden.len(), "Connection: close\r\n") + &hidden;
    let outer = head(&server, "wrong", inner.len(), "Transfer-Encoding: chunked\r\n");
    let answer = exchange(&server, format!("{outer}0\r\n\r\n{inner}").as_bytes()).await;
    let accepted = answer.matches("HTTP/1.1 201 ").count();
    assert_eq!(accepted, 0, "a front end that believes the length would not see it: {answer}");
    still_serves(&server, "after@example.com").await;
    let mails = server.inbox().await;
    assert!(mails.iter().all(|mail| mail.to != "smuggled@example.com"));
}

#[tokio::test]
async fn what_is_no_http_is_turned_away() {
    let server = Server::dev();
    for octets in
        [&b"\0\0\0\0\r\n\r\n"[..], b"EHLO localhost\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET"]
    {
        let answer = exchange_and_end(&server, octets).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    still_serves(&server, "after@example.com").await;
}
