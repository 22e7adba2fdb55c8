//! Judges a sender domain by the domain policy, under floors that no policy can lift.

use serde_json::{Value, json};

use crate::account::Account;
use crate::clock::Timestamp;
use crate::domain::name::DomainName;
use crate::domain::state::{DomainKind, SenderDomain, Standing};
use crate::id::{DomainId, fill_random};
use crate::plugin::binding::Scope;
use crate::plugin::domain::{Domain, Finding, Purpose, RecordType, Requirement, Status, Verdict};
use crate::plugin::table::Called;
use crate::plugin::{CallFailure, Plugins};
use crate::store::sqlite::DomainRow;

/// A domain that is added to an account, judged for the first time: nothing of it has been seen in
/// DNS yet, so one that needs records starts at 0 %.
///
/// # Errors
/// The domain policy gave no answer.
pub async fn add(
    plugins: &Plugins,
    account: &Account,
    name: DomainName,
    kind: DomainKind,
    now: Timestamp,
) -> Result<DomainRow, CallFailure> {
    let domain = SenderDomain {
        id: DomainId::new(now),
        account_id: account.id,
        name,
        kind,
        verification_token: token(),
        standing: Standing { progress: 0, missing: Vec::new() },
        created_at: now,
    };
    judge(plugins, account, domain).await
}

async fn judge(
    plugins: &Plugins,
    account: &Account,
    mut domain: SenderDomain,
) -> Result<DomainRow, CallFailure> {
    let policy = plugins.table();
    let context = plugins.context(domain.id.to_string());
    let asked = for_plugin(account, &domain);
    let scope = Scope {
        plan: &account.plan.name,
        account: &account.id.to_string(),
        domain: Some(domain.name.as_str()),
    };
    let requirements = policy.require(&scope, &context, &asked).await.result?;
    let Called { result, mut decision } = policy.judge(&scope, &context, &asked, &[]).await;
    let findings = match result? {
        Verdict::Decided(judgement) => judgement.findings,
        Verdict::Need(_) => Vec::new(),
    };
    domain.standing = standing(domain.kind, &requirements, &findings);
    decision.reason = Some(format!("{}% verified", domain.standing.progress));
    Ok(DomainRow {
        domain,
        requirements: requirements.iter().map(to_json).collect(),
        decision: serde_json::to_value(decision).expect("a decision has string keys only"),
    })
}

/// The floors: a domain with records needs its ownership proven, and every required finding
/// satisfied, before it is at 100 %, whatever the policy says.
fn standing(kind: DomainKind, requirements: &[Requirement], findings: &[Finding]) -> Standing {
    let is_satisfied = |requirement: &Requirement| {
        findings.iter().any(|finding| {
            finding.requirement_id == requirement.id && finding.status == Status::Satisfied
        })
    };
    let required: Vec<&Requirement> = requirements.iter().filter(|it| it.required).collect();
    let owned = match kind {
        DomainKind::Sandbox => true,
        DomainKind::Dns => required.iter().any(|it| it.purpose == Purpose::Ownership),
    };
    let mut missing: Vec<String> = required
        .iter()
        .filter(|requirement| !is_satisfied(requirement))
        .map(|requirement| format!("{} ({})", word(requirement.purpose), requirement.name))
        .collect();
    if !owned {
        missing.push("ownership: the domain policy does not ask for it".to_owned());
    }
    let wanted = required.len() + usize::from(!owned);
    let satisfied = wanted - missing.len();
    let percent = (satisfied * 100).checked_div(wanted).unwrap_or(100);
    Standing { progress: u8::try_from(percent).unwrap_or(0), missing }
}

fn for_plugin(account: &Account, domain: &SenderDomain) -> Domain {
    let name = domain.name.as_str();
    let sandbox = crate::plugin::Pair { key: "sandbox".to_owned(), value: "true".to_owned() };
    Domain {
        name: name.to_owned(),
        organizational_domain: domain.name.organizational().to_owned(),
        verification_token: domain.verification_token.clone(),
        dkim: Vec::new(),
        spf_include: format!("spf.{name}"),
        return_path_host: format!("bounce.{name}"),
        plan: account.plan.name.clone(),
        extra: match domain.kind {
            DomainKind::Sandbox => vec![sandbox],
            DomainKind::Dns => Vec::new(),
        },
    }
}

fn to_json(requirement: &Requirement) -> Value {
    json!({
        "id": requirement.id,
        "purpose": word(requirement.purpose),
        "required": requirement.required,
        "type": record_type(requirement.record_type),
        "name": requirement.name,
        "value": requirement.suggested_value,
        "help": requirement.help,
    })
}

fn record_type(record_type: RecordType) -> &'static str {
    match record_type {
        RecordType::A => "A",
        RecordType::Aaaa => "AAAA",
        RecordType::Caa => "CAA",
        RecordType::Cname => "CNAME",
        RecordType::Mx => "MX",
        RecordType::Ns => "NS",
        RecordType::Ptr => "PTR",
        RecordType::Srv => "SRV",
        RecordType::Tlsa => "TLSA",
        RecordType::Txt => "TXT",
    }
}

fn word(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Ownership => "ownership",
        Purpose::Spf => "SPF",
        Purpose::Dkim => "DKIM",
        Purpose::Dmarc => "DMARC",
        Purpose::ReturnPath => "return path",
        Purpose::Mx => "MX",
        Purpose::Tracking => "tracking",
        Purpose::Bimi => "BIMI",
        Purpose::Tls => "TLS",
        Purpose::Other => "other",
    }
}

fn token() -> String {
    use std::fmt::Write as _;
    let mut bytes = [0; 16];
    fill_random(&mut bytes);
    bytes.iter().fold(String::with_capacity(32), |mut text, byte| {
        let _infallible = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(id: &str, purpose: Purpose) -> Requirement {
        Requirement {
            id: id.to_owned(),
            purpose,
            required: true,
            name: format!("{id}.example.com"),
            record_type: RecordType::Txt,
            suggested_value: String::new(),
            help: String::new(),
        }
    }

    fn satisfied(id: &str) -> Finding {
        let requirement_id = id.to_owned();
        Finding {
            requirement_id,
            status: Status::Satisfied,
            found: Vec::new(),
            hint: String::new(),
        }
    }

    #[test]
    fn a_policy_that_asks_for_nothing_verifies_nothing() {
        assert_eq!(standing(DomainKind::Dns, &[], &[]).progress, 0);
        assert_eq!(standing(DomainKind::Sandbox, &[], &[]).progress, 100);
    }

    #[test]
    fn only_satisfied_required_records_count() {
        let required = [requirement("own", Purpose::Ownership), requirement("spf", Purpose::Spf)];
        let half = standing(DomainKind::Dns, &required, &[satisfied("spf"), satisfied("other")]);
        assert_eq!((half.progress, half.missing.len()), (50, 1));
        let both = standing(DomainKind::Dns, &required, &[satisfied("spf"), satisfied("own")]);
        assert_eq!(both.progress, 100);
    }
}
