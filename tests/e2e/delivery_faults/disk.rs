//! A disk that is full: nothing is accepted that cannot be kept, what was accepted is not lost, and when
//! there is room again, all goes on without a restart.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use reqwest::Method;
use waxwing_mx::{Behaviour, MxServer};
use waxwing_tests::{Account, Port, Server, Smtp, only_on_a_file, until_async};
use waxwing_tools::{Need, SmallDisk};

use super::{SENDER, lab, mail};
use crate::fixture::Database;

const BOUND: Duration = Duration::from_mins(1);
const SIZE: &str = "size=96m";

/// A small disk in the place of a directory; what was in the directory is on it.
pub fn small_disk_in_place_of(directory: &Path) -> SmallDisk {
    let aside = directory.with_extension("aside");
    fs::rename(directory, &aside).expect("moved aside");
    fs::create_dir(directory).expect("a directory");
    let disk = SmallDisk::over(directory, SIZE);
    let copied = Command::new("cp").arg("-a").arg(aside.join(".")).arg(directory).status();
    assert!(copied.expect("cp runs").success());
    disk
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_accepts_nothing_and_loses_nothing_and_needs_no_restart() {
    if only_on_a_file("the disk that is full is that of the file") {
        return;
    }
    if !Need::SmallDisk.is_met("a full disk") {
        return;
    }
    let post = MxServer::start(Behaviour::new());
    let (_dns, mut server, account) = lab(&post).await;
    server.terminate();
    let disk = small_disk_in_place_of(&server.data_dir());
    server.restart();
    let mut accepted = vec![accepted(&server, &account, "before").await.expect("there is room")];

    disk.fill();
    let mut refused = 0;
    for n in 0..200 {
        match self::accepted(&server, &account, &format!("full{n}")).await {
            Some(id) => accepted.push(id),
            None => refused += 1,
        }
        if refused == 10 {
            break;
        }
    }
    assert!(refused > 0, "the disk is full");
    let reply = by_smtp(&server, &account).await;
    assert!((400..500).contains(&reply), "the client keeps it: {reply}");

    disk.free();
    let ask = || async { self::accepted(&server, &account, "after").await };
    accepted.push(until_async("it accepts again", BOUND, ask).await);
    assert_eq!(by_smtp(&server, &account).await, 250);
    for id in &accepted {
        let ask = || async { (server.message(id)["state"] == "relayed").then_some(()) };
        until_async("it is relayed", BOUND, ask).await;
    }
    let database = Database::of(&server).await;
    database.assert_sound().await;
    let stored = database.number("SELECT count(*) FROM messages").await;
    let kept = i64::try_from(accepted.len()).expect("small") + 1;
    assert_eq!(stored, kept, "what was refused is not there");
    assert_eq!(server.balance(&account.id), 10_000 - kept, "and costs nothing");
    drop(database);
    drop(server);
    drop(disk);
}

/// The identifier of a message; none where it was refused as a server must that cannot keep it.
async fn accepted(server: &Server, account: &Account, name: &str) -> Option<String> {
    let request = server.request(Method::POST, "/messages/send");
    let request = request.json(&mail(&format!("{name}@example.com")));
    let request = request.header("x-api-key", &account.key);
    let answer = server.try_answer(request).await.expect("it answers");
    if answer.status == 201 {
        return Some(answer.message_id());
    }
    assert_eq!((answer.status, answer.body["code"].as_str()), (503, Some("UNAVAILABLE")));
    None
}

/// The reply to a message over SMTP, or to the login before it.
async fn by_smtp(server: &Server, account: &Account) -> u16 {
    let mut client = Smtp::secured(server, Port::Implicit).await;
    let login = client.log_in(&account.key).await;
    if login.code != 235 {
        return login.code;
    }
    let from = format!("hello@{SENDER}");
    let text = format!("From: {from}\r\nTo: smtp@example.com\r\nSubject: Hi\r\n\r\nHi\r\n");
    client.send(&from, &["smtp@example.com"], &text).await.code
}
