//! Bounces (DSN) and complaints (ARF) of real mail servers, and what each fixture must be read as.

use std::collections::BTreeSet;
use std::path::PathBuf;

use proptest::prelude::*;

use super::Action::{Delayed, Delivered, Failed, Relayed};
use super::*;
use ReplyClass::{DeadAddress, Rejected};

/// What a fixture says of one recipient.
type Wanted = (&'static str, Action, &'static str, ReplyClass);

const ADA: &str = "ada@recipient.example";

/// Fixtures named `captured_…` were written by Postfix 3 itself.
const DELIVERIES: &[(&str, &[Wanted])] = &[
    ("captured_postfix_spam", &[(ADA, Failed, "5.7.1", Rejected)]),
    ("captured_postfix_full", &[("full@recipient.example", Failed, "5.2.2", Rejected)]),
    ("captured_postfix_no_code", &[("plain@recipient.example", Failed, "5.0.0", DeadAddress)]),
    ("captured_postfix_unknown", &[("ghost@recipient.example", Failed, "5.1.1", DeadAddress)]),
    ("captured_postfix_delayed", &[("grey@recipient.example", Delayed, "4.7.1", Rejected)]),
    ("captured_postfix_relayed", &[("ok@recipient.example", Relayed, "2.0.0", Rejected)]),
    (
        "captured_postfix_several",
        &[
            ("full@recipient.example", Failed, "5.2.2", Rejected),
            ("ghost@recipient.example", Failed, "5.1.1", DeadAddress),
        ],
    ),
    ("captured_postfix_expired", &[("grey@recipient.example", Failed, "4.7.1", Rejected)]),
    ("postfix_unknown_user", &[(ADA, Failed, "5.1.1", DeadAddress)]),
    ("postfix_host_not_found", &[(ADA, Failed, "5.4.4", DeadAddress)]),
    ("postfix_delayed", &[(ADA, Delayed, "4.4.1", Rejected)]),
    ("postfix_expired", &[(ADA, Failed, "4.4.1", Rejected)]),
    ("postfix_delivered", &[(ADA, Relayed, "2.0.0", Rejected)]),
    (
        "postfix_several",
        &[
            ("one@elsewhere.example", Failed, "5.2.2", Rejected),
            ("two@elsewhere.example", Delivered, "2.1.5", Rejected),
            ("three@elsewhere.example", Failed, "5.1.1", DeadAddress),
        ],
    ),
    ("exim_dsn", &[(ADA, Failed, "5.0.0", DeadAddress)]),
    ("exim_old", &[(ADA, Failed, "", DeadAddress)]),
    (
        "exim_old_several",
        &[
            ("one@elsewhere.example", Failed, "5.2.2", Rejected),
            ("two@elsewhere.example", Failed, "", DeadAddress),
        ],
    ),
    ("exim_old_warning", &[("", Delayed, "", Rejected)]),
    ("sendmail", &[(ADA, Failed, "5.1.1", DeadAddress)]),
    ("sendmail_warning", &[(ADA, Delayed, "4.4.2", Rejected)]),
    ("qmail", &[(ADA, Failed, "5.1.1", DeadAddress)]),
    ("qmail_local", &[(ADA, Failed, "5.1.1", DeadAddress)]),
    ("qmail_localized", &[(ADA, Failed, "5.2.2", Rejected)]),
    ("exchange_online", &[(ADA, Failed, "5.1.10", DeadAddress)]),
    ("exchange_online_edge", &[(ADA, Failed, "5.4.1", DeadAddress)]),
    ("exchange_2010_full", &[(ADA, Failed, "5.2.2", Rejected)]),
    ("exchange_5_5", &[("", Failed, "", Rejected)]),
    ("exchange_2000_words", &[("", Failed, "5.1.1", DeadAddress)]),
    ("gmail", &[(ADA, Failed, "5.1.1", DeadAddress)]),
    ("gmail_delay", &[(ADA, Delayed, "4.4.1", Rejected)]),
    ("yahoo", &[(ADA, Failed, "", Rejected)]),
    ("yahoo_no_account", &[(ADA, Failed, "", DeadAddress)]),
    ("outlook_com", &[(ADA, Failed, "5.5.0", DeadAddress)]),
    ("amazon_ses", &[(ADA, Failed, "4.4.7", Rejected)]),
    ("ses_suppressed", &[(ADA, Failed, "5.1.0", DeadAddress)]),
    ("zimbra", &[(ADA, Failed, "5.7.1", Rejected)]),
    ("mdaemon", &[(ADA, Failed, "5.0.0", DeadAddress)]),
    ("mdaemon_transcript", &[("", Failed, "5.1.1", DeadAddress)]),
    ("hmailserver", &[("", Failed, "5.1.1", DeadAddress)]),
    ("groupwise", &[("", Failed, "", DeadAddress)]),
    ("domino", &[(ADA, Failed, "5.1.1", DeadAddress)]),
    ("james_status_as_text", &[(ADA, Failed, "5.1.1", DeadAddress)]),
    ("status_in_base64", &[(ADA, Failed, "5.2.1", DeadAddress)]),
    (
        "no_action",
        &[
            (ADA, Failed, "5.1.2", DeadAddress),
            ("bob@recipient.example", Delayed, "4.2.2", Rejected),
        ],
    ),
    ("no_boundary_end", &[(ADA, Failed, "5.1.6", DeadAddress)]),
    ("utf8_status", &[("用户@recipient.example", Failed, "5.1.1", DeadAddress)]),
    ("nested_report", &[(ADA, Delayed, "4.0.0", Rejected)]),
    ("kopano_words_only", &[("", Failed, "", Rejected)]),
    ("courier", &[(ADA, Failed, "5.0.0", DeadAddress)]),
];

const NO_REPORTS: [&str; 6] = [
    "vacation",
    "vacation_exchange",
    "vacation_by_a_mailer",
    "challenge",
    "read_receipt",
    "answer",
];

const COMPLAINTS: [(&str, ComplaintKind); 8] = [
    ("arf_rfc", ComplaintKind::Abuse),
    ("arf_yahoo", ComplaintKind::Abuse),
    ("arf_redacted", ComplaintKind::Abuse),
    ("arf_comcast", ComplaintKind::Abuse),
    ("arf_as_text", ComplaintKind::Fraud),
    ("arf_not_spam", ComplaintKind::NotSpam),
    ("arf_authentication_failure", ComplaintKind::Other),
    ("jmrp", ComplaintKind::Abuse),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/report/tests")
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(format!("{name}.eml"))).expect("the fixture is there")
}

/// The same message with its lines ended in LF, in CRLF, and in both by turns.
fn line_ends(raw: &[u8]) -> [Vec<u8>; 3] {
    let bare: Vec<u8> = raw.iter().copied().filter(|it| *it != b'\r').collect();
    let with = |end: fn(usize) -> &'static [u8]| {
        let lines = bare.split(|it| *it == b'\n').enumerate();
        lines.flat_map(|(n, line)| [line, end(n)].concat()).collect()
    };
    [bare.clone(), with(|_| b"\r\n"), with(|n| if n % 2 == 0 { b"\r\n" } else { b"\n" })]
}

fn names() -> impl Iterator<Item = &'static str> {
    let deliveries = DELIVERIES.iter().map(|(name, _)| *name);
    deliveries.chain(NO_REPORTS).chain(COMPLAINTS.map(|(name, _)| name))
}

fn ada() -> EmailAddress {
    ADA.parse().expect("valid")
}

fn statuses(name: &str) -> Vec<RecipientStatus> {
    match parse(&fixture(name), None) {
        Some(Report::Delivery(statuses)) => statuses,
        other => unreachable!("{name}: {other:?}"),
    }
}

fn complaint(name: &str) -> Complaint {
    match parse(&fixture(name), None) {
        Some(Report::Complaint(complaint)) => complaint,
        other => unreachable!("{name}: {other:?}"),
    }
}

#[test]
fn every_fixture_is_in_a_table() {
    let files = std::fs::read_dir(folder()).expect("a folder").map(|it| it.expect("a file").path());
    let files: BTreeSet<String> =
        files.filter_map(|it| it.file_stem()?.to_str().map(str::to_owned)).collect();
    assert_eq!(files, names().map(str::to_owned).collect());
}

#[test]
fn each_form_of_a_delivery_report_is_read_with_any_line_ends() {
    for (name, wanted) in DELIVERIES {
        for raw in line_ends(&fixture(name)) {
            let Some(Report::Delivery(statuses)) = parse(&raw, None) else {
                unreachable!("{name} is not read")
            };
            let text = |it: &Option<EmailAddress>| it.as_ref().map(EmailAddress::to_string);
            let read: Vec<(String, Action, String, ReplyClass)> = statuses
                .iter()
                .map(|it| {
                    let status = it.status.map(|it| it.to_string()).unwrap_or_default();
                    (
                        text(&it.final_recipient).unwrap_or_default(),
                        it.action,
                        status,
                        it.reply_class(),
                    )
                })
                .collect();
            let wanted: Vec<_> = wanted
                .iter()
                .map(|(last, action, status, class)| {
                    ((*last).to_owned(), *action, (*status).to_owned(), *class)
                })
                .collect();
            assert_eq!(read, wanted, "{name}: {statuses:#?}");
        }
    }
}

#[test]
fn what_is_no_report_is_read_as_none() {
    for name in NO_REPORTS {
        for raw in line_ends(&fixture(name)) {
            assert_eq!(parse(&raw, None), None, "{name}");
        }
    }
}

#[test]
fn words_count_only_from_nobody_or_from_a_mail_system() {
    let somebody: EmailAddress = "bob@recipient.example".parse().expect("valid");
    let system: EmailAddress = "MAILER-DAEMON@relay.example".parse().expect("valid");
    for name in ["qmail", "exim_old", "hmailserver", "yahoo", "kopano_words_only"] {
        assert_eq!(parse(&fixture(name), Some(&somebody)), None, "{name}");
        assert!(parse(&fixture(name), Some(&system)).is_some(), "{name}");
    }
    assert!(parse(&fixture("postfix_unknown_user"), Some(&somebody)).is_some(), "a standard form");
}

#[test]
fn each_form_of_a_complaint_is_read_with_any_line_ends() {
    for (name, kind) in COMPLAINTS {
        for raw in line_ends(&fixture(name)) {
            let Some(Report::Complaint(complaint)) = parse(&raw, None) else {
                unreachable!("{name} is not read")
            };
            assert_eq!(complaint.kind, kind, "{name}");
            let id = complaint.message_id.as_deref().unwrap_or_default();
            assert_eq!(
                id.to_ascii_uppercase(),
                "01JD0000000000000000000000@SENDER.EXAMPLE",
                "{name}"
            );
            let author = complaint.author.as_ref().map(EmailAddress::to_string);
            assert_eq!(author.as_deref(), Some("shop@sender.example"), "{name}");
        }
    }
}

#[test]
fn a_complaint_tells_return_path_and_recipient_unless_redacted() {
    for name in ["arf_rfc", "arf_yahoo", "arf_comcast", "jmrp"] {
        let Complaint { return_paths, recipients, .. } = complaint(name);
        assert!(return_paths[0].local().starts_with("b-01jd"), "{name}: {return_paths:?}");
        assert_eq!(recipients, [ada()], "{name}");
    }
    let redacted = complaint("arf_redacted");
    assert!(redacted.return_paths.is_empty() && redacted.recipients.is_empty(), "{redacted:?}");
}

#[test]
fn the_words_of_the_server_are_kept_in_one_line() {
    let reason = |name: &str| statuses(name)[0].reason();
    assert_eq!(
        reason("postfix_unknown_user"),
        "550 5.1.1 <ada@recipient.example>: Recipient address rejected: User unknown in local \
         recipient table"
    );
    assert_eq!(reason("exim_old"), "550 No such user here");
    assert_eq!(reason("qmail"), "550 5.1.1 unknown user Giving up on 198.51.100.7.");
    assert_eq!(reason("exchange_2010_full"), "reported as 5.2.2, without an explanation");
    assert!(reason("gmail").starts_with("550-5.1.1 The email account that you tried to reach"));
    let prose = "We could not deliver your message. Nobody knows why.";
    assert_eq!(reason("kopano_words_only"), prose);
}

#[test]
fn the_recipient_of_the_message_decides_where_a_report_names_it() {
    let several = statuses("postfix_several");
    let (own, class) = failure(&several, &ada()).expect("it is the original recipient");
    assert_eq!((own.status.map(|it| it.to_string()).as_deref(), class), (Some("5.2.2"), Rejected));
    let team = "TEAM@recipient.example".parse().expect("valid");
    assert_eq!(failure(&several, &team), None, "it was delivered");
    let third = "three@elsewhere.example".parse().expect("valid");
    assert_eq!(failure(&several, &third).map(|it| it.1), Some(DeadAddress));
}

#[test]
fn an_alias_is_not_dead_because_one_address_behind_it_is() {
    let alias = "alias@recipient.example".parse().expect("valid");
    assert_eq!(failure(&statuses("postfix_several"), &alias), None, "one was delivered");
    let all_failed = statuses("exim_old_several");
    assert_eq!(failure(&all_failed, &alias).map(|it| it.1), Some(Rejected));
    let only = statuses("postfix_unknown_user");
    assert_eq!(failure(&only, &alias).map(|it| it.1), Some(DeadAddress), "the only one behind it");
}

#[test]
fn what_is_delayed_or_delivered_is_no_failure() {
    for name in
        ["postfix_delayed", "postfix_delivered", "gmail_delay", "exim_old_warning", "nested_report"]
    {
        assert_eq!(failure(&statuses(name), &ada()), None, "{name}");
    }
}

#[test]
fn depth_and_number_of_parts_are_bounded() {
    let nested = "Content-Type: message/rfc822\r\n\r\n".repeat(30_000);
    assert_eq!(parse(nested.as_bytes(), None), None);
    let opened = |n| format!("Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n");
    let multipart: Vec<String> = (0..20_000).map(opened).collect();
    assert_eq!(parse(multipart.concat().as_bytes(), None), None);
    let parts = format!(
        "Content-Type: multipart/report; boundary=b\r\n\r\n{}",
        "--b\r\nContent-Type: message/delivery-status\r\n\r\n".repeat(20_000)
    );
    assert_eq!(parse(parts.as_bytes(), None), None);
    let recipients = format!(
        "Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\nContent-Type: \
         message/delivery-status\r\n\r\n{}",
        "Final-Recipient: rfc822; a@b.example\r\nAction: failed\r\n\r\n".repeat(20_000)
    );
    let Some(Report::Delivery(statuses)) = parse(recipients.as_bytes(), None) else {
        unreachable!("it is a report")
    };
    assert!(statuses.len() <= 201, "{}", statuses.len());
}

#[test]
fn nothing_that_is_kept_has_a_line_break_or_no_end() {
    let long = format!(
        "Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/delivery-status\n\n\
         Final-Recipient: rfc822; a@b.example\nAction: failed\nDiagnostic-Code: smtp; 550 a\rb\0c{}\n",
        " long\n\t".repeat(10_000)
    );
    let Some(Report::Delivery(statuses)) = parse(long.as_bytes(), None) else {
        unreachable!("it is a report")
    };
    let reason = statuses[0].reason();
    assert!(reason.starts_with("550 a b c long") && reason.chars().count() <= 1_000, "{reason}");
    assert!(!reason.contains(char::is_control));
}

/// A fixture with pieces cut out, doubled and overwritten.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let names: Vec<&'static str> = names().collect();
    let edit =
        (any::<prop::sample::Index>(), 0_usize..40, prop::collection::vec(any::<u8>(), 0..20));
    (prop::sample::select(names), prop::collection::vec(edit, 0..8)).prop_map(|(name, edits)| {
        let mut raw = fixture(name);
        for (at, length, put) in edits {
            let at = at.index(raw.len() + 1);
            let end = (at + length).min(raw.len());
            raw.splice(at..end, put);
        }
        raw
    })
}

proptest! {
    #[test]
    fn no_octets_make_it_panic(raw in prop::collection::vec(any::<u8>(), 0..400)) {
        let _any = parse(&raw, None);
    }

    #[test]
    fn no_damaged_report_makes_it_panic(raw in mutated()) {
        if let Some(Report::Delivery(statuses)) = parse(&raw, None) {
            prop_assert!(!statuses.is_empty());
            let _any = failure(&statuses, &ada());
            for status in &statuses {
                prop_assert!(!status.reason().contains(char::is_control));
            }
        }
    }
}
