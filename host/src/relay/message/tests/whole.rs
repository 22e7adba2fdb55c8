//! Messages without a template.

use super::*;

#[test]
fn a_whole_message_is_shared_by_its_recipients() {
    let submissions = submissions("From: Ada <ada@example.com>\nSubject: Hi\n\nBody\n");
    let [first, second] = submissions.as_slice() else { panic!("two recipients") };
    let (Content::Raw(first), Content::Raw(second)) = (&first.content, &second.content) else {
        panic!("no template")
    };
    assert!(Arc::ptr_eq(first, second));
    assert_eq!(
        first.return_path.as_ref().map(ToString::to_string).as_deref(),
        Some("bounces@example.com")
    );
    assert_eq!(first.message.subject(), "Hi");
    assert_eq!(first.message.author().to_string(), "ada@example.com");
}

#[test]
fn tags_metadata_and_time_go_with_a_whole_message_too() {
    let (submission, raw) = raw(
        "X-Waxwing-Tag: invoices\nX-Waxwing-Metadata-Order: 4711\nX-Waxwing-Send-At: 2027-01-15T09:00:00Z\n\
         From: ada@example.com\n\n",
    );
    assert_eq!(submission.tags, ["invoices"]);
    assert_eq!(Value::Object(submission.metadata), json!({"order": "4711"}));
    assert!(submission.send_at.is_some());
    let relayed = raw.message.relayed(crate::id::MessageId::new(NOW), NOW);
    let relayed = String::from_utf8(relayed).expect("UTF-8");
    assert!(
        relayed.starts_with("Received: from client.example\r\n by mx.waxwing.example with ESMTPSA")
    );
    assert!(!relayed.to_lowercase().contains("x-waxwing-"));
}

#[test]
fn smtputf8_is_named_in_the_received_field() {
    let mail = Mail { utf8: true, ..mail("From: 用户@例え.example\n\n") };
    let (mut items, _) = read_mail(mail).expect("readable");
    let Content::Raw(raw) = items.swap_remove(0).expect("fit").content else {
        panic!("no template")
    };
    let relayed = raw.message.relayed(crate::id::MessageId::new(NOW), NOW);
    assert!(String::from_utf8_lossy(&relayed).contains("with UTF8SMTPSA"));
}

#[test]
fn all_faults_of_a_whole_message_are_named_at_once() {
    let text = "X-Waxwing-Data: {}\nx-waxwing-from-name: x\nX-Waxwing-Nope: 1\nX-Waxwing-Send-At: soon\n\
                From: a@example.com\nFrom: b@example.com\nSender: x\n\n";
    let wanted = [
        ("X-Waxwing-Nope", "unknown"),
        ("X-Waxwing-Data", "unexpected"),
        ("X-Waxwing-From-Name", "unexpected"),
        ("From", "repeated"),
        ("Sender", "invalid"),
        ("X-Waxwing-Send-At", "invalid"),
    ];
    assert_eq!(faults(text), pairs(&wanted));
}

#[test]
fn a_header_that_cannot_be_split_is_one_fault() {
    for (text, code) in [
        ("From: a@example.com\nHello\n\n", "malformed_header"),
        ("From : a@example.com\n\n", "malformed_header"),
        (" folded\nFrom: a@example.com\n\n", "malformed_header"),
        (&format!("From: a@example.com\n{}\n", "X: y\n".repeat(1_000)), "malformed_header"),
    ] {
        assert_eq!(faults(text), pairs(&[("", code)]));
    }
    let circle = format!("{}From: a@example.com\n\n", "Received: x\n".repeat(101));
    assert_eq!(faults(&circle), pairs(&[("Received", "mail_loop")]));
}
