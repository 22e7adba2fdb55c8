//! A new certificate is shown by the next handshake, and no session hears of it.

use std::fs;
use std::time::Duration;

use waxwing_tests::{Port, Server, Smtp, until_async};

use super::{FROM, whole};

const SOON: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_certificate_is_exchanged_and_sessions_live_on() {
    let server = Server::dev();
    let mut old = Smtp::authenticated(&server, Port::StartTls).await;
    let authority = server.dev_output("caFile");
    let before = fs::read(authority).expect("an authority");
    let folder = server.data_dir().join("tls");
    for file in fs::read_dir(&folder).expect("a folder") {
        fs::remove_file(file.expect("an entry").path()).expect("removed");
    }
    let made = || async {
        let now = fs::read(authority).ok()?;
        (now != before).then_some(())
    };
    server.signal("HUP");
    until_async("a new certificate", SOON, made).await;
    // The client trusts nothing but the new authority.
    let trusts = || async { Smtp::try_implicit(&server).await.ok().map(|_| ()) };
    until_async("the next handshake shows it", SOON, trusts).await;
    drop(Smtp::authenticated(&server, Port::Implicit).await);
    drop(old.send(FROM, &["ada@example.com"], &whole("Hi", "Hi")).await.message_id());
    server.wait_for_mail_to("ada@example.com").await;
}
