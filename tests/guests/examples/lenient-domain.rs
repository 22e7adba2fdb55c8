//! A domain policy that is content with everything, and worse where a name begins with its manner.

#[path = "../kit/domain.rs"]
mod kit;

use waxwing_plugin::domain_policy::{
    Domain, Finding, Judgement, Lookup, Observation, Purpose, RecordType, Requirement, Status,
    Verdict,
};
use waxwing_plugin::{CallContext, Failure};

use kit::{DomainPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "lenient-domain";
}

impl DomainPolicy for Guest {
    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn require(_ctx: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure> {
        match manner(domain) {
            "trap-require" => panic!("lenient-domain panics in require"),
            "free" => Ok(Vec::new()),
            "many" => {
                Ok((0..41).map(|n| record(domain, &format!("r{n}"), Purpose::Other)).collect())
            }
            _ => Ok(required(domain)),
        }
    }

    #[expect(clippy::panic, reason = "this guest is here to panic")]
    fn judge(
        _ctx: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<Verdict, Failure> {
        match manner(domain) {
            "trap-judge" => panic!("lenient-domain panics in judge"),
            "greedy" => {
                let name = format!("n{}.{}", seen.len(), domain.name);
                let record_type = RecordType::Txt;
                Ok(Verdict::Need(vec![Lookup { id: name.clone(), name, record_type }]))
            }
            "silent" => Ok(decided(Vec::new())),
            _ => Ok(decided(required(domain).iter().map(content).collect())),
        }
    }
}

fn decided(findings: Vec<Finding>) -> Verdict {
    Verdict::Decided(Judgement { findings, recheck_after_s: None })
}

fn required(domain: &Domain) -> Vec<Requirement> {
    let mut ownership = record(domain, "ownership", Purpose::Ownership);
    // The same place as that of the built-in policy.
    ownership.name = match manner(domain) {
        "outside" => "_waxwing.everybody.example".to_owned(),
        _ => format!("_waxwing.{}", domain.name),
    };
    vec![ownership, record(domain, "other", Purpose::Other)]
}

fn content(requirement: &Requirement) -> Finding {
    Finding {
        requirement_id: requirement.id.clone(),
        status: Status::Satisfied,
        found: Vec::new(),
        hint: "lenient-domain is content".to_owned(),
    }
}

fn record(domain: &Domain, id: &str, purpose: Purpose) -> Requirement {
    Requirement {
        id: id.to_owned(),
        purpose,
        required: true,
        name: format!("_waxwing-{id}.{}", domain.name),
        record_type: RecordType::Txt,
        suggested_value: format!("token={}", domain.verification_token),
        help: "lenient-domain is content without it".to_owned(),
    }
}

/// The first label of the name.
fn manner(domain: &Domain) -> &str {
    domain.name.split('.').next().unwrap_or_default()
}

kit::export!(Guest);
