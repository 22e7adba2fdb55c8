use waxwing_plugin::Plugin;
use waxwing_plugin::plan_policy::{Account, Decision, PlanPolicy, UseRequest};
use waxwing_plugin::testing::{account, configured, context, template_use};

use super::Policy;

fn check(settings: &str, paid: bool, uses: &[UseRequest]) -> Vec<Decision> {
    let policy: Policy = configured(settings).expect("the settings are right");
    let who = Account {
        paid,
        ..account("free")
    };
    policy.check(&context(), &who, uses).expect("decisions")
}

fn restricted() -> UseRequest {
    UseRequest {
        template_tags: vec!["restricted".to_owned()],
        ..template_use("offer", None)
    }
}

#[test]
fn the_price_is_for_each_recipient() {
    let uses = [UseRequest {
        recipients: 3,
        ..template_use("offer", None)
    }];
    let decisions = check(r#"{"creditsPerRecipient": 2}"#, false, &uses);
    assert!(
        matches!(&decisions[..], [Decision::Allow(it)] if it.credits == 6),
        "{decisions:?}"
    );
}

#[test]
fn a_restricted_template_is_refused_to_an_account_that_does_not_pay() {
    let decisions = check("{}", false, &[restricted(), template_use("offer", None)]);
    assert!(
        matches!(&decisions[..], [Decision::Deny(it), Decision::Allow(_)]
            if it.code == "restricted-template"),
        "{decisions:?}"
    );
    assert!(matches!(
        check("{}", true, &[restricted()])[..],
        [Decision::Allow(_)]
    ));
}

#[test]
fn the_self_test_passes() {
    let policy: Policy = configured("{}").expect("the settings are right");
    for result in policy.self_test(&context()) {
        assert!(result.passed, "{}: {}", result.name, result.detail);
    }
}

#[test]
fn the_golden_cases_hold() {
    waxwing_plugin::testing::cases::<Policy>("cases");
}
