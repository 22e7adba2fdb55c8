//! The server's own end: kill -9 under load, and SIGTERM in the middle of a transaction.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use waxwing_tests::{Port, Server, Smtp, until_async};

use super::{FROM, whole};
use crate::fixture::Database;

const CLIENTS: usize = 12;
const BOUND: Duration = Duration::from_mins(1);

/// Sends until the server is gone; keeps what was answered with 250.
async fn client(
    mut client: Smtp,
    name: String,
    accepted: &Mutex<BTreeSet<String>>,
    count: &AtomicUsize,
) {
    for n in 0..500 {
        let message = whole(&format!("{name} {n}"), "Hi");
        let to = format!("{name}n{n}@example.com");
        let commands = format!("MAIL FROM:<{FROM}>\r\nRCPT TO:<{to}>\r\nDATA\r\n");
        if client.write(commands.as_bytes()).await.is_err() {
            return;
        }
        for code in [250, 250, 354] {
            let Ok(reply) = client.reply().await else { return };
            reply.assert(code);
        }
        if client.write(format!("{message}.\r\n").as_bytes()).await.is_err() {
            return;
        }
        let Ok(reply) = client.reply().await else { return };
        accepted.lock().expect("no client panics").insert(reply.message_id());
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_under_load_loses_no_250() {
    let mut server = Server::dev();
    let mut all = BTreeSet::new();
    for round in 0..4 {
        let (accepted, count) = (Mutex::default(), AtomicUsize::new(0));
        let logins = (0..CLIENTS).map(|_| Smtp::authenticated(&server, Port::Implicit));
        let clients = join_all(logins).await.into_iter().enumerate();
        let clients = clients.map(|(n, it)| client(it, format!("r{round}c{n}"), &accepted, &count));
        let killer = async {
            let enough = 20 + round * 45;
            let reached = || async { (count.load(Ordering::Relaxed) >= enough).then_some(()) };
            until_async("enough replies", BOUND, reached).await;
            server.signal("KILL");
        };
        join(join_all(clients), killer).await;
        server.wait_for_exit();
        Database::of(&server).await.assert_sound().await;
        all.extend(accepted.into_inner().expect("no client panicked"));
        server.restart();
    }
    let database = Database::of(&server).await;
    let ask = || async { (database.number("SELECT count(*) FROM queue").await == 0).then_some(()) };
    until_async("the queue is empty", BOUND, ask).await;
    let delivered: BTreeSet<String> = database
        .messages("SELECT id FROM messages WHERE state = 'delivered'")
        .await
        .into_iter()
        .collect();
    let lost: Vec<_> = all.difference(&delivered).collect();
    assert!(lost.is_empty(), "answered with 250 and not delivered: {lost:?}");
    database.assert_sound().await;
}

#[tokio::test]
async fn a_server_that_stops_lets_a_transaction_finish_and_says_goodbye() {
    let mut server = Server::dev();
    let mut idle = Smtp::authenticated(&server, Port::StartTls).await;
    let mut busy = Smtp::authenticated(&server, Port::Implicit).await;
    busy.say(&format!("MAIL FROM:<{FROM}>")).await.assert(250);
    busy.say("RCPT TO:<ada@example.com>").await.assert(250);
    server.ask_to_stop();
    let said = idle.end().await.expect("the session ends");
    assert!(said.starts_with("421 4.3.2"), "{said}");
    busy.say("DATA").await.assert(354);
    let sent = busy.content(&whole("Hi", "Hi")).await.message_id();
    let said = busy.end().await.expect("the session ends");
    assert!(said.starts_with("421 4.3.2"), "{said}");
    server.wait_for_exit();
    server.restart();
    server.wait_for_mail_to("ada@example.com").await;
    assert_eq!(server.messages(server.dev_output("accountId"))[0]["id"], sent.as_str());
}
