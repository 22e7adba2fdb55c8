//! The built-in policies, as components.

use super::*;
use crate::plugin::domain::{
    Answer, Domain, Observation, Outcome, RecordType, Requirement, Status, Verdict,
};
use crate::plugin::plan::{Account, Channel, UseRequest, Verdict as PlanVerdict};

fn account(plan: &str) -> Account {
    Account {
        id: "acc_1".to_owned(),
        plan: plan.to_owned(),
        paid: plan != "free",
        credits_remaining: 10,
        created_unix_ms: 0,
        sent_last_day: 0,
        sent_last_month: 0,
        extra: Vec::new(),
    }
}

fn template_use(required_plan: Option<&str>) -> UseRequest {
    UseRequest {
        channel: Channel::Api,
        template_slug: Some("receipt".to_owned()),
        template_required_plan: required_plan.map(str::to_owned),
        template_tags: Vec::new(),
        recipient_domain: "example.com".to_owned(),
        recipients: 1,
        size_bytes: 0,
    }
}

#[tokio::test]
async fn a_plan_pays_one_credit_and_a_free_one_gets_no_paid_template() {
    let plugins = plugins(Limits::default()).await;
    let context = plugins.context("test".to_owned());
    let uses = [template_use(None), template_use(Some("paid")), template_use(Some("business"))];
    let policy = plugins.plan();
    let free = policy.check(&context, &account("free"), &uses).await.expect("decided");
    assert!(matches!(&free[0].0, PlanVerdict::Allow(charge) if charge.credits == 1));
    assert!(matches!(&free[1].0, PlanVerdict::Deny(it) if it.code == "restricted-template"));
    let pro = policy.check(&context, &account("pro"), &uses).await.expect("decided");
    assert!(matches!(&pro[1].0, PlanVerdict::Allow(_)));
    let PlanVerdict::Deny(denial) = &pro[2].0 else { panic!("pro is below business") };
    assert_eq!(denial.required_plan.as_deref(), Some("business"));
    let record = &free[0].1;
    assert_eq!((record.kind, record.verdict.as_str()), (Kind::Plan, "allow"));
    assert!(record.identity.digest.starts_with("sha256:") && record.identity.digest.len() == 71);
}

fn domain() -> Domain {
    Domain {
        name: "example.com".to_owned(),
        organizational_domain: "example.com".to_owned(),
        verification_token: "token".to_owned(),
        dkim: Vec::new(),
        spf_include: "spf.waxwing.example".to_owned(),
        return_path_host: "bounce.waxwing.example".to_owned(),
        plan: "pro".to_owned(),
        extra: Vec::new(),
    }
}

fn published(requirement: &Requirement) -> Observation {
    Observation {
        lookup_id: requirement.id.clone(),
        resolver: "127.0.0.1".to_owned(),
        outcome: Outcome::Answers(vec![Answer {
            data: requirement.suggested_value.clone(),
            ttl: 300,
        }]),
        cname_chain: Vec::new(),
        dnssec_secure: false,
        at_unix_ms: NOW.unsigned_millis(),
    }
}

#[tokio::test]
async fn a_domain_is_satisfied_by_what_its_policy_told_it_to_publish() {
    let plugins = plugins(Limits::default()).await;
    let context = plugins.context("test".to_owned());
    let policy = plugins.domain();
    let required = policy.require(&context, &domain()).await.expect("answered");
    assert!(required.iter().any(|it| it.id == "ownership" && it.record_type == RecordType::Txt));
    let seen: Vec<Observation> = required.iter().map(published).collect();
    let (verdict, _) = policy.judge(&context, &domain(), &seen).await.expect("judged");
    let Verdict::Decided(judgement) = verdict else { panic!("no further look-up is needed") };
    for finding in &judgement.findings {
        assert_eq!(finding.status, Status::Satisfied, "{finding:?}");
    }
    let (verdict, _) = policy.judge(&context, &domain(), &[]).await.expect("judged");
    let Verdict::Decided(judgement) = verdict else { panic!("nothing was seen") };
    assert!(judgement.findings.iter().all(|it| it.status == Status::Unknown));
}

#[tokio::test]
async fn a_missing_variable_is_data_and_not_a_failure_of_the_plugin() {
    let plugins = plugins(Limits::default()).await;
    let faults = match render(&plugins, "{{ a.b }} {{ c }}", r#"{"name":"Ada"}"#).await {
        Err(RenderFailure::Data(faults)) => faults,
        other => panic!("the data has faults, and: {other:?}"),
    };
    let paths: Vec<_> = faults.iter().map(|fault| fault.snippet.as_deref()).collect();
    assert_eq!(paths, [Some("a.b"), Some("c")]);
    still_renders(&plugins).await;
}
