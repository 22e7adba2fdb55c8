//! Checks over a made-up domain with the operator's own settings.

use waxwing_plugin::domain_policy::{Domain, DomainPolicy, Observation, Outcome, Status, Verdict};
use waxwing_plugin::testing::{answered, domain, observed};
use waxwing_plugin::{CallContext, SelfTestResult, self_check};

use crate::StrictDmarc;

/// Every check; the host activates the policy only if all pass.
pub fn run(policy: &StrictDmarc, ctx: &CallContext) -> Vec<SelfTestResult> {
    let domain = domain("self-test.example");
    vec![
        self_check("the suggested values satisfy", suggested(policy, ctx, &domain)),
        self_check("a policy of none is wrong", mild(policy, ctx, &domain)),
        self_check("a subdomain asks for the domain above it", subdomain(policy, ctx)),
    ]
}

fn suggested(policy: &StrictDmarc, ctx: &CallContext, domain: &Domain) -> Result<(), String> {
    all_satisfied(policy, ctx, domain, &published(policy, ctx, domain)?)
}

fn mild(policy: &StrictDmarc, ctx: &CallContext, domain: &Domain) -> Result<(), String> {
    let mut seen = published(policy, ctx, domain)?;
    seen.retain(|it| it.lookup_id != "dmarc");
    seen.push(answered("dmarc", &["v=DMARC1; p=none"]));
    match all_satisfied(policy, ctx, domain, &seen) {
        Ok(()) => Err("it was accepted".to_owned()),
        Err(finding) if finding.contains("dmarc") => Ok(()),
        Err(other) => Err(other),
    }
}

fn subdomain(policy: &StrictDmarc, ctx: &CallContext) -> Result<(), String> {
    let above = "self-test.example".to_owned();
    let domain = Domain { organizational_domain: above, ..domain("mail.self-test.example") };
    let seen = [observed("dmarc", Outcome::NxDomain)];
    match policy.judge(ctx, &domain, &seen) {
        Ok(Verdict::Need(it)) if it.iter().any(|it| it.name == "_dmarc.self-test.example") => {
            Ok(())
        }
        other => Err(format!("{other:?}")),
    }
}

/// Every suggested value, published.
fn published(
    policy: &StrictDmarc,
    ctx: &CallContext,
    domain: &Domain,
) -> Result<Vec<Observation>, String> {
    let all = policy.require(ctx, domain).map_err(|it| format!("{it:?}"))?;
    Ok(all.iter().map(|it| answered(&it.id, &[&it.suggested_value])).collect())
}

fn all_satisfied(
    policy: &StrictDmarc,
    ctx: &CallContext,
    domain: &Domain,
    seen: &[Observation],
) -> Result<(), String> {
    match policy.judge(ctx, domain, seen) {
        Ok(Verdict::Decided(it)) => {
            match it.findings.iter().find(|it| it.status != Status::Satisfied) {
                None => Ok(()),
                Some(finding) => Err(format!("{finding:?}")),
            }
        }
        other => Err(format!("{other:?}")),
    }
}
