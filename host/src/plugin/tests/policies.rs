//! The built-in policies, as components.

use super::fixture::account;
use super::{ANYBODY, NOW, plugins, render, still_renders};
use crate::plugin::kinds::domain::{
    Answer, Domain, Observation, Outcome, RecordType, Requirement, Status, Verdict,
};
use crate::plugin::kinds::plan::{Channel, UseRequest, Verdict as PlanVerdict};
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::slots::table::Unrendered;

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
    let table = plugins.table();
    let checked = table.check(&ANYBODY, &context, &account("acc_1", "free"), &uses).await;
    let free = checked.result.expect("decided");
    assert!(matches!(&free[0], PlanVerdict::Allow(charge) if charge.credits == 1));
    assert!(matches!(&free[1], PlanVerdict::Deny(it) if it.code == "restricted-template"));
    let pro = table.check(&ANYBODY, &context, &account("acc_1", "pro"), &uses).await;
    let pro = pro.result.expect("decided");
    assert!(matches!(&pro[1], PlanVerdict::Allow(_)));
    let PlanVerdict::Deny(denial) = &pro[2] else { panic!("pro is below business") };
    assert_eq!(denial.required_plan.as_deref(), Some("business"));
    let record = &checked.decision;
    assert_eq!((record.kind, record.verdict), (Kind::Plan, "deny"));
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
    let table = plugins.table();
    let required = table.require(&ANYBODY, &context, &domain()).await.result.expect("answered");
    assert!(required.iter().any(|it| it.id == "ownership" && it.record_type == RecordType::Txt));
    let seen: Vec<Observation> = required.iter().map(published).collect();
    let judged = table.judge(&ANYBODY, &context, &domain(), &seen).await;
    assert_eq!(judged.decision.verdict, "judged");
    let verdict = judged.result.expect("judged");
    let Verdict::Decided(judgement) = verdict else { panic!("no further lookup is needed") };
    for finding in &judgement.findings {
        assert_eq!(finding.status, Status::Satisfied, "{finding:?}");
    }
    let verdict = table.judge(&ANYBODY, &context, &domain(), &[]).await.result.expect("judged");
    let Verdict::Decided(judgement) = verdict else { panic!("nothing was seen") };
    assert!(judgement.findings.iter().all(|it| it.status == Status::Unknown));
}

#[tokio::test]
async fn a_missing_variable_is_data_and_not_a_failure_of_the_plugin() {
    let plugins = plugins(Limits::default()).await;
    let faults = match render(&plugins, "{{ a.b }} {{ c }}", r#"{"name":"Ada"}"#).await {
        Ok(Err(Unrendered::Data(faults))) => faults,
        other => panic!("the data has faults, and: {other:?}"),
    };
    let paths: Vec<_> = faults.iter().map(|fault| fault.path.as_deref()).collect();
    assert_eq!(paths, [Some("a.b"), Some("c")]);
    still_renders(&plugins).await;
}
