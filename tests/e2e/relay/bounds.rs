//! What one session, one address and all sessions together may use.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use waxwing_tests::{Launch, Port, Server, Smtp};

use super::{FROM, filled, whole};
use crate::fixture::assert_unharmed;

/// Between two bytes of a command that never ends.
const DRIP: Duration = Duration::from_millis(200);

#[tokio::test]
async fn who_does_not_log_in_or_falls_silent_is_sent_away() {
    let launch = Launch::dev().with("smtp", "login_seconds", "8").with("smtp", "idle_seconds", "9");
    let server = Server::start(launch);
    let mut silent = Smtp::plain(&server).await;
    silent.reply().await.expect("a greeting").assert(220);
    let mut shy = Smtp::secured(&server, Port::Implicit).await;
    let mut idle = Smtp::authenticated(&server, Port::Implicit).await;
    for client in [&mut silent, &mut shy, &mut idle] {
        let said = client.end().await.expect("the session ends");
        assert!(said.starts_with("421 4.4.2"), "{said}");
    }
    // A command that never ends is silence too.
    let mut endless = Smtp::authenticated(&server, Port::Implicit).await;
    loop {
        drop(endless.write(b"A").await);
        if let Ok(said) = tokio::time::timeout(DRIP, endless.reply()).await {
            said.expect("a reply").assert_begins("421 4.4.2");
            break;
        }
    }
    // A handshake that never comes ends without a word.
    let mut half = Smtp::plain(&server).await;
    half.reply().await.expect("a greeting").assert(220);
    half.say("EHLO half.example").await.assert(250);
    half.say("STARTTLS").await.assert(220);
    assert_eq!(half.end().await.expect("the session ends"), "");
}

#[tokio::test]
async fn a_message_that_trickles_in_has_its_time() {
    let launch = Launch::dev().with("smtp", "data_seconds", "1");
    let server = Server::start(launch);
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
    client.say("RCPT TO:<ada@example.com>").await.assert(250);
    client.say("DATA").await.assert(354);
    client.write(b"From: hello@sandbox.test\r\nSubject: slo").await.expect("written");
    let said = client.end().await.expect("the session ends");
    assert!(said.starts_with("421 4.4.2"), "{said}");
    assert_unharmed(&server, 0).await;
}

/// The time is for one message, also where the next one follows it without a pause.
#[tokio::test]
async fn messages_that_follow_each_other_at_once_each_have_their_time() {
    let server = Server::start(Launch::dev().with("smtp", "data_seconds", "8"));
    let mut client = Smtp::authenticated(&server, Port::Implicit).await;
    let next = format!("MAIL FROM:<{FROM}>\r\nRCPT TO:<ada@example.com>\r\nDATA\r\n");
    client.write(next.as_bytes()).await.expect("written");
    for code in [250, 250, 354] {
        client.reply().await.expect("a reply").assert(code);
    }
    for _ in 0..10 {
        // Slower than all of them together may be, and quicker than one: nothing is said meanwhile.
        assert!(tokio::time::timeout(5 * DRIP, client.reply()).await.is_err());
        let message = format!("{}.\r\n{next}", whole("Hi", "Hi"));
        client.write(message.as_bytes()).await.expect("written");
        for code in [250, 250, 250, 354] {
            client.reply().await.expect("a reply").assert(code);
        }
    }
}

#[tokio::test]
async fn an_address_has_so_many_connections_and_gets_them_back() {
    let server = Server::start(Launch::dev().with("smtp", "connections_per_ip", "3"));
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(Smtp::authenticated(&server, Port::Implicit).await);
    }
    let mut fourth = Smtp::plain(&server).await;
    fourth.reply().await.expect("a reply").assert_begins("421 4.7.0");
    fourth.end().await.expect("the session ends");
    let mut one = held.pop().expect("one of three");
    one.say("QUIT").await.assert(221);
    one.end().await.expect("the session ends");
    drop(one);
    // The place is free when the server has seen the end.
    let again = || async {
        let mut client = Smtp::plain(&server).await;
        let greeting = client.reply().await.ok()?;
        (greeting.code == 220).then_some(())
    };
    waxwing_tests::until_async("a place is free", Duration::from_secs(30), again).await;
}

#[tokio::test]
async fn messages_under_way_share_one_memory() {
    let (message, memory) = ("1048576", "1048576");
    let launch = Launch::dev().with("smtp", "message_bytes", message);
    let server = Server::start(launch.with("smtp", "memory_bytes", memory));
    let line = format!("{}\r\n", "x".repeat(900));
    let most = format!("From: {FROM}\r\n\r\n{}", line.repeat(800));
    let mut clients = Vec::new();
    for code in [250, 452] {
        let mut client = Smtp::authenticated(&server, Port::Implicit).await;
        client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
        client.say("RCPT TO:<ada@example.com>").await.assert(250);
        let chunk = format!("BDAT {}\r\n{most}", most.len());
        client.write(chunk.as_bytes()).await.expect("written");
        client.reply().await.expect("a reply").assert(code);
        clients.push(client);
    }
    // Each goes on: the one with its message, the other with what comes after it.
    drop(clients[0].say("BDAT 0 LAST").await.message_id());
    clients[1].say("RSET").await.assert(250);
    drop(clients[1].send(FROM, &["bob@example.com"], &most).await.message_id());
}

/// Who leaves messages unfinished keeps memory from itself alone.
#[tokio::test]
async fn an_account_leaves_memory_for_the_messages_of_others() {
    let launch = Launch::dev().with("smtp", "message_bytes", "1048576");
    let server = Server::start(launch.with("smtp", "memory_bytes", "2097152"));
    let other = server.open_account("pro", 10);
    let large = format!("From: {FROM}\r\n\r\n{}", format!("{}\r\n", "x".repeat(900)).repeat(800));
    let mut unfinished = Vec::new();
    for code in [250, 452, 452] {
        let mut client = Smtp::authenticated(&server, Port::Implicit).await;
        client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
        client.say("RCPT TO:<ada@example.com>").await.assert(250);
        client.write(format!("BDAT {}\r\n{large}", large.len()).as_bytes()).await.expect("written");
        client.reply().await.expect("a reply").assert(code);
        unfinished.push(client);
    }
    let mut neighbour = Smtp::secured(&server, Port::Implicit).await;
    neighbour.log_in(&other.key).await.assert(235);
    let large = large.replace(FROM, "hello@sandbox.test");
    drop(neighbour.send("hello@sandbox.test", &["bob@example.com"], &large).await.message_id());
}

#[tokio::test]
async fn sizes_and_recipients_are_refused_where_the_contract_says() {
    let launch = Launch::dev().with("smtp", "message_bytes", "65536");
    let server = Server::start(launch.with("smtp", "recipients", "2"));
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    let announced = client.say(&format!("MAIL FROM:<{FROM}> SIZE=65537")).await;
    announced.assert_begins("552 5.3.4");
    client.say(&format!("MAIL FROM:<{FROM}> SIZE=65536")).await.assert(250);
    client.say("RCPT TO:<a@example.com>").await.assert(250);
    client.say("RCPT TO:<b@example.com>").await.assert(250);
    client.say("RCPT TO:<c@example.com>").await.assert_begins("452 4.5.3");
    client.say("DATA").await.assert(354);
    let large = whole("Hi", &"x\r\n".repeat(30_000));
    client.content(&large).await.assert_begins("552 5.3.4");
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
    client.say("RCPT TO:<a@example.com>").await.assert(250);
    let chunk = format!("BDAT 65537 LAST\r\n{}", "x".repeat(65_537));
    client.write(chunk.as_bytes()).await.expect("written");
    client.reply().await.expect("a reply").assert_begins("552 5.3.4");
    // A template makes each recipient a message of its own, with all attachments.
    let attached = filled("verification-code", &json!({"code": "1"})).replace(
        "\r\n\r\n",
        "\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\
         Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\
         Content-Transfer-Encoding: base64\r\n\r\n",
    );
    let attached = format!("{attached}{}--x--\r\n", format!("{}\r\n", "A".repeat(76)).repeat(600));
    let refused = client.send(FROM, &["a@example.com", "b@example.com"], &attached).await;
    refused.assert_begins("554 5.6.0 BAD_REQUEST attachments: ");
    client.say("QUIT").await.assert(221);
    assert_unharmed(&server, 0).await;
}

#[tokio::test]
async fn the_rate_limit_is_the_one_of_http() {
    let launch = Launch::dev().with("limits", "sends_per_second", "1");
    let server = Server::start(launch.with("limits", "send_burst", "3"));
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    client.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
    let mut codes = Vec::new();
    for n in 0..12 {
        codes.push(client.say(&format!("RCPT TO:<n{n}@example.com>")).await.code);
    }
    assert!(codes.starts_with(&[250, 250]) && codes.contains(&452), "{codes:?}");
    client.say("RSET").await.assert(250);
    let limited = client.say(&format!("MAIL FROM:<{FROM}>")).await;
    assert!([250, 452].contains(&limited.code), "{}", limited.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_idle_connections_hold_nobody_up() {
    let server = Server::start(Launch::dev().with("smtp", "connections_per_ip", "1000"));
    let idle = join_all((0..250).map(|_| async {
        let mut plain = Smtp::plain(&server).await;
        plain.reply().await.expect("a greeting").assert(220);
        (plain, Smtp::authenticated(&server, Port::Implicit).await)
    }));
    let idle = idle.await;
    let mut client = Smtp::authenticated(&server, Port::StartTls).await;
    drop(client.send(FROM, &["ada@example.com"], &whole("Hi", "Hi")).await.message_id());
    drop(idle);
    server.wait_for_mail_to("ada@example.com").await;
}
