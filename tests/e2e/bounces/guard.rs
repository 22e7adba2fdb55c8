//! Who gets nothing through the listener for reports.

use std::time::Duration;

use waxwing_tests::{Server, Smtp};

use super::{Lab, dsn};
use crate::fixture::Database;

#[tokio::test]
async fn nothing_goes_through_it_to_anybody() {
    let lab = Lab::new().await;
    let (id, path) = lab.sent("ada@recipient.example").await;
    let (local, host) = path.split_once('@').expect("an address");
    let mut letters: Vec<char> = local.chars().collect();
    let last = letters.last_mut().expect("letters");
    *last = if *last == 'a' { 'b' } else { 'a' };
    let forged: String = letters.into_iter().collect();
    let mut client = lab.session().await;
    client.say("MAIL FROM:<eve@example.org>").await.assert(250);
    for address in [
        "bob@example.org".to_owned(),
        format!("hello@{host}"),
        format!("{forged}@{host}"),
        "postmaster%example.org@mail.waxwing.example".to_owned(),
        format!("\"bob@example.org\"@{host}"),
    ] {
        client.say(&format!("RCPT TO:<{address}>")).await.assert_begins("550 5.1.1");
    }
    client.say("DATA").await.assert(554);
    client.say("AUTH LOGIN").await.assert(502);
    client.say("BDAT 5 LAST").await.assert(502);
    assert!(client.end().await.expect("closed").starts_with("421 4.7.0"));
    assert_eq!(lab.server.message(&id)["state"], "relayed");
    assert_eq!(lab.smarthost.message_count(), 1, "nothing else was sent anywhere");
}

#[tokio::test]
async fn a_report_in_two_readings_is_taken_in_none() {
    let lab = Lab::new().await;
    let (id, path) = lab.sent("ada@recipient.example").await;
    let report = dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 gone");
    let mut client = lab.session().await;
    client.say("MAIL FROM:<>").await.assert(250);
    client.say("RCPT TO:<postmaster>").await.assert(250);
    client.say("DATA").await.assert(354);
    let smuggled = format!("MAIL FROM:<>\r\nRCPT TO:<{path}>\r\nDATA\r\n{report}");
    let whole = format!("Subject: x\r\n\r\nx\n.\n{smuggled}\r\n.\r\n");
    client.write(whole.as_bytes()).await.expect("written");
    client.reply().await.expect("a reply").assert_begins("550 5.6.11");
    assert!(client.end().await.expect("closed").starts_with("421"));
    assert_eq!(lab.server.message(&id)["state"], "relayed");
}

#[tokio::test]
async fn starttls_has_the_relays_certificate_and_forgets_what_was_injected() {
    let lab = Lab::new().await;
    let (id, path) = lab.sent("ada@recipient.example").await;
    let mut client = Smtp::reports(&lab.server).await;
    client.reply().await.expect("a greeting").assert(220);
    assert!(client.say("EHLO a.example").await.text.contains("STARTTLS"));
    let injected = format!("STARTTLS\r\nMAIL FROM:<>\r\nRCPT TO:<{path}>\r\n");
    client.write(injected.as_bytes()).await.expect("written");
    client.reply().await.expect("a reply").assert(220);
    let mut client = client.shake_hands(&lab.server).await;
    client.say("RCPT TO:<postmaster>").await.assert(503);
    assert!(!client.say("EHLO a.example").await.text.contains("STARTTLS"));
    let report = dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 gone");
    client.send("", &[&path], &report).await.assert_begins("250 2.0.0");
    assert_eq!(lab.server.message(&id)["state"], "bounced");
}

#[tokio::test]
async fn an_address_has_a_bounded_number_of_connections() {
    let lab = Lab::new().await;
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(lab.session().await);
    }
    let mut turned_away = Smtp::reports(&lab.server).await;
    assert!(turned_away.end().await.expect("closed").starts_with("421 4.7.0"));
    drop(held);
    // The places are free again as soon as the server has seen it.
    let ask = || async {
        let mut client = Smtp::reports(&lab.server).await;
        client.reply().await.ok().filter(|it| it.code == 220)
    };
    waxwing_tests::until_async("a place", Duration::from_secs(20), ask).await;
}

#[tokio::test]
async fn what_is_no_report_is_taken_and_changes_nothing() {
    let lab = Lab::new().await;
    let (id, path) = lab.sent("ada@recipient.example").await;
    for mail in [
        "Subject: Out of Office\r\nAuto-Submitted: auto-replied\r\n\r\nI am away.\r\n",
        "Subject: hello\r\n\r\n550 5.1.1 hello\r\n",
        "\r\n",
    ] {
        lab.report(&path, mail).await;
    }
    assert_eq!(lab.server.message(&id)["state"], "relayed");
    assert_eq!(lab.events(&id), ["queued", "sending", "relayed"]);
    let kinds = "SELECT count(*) FROM suppressions";
    assert_eq!(Database::of(&lab.server).await.number(kinds).await, 0);
    assert!(!lab.server.log().contains("ada@"), "no address in the log");
}

#[tokio::test]
async fn by_default_nobody_listens_for_reports() {
    let server = Server::dev();
    assert!(server.line()["bounces"].is_null());
}
