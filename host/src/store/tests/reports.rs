//! A report about a message that is still being sent.

use super::*;
use crate::store::{NewReport, Recorded, ReportKind};

#[tokio::test]
async fn a_report_during_an_attempt_ends_the_message_and_keeps_the_dialog() {
    let fixture = Fixture::with_credits(5).await;
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let store = &fixture.store;
    let leases = lease(store, "one", NOW).await;
    let report = NewReport {
        message_id: leases[0].message_id,
        kind: ReportKind::Bounce,
        reason: "550 5.1.1 no such user".to_owned(),
        suppression: None,
        facts: None,
    };
    assert_eq!(store.record_report(&report, NOW).await.expect("recorded"), Recorded::Now);
    let settlement = settled(&leases[0], AfterAttempt::Delivered);
    store.settle("one", &[settlement], NOW).await.expect("settles");
    let file = store.message(report.message_id).await.expect("there");
    assert_eq!(file.row.state.as_str(), "bounced");
    assert_eq!((file.attempts.len(), file.attempts[0].conversation.as_str()), (1, "S: 250 OK"));
}
