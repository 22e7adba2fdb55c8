use waxwing_plugin::domain_policy::Outcome::{NoData, NxDomain, TimedOut};
use waxwing_plugin::domain_policy::Status::{Missing, Satisfied, Unknown, Wrong};
use waxwing_plugin::domain_policy::{Lookup, Observation, RecordType};
use waxwing_plugin::testing::{answered, domain, observed};

use super::*;
use crate::requirements::needs;
use crate::settings::Settings;

fn read(observations: &[Observation]) -> (Reading, Vec<Lookup>) {
    let needs = needs(&Settings::default(), &domain("shop.example.com")).expect("needs");
    let own = needs.iter().find(|it| it.requirement.id == "dmarc").expect("it is there");
    let mut seen = Seen::new(observations, &["dmarc"]);
    let reading = judge(&own.requirement, Some("example.com"), &mut seen);
    (reading, seen.into_further())
}

fn of(records: &[&str]) -> Reading {
    read(&[answered("dmarc", records)]).0
}

#[test]
fn any_policy_is_right_in_any_case_of_tags_and_order() {
    for record in [
        "v=DMARC1; p=none",
        "v=DMARC1;p=Reject;",
        "v = DMARC1 ; P = quarantine",
        "v=DMARC1; rua=mailto:d@example.com; p=none",
    ] {
        let reading = of(&["unrelated", record]);
        assert_eq!(reading.status, Satisfied, "{record}: {}", reading.hint);
    }
}

#[test]
fn a_record_that_receivers_pass_over_is_wrong() {
    for (record, because) in [
        ("p=none; v=DMARC1", "must begin"),
        ("v=dmarc1; p=none", "must begin"),
        ("v=DMARC2; p=none", "must begin"),
        ("v=DMARC1", "has no policy"),
        ("v=DMARC1; p=block", "unknown policy"),
        ("V=DMARC1; p=none", "must begin"),
        (" v=DMARC1; p=none", "must begin"),
        ("v=DMARC1; p=none; sp=all", "`sp=` must be"),
        ("v=DMARC1; p=none; p=reject", "more than once"),
        (r#""\"v=DMARC1; p=none\"""#, "quotation marks"),
        (r"v=DMARC1\; p=none", "backslashes"),
    ] {
        let reading = of(&[record]);
        assert_eq!(reading.status, Wrong, "{record}");
        assert!(reading.hint.contains(because), "{record}: {}", reading.hint);
    }
}

#[test]
fn alignment_in_any_form_lets_the_mail_of_this_server_pass() {
    for record in ["v=DMARC1; p=reject; adkim=s; aspf=s", "v=DMARC1; p=reject; adkim=r; x=y"] {
        let reading = of(&[record]);
        assert_eq!(reading.status, Satisfied);
        assert!(reading.hint.ends_with("signed with exactly this domain."), "{}", reading.hint);
    }
}

#[test]
fn tags_that_receivers_ignore_do_not_spoil_the_record_and_are_named() {
    for (tags, word) in [
        ("adkim=strict", "ignore `adkim`"),
        ("aspf=x", "ignore `aspf`"),
        ("pct=101", "ignore `pct`"),
        ("pct=half", "ignore `pct`"),
        ("rua=dmarc@example.com", "`rua` must be"),
        ("rua=mailto:a@example.com, b@example.com", "`rua` must be"),
        ("ruf=mailto:nobody", "`ruf` must be"),
    ] {
        let reading = of(&[&format!("v=DMARC1; p=none; {tags}")]);
        assert_eq!(reading.status, Satisfied, "{tags}");
        assert!(reading.hint.contains(word), "{tags}: {}", reading.hint);
    }
    let good = "v=DMARC1; p=none; pct=0; rua=mailto:a@b.example!10m,MAILTO:c@d.example; fo=1";
    assert!(!of(&[good]).hint.contains('`'));
}

#[test]
fn two_records_are_wrong_even_if_each_is_right() {
    let reading = of(&["v=DMARC1; p=none", "v=DMARC1; p=reject"]);
    assert!(reading.status == Wrong && reading.hint.contains("2 DMARC"), "{}", reading.hint);
}

#[test]
fn other_records_at_the_name_are_no_dmarc_record() {
    let observations = [answered("dmarc", &["v=spf1 -all"]), observed(INHERITED, NxDomain)];
    let (reading, _) = read(&observations);
    assert_eq!((reading.status, reading.found), (Missing, vec!["v=spf1 -all".to_owned()]));
}

#[test]
fn a_subdomain_without_a_record_asks_for_the_organizational_domains() {
    let (_, further) = read(&[observed("dmarc", NxDomain)]);
    let name = "_dmarc.example.com".to_owned();
    assert_eq!(further, [Lookup { id: INHERITED.into(), name, record_type: RecordType::Txt }]);
}

#[test]
fn a_subdomain_inherits_a_right_record_and_no_wrong_one() {
    let with = |record| read(&[observed("dmarc", NoData), answered(INHERITED, &[record])]);
    assert_eq!(with("v=DMARC1; p=reject").0.status, Satisfied);
    let (reading, further) = with("v=DMARC1");
    assert_eq!((reading.status, further), (Missing, vec![]));
    assert!(reading.hint.contains("at _dmarc.example.com has no policy"), "{}", reading.hint);
}

#[test]
fn a_record_that_may_be_inherited_and_cannot_be_seen_is_unknown() {
    let (reading, _) = read(&[observed("dmarc", NoData), observed(INHERITED, TimedOut)]);
    assert_eq!(reading.status, Unknown);
    assert!(reading.hint.contains("_dmarc.example.com"), "{}", reading.hint);
}

#[test]
fn a_record_of_its_own_or_a_failure_asks_for_nothing_more() {
    assert_eq!(read(&[answered("dmarc", &["v=DMARC1; p=none"])]).1, []);
    let (reading, further) = read(&[observed("dmarc", TimedOut)]);
    assert_eq!((reading.status, further), (Unknown, vec![]));
}
