use waxwing_plugin::domain_policy::Outcome::{NoData, NxDomain, ServFail};
use waxwing_plugin::domain_policy::Status::{Missing, Satisfied, Unknown, Wrong};
use waxwing_plugin::domain_policy::{Observation, Status};
use waxwing_plugin::testing::{answered, domain, observed};

use super::*;
use crate::requirements::needs;
use crate::settings::Settings;

const OURS: &str = "spf.waxwing.example";

/// The reading, and the ids of the look-ups that it waits for.
fn read(observations: &[Observation], return_path: Option<&str>) -> (Reading, Vec<String>) {
    let needs = needs(&Settings::default(), &domain("example.com")).expect("needs");
    let own = needs.iter().find(|it| it.requirement.id == "spf").expect("it is there");
    let mut seen = Seen::new(observations, &["spf"]);
    let reading = judge(&own.requirement, OURS, return_path, &mut seen);
    (reading, seen.into_further().into_iter().map(|it| it.id).collect())
}

fn of(records: &[&str]) -> Reading {
    read(&[answered("spf", records)], None).0
}

fn status_with(record: &str, others: &[(&str, &str)]) -> Status {
    let mut observations = vec![answered("spf", &[record])];
    observations.extend(others.iter().map(|(id, record)| answered(id, &[record])));
    let (reading, further) = read(&observations, None);
    assert_eq!(further, [""; 0]);
    reading.status
}

fn wrong(record: &str, because: &str) {
    let reading = of(&[record]);
    assert_eq!(reading.status, Wrong, "{record}: {}", reading.hint);
    assert!(reading.hint.contains(because), "{record}: {}", reading.hint);
}

#[test]
fn a_record_with_the_include_is_right_in_any_case_and_place() {
    for record in [
        "v=spf1 include:spf.waxwing.example ~all",
        "V=SPF1  mx +INCLUDE:SPF.Waxwing.Example.  -ALL",
        "v=spf1 include:other.example include:spf.waxwing.example",
        "v=spf1 redirect=spf.waxwing.example",
    ] {
        let reading = of(&["google-site-verification=x", record]);
        assert_eq!(reading.status, Satisfied, "{record}: {}", reading.hint);
    }
}

#[test]
fn a_direct_include_asks_for_no_further_look_up() {
    let record = "v=spf1 include:other.example include:spf.waxwing.example ~all";
    assert_eq!(read(&[answered("spf", &[record])], Some("bounce.example.com")).1, [""; 0]);
}

#[test]
fn a_record_without_the_include_is_wrong_and_the_hint_has_the_whole_right_one() {
    wrong("v=spf1 mx -all", "`v=spf1 mx include:spf.waxwing.example -all`");
    wrong("v=spf1 ip4:192.0.2.1", "`v=spf1 ip4:192.0.2.1 include:spf.waxwing.example`");
    wrong("v=spf1 -all", "`v=spf1 include:spf.waxwing.example -all`");
}

#[test]
fn several_records_are_wrong_even_if_one_is_right() {
    let reading = of(&["v=spf1 include:spf.waxwing.example ~all", "v=spf1 mx -all"]);
    assert!(reading.status == Wrong && reading.hint.contains("2 SPF records"), "{}", reading.hint);
    assert_eq!(reading.found.len(), 2);
}

#[test]
fn an_include_that_receivers_do_not_honour_is_wrong() {
    wrong("v=spf1 -include:spf.waxwing.example ~all", "refuses this server");
    wrong("v=spf1 ?include:spf.waxwing.example ~all", "refuses this server");
    wrong("v=spf1 ~all include:spf.waxwing.example", "after `all`");
    wrong("v=spf1 incude:spf.waxwing.example ~all", "SPF does not know");
    wrong(" v=spf1 include:spf.waxwing.example ~all", "must begin");
    wrong("v=spf1 -all redirect=spf.waxwing.example", "does not let");
}

#[test]
fn eleven_look_ups_before_the_match_are_one_too_many() {
    let ten = "v=spf1 a a a a a a a a a include:spf.waxwing.example ~all";
    assert_eq!(of(&[ten]).status, Satisfied);
    wrong("v=spf1 a a a a a a a a a a include:spf.waxwing.example ~all", "more than 10");
    let after = "v=spf1 include:spf.waxwing.example a a a a a a a a a a a ~all";
    assert_eq!(of(&[after]).status, Satisfied);
}

#[test]
fn no_record_of_spf_is_missing_and_a_failure_is_unknown() {
    assert_eq!(of(&["google-site-verification=x"]).status, Missing);
    for (outcome, expected) in [(NoData, Missing), (NxDomain, Missing), (ServFail, Unknown)] {
        assert_eq!(read(&[observed("spf", outcome)], None).0.status, expected);
    }
    assert_eq!(read(&[], None).0.status, Unknown);
}

#[test]
fn includes_are_looked_up_only_where_they_can_decide() {
    let record = "v=spf1 include:A.example -include:b.example include:%{d}.c redirect=d.example";
    let (_, further) = read(&[answered("spf", &[record])], None);
    assert_eq!(further, ["include:a.example", "include:d.example"]);
    let behind = "v=spf1 a a a a a a a a a a include:a.example ~all";
    let (reading, further) = read(&[answered("spf", &[behind])], None);
    assert_eq!((reading.status, further.len()), (Wrong, 0));
}

#[test]
fn an_include_of_an_include_is_followed_to_the_second_level() {
    let first = ("include:a.example", "v=spf1 include:b.example ~all");
    let observations =
        [answered("spf", &["v=spf1 include:a.example -all"]), answered(first.0, &[first.1])];
    assert_eq!(read(&observations, None).1, ["include:b.example"]);
    let right = ("include:b.example", "v=spf1 include:spf.waxwing.example ~all");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[first, right]), Satisfied);
    let deeper = ("include:b.example", "v=spf1 include:c.example ~all");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[first, deeper]), Wrong);
}

#[test]
fn includes_in_a_circle_come_to_an_end() {
    let circle = ("include:a.example", "v=spf1 include:a.example ~all");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[circle]), Wrong);
}

#[test]
fn look_ups_of_includes_count_too() {
    let nine = ("include:a.example", "v=spf1 a a a a a a a a a include:spf.waxwing.example");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[nine]), Wrong);
    let before = "v=spf1 include:a.example a a a a a a a a a a a -all";
    let ours = ("include:a.example", "v=spf1 include:spf.waxwing.example");
    assert_eq!(status_with(before, &[ours]), Satisfied);
    assert_eq!(status_with(before, &[("include:a.example", "v=spf1 -all")]), Wrong);
    let eight = ("include:a.example", "v=spf1 a a a a a a a a include:spf.waxwing.example");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[eight]), Satisfied);
}

#[test]
fn an_include_that_cannot_be_seen_is_unknown_and_one_that_is_absent_is_wrong() {
    let spf = answered("spf", &["v=spf1 include:a.example -all"]);
    let with = |outcome| read(&[spf.clone(), observed("include:a.example", outcome)], None);
    assert_eq!(with(ServFail).0.status, Unknown);
    assert_eq!(with(NxDomain).0.status, Wrong);
    assert_eq!(with(ServFail).1, [""; 0]);
}

#[test]
fn spf_holds_through_the_return_path() {
    let missing = observed("spf", NoData);
    let (_, further) = read(std::slice::from_ref(&missing), Some("bounce.example.com"));
    assert_eq!(further, [THROUGH_RETURN_PATH]);
    let through = |records: &[&str]| {
        let observations = [missing.clone(), answered(THROUGH_RETURN_PATH, records)];
        read(&observations, Some("bounce.example.com")).0.status
    };
    assert_eq!(through(&["v=spf1 ip4:192.0.2.1 -all"]), Satisfied);
    assert_eq!(through(&["v=spf1 -all", "v=spf1 mx -all"]), Missing);
    assert_eq!(through(&["something"]), Missing);
}
