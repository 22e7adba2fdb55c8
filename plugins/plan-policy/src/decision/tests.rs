use waxwing_plugin::Plugin;
use waxwing_plugin::plan_policy::{Account, Charge, Decision, Denial, PlanPolicy, UseRequest};
use waxwing_plugin::testing::{account, configured, context, template_use};

use crate::PlanRules;

fn decide(settings: &str, who: &Account, uses: &[UseRequest]) -> Vec<Decision> {
    let policy = configured::<PlanRules>(settings).expect("valid settings");
    policy.check(&context(), who, uses).expect("check never fails")
}

fn one(settings: &str, who: &Account, r#use: UseRequest) -> Decision {
    decide(settings, who, &[r#use]).remove(0)
}

fn allowed(decision: Decision) -> Charge {
    match decision {
        Decision::Allow(charge) => charge,
        Decision::Deny(denial) => panic_with(&denial),
    }
}

fn denied(decision: Decision) -> Denial {
    match decision {
        Decision::Deny(denial) => denial,
        Decision::Allow(charge) => panic_with(&charge),
    }
}

fn panic_with(unexpected: &dyn std::fmt::Debug) -> ! {
    panic!("unexpected: {unexpected:?}")
}

fn sends(who: &Account, required: &str) -> bool {
    matches!(one("{}", who, template_use("t", Some(required))), Decision::Allow(_))
}

fn paying(plan: &str) -> Account {
    Account { paid: true, ..account(plan) }
}

fn to(recipients: u32) -> UseRequest {
    UseRequest { recipients, ..template_use("t", None) }
}

#[test]
fn a_template_without_a_required_plan_is_for_every_plan() {
    for plan in ["free", "enterprise", "unheard-of"] {
        allowed(one("{}", &account(plan), template_use("t", None)));
    }
}

#[test]
fn a_plan_sends_its_own_and_lower_templates_and_no_higher_one() {
    assert!(sends(&account("pro"), "pro"));
    assert!(sends(&account("pro"), "starter"));
    assert!(!sends(&account("pro"), "business"));
    assert!(sends(&account("enterprise"), "business"));
}

#[test]
fn paid_is_every_account_that_pays_and_no_other() {
    assert!(sends(&paying("free"), "paid"));
    assert!(!sends(&account("enterprise"), "paid"));
}

#[test]
fn a_required_plan_that_is_not_listed_is_met_by_itself_only() {
    assert!(sends(&account("vip"), "vip"));
    assert!(!sends(&paying("enterprise"), "vip"));
}

#[test]
fn an_unlisted_plan_ranks_with_free_or_if_paid_with_the_lowest_paid_plan() {
    assert!(sends(&account("legacy"), "free"));
    assert!(!sends(&account("legacy"), "starter"));
    assert!(sends(&paying("legacy"), "starter"));
    assert!(!sends(&paying("legacy"), "pro"));
}

#[test]
fn without_a_free_plan_an_unlisted_unpaid_account_ranks_below_all() {
    let settings = r#"{"plans":[{"name":"basic"},{"name":"plus"}]}"#;
    let basic = || template_use("t", Some("basic"));
    denied(one(settings, &account("legacy"), basic()));
    allowed(one(settings, &paying("legacy"), basic()));
    denied(one(settings, &paying("legacy"), template_use("t", Some("plus"))));
}

#[test]
fn a_single_plan_serves_unlisted_accounts_that_pay_too() {
    let settings = r#"{"plans":[{"name":"free","creditsPerRecipient":4}]}"#;
    assert_eq!(allowed(one(settings, &paying("legacy"), to(1))).credits, 4);
}

#[test]
fn a_restricted_template_is_refused_with_template_plan_and_required_plan() {
    let denial = denied(one("{}", &account("free"), template_use("invoice", Some("pro"))));
    assert_eq!(denial.code, "restricted-template");
    assert_eq!(denial.required_plan.as_deref(), Some("pro"));
    assert_eq!(denial.retry_after_s, None);
    assert_eq!(
        denial.message,
        "template `invoice` needs plan `pro` or a higher one; this account is on plan `free`"
    );
    let denial = denied(one("{}", &account("free"), template_use("invoice", Some("paid"))));
    assert_eq!(
        denial.message,
        "template `invoice` needs a paid plan; this account is on plan `free`"
    );
}

#[test]
fn the_price_is_the_plans_for_each_recipient_with_its_reason() {
    let settings = r#"{"plans":[{"name":"free","creditsPerRecipient":2},{"name":"pro"}]}"#;
    let charge = allowed(one(settings, &account("free"), to(3)));
    let reason = Some("2 credits a recipient on plan free".to_owned());
    assert_eq!(charge, Charge { credits: 6, reason });
    let charge = allowed(one(settings, &account("pro"), to(3)));
    let reason = Some("1 credit a recipient on plan pro".to_owned());
    assert_eq!(charge, Charge { credits: 3, reason });
}

#[test]
fn the_price_of_an_unlisted_plan_says_why() {
    let reason = allowed(one("{}", &account("legacy"), to(1))).reason.expect("a reason");
    assert!(reason.contains("plan free") && reason.contains("plan legacy is not"), "{reason}");
}

#[test]
fn a_price_past_the_range_of_credits_is_refused_and_does_not_wrap() {
    let settings = r#"{"plans":[{"name":"free","creditsPerRecipient":4294967295}]}"#;
    assert_eq!(allowed(one(settings, &account("free"), to(1))).credits, u32::MAX);
    assert_eq!(denied(one(settings, &account("free"), to(2))).code, "price-overflow");
}

const LIMITED: &str = r#"{"plans":[{"name":"free","dailyLimit":10,"monthlyLimit":100}]}"#;

#[test]
fn the_last_recipient_of_a_day_is_allowed_and_the_next_refused() {
    let who = Account { sent_last_day: 9, ..account("free") };
    allowed(one(LIMITED, &who, to(1)));
    let denial = denied(one(LIMITED, &who, to(2)));
    assert_eq!((denial.code.as_str(), denial.retry_after_s), ("plan-limit", Some(3_600)));
    assert!(denial.message.contains("at most 10 recipients a day: 9 are used"), "{denial:?}");
}

#[test]
fn where_both_limits_are_reached_the_longer_wait_is_named() {
    let who = Account { sent_last_day: 10, sent_last_month: 100, ..account("free") };
    let denial = denied(one(LIMITED, &who, to(1)));
    assert_eq!(denial.retry_after_s, Some(86_400));
    assert!(denial.message.contains("a month"), "{denial:?}");
}

#[test]
fn a_message_larger_than_the_limit_is_not_told_to_retry() {
    assert_eq!(denied(one(LIMITED, &account("free"), to(11))).retry_after_s, None);
}

#[test]
fn uses_of_one_call_count_together_and_refused_ones_do_not_count() {
    let restricted = template_use("t", Some("paid"));
    let uses = [to(6), restricted, to(5), to(4), to(1)];
    let decisions = decide(LIMITED, &account("free"), &uses);
    let verdicts: Vec<_> = decisions.iter().map(|it| matches!(it, Decision::Allow(_))).collect();
    assert_eq!(verdicts, [true, false, false, true, false]);
}

#[test]
fn no_uses_get_no_decisions() {
    assert_eq!(decide("{}", &account("free"), &[]), []);
}

#[test]
fn counts_at_the_end_of_their_range_do_not_wrap() {
    let who = Account { sent_last_day: u64::MAX, ..account("free") };
    assert_eq!(denied(one(LIMITED, &who, to(u32::MAX))).code, "plan-limit");
    allowed(one("{}", &who, to(1)));
}

#[test]
fn the_self_test_passes_with_any_valid_settings() {
    let free_of_charge = r#"{"plans":[{"name":"x","creditsPerRecipient":0,"monthlyLimit":1}]}"#;
    for settings in ["{}", LIMITED, free_of_charge] {
        let policy = configured::<PlanRules>(settings).expect("valid settings");
        let results = policy.self_test(&context());
        assert_eq!(results.len(), 4);
        assert!(results.iter().all(|it| it.passed), "{results:?}");
    }
}
