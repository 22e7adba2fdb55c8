//! What reports change.

use reqwest::Method;
use serde_json::json;

use super::{FEEDBACK, Lab, SENDER, complaint, dsn};
use crate::fixture::{Database, message, with};

const SUPPRESSED: &str = "SELECT kind || ' ' || address FROM suppressions ORDER BY address";

#[tokio::test]
async fn a_bounce_finds_its_message_and_its_dead_address_gets_nothing_more() {
    let lab = Lab::new().await;
    let (id, path) = lab.sent("Ada@recipient.example").await;
    assert!(path.starts_with("b-") && path.ends_with(&format!("@bounce.{SENDER}")), "{path}");
    let delayed = dsn("ada@recipient.example", "delayed", "4.4.1", "451 4.4.1 later");
    lab.report(&path, &delayed).await;
    assert_eq!(lab.server.message(&id)["state"], "relayed", "a delay is no bounce");

    let report = dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 No such user");
    lab.report(&path.to_ascii_uppercase(), &report).await;
    let shown = lab.server.message(&id);
    assert_eq!(
        (&shown["state"], &shown["reason"]),
        (&json!("bounced"), &json!("550 5.1.1 No such user"))
    );
    lab.report(&path, &report).await;
    assert_eq!(lab.events(&id), ["queued", "sending", "relayed", "bounced"], "once");

    let database = Database::of(&lab.server).await;
    assert_eq!(database.texts(SUPPRESSED).await, ["bounce ada@recipient.example"]);
    let days = "SELECT (expires_at - created_at) / 86400000 FROM suppressions";
    assert_eq!(database.number(days).await, 90);
    let again = with(message("ada@Recipient.example"), "from", json!(format!("hello@{SENDER}")));
    let answer = lab.server.send(&lab.account.key, &again).await;
    assert_eq!(answer.body["state"], "suppressed", "{}", answer.body);
    database.assert_sound().await;
}

#[tokio::test]
async fn a_refused_message_is_bounced_and_suppresses_nobody() {
    let lab = Lab::new().await;
    let (id, path) = lab.sent("ada@recipient.example").await;
    lab.report(&path, &dsn("ada@recipient.example", "failed", "5.2.2", "552 5.2.2 full")).await;
    assert_eq!(lab.server.message(&id)["state"], "bounced");
    assert!(Database::of(&lab.server).await.texts(SUPPRESSED).await.is_empty());
}

/// The header of a message as it left, without its body.
fn header(lab: &Lab, at: usize) -> String {
    let sent = String::from_utf8(lab.smarthost.messages()[at].data.clone()).expect("ASCII");
    sent.split_once("\r\n\r\n").expect("a header and a body").0.to_owned()
}

#[tokio::test]
async fn a_complaint_marks_its_message_and_suppresses_for_ever() {
    let lab = Lab::new().await;
    let (id, _) = lab.sent("ada@recipient.example").await;
    let quoted = header(&lab, 0);
    lab.report(FEEDBACK, &complaint(&quoted)).await;
    lab.report(FEEDBACK, &complaint(&quoted)).await;
    assert_eq!(lab.events(&id), ["queued", "sending", "relayed", "complained"]);
    assert_eq!(lab.server.message(&id)["state"], "relayed");
    let database = Database::of(&lab.server).await;
    assert_eq!(database.texts(SUPPRESSED).await, ["complaint ada@recipient.example"]);
    let for_ever = "SELECT count(*) FROM suppressions WHERE expires_at IS NULL";
    assert_eq!(database.number(for_ever).await, 1);
}

#[tokio::test]
async fn nobody_complains_who_only_knows_what_a_reply_or_an_archive_shows() {
    let lab = Lab::new().await;
    let (id, _) = lab.sent("ada@recipient.example").await;
    let (other, _) = lab.sent("bob@recipient.example").await;
    let [mine, others] = [0, 1].map(|at| {
        let shown = lab.smarthost.messages()[at].header("message-id");
        shown.expect("every message has one")
    });
    let signed = header(&lab, 1);
    for forged in [
        format!("From: hello@{SENDER}\r\nMessage-ID: {mine}"),
        // The signature of a message that the forger has got himself.
        signed.replace(&others, &mine),
        format!("Message-ID: {mine}\r\n{signed}"),
        signed.replace(&format!("Message-ID: {others}"), &format!("Message-ID: {mine}")),
    ] {
        lab.report(FEEDBACK, &complaint(&forged)).await;
    }
    for id in [id, other] {
        assert_eq!(lab.events(&id), ["queued", "sending", "relayed"]);
    }
    let database = Database::of(&lab.server).await;
    assert!(database.texts(SUPPRESSED).await.is_empty());
    let metrics = lab.server.request(Method::GET, "/metrics").send().await.expect("answered");
    let metrics = metrics.text().await.expect("text");
    assert!(metrics.contains("waxwing_reports_total{kind=\"unproven\"} 4"), "{metrics}");
}

#[tokio::test]
async fn a_complaint_counts_after_the_key_that_signed_was_rotated_out() {
    let lab = Lab::new().await;
    let (id, _) = lab.sent("ada@recipient.example").await;
    lab.server.rotate_domain(&lab.account.key, SENDER).await.publish(&lab.dns);
    let rotated = lab.server.check_domain(&lab.account.key, SENDER).await;
    assert_eq!(rotated.selectors("retired").len(), 2);
    lab.report(FEEDBACK, &complaint(&header(&lab, 0))).await;
    assert_eq!(lab.events(&id), ["queued", "sending", "relayed", "complained"]);
}

#[tokio::test]
async fn what_was_acknowledged_is_there_after_a_kill() {
    let mut lab = Lab::new().await;
    let (id, path) = lab.sent("ada@recipient.example").await;
    let mut client = lab.session().await;
    let report = dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 No such user");
    client.send("", &[&path], &report).await.assert_begins("250 2.0.0");
    lab.server.kill9();
    lab.server.restart();
    assert_eq!(lab.server.message(&id)["state"], "bounced");
    // The address was made by the server's master key: it is known to the next start too.
    lab.report(&path, &report).await;
    assert_eq!(lab.events(&id).len(), 4);
}

#[tokio::test]
async fn without_its_own_alias_a_domains_reports_come_back_to_the_server() {
    let lab = Lab::new().await;
    let domain = lab.server.domain(&lab.account.key, SENDER).await;
    domain.record("return-path").withdraw(&lab.dns);
    drop(lab.server.check_domain(&lab.account.key, SENDER).await);
    let (id, path) = lab.sent("ada@recipient.example").await;
    assert!(path.ends_with("@bounce.mail.waxwing.example"), "{path}");
    lab.report(&path, &dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 gone")).await;
    assert_eq!(lab.server.message(&id)["state"], "bounced");
}
