use waxwing_plugin::Plugin;
use waxwing_plugin::domain_policy::{Domain, DomainPolicy, Observation, Status, Verdict};
use waxwing_plugin::testing::{answered, configured, context, domain};

use super::Policy;

fn policy() -> Policy {
    configured("{}").expect("the settings are right")
}

fn example() -> Domain {
    Domain {
        verification_token: "tok3n".to_owned(),
        dkim: Vec::new(),
        spf_include: "spf.mail.example".to_owned(),
        ..domain("example.com")
    }
}

fn statuses(seen: &[Observation]) -> Vec<Status> {
    match policy().judge(&context(), &example(), seen) {
        Ok(Verdict::Decided(it)) => it.findings.into_iter().map(|it| it.status).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_suggested_is_right() {
    let requirements = policy()
        .require(&context(), &example())
        .expect("requirements");
    let ids: Vec<&str> = requirements.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["ownership", "spf", "dmarc"]);
    let seen: Vec<_> = requirements
        .iter()
        .map(|it| answered(&it.id, &[it.suggested_value.as_str()]))
        .collect();
    assert_eq!(statuses(&seen), [Status::Satisfied; 3]);
}

#[test]
fn a_record_in_quotes_counts_and_another_token_does_not() {
    let seen = [
        answered("ownership", &["waxwing-verification=0ther"]),
        answered("spf", &[r#""v=spf1 include:spf." "mail.example ~all""#]),
    ];
    assert_eq!(
        statuses(&seen),
        [Status::Wrong, Status::Satisfied, Status::Unknown]
    );
}

#[test]
fn resolvers_that_disagree_mean_that_the_record_is_propagating() {
    let right = answered("ownership", &["waxwing-verification=tok3n"]);
    let seen = [right, answered("ownership", &[])];
    assert_eq!(statuses(&seen)[0], Status::Propagating);
}

#[test]
fn the_self_test_passes() {
    for result in policy().self_test(&context()) {
        assert!(result.passed, "{}: {}", result.name, result.detail);
    }
}

#[test]
fn the_golden_cases_hold() {
    waxwing_plugin::testing::cases::<Policy>("cases");
}
