use waxwing_plugin::domain_policy::Outcome::{Answers, NoData, NxDomain, Refused, TimedOut};
use waxwing_plugin::domain_policy::Status::{Missing, Propagating, Satisfied, Unknown, Wrong};
use waxwing_plugin::domain_policy::{Domain, DomainPolicy, Lookup};
use waxwing_plugin::testing::{answered, configured, context, domain, observed};
use waxwing_plugin::{Pair, Plugin};

use super::*;
use crate::DomainRules;

fn policy(settings: &str) -> DomainRules {
    configured(settings).expect("valid settings")
}

/// Every suggested value, as a resolver would give it.
fn published(domain: &Domain) -> Vec<Observation> {
    let requirements = policy("{}").require(&context(), domain).expect("requirements");
    requirements.iter().map(|it| answered(&it.id, &[&it.suggested_value])).collect()
}

fn verdict(domain: &Domain, seen: &[Observation]) -> Verdict {
    policy("{}").judge(&context(), domain, seen).expect("judge never fails here")
}

fn decided(seen: &[Observation]) -> Judgement {
    match verdict(&domain("example.com"), seen) {
        Verdict::Decided(judgement) => judgement,
        Verdict::Need(more) => unreachable_with(&more),
    }
}

fn unreachable_with(more: &[Lookup]) -> ! {
    panic!("it asks for more: {more:?}")
}

fn replaced(id: &str, with: Observation) -> Vec<Observation> {
    let mut seen = published(&domain("example.com"));
    seen.retain(|it| it.lookup_id != id);
    seen.push(with);
    seen
}

fn status(judgement: &Judgement, id: &str) -> Status {
    let of = |it: &&Finding| it.requirement_id == id;
    judgement.findings.iter().find(of).expect("a finding for every requirement").status
}

#[test]
fn publishing_every_suggested_value_satisfies_everything_for_a_day() {
    let judgement = decided(&published(&domain("example.com")));
    assert_eq!(judgement.findings.len(), 5);
    assert!(judgement.findings.iter().all(|it| it.status == Satisfied), "{judgement:?}");
    assert_eq!(judgement.recheck_after_s, Some(86_400));
}

#[test]
fn values_in_quotes_and_in_pieces_are_the_same_values() {
    let mut seen = published(&domain("example.com"));
    for it in seen.iter_mut().filter(|it| it.lookup_id != "return-path") {
        if let Answers(answers) = &mut it.outcome {
            let (first, rest) = answers[0].data.split_at(10);
            answers[0].data = format!(r#""{first}" "{rest}""#);
        }
    }
    assert!(decided(&seen).findings.iter().all(|it| it.status == Satisfied));
}

#[test]
fn what_was_not_observed_is_unknown_for_every_requirement() {
    let judgement = decided(&[]);
    assert!(judgement.findings.iter().all(|it| it.status == Unknown));
    assert_eq!((judgement.findings.len(), judgement.recheck_after_s), (5, Some(300)));
}

#[test]
fn each_outcome_has_its_status() {
    for (outcome, expected) in
        [(NoData, Missing), (NxDomain, Missing), (Refused, Unknown), (TimedOut, Unknown)]
    {
        let judgement = decided(&replaced("ownership", observed("ownership", outcome)));
        assert_eq!(status(&judgement, "ownership"), expected);
    }
    let another = answered("ownership", &["waxwing-verification=other"]);
    let judgement = decided(&replaced("ownership", another));
    assert_eq!(status(&judgement, "ownership"), Wrong);
    assert_eq!(judgement.findings[0].found, ["waxwing-verification=other"]);
    assert!(judgement.findings[0].hint.contains("waxwing-verification=tok3n"));
    assert_eq!(judgement.recheck_after_s, Some(900));
}

#[test]
fn resolvers_that_disagree_are_propagating_and_asked_again_soon() {
    let mut seen = published(&domain("example.com"));
    let stale = observed("dkim:wx1", NxDomain);
    seen.push(Observation { resolver: "198.51.100.53".to_owned(), ..stale });
    let judgement = decided(&seen);
    assert_eq!(status(&judgement, "dkim:wx1"), Propagating);
    assert_eq!(judgement.recheck_after_s, Some(300));
    assert!(judgement.findings[1].hint.contains("198.51.100.53 does not yet"));
}

#[test]
fn missing_advice_is_asked_again_later_than_what_is_required() {
    let judgement = decided(&replaced("dmarc", observed("dmarc", NoData)));
    assert_eq!(status(&judgement, "dmarc"), Missing);
    assert_eq!(judgement.recheck_after_s, Some(21_600));
}

#[test]
fn a_sandbox_domain_is_decided_at_once_with_nothing_to_recheck() {
    let extra = vec![Pair { key: "sandbox".to_owned(), value: "true".to_owned() }];
    let sandbox = Domain { extra, ..domain("sandbox.example") };
    let expected = Judgement { findings: vec![], recheck_after_s: None };
    assert_eq!(verdict(&sandbox, &[]), Verdict::Decided(expected));
}

#[test]
fn one_verdict_asks_for_all_that_spf_and_dmarc_wait_for() {
    let shop =
        Domain { organizational_domain: "example.com".to_owned(), ..domain("shop.example.com") };
    let mut seen = published(&shop);
    seen.retain(|it| it.lookup_id != "spf" && it.lookup_id != "dmarc");
    seen.push(answered("spf", &["v=spf1 include:a.example ~all"]));
    seen.push(observed("dmarc", NxDomain));
    let Verdict::Need(more) = verdict(&shop, &seen) else { unreachable_with(&[]) };
    let ids: Vec<_> = more.iter().map(|it| (it.id.as_str(), it.name.as_str())).collect();
    assert_eq!(
        ids,
        [
            ("include:a.example", "a.example"),
            ("spf:return-path", "bounce.shop.example.com"),
            ("dmarc:organizational", "_dmarc.example.com"),
        ]
    );
    // Whatever they bring, they are not asked for again.
    seen.extend(more.iter().map(|it| observed(&it.id, TimedOut)));
    assert!(matches!(verdict(&shop, &seen), Verdict::Decided(_)));
}

#[test]
fn a_domain_never_asks_for_more_than_the_host_allows() {
    let domain = domain("example.com");
    let mut seen = vec![answered("spf", &["v=spf1 include:a include:b include:c include:d ~all"])];
    let mut rounds = 0;
    let mut names = seen.len();
    while let Verdict::Need(more) = verdict(&domain, &seen) {
        rounds += 1;
        names += more.len();
        seen.extend(more.iter().map(|it| {
            let record = format!("v=spf1 include:{0}1 include:{0}2 include:{0}3 ~all", it.name);
            answered(&it.id, &[&record])
        }));
    }
    assert!(rounds <= 3 && names <= 13, "{rounds} rounds, {names} names");
    assert_eq!(status(&decided(&seen), "spf"), Wrong);
}

#[test]
fn the_self_test_passes_with_any_valid_settings() {
    let strict = r#"{"dmarc":"required","spf":"required","returnPathLabel":"rp"}"#;
    for settings in ["{}", strict, r#"{"returnPath":"off"}"#] {
        let results = policy(settings).self_test(&context());
        assert_eq!(results.len(), 9);
        assert!(results.iter().all(|it| it.passed), "{results:#?}");
    }
}
