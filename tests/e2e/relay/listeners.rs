//! Several listeners of one mode, proxies before them, and what one may log in with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Port, Server, Smtp, SmtpReply};

use super::{FROM, whole};

const CLIENT: &str = "192.0.2.7";
const OTHER: &str = "192.0.2.8";

fn behind_a_proxy() -> Launch {
    Launch::dev().with("smtp", "trusted_proxies", r#"["127.0.0.0/8"]"#)
}

/// A header of version 1.
fn v1(client: &str) -> Vec<u8> {
    format!("PROXY TCP4 {client} 127.0.0.1 4096 587\r\n").into_bytes()
}

/// A header of version 2, with something that a proxy adds.
fn v2(client: [u8; 4]) -> Vec<u8> {
    let (fixed, added) = (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x13", b"\x04\0\x04\0\0\0\0");
    [&fixed[..], &client, b"\x7f\0\0\x01\x10\0\x02\x4b", added].concat()
}

async fn log_in_as(client: &mut Smtp, user: &str, password: &str) -> SmtpReply {
    let initial = STANDARD.encode(format!("\0{user}\0{password}"));
    client.say(&format!("AUTH PLAIN {initial}")).await
}

#[tokio::test]
async fn a_key_that_is_bound_to_an_address_works_from_there_behind_a_proxy() {
    let server = Server::start(behind_a_proxy());
    let account = server.open_account("pro", 10);
    let (_, bound) = server.make_key(&account.id, &["--ip", CLIENT]);
    for port in Port::BOTH {
        for (header, code) in [
            (v1(CLIENT), 235),
            (v2([192, 0, 2, 7]), 235),
            (v1(OTHER), 535),
            (v2([192, 0, 2, 8]), 535),
        ] {
            let mut client = Smtp::behind_proxy(&server, port, &header).await;
            client.log_in(&bound).await.assert(code);
        }
        // A proxy that speaks for itself keeps its own address.
        for header in [&b"PROXY UNKNOWN\r\n"[..], b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"] {
            let mut client = Smtp::behind_proxy(&server, port, header).await;
            client.log_in(&bound).await.assert(535);
            client.log_in(server.key()).await.assert(235);
            drop(client.send(FROM, &["ada@example.com"], &whole("Hi", "Hi")).await.message_id());
        }
    }
    let log = server.log();
    for peer in [OTHER, "127.0.0.1"] {
        let line = format!("refused over SMTP peer={peer} reply=535");
        assert_eq!(log.matches(&line).count(), 4, "{line}: {log}");
    }
}

#[tokio::test]
async fn connections_and_failed_logins_behind_a_proxy_are_counted_by_client() {
    let launch = behind_a_proxy().with("smtp", "connections_per_ip", "2");
    let server = Server::start(launch.with("limits", "failed_logins", "2"));
    let wrong = format!("wx_live_00000000_{}", "0".repeat(32));
    let mut clients = Vec::new();
    for port in Port::BOTH {
        clients.push(Smtp::behind_proxy(&server, port, &v1(CLIENT)).await);
        clients.push(Smtp::behind_proxy(&server, port, &v1(OTHER)).await);
    }
    let mut fifth = Smtp::plain(&server).await;
    fifth.write(&v1(CLIENT)).await.expect("written");
    fifth.reply().await.expect("a reply").assert_begins("421 4.7.0");
    let [client, other, ..] = &mut clients[..] else { unreachable!("four") };
    client.log_in(&wrong).await.assert(535);
    client.log_in(&wrong).await.assert(535);
    client.log_in(&wrong).await.assert_begins("421 4.7.0");
    other.log_in(&wrong).await.assert(535);
    other.log_in(server.key()).await.assert(235);
}

#[tokio::test]
async fn a_trusted_proxy_without_a_header_is_refused_and_the_log_tells_why() {
    let server = Server::start(behind_a_proxy());
    let mut plain = Smtp::plain(&server).await;
    plain.write(b"EHLO without.a.header\r\n").await.expect("written");
    assert_eq!(plain.end().await.expect("the connection ends"), "");
    assert!(Smtp::try_implicit(&server).await.is_err(), "a handshake is no header");
    for bad in [&b"PROXY TCP4 nobody 127.0.0.1 1 1\r\n"[..], &[b'P'; 4_096]] {
        let mut client = Smtp::plain(&server).await;
        client.write(bad).await.expect("written");
        assert_eq!(client.end().await.expect("the connection ends"), "");
    }
    // A health check that only connects is no line of the log.
    drop(TcpStream::connect(server.smtp_starttls()).await.expect("connected"));
    let mut sound = Smtp::plain(&server).await;
    sound.write(&v1(CLIENT)).await.expect("written");
    sound.reply().await.expect("a greeting").assert(220);
    let log = server.log();
    let refused: Vec<&str> = log
        .lines()
        .filter(|it| {
            it.contains("closed a connection from a trusted proxy that sent no valid PROXY header")
        })
        .collect();
    assert_eq!(refused.len(), 2, "one line a minute for each listener: {log}");
    assert!(refused.iter().all(|it| it.contains("proxy=127.0.0.1")), "{log}");
    assert!(refused[0].contains("SMTP with STARTTLS") && refused[1].contains("SMTP with TLS"));
    assert!(refused[1].contains("let the proxy send one"), "{log}");
}

#[tokio::test]
async fn a_client_that_is_no_trusted_proxy_cannot_claim_another_address() {
    for networks in ["[]", r#"["192.0.2.0/24"]"#] {
        let server = Server::start(Launch::dev().with("smtp", "trusted_proxies", networks));
        let account = server.open_account("pro", 10);
        let (_, bound) = server.make_key(&account.id, &["--ip", CLIENT]);
        let mut client = Smtp::plain(&server).await;
        client.reply().await.expect("a greeting").assert(220);
        client.say(&format!("PROXY TCP4 {CLIENT} 127.0.0.1 1 1")).await.assert_begins("500 5.5.1");
        assert!(server.log().contains("peer=127.0.0.1 "), "{}", server.log());
        let mut client = Smtp::secured(&server, Port::Implicit).await;
        client.say(&format!("PROXY TCP4 {CLIENT} 127.0.0.1 1 1")).await.assert_begins("500 5.5.1");
        client.log_in(&bound).await.assert(535);
    }
}

#[tokio::test]
async fn each_mode_can_listen_at_several_addresses() {
    let two = r#"["127.0.0.1:0", "127.0.0.2:0"]"#;
    let launch = Launch::serve("").with("smtp", "enabled", "true");
    let launch = launch.with("smtp", "listen_starttls", two).with("smtp", "listen_tls", two);
    let server = Server::start(launch.with("log", "format", "json"));
    let log = server.log();
    let line = log.lines().find(|it| it.contains(r#""listening""#)).expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let addresses = |field: &str| -> Vec<String> {
        line[field].as_str().expect("addresses").split(", ").map(str::to_owned).collect()
    };
    let (starttls, tls) = (addresses("smtp_starttls"), addresses("smtp_tls"));
    assert_eq!((starttls.len(), tls.len()), (2, 2), "{line}");
    assert!(starttls[1].starts_with("127.0.0.2:") && tls[1].starts_with("127.0.0.2:"), "{line}");
    for address in &starttls {
        let mut stream = TcpStream::connect(address).await.expect("the port listens");
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).await.expect("a greeting");
        assert_eq!(&greeting, b"220 ", "{address}");
    }
    for address in &tls {
        TcpStream::connect(address).await.expect("the port listens");
    }
}

#[tokio::test]
async fn another_user_name_than_the_key_works_by_a_setting_alone() {
    let server = Server::dev();
    for user in ["apikey", server.dev_output("from")] {
        let mut client = Smtp::secured(&server, Port::Implicit).await;
        log_in_as(&mut client, user, server.key()).await.assert(535);
    }
    let wrong = "wx_live_AAAAAAAA_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for (names, apikey, address) in [
        (r#"["apikey"]"#, 235, 535),
        (r#"["address"]"#, 535, 235),
        (r#"["apikey", "address"]"#, 235, 235),
    ] {
        let launch = Launch::dev().with("smtp", "user_names", names);
        let server = Server::start(launch.with("limits", "failed_logins", "1000"));
        let (key, from) = (server.key(), server.dev_output("from").to_uppercase());
        let other = server.open_account("pro", 10);
        for (user, password, code) in [
            (key, key, 235),
            ("apikey", key, apikey),
            ("APIKEY", key, apikey),
            (&from, key, address),
            (&from, &other.key, if from == "HELLO@SANDBOX.TEST" { address } else { 535 }),
            ("somebody@example.com", key, 535),
            ("", key, 535),
            (&other.key, key, 535),
            ("apikey", wrong, 535),
            ("apikey", "apikey", 535),
            (key, "apikey", 535),
        ] {
            let mut client = Smtp::secured(&server, Port::StartTls).await;
            log_in_as(&mut client, user, password).await.assert(code);
        }
        let mut client = Smtp::secured(&server, Port::StartTls).await;
        let someone_else = STANDARD.encode(format!("other\0apikey\0{key}"));
        client.say(&format!("AUTH PLAIN {someone_else}")).await.assert(535);
        client.say("AUTH LOGIN").await.assert(334);
        client.say(&STANDARD.encode("apikey")).await.assert(334);
        client.say(&STANDARD.encode(key)).await.assert(apikey);
    }
}
