//! Converts the types of the domain policy's interface: to names in the API and the store, and from and to DNS.

use crate::dns;
use crate::plugin::domain::{Answer, Observation, Outcome, Purpose, RecordType, Status};

pub fn record_type_name(record_type: RecordType) -> &'static str {
    dns_type(record_type).as_str()
}

pub fn record_type_named(word: &str) -> Option<RecordType> {
    const ALL: [RecordType; 10] = [
        RecordType::A,
        RecordType::Aaaa,
        RecordType::Caa,
        RecordType::Cname,
        RecordType::Mx,
        RecordType::Ns,
        RecordType::Ptr,
        RecordType::Srv,
        RecordType::Tlsa,
        RecordType::Txt,
    ];
    ALL.into_iter().find(|it| record_type_name(*it) == word)
}

pub fn dns_type(record_type: RecordType) -> dns::RecordType {
    match record_type {
        RecordType::A => dns::RecordType::A,
        RecordType::Aaaa => dns::RecordType::Aaaa,
        RecordType::Caa => dns::RecordType::Caa,
        RecordType::Cname => dns::RecordType::Cname,
        RecordType::Mx => dns::RecordType::Mx,
        RecordType::Ns => dns::RecordType::Ns,
        RecordType::Ptr => dns::RecordType::Ptr,
        RecordType::Srv => dns::RecordType::Srv,
        RecordType::Tlsa => dns::RecordType::Tlsa,
        RecordType::Txt => dns::RecordType::Txt,
    }
}

pub fn purpose_name(purpose: Purpose) -> &'static str {
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

pub fn status_name(status: Status) -> &'static str {
    match status {
        Status::Satisfied => "satisfied",
        Status::Missing => "missing",
        Status::Wrong => "wrong",
        Status::Propagating => "propagating",
        Status::Unknown => "unknown",
    }
}

pub fn outcome_name(outcome: &dns::Outcome) -> &'static str {
    match outcome {
        dns::Outcome::Answers(_) => "answers",
        dns::Outcome::NoData => "no data",
        dns::Outcome::NxDomain => "no such name",
        dns::Outcome::ServFail => "server failure",
        dns::Outcome::Refused => "refused",
        dns::Outcome::TimedOut => "timed out",
    }
}

/// A lookup as the policy gets it.
pub fn observation(id: &str, seen: &dns::Observation) -> Observation {
    let answer = |it: &dns::Answer| Answer { data: it.data.clone(), ttl: it.ttl };
    Observation {
        lookup_id: id.to_owned(),
        resolver: seen.resolver.clone(),
        outcome: match &seen.outcome {
            dns::Outcome::Answers(answers) => {
                Outcome::Answers(answers.iter().map(answer).collect())
            }
            dns::Outcome::NoData => Outcome::NoData,
            dns::Outcome::NxDomain => Outcome::NxDomain,
            dns::Outcome::ServFail => Outcome::ServFail,
            dns::Outcome::Refused => Outcome::Refused,
            dns::Outcome::TimedOut => Outcome::TimedOut,
        },
        cname_chain: seen.cname_chain.clone(),
        dnssec_secure: seen.dnssec_secure,
        at_unix_ms: seen.at.unsigned_millis(),
    }
}
