//! Good: a domain policy that requires all records, exactly as it suggests them.

#[path = "../kit/domain.rs"]
mod kit;

use waxwing_plugin::domain_policy::{
    Domain, Finding, Judgement, Observation, Outcome, Purpose, RecordType, Requirement, Status,
    Verdict,
};
use waxwing_plugin::{CallContext, Failure};

use kit::{DomainPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "strict-domain";
}

impl DomainPolicy for Guest {
    fn require(_ctx: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure> {
        Ok(requirements(domain))
    }

    fn judge(
        _ctx: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<Verdict, Failure> {
        let findings = requirements(domain).iter().map(|it| finding(it, seen)).collect();
        Ok(Verdict::Decided(Judgement { findings, recheck_after_s: Some(600) }))
    }
}

fn requirements(domain: &Domain) -> Vec<Requirement> {
    let name = &domain.name;
    let required = |id: &str, purpose, name: String, record_type, suggested_value: String| {
        let help = format!("strict-domain wants this record for {id}, to the letter");
        Requirement {
            id: id.to_owned(),
            purpose,
            required: true,
            name,
            record_type,
            suggested_value,
            help,
        }
    };
    let token = format!("waxwing-verification={}", domain.verification_token);
    let spf = format!("v=spf1 include:{} -all", domain.spf_include);
    let dmarc = "v=DMARC1; p=reject; adkim=s; aspf=s".to_owned();
    let path = domain.return_path_host.clone();
    let mut all = vec![
        required(
            "ownership",
            Purpose::Ownership,
            format!("_waxwing.{name}"),
            RecordType::Txt,
            token,
        ),
        required("spf", Purpose::Spf, name.clone(), RecordType::Txt, spf),
        required("dmarc", Purpose::Dmarc, format!("_dmarc.{name}"), RecordType::Txt, dmarc),
        required(
            "return-path",
            Purpose::ReturnPath,
            format!("bounce.{name}"),
            RecordType::Cname,
            path,
        ),
        required("mx", Purpose::Mx, name.clone(), RecordType::Mx, format!("10 mx.{name}")),
    ];
    for key in &domain.dkim {
        let id = format!("dkim-{}", key.selector);
        let at = format!("{}._domainkey.{name}", key.selector);
        let value = format!("v=DKIM1; k=rsa; p={}", key.public_key_base64);
        all.push(required(&id, Purpose::Dkim, at, RecordType::Txt, value));
    }
    all
}

fn finding(requirement: &Requirement, seen: &[Observation]) -> Finding {
    let observation = seen.iter().find(|it| it.lookup_id == requirement.id);
    let (status, found) = match observation.map(|it| &it.outcome) {
        Some(Outcome::Answers(answers)) => {
            let found: Vec<String> = answers.iter().map(|it| it.data.clone()).collect();
            let exact = found == [requirement.suggested_value.clone()];
            (if exact { Status::Satisfied } else { Status::Wrong }, found)
        }
        Some(Outcome::NoData | Outcome::NxDomain) => (Status::Missing, Vec::new()),
        Some(Outcome::ServFail | Outcome::Refused | Outcome::TimedOut) | None => {
            (Status::Unknown, Vec::new())
        }
    };
    let hint = format!("strict-domain accepts only {}", requirement.suggested_value);
    Finding { requirement_id: requirement.id.clone(), status, found, hint }
}

kit::export!(Guest);
