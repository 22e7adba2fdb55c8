use std::time::Duration;

use super::super::domain_keys;
use super::*;
use crate::account::Account;
use crate::account::plan::Plan;
use crate::store::records::{BounceClass, SuppressionKind};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct Fixture {
    store: Store,
    account: AccountId,
    message: MessageId,
    _directory: tempfile::TempDir,
}

impl Fixture {
    /// A message in that state, with a row in the queue.
    async fn in_state(state: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let account = Account::new("test", Plan::named("pro"), NOW);
        store.create_account(&account).await.expect("created");
        let message = MessageId::new(NOW);
        sql(
            "INSERT INTO messages (id, period, account_id, key_id, channel, sender, recipient, subject, route,
                                   state, reason, credits, decisions, created_at, updated_at)
             VALUES ($1, $2, $3, $3, 'api', 'shop@sender.example', 'Ada@Recipient.example', 'Hi',
                     'configured', $4, 'so far', 1, '[]', 0, 0)",
        )
        .bind(message)
        .bind(message.period())
        .bind(account.id)
        .bind(state)
        .run(&store.db.writer)
        .await
        .expect("stored");
        sql(
            "INSERT INTO queue (message_id, account_id, lane, due_at) VALUES ($1, $2, 'recipient.example', 0)",
        )
        .bind(message)
        .bind(account.id)
        .run(&store.db.writer)
        .await
        .expect("queued");
        Self { store, account: account.id, message, _directory: directory }
    }

    fn report(&self, kind: ReportKind) -> NewReport {
        let kinds = match kind {
            ReportKind::Bounce => SuppressionKind::Bounce,
            ReportKind::Complaint => SuppressionKind::Complaint,
        };
        NewReport {
            message_id: self.message,
            kind,
            reason: "550 5.1.1 no such user".to_owned(),
            suppression: Some(NewSuppression {
                account_id: self.account,
                address: "ada@recipient.example".to_owned(),
                kind: kinds,
                reason: "550 5.1.1 no such user".to_owned(),
                message_id: Some(self.message),
                expires_at: Some(NOW.after(Duration::from_hours(24))),
            }),
            facts: None,
        }
    }

    async fn record(&self, kind: ReportKind) -> Recorded {
        self.store.record_report(&self.report(kind), NOW).await.expect("records")
    }

    async fn count(&self, of: &'static str) -> i64 {
        let mut count = sql("SELECT (");
        count.push(of).push(") AS number");
        let row = count.one(&self.store.db.readers).await.expect("counted");
        column(&row, "number").expect("a number")
    }

    async fn state(&self) -> String {
        self.store.message(self.message).await.expect("there").row.state.to_string()
    }
}

const EVENTS: &str = "SELECT count(*) FROM events WHERE type = 7";
const COMPLAINTS: &str = "SELECT count(*) FROM events WHERE type = 11";
const QUEUED: &str = "SELECT count(*) FROM queue";
const SUPPRESSED: &str =
    "SELECT count(*) FROM suppressions WHERE address = 'ada@recipient.example'";

#[tokio::test]
async fn a_bounce_ends_a_message_that_has_left_once() {
    for state in ["delivered", "relayed", "deferred", "sending"] {
        let fixture = Fixture::in_state(state).await;
        assert_eq!(fixture.record(ReportKind::Bounce).await, Recorded::Now, "{state}");
        assert_eq!(fixture.record(ReportKind::Bounce).await, Recorded::Before, "{state}");
        assert_eq!(fixture.state().await, "bounced");
        assert_eq!((fixture.count(EVENTS).await, fixture.count(QUEUED).await), (1, 0), "{state}");
        assert_eq!(fixture.count(SUPPRESSED).await, 1);
    }
}

#[tokio::test]
async fn a_bounce_is_told_with_code_class_host_and_whether_it_suppresses() {
    for suppresses in [true, false] {
        let fixture = Fixture::in_state("delivered").await;
        let mut report = fixture.report(ReportKind::Bounce);
        report.suppression = report.suppression.filter(|_| suppresses);
        report.facts = Some(BounceFacts {
            code: Some(550),
            enhanced: Some("5.1.1".to_owned()),
            class: BounceClass::Hard,
            remote_host: Some("mx.recipient.example".to_owned()),
        });
        fixture.store.record_report(&report, NOW).await.expect("records");
        let facts = "SELECT facts FROM events WHERE type = 7";
        let row = sql(facts).one(&fixture.store.db.readers).await.expect("one row");
        let facts: String = column(&row, "facts").expect("facts");
        let told: serde_json::Value = serde_json::from_str(&facts).expect("JSON");
        let wanted = serde_json::json!({
            "code": 550, "enhanced": "5.1.1", "class": "hard", "remoteHost": "mx.recipient.example",
            "suppressed": suppresses
        });
        assert_eq!(told, wanted);
    }
}

#[tokio::test]
async fn what_has_not_left_or_is_over_does_not_bounce() {
    for state in ["scheduled", "queued", "bounced", "failed", "suppressed", "canceled"] {
        let fixture = Fixture::in_state(state).await;
        assert_eq!(fixture.record(ReportKind::Bounce).await, Recorded::Before, "{state}");
        assert_eq!((fixture.state().await.as_str(), fixture.count(QUEUED).await), (state, 1));
        assert_eq!((fixture.count(EVENTS).await, fixture.count(SUPPRESSED).await), (0, 0));
    }
}

#[tokio::test]
async fn a_complaint_is_a_mark_and_leaves_the_state_alone() {
    let fixture = Fixture::in_state("delivered").await;
    assert_eq!(fixture.record(ReportKind::Complaint).await, Recorded::Now);
    assert_eq!(fixture.record(ReportKind::Complaint).await, Recorded::Before);
    assert_eq!(fixture.state().await, "delivered");
    assert_eq!((fixture.count(COMPLAINTS).await, fixture.count(SUPPRESSED).await), (1, 1));
    let marked = "SELECT complained_at FROM messages";
    assert_eq!(fixture.count(marked).await, NOW.millis());
    // Both may be true of one message.
    assert_eq!(fixture.record(ReportKind::Bounce).await, Recorded::Now);
    assert_eq!(fixture.state().await, "bounced");
    let complained = "SELECT count(*) FROM suppressions WHERE kind = 'complaint'";
    assert_eq!(fixture.count(complained).await, 1, "a bounce does not take a complaint's place");
}

#[tokio::test]
async fn what_never_left_is_not_complained_about() {
    for state in ["scheduled", "queued", "suppressed", "canceled", "failed"] {
        let fixture = Fixture::in_state(state).await;
        assert_eq!(fixture.record(ReportKind::Complaint).await, Recorded::Before, "{state}");
        assert_eq!((fixture.count(COMPLAINTS).await, fixture.count(SUPPRESSED).await), (0, 0));
    }
}

#[tokio::test]
async fn an_attempt_that_is_under_way_does_not_undo_a_bounce() {
    let fixture = Fixture::in_state("queued").await;
    let store = &fixture.store;
    let until = NOW.after(Duration::from_mins(1));
    let leases = store.lease("one", &[fixture.message], NOW, until).await.expect("leases");
    assert_eq!(leases.len(), 1);
    assert_eq!(fixture.record(ReportKind::Bounce).await, Recorded::Now);
    store.recover(NOW).await;
    assert_eq!(store.first_due().await.expect("readable"), None);
    assert_eq!(fixture.state().await, "bounced");
}

#[tokio::test]
async fn a_message_is_known_as_far_as_reports_need_it() {
    let fixture = Fixture::in_state("delivered").await;
    let reported = fixture.store.reported(fixture.message).await.expect("readable");
    let reported = reported.expect("it is there");
    assert_eq!(reported.account_id, fixture.account);
    assert_eq!(reported.recipient.folded(), "ada@recipient.example");
    assert_eq!(reported.author.to_string(), "shop@sender.example");
    let other = fixture.store.reported(MessageId::new(NOW)).await.expect("readable");
    assert_eq!(other, None);
}

#[tokio::test]
async fn a_domains_own_alias_is_the_return_path_while_it_is_seen() {
    let fixture = Fixture::in_state("delivered").await;
    let requirements = r#"[{"id":"return-path","type":"CNAME","name":"bounce.sender.example"}]"#;
    sql(
        "INSERT INTO domains (id, account_id, name, kind, verification_token, phase, since, progress, missing,
                              requirements, decision, organizational, skeleton, created_at)
         VALUES ($3, $1, 'sender.example', 'dns', 't', 'verified', 0, 100, '[]', $2, '{}', '', '', 0)",
    )
    .bind(fixture.account)
    .bind(requirements)
    .bind([0; 16])
    .run(&fixture.store.db.writer)
    .await
    .expect("stored");
    let return_path = async || {
        let query = sql(domain_keys::SIGNING_KEYS).bind(fixture.account).bind("sender.example");
        let (_, row) = fixture.store.read_fact(fixture.account, query).await.expect("readable");
        let row = row.expect("the domain is there");
        let keys = domain_keys::signing_keys_row(&row).expect("readable");
        keys.return_path.map(|it| it.as_str().to_owned())
    };
    assert_eq!(return_path().await, None, "it was never looked at");
    for (findings, seen) in [
        (r#"[{"id":"return-path","status":"satisfied","wasSatisfied":true}]"#, true),
        (r#"[{"id":"return-path","status":"unknown","wasSatisfied":true}]"#, true),
        (r#"[{"id":"return-path","status":"wrong","wasSatisfied":false}]"#, false),
        (r#"[{"id":"spf","status":"satisfied","wasSatisfied":true}]"#, false),
        ("[]", false),
    ] {
        sql("INSERT INTO domain_checks (domain_id, number, findings, observations) VALUES ($2, 1, $1, '[]')
             ON CONFLICT (domain_id) DO UPDATE SET findings = excluded.findings")
        .bind(findings)
        .bind([0; 16])
        .run(&fixture.store.db.writer)
        .await
        .expect("stored");
        let wanted = seen.then(|| "bounce.sender.example".to_owned());
        assert_eq!(return_path().await, wanted, "{findings}");
    }
}
