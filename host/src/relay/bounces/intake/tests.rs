//! From a mail to what it changes in the store.

use std::net::Ipv4Addr;

use super::*;
use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::mail::verp::Verp;
use crate::relay::bounces::reporters::tests::unasked;
use crate::store::records::{
    AfterAttempt, AttemptEnding, AttemptRecord, NewMessage, RouteChoice, Settlement,
};
use crate::store::{MessageRow, test_data};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 7));
const DAY: Duration = Duration::from_hours(24);

struct Fixture {
    store: Store,
    intake: Intake,
    account: AccountId,
    message: MessageId,
    _directory: tempfile::TempDir,
}

fn new_message() -> NewMessage {
    NewMessage {
        sender: "shop@sender.example".parse().expect("valid"),
        recipient: "Ada@Recipient.example".parse().expect("valid"),
        route: RouteChoice::Configured,
        ..test_data::new_message(NOW)
    }
}

impl Fixture {
    /// A message that was delivered.
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let account = test_data::open_account(&store, 5, NOW).await;
        let new = new_message();
        let message = new.id;
        let revision = store.revision().await.expect("readable");
        let job = test_data::job(revision, account, vec![new], NOW);
        store.commit(&[job], NOW).await.expect("commits");
        deliver(&store, account, message).await;
        let rules =
            SuppressionSettings { bounce_suppression: Some(90 * DAY), complaint_suppression: None };
        let feedback = vec!["fbl@mail.example.com".parse().expect("valid")];
        let addresses = Arc::new(Addresses {
            verp: Verp::new(&[7; 32]),
            feedback,
            hostname: "mail.example.com".to_owned(),
            return_path_host: "bounce.mail.example.com".to_owned(),
        });
        let clock = Clock::manual(NOW);
        let reporters = Reporters {
            named: Vec::new(),
            networks: vec!["192.0.2.0/24".parse().expect("a network")],
            feedback: addresses.feedback.clone(),
            resolver: unasked(&clock),
            clock: clock.clone(),
        };
        let intake = Intake::new(store.clone(), clock, addresses, reporters, rules);
        Self { store, intake, account, message, _directory: directory }
    }

    async fn takes(&self, recipient: Recipient, raw: String) {
        let mail = Mail { sender: None, recipients: vec![recipient], data: raw.into_bytes() };
        self.intake.process(&mail, PEER).await.expect("written");
    }

    async fn reports(&self, raw: String) {
        self.takes(Recipient::ReturnPath(self.message), raw).await;
    }

    async fn row(&self) -> MessageRow {
        self.store.message(self.message).await.expect("there").row
    }

    /// Types of the message's events after the three that its delivery wrote.
    async fn events(&self) -> Vec<String> {
        let events = self.store.message(self.message).await.expect("there").events;
        events.into_iter().map(|it| it.r#type.as_str().to_owned()).skip(3).collect()
    }

    /// Kind and end of the recipient's suppression.
    async fn suppression(&self) -> Option<(String, Option<String>)> {
        let page =
            self.store.suppressions(self.account, None, None, 10, NOW).await.expect("readable");
        let found = page.suppressions.into_iter().find(|it| it.address == "ada@recipient.example");
        found.map(|it| (it.kind.as_str().to_owned(), it.expires_at.map(Timestamp::rfc3339)))
    }

    fn return_path(&self) -> String {
        let host = "bounce.sender.example".parse().expect("a name");
        let address = Verp::new(&[7; 32]).address(self.message, &host);
        address.expect("there is room").to_string()
    }
}

async fn deliver(store: &Store, account: AccountId, message: MessageId) {
    let until = NOW.after(DAY);
    store.lease("one", &[message], NOW, until).await.expect("leases");
    let settlement = Settlement {
        message_id: message,
        account_id: account,
        verdict: AfterAttempt::Delivered,
        reason: "250 OK".to_owned(),
        attempt: AttemptRecord {
            number: 1,
            started_at: NOW,
            ended_at: NOW,
            route: "direct".to_owned(),
            host: None,
            tls: None,
            ending: AttemptEnding::Reply { code: 250, enhanced: None },
            reply: "250 OK".to_owned(),
            conversation: String::new(),
        },
    };
    store.settle("one", &[settlement], NOW).await.expect("settles");
}

fn dsn(recipient: &str, action: &str, status: &str, diagnostic: &str) -> String {
    format!(
        "From: MAILER-DAEMON@relay.example\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/report; report-type=delivery-status; boundary=b\r\n\r\n\
         --b\r\nContent-Type: message/delivery-status\r\n\r\nReporting-MTA: dns; relay.example\r\n\r\n\
         Final-Recipient: rfc822; {recipient}\r\nAction: {action}\r\nStatus: {status}\r\n\
         Diagnostic-Code: smtp; {diagnostic}\r\n\r\n--b--\r\n"
    )
}

fn arf(kind: &str, mail_from: &str, quoted: &str) -> String {
    format!(
        "From: feedback@provider.example\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/report; report-type=feedback-report; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain\r\n\r\nA complaint.\r\n\
         --b\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: {kind}\r\nVersion: 1\r\n\
         {mail_from}\r\n--b\r\nContent-Type: message/rfc822\r\n\r\n{quoted}\r\n\r\nHi\r\n--b--\r\n"
    )
}

#[tokio::test]
async fn a_dead_address_bounces_and_is_suppressed_for_a_while() {
    let fixture = Fixture::new().await;
    let report = dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 No such user");
    fixture.reports(report.clone()).await;
    let row = fixture.row().await;
    assert_eq!((row.state.as_str(), row.reason.as_str()), ("bounced", "550 5.1.1 No such user"));
    let end = NOW.after(90 * DAY).rfc3339();
    assert_eq!(fixture.suppression().await, Some(("bounce".to_owned(), Some(end))));
    fixture.reports(report).await;
    assert_eq!(fixture.events().await, ["message.bounced"], "a second report changes nothing");
}

#[tokio::test]
async fn a_refused_message_bounces_and_suppresses_nobody() {
    let fixture = Fixture::new().await;
    fixture.reports(dsn("ada@recipient.example", "failed", "5.7.1", "554 5.7.1 Spam")).await;
    assert_eq!(fixture.row().await.state.as_str(), "bounced");
    assert_eq!(fixture.suppression().await, None);
}

#[tokio::test]
async fn the_return_path_tells_the_message_without_a_recipient_in_the_report() {
    let fixture = Fixture::new().await;
    fixture.reports(dsn("ada@moved.example", "failed", "5.1.1", "550 5.1.1 Unknown")).await;
    assert_eq!(fixture.row().await.state.as_str(), "bounced");
    assert!(fixture.suppression().await.is_some(), "the address that was written to");
}

#[tokio::test]
async fn delays_deliveries_and_what_is_no_report_change_nothing() {
    let fixture = Fixture::new().await;
    fixture.reports(dsn("ada@recipient.example", "delayed", "4.4.1", "451 later")).await;
    fixture.reports(dsn("ada@recipient.example", "delivered", "2.0.0", "250 ok")).await;
    fixture.reports("Subject: Out of Office\r\n\r\nI am away.\r\n".to_owned()).await;
    fixture.reports(String::new()).await;
    fixture.reports(arf("not-spam", "", "From: shop@sender.example")).await;
    assert_eq!(fixture.row().await.state.as_str(), "delivered");
    assert!(fixture.events().await.is_empty());
    assert_eq!(fixture.suppression().await, None);
}

#[tokio::test]
async fn a_report_about_a_message_that_is_not_kept_any_more_is_taken() {
    let fixture = Fixture::new().await;
    let other = Recipient::ReturnPath(MessageId::new(NOW));
    fixture.takes(other, dsn("a@b.example", "failed", "5.1.1", "550 5.1.1 x")).await;
    assert!(fixture.events().await.is_empty());
}

#[tokio::test]
async fn a_complaint_that_knows_the_return_path_counts_once() {
    let by_path = |fixture: &Fixture| {
        arf("abuse", &format!("Original-Mail-From: <{}>\r\n", fixture.return_path()), "Subject: x")
    };
    let by_quoted_path =
        |fixture: &Fixture| arf("abuse", "", &format!("Return-Path: <{}>", fixture.return_path()));
    let ways: [fn(&Fixture) -> String; 2] = [by_path, by_quoted_path];
    for way in ways {
        let fixture = Fixture::new().await;
        let report = way(&fixture);
        fixture.takes(Recipient::Feedback, report.clone()).await;
        fixture.takes(Recipient::Feedback, report).await;
        assert_eq!(fixture.events().await, ["message.complained"]);
        assert_eq!(fixture.row().await.state.as_str(), "delivered");
        assert_eq!(fixture.suppression().await, Some(("complaint".to_owned(), None)));
    }
}

#[tokio::test]
async fn a_complaint_that_proves_nothing_changes_nothing() {
    let fixture = Fixture::new().await;
    let ulid = fixture.message.ulid();
    for report in [
        arf("abuse", "Original-Mail-From: <shop@sender.example>\r\n", "From: shop@sender.example"),
        arf("abuse", "", &format!("Message-ID: <{ulid}@another.example>")),
        arf("abuse", "", "Message-ID: <01jd0000000000000000000000@sender.example>"),
        arf("abuse", "Original-Mail-From: <>\r\n", "Subject: x"),
        arf("virus", "", &format!("Message-ID: <{ulid}@sender.example>")),
        dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 x"),
    ] {
        fixture.takes(Recipient::Feedback, report).await;
    }
    assert!(fixture.events().await.is_empty());
}

#[tokio::test]
async fn a_complaint_may_come_to_the_return_path_too() {
    let fixture = Fixture::new().await;
    fixture.reports(arf("abuse", "", "Subject: redacted")).await;
    assert_eq!(fixture.events().await, ["message.complained"]);
}

#[tokio::test]
async fn mail_for_postmaster_is_let_go() {
    let fixture = Fixture::new().await;
    let report = dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 x");
    fixture.takes(Recipient::Postmaster, report).await;
    assert!(fixture.events().await.is_empty());
}

#[tokio::test]
async fn a_report_that_cannot_be_stored_is_an_error() {
    let fixture = Fixture::new().await;
    let report = dsn("ada@recipient.example", "failed", "5.1.1", "550 5.1.1 x");
    let recipients = vec![Recipient::ReturnPath(fixture.message)];
    let mail = Mail { sender: None, recipients, data: report.into_bytes() };
    fixture.store.close().await;
    assert!(fixture.intake.process(&mail, PEER).await.is_err());
}

#[tokio::test]
async fn a_complaint_that_only_knows_the_message_id_changes_nothing() {
    let fixture = Fixture::new().await;
    let ulid = fixture.message.ulid();
    let known = format!("Message-ID: <{ulid}@sender.example>\r\nFrom: shop@sender.example");
    fixture.takes(Recipient::Feedback, arf("abuse", "", &known)).await;
    assert!(fixture.events().await.is_empty());
    assert_eq!(fixture.suppression().await, None);
}

#[tokio::test]
async fn a_complaint_from_a_network_that_the_operator_names_counts() {
    let fixture = Fixture::new().await;
    let ulid = fixture.message.ulid();
    let data = arf("fraud", "", &format!("Message-ID: <{ulid}@sender.example>")).into_bytes();
    let mail = Mail { sender: None, recipients: vec![Recipient::Feedback], data };
    let from = |address: [u8; 4]| fixture.intake.process(&mail, address.into());
    from([192, 0, 3, 1]).await.expect("taken");
    assert!(fixture.events().await.is_empty());
    from([192, 0, 2, 1]).await.expect("taken");
    assert_eq!(fixture.events().await, ["message.complained"]);
}
