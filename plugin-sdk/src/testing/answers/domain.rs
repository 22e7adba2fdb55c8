//! Calls of domain policies.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Input, Pairs};
use crate::domain_policy::{
    Answer, DkimKey, Domain, DomainPolicy, Finding, Lookup, Observation, Outcome, Purpose,
    RecordType, Requirement, Status, Verdict,
};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Call {
    domain: DomainJson,
    /// Absent: the call is `require`, otherwise `judge`.
    seen: Option<Vec<ObservationJson>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct DomainJson {
    name: String,
    organizational_domain: String,
    verification_token: String,
    dkim: Vec<DkimJson>,
    spf_include: String,
    return_path_host: String,
    plan: String,
    extra: Pairs,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct DkimJson {
    selector: String,
    public_key_base64: String,
    algorithm: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ObservationJson {
    lookup_id: String,
    resolver: String,
    outcome: OutcomeJson,
    cname_chain: Vec<String>,
    dnssec_secure: bool,
    at_unix_ms: u64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
enum OutcomeJson {
    Answers(Vec<AnswerJson>),
    #[default]
    NoData,
    NxDomain,
    ServFail,
    Refused,
    TimedOut,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AnswerJson {
    data: String,
    ttl: u32,
}

/// The answer of a domain policy to `domain`, and to `seen` if it is there.
///
/// # Errors
/// The input is no such call.
pub fn domain<P: DomainPolicy>(input: &str) -> Result<String, String> {
    let input = Input::<Call>::parse(input)?;
    Ok(input.answer::<P>(|policy, ctx, call| {
        let domain = call.domain.into();
        let Some(seen) = call.seen else {
            let all = policy.require(ctx, &domain)?;
            return Ok(json!({ "requirements": all.iter().map(requirement).collect::<Vec<_>>() }));
        };
        let seen: Vec<Observation> = seen.into_iter().map(Observation::from).collect();
        Ok(verdict(policy.judge(ctx, &domain, &seen)?))
    }))
}

impl From<DomainJson> for Domain {
    fn from(it: DomainJson) -> Self {
        let key = |it: DkimJson| DkimKey {
            selector: it.selector,
            public_key_base64: it.public_key_base64,
            algorithm: it.algorithm,
        };
        Self {
            name: it.name,
            organizational_domain: it.organizational_domain,
            verification_token: it.verification_token,
            dkim: it.dkim.into_iter().map(key).collect(),
            spf_include: it.spf_include,
            return_path_host: it.return_path_host,
            plan: it.plan,
            extra: it.extra.0,
        }
    }
}

impl From<ObservationJson> for Observation {
    fn from(it: ObservationJson) -> Self {
        let answer = |it: AnswerJson| Answer { data: it.data, ttl: it.ttl };
        Self {
            lookup_id: it.lookup_id,
            resolver: it.resolver,
            outcome: match it.outcome {
                OutcomeJson::Answers(it) => Outcome::Answers(it.into_iter().map(answer).collect()),
                OutcomeJson::NoData => Outcome::NoData,
                OutcomeJson::NxDomain => Outcome::NxDomain,
                OutcomeJson::ServFail => Outcome::ServFail,
                OutcomeJson::Refused => Outcome::Refused,
                OutcomeJson::TimedOut => Outcome::TimedOut,
            },
            cname_chain: it.cname_chain,
            dnssec_secure: it.dnssec_secure,
            at_unix_ms: it.at_unix_ms,
        }
    }
}

fn requirement(it: &Requirement) -> Value {
    json!({
        "id": it.id, "purpose": purpose(it.purpose), "required": it.required, "name": it.name,
        "recordType": record_type(it.record_type), "suggestedValue": it.suggested_value,
        "help": it.help,
    })
}

fn verdict(it: Verdict) -> Value {
    let finding = |it: Finding| {
        json!({
            "requirementId": it.requirement_id, "status": status(it.status),
            "found": it.found, "hint": it.hint,
        })
    };
    let lookup = |it: Lookup| json!({ "id": it.id, "name": it.name, "recordType": record_type(it.record_type) });
    match it {
        Verdict::Decided(it) => json!({
            "findings": it.findings.into_iter().map(finding).collect::<Vec<_>>(),
            "recheckAfterS": it.recheck_after_s,
        }),
        Verdict::Need(it) => json!({ "need": it.into_iter().map(lookup).collect::<Vec<_>>() }),
    }
}

const fn purpose(it: Purpose) -> &'static str {
    match it {
        Purpose::Ownership => "ownership",
        Purpose::Spf => "spf",
        Purpose::Dkim => "dkim",
        Purpose::Dmarc => "dmarc",
        Purpose::ReturnPath => "returnPath",
        Purpose::Mx => "mx",
        Purpose::Tracking => "tracking",
        Purpose::Bimi => "bimi",
        Purpose::Tls => "tls",
        Purpose::Other => "other",
    }
}

const fn record_type(it: RecordType) -> &'static str {
    match it {
        RecordType::A => "a",
        RecordType::Aaaa => "aaaa",
        RecordType::Caa => "caa",
        RecordType::Cname => "cname",
        RecordType::Mx => "mx",
        RecordType::Ns => "ns",
        RecordType::Ptr => "ptr",
        RecordType::Srv => "srv",
        RecordType::Tlsa => "tlsa",
        RecordType::Txt => "txt",
    }
}

const fn status(it: Status) -> &'static str {
    match it {
        Status::Satisfied => "satisfied",
        Status::Missing => "missing",
        Status::Wrong => "wrong",
        Status::Propagating => "propagating",
        Status::Unknown => "unknown",
    }
}
