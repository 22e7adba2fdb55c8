//! Reports that come back: bounces in the standard's form and in others, complaints.

use waxwing_mail::address::EmailAddress;
use waxwing_mail::report::{self, Report};

pub fn check(input: &[u8]) {
    let recipient: EmailAddress = "ada@example.com".parse().expect("an address");
    match report::parse(input, None) {
        None => {}
        Some(Report::Delivery(statuses)) => {
            assert!(!statuses.is_empty());
            for status in &statuses {
                let reason = status.reason();
                assert!(!reason.is_empty() && !reason.chars().any(char::is_control), "{reason:?}");
                assert!(reason.chars().count() <= 1_000);
                assert!(status.code().is_none_or(|it| it < 1_000));
                let _class = status.reply_class();
            }
            let failed = statuses.iter().any(|it| it.action == report::Action::Failed);
            assert!(failed || report::failure(&statuses, &recipient).is_none());
        }
        Some(Report::Complaint(complaint)) => {
            assert!(complaint.recipients.len() <= 20);
            assert!(!complaint.kind.as_str().is_empty());
        }
    }
    // A person's mail is read as a report only in the standard's form.
    let person: EmailAddress = "bob@example.org".parse().expect("an address");
    if report::parse(input, Some(&person)).is_some() {
        assert!(report::parse(input, None).is_some());
    }
}
