//! A server that has no file descriptors left: each listener waits for some, says so once, and goes on.

use std::process::Command;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Server, until};

use crate::fixture::message;

const PATIENCE: Duration = Duration::from_mins(1);

/// Sets how many files the server may have open from now on.
fn may_open(server: &Server, files: &str) {
    let id = server.process_id().expect("the server runs").to_string();
    let status =
        Command::new("prlimit").args(["--pid", &id, &format!("--nofile={files}:")]).status();
    assert!(status.expect("prlimit runs").success());
}

#[tokio::test]
async fn listeners_wait_for_descriptors_and_say_so_once() {
    let server = Server::start(Launch::dev().with("bounces", "listen", "127.0.0.1:0"));
    let listeners = [
        ("sandbox inbox", server.dev_output("inboxSmtp")),
        ("SMTP with STARTTLS", server.smtp_starttls()),
        ("SMTP with TLS", server.smtp_tls()),
        ("reports", server.dev_output("bounces")),
        ("HTTP", server.address()),
    ];
    may_open(&server, "3");
    let mut clients = Vec::new();
    for (_, address) in listeners {
        clients.push(TcpStream::connect(address).await.expect("the kernel has a queue"));
    }
    let lines = || {
        let log = server.log();
        let line = |name: &str| {
            let name = format!("listener=\"{name}\"");
            log.lines().filter(|it| it.contains("cannot be accepted") && it.contains(&name)).count()
        };
        listeners.map(|(name, _)| line(name))
    };
    until("every listener says so", PATIENCE, || lines().iter().all(|it| *it > 0).then_some(()));
    let said = server.log().lines().count();
    may_open(&server, "1024");
    for (client, (name, _)) in clients.iter_mut().zip(listeners) {
        if !matches!(name, "HTTP" | "SMTP with TLS") {
            let greeting = tokio::time::timeout(PATIENCE, client.read_u8()).await;
            assert_eq!(greeting.expect("in time").expect("a greeting"), b'2', "{name}");
        }
    }
    assert_eq!(server.get("/readyz").await.status, 200);
    assert_eq!(lines(), [1; 5], "each listener says so once: {}", server.log());
    assert!(server.log().lines().count() < said + 50, "no flood of lines");
}

/// 150 is less than the connections that a configuration allows by default.
#[tokio::test]
async fn a_server_with_few_descriptors_takes_fewer_connections() {
    let server = Server::start(Launch::dev().with_open_files(150));
    assert!(server.log().contains("so fewer are accepted; raise the limit"), "{}", server.log());
    let idle = async |address: &str| {
        let connect = (0..100).map(|_| TcpStream::connect(address));
        futures_util::future::try_join_all(connect).await.expect("the kernel has a queue")
    };
    let _relay = (idle(server.smtp_starttls()).await, idle(server.smtp_tls()).await);
    // The database, the plugins and the log have what they need meanwhile.
    server.send(server.key(), &message("ada@example.com")).await.message_id();
    let _api = idle(server.address()).await;
    for path in ["/healthz", "/readyz"] {
        let answer = tokio::time::timeout(PATIENCE, server.get(path)).await;
        assert_eq!(answer.expect("in time").status, 200, "{path}: {}", server.log());
    }
}
