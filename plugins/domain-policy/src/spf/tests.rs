use waxwing_plugin::domain_policy::Outcome::{NoData, NxDomain, ServFail};
use waxwing_plugin::domain_policy::Status::{Missing, Satisfied, Unknown, Wrong};
use waxwing_plugin::domain_policy::{Observation, Status};
use waxwing_plugin::testing::{answered, domain, observed};

use super::*;
use crate::requirements::needs;
use crate::settings::Settings;

const OURS: &str = "spf.waxwing.example";

/// The reading, and the ids of the lookups that it waits for.
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
        "v=spf1 include:spf.waxwing.example include:other.example",
        "v=spf1 redirect=spf.waxwing.example",
    ] {
        let reading = of(&["google-site-verification=x", record]);
        assert_eq!(reading.status, Satisfied, "{record}: {}", reading.hint);
    }
}

#[test]
fn only_what_stands_before_the_include_is_looked_up() {
    let of = |record| read(&[answered("spf", &[record])], Some("bounce.example.com")).1;
    let first = "v=spf1 mx include:spf.waxwing.example include:other.example ~all";
    assert_eq!(of(first), [""; 0]);
    let second = "v=spf1 include:other.example include:spf.waxwing.example ~all";
    assert!(of(second).contains(&"include:other.example".to_owned()));
}

#[test]
fn a_record_without_the_include_is_wrong_and_the_hint_has_the_right_one() {
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
    wrong(r#""\"v=spf1 include:spf.waxwing.example ~all\"""#, "quotation marks");
    wrong("v=spf1 -all redirect=spf.waxwing.example", "does not name");
}

#[test]
fn eleven_lookups_before_the_match_are_one_too_many() {
    let ten = "v=spf1 a a a a a a a a a include:spf.waxwing.example ~all";
    assert_eq!(of(&[ten]).status, Satisfied);
    wrong("v=spf1 a a a a a a a a a a include:spf.waxwing.example ~all", "more than 10");
    let nine = "v=spf1 include:a.example include:spf.waxwing.example";
    let inner = |count: usize| format!("v=spf1{} ~all", " a".repeat(count));
    assert_eq!(status_with(nine, &[("include:a.example", &inner(8))]), Satisfied);
    assert_eq!(status_with(nine, &[("include:a.example", &inner(9))]), Wrong);
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
    assert_eq!(further, ["include:a.example", "include:b.example", "include:d.example"]);
    let behind = "v=spf1 a a a a a a a a a a include:a.example ~all";
    let (reading, further) = read(&[answered("spf", &[behind])], None);
    assert_eq!((reading.status, further.len()), (Wrong, 0));
}

#[test]
fn includes_are_followed_to_the_third_level() {
    let first = ("include:a.example", "v=spf1 include:b.example ~all");
    let observations =
        [answered("spf", &["v=spf1 include:a.example -all"]), answered(first.0, &[first.1])];
    assert_eq!(read(&observations, None).1, ["include:b.example"]);
    let right = ("include:b.example", "v=spf1 include:spf.waxwing.example ~all");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[first, right]), Satisfied);
    let second = ("include:b.example", "v=spf1 include:c.example ~all");
    let third = ("include:c.example", right.1);
    assert_eq!(status_with("v=spf1 include:a.example -all", &[first, second, third]), Satisfied);
    let third = ("include:c.example", "v=spf1 include:d.example ~all");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[first, second, third]), Wrong);
}

#[test]
fn what_cannot_be_followed_is_wrong_with_the_way_out() {
    for record in ["v=spf1 include:%{i}.%{d}.hosted.example -all", "v=spf1 redirect=%{d}.x"] {
        wrong(record, "as far as its includes can be followed");
    }
    let behind = "v=spf1 include:%{i}.x.example include:spf.waxwing.example -all";
    assert_eq!(of(&[behind]).status, Satisfied);
}

#[test]
fn includes_in_a_circle_are_where_receivers_give_up() {
    let circle = ("include:a.example", "v=spf1 include:a.example ~all");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[circle]), Wrong);
    wrong("v=spf1 include:Example.com -all", "leads to example.com, which leads back to itself");
    let twice = ("include:a.example", "v=spf1 ip4:192.0.2.1 ~all");
    let record = "v=spf1 include:a.example include:a.example include:spf.waxwing.example ~all";
    assert_eq!(status_with(record, &[twice]), Satisfied);
}

#[test]
fn an_include_that_receivers_cannot_use_ends_the_evaluation() {
    let before = "v=spf1 include:a.example include:spf.waxwing.example ~all";
    let behind = "v=spf1 include:spf.waxwing.example include:a.example ~all";
    for (records, because) in [
        (&["google-site-verification=x"][..], "has no SPF record"),
        (&["v=spf1 mx", "v=spf1 a"], "has several SPF records"),
        (&["v=spf1 ip4:x"], "not complete or not valid"),
    ] {
        let with = |record: &str| {
            read(&[answered("spf", &[record]), answered("include:a.example", records)], None).0
        };
        let reading = with(before);
        assert_eq!(reading.status, Wrong, "{records:?}");
        assert!(reading.hint.contains(because), "{}", reading.hint);
        assert_eq!(with(behind).status, Satisfied);
    }
}

#[test]
fn everybody_is_this_server_too_with_a_word_about_it() {
    for record in ["v=spf1 +all", "v=spf1 a all"] {
        let reading = of(&[record]);
        assert!(reading.status == Satisfied && reading.hint.contains("everybody"));
    }
    let all = ("include:a.example", "v=spf1 +all");
    assert_eq!(status_with("v=spf1 include:a.example -all", &[all]), Satisfied);
    assert_eq!(status_with("v=spf1 -include:a.example -all", &[all]), Wrong);
}

#[test]
fn a_name_that_does_not_exist_is_told_from_one_without_a_record() {
    let hint = |outcome| read(&[observed("spf", outcome)], None).0.hint;
    assert!(hint(NxDomain).contains("does not know the name example.com"));
    assert!(hint(NoData).contains("There is no TXT record at example.com"));
}

#[test]
fn a_long_record_is_not_repeated_as_a_whole() {
    let reading = of(&[&format!("v=spf1{} -all", " ip4:192.0.2.1".repeat(1300))]);
    assert!(reading.status == Wrong && reading.hint.len() < 400, "{}", reading.hint);
    assert!(reading.hint.contains("Put `include:spf.waxwing.example` into it"));
}

#[test]
fn lookups_of_includes_count_too() {
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
fn an_unseen_include_is_unknown_and_an_absent_one_is_wrong() {
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
    for unusable in [&["v=spf1 -all"][..], &["v=spf1 a", "v=spf1 mx -all"], &["something"]] {
        assert_eq!(through(unusable), Missing, "{unusable:?}");
    }
}

#[test]
fn what_the_return_path_may_make_good_is_unknown_while_it_is_not_seen() {
    for own in [observed("spf", NoData), answered("spf", &["v=spf1 -all"])] {
        let observations = [own, observed(THROUGH_RETURN_PATH, ServFail)];
        let reading = read(&observations, Some("bounce.example.com")).0;
        assert_eq!(reading.status, Unknown);
        assert!(reading.hint.contains("does not count against you"), "{}", reading.hint);
    }
}

#[test]
fn a_broken_record_of_the_domain_is_named_beside_a_good_return_path() {
    let two = answered("spf", &["v=spf1 a -all", "v=spf1 mx -all"]);
    let through = answered(THROUGH_RETURN_PATH, &["v=spf1 ip4:192.0.2.1 -all"]);
    let reading = read(&[two, through], Some("bounce.example.com")).0;
    assert_eq!((reading.status, reading.found.len()), (Satisfied, 3));
    assert!(reading.hint.contains("Apart from that: There are 2 SPF"), "{}", reading.hint);
}
