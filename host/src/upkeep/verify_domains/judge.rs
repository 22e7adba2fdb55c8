//! The host's minimum rules: what must hold before a domain is at 100 %, whatever the policy says.
//!
//! The proof of ownership counts only if the host itself has seen the domain's token in it, at a name
//! inside the domain and not behind an alias that leaves it; every required record must be satisfied.

use std::collections::HashSet;

use serde_json::Value;

use super::lookups::{Lookups, shows};
use super::wire_types;
use crate::dns::Outcome;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::state::{DomainKind, SenderDomain, Standing};
use crate::plugin::domain::{Finding, Lookup, Purpose, RecordType, Requirement, Status};
use crate::store::DomainRow;

/// What one check says of a domain.
#[derive(Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Satisfied of required records, in percent; 100 only if all of them were seen now.
    pub progress: u8,
    /// What is required and not satisfied.
    pub missing: Vec<String>,
    /// Whether a required record was seen to be absent or wrong.
    pub lacks: bool,
    /// Whether the proof of ownership is among them.
    pub lacks_ownership: bool,
    /// Whether the proof of ownership was seen.
    pub owned: bool,
}

/// Judges by what the policy found and the host saw. `before` has the ids of records that were
/// satisfied when they could last be seen: one that cannot be seen now counts as far as the progress
/// goes, and never completes it.
pub fn judge(
    domain: &SenderDomain,
    keys: &[DkimKey],
    requirements: &[Requirement],
    findings: &[Finding],
    lookups: &Lookups,
    before: &HashSet<String>,
) -> Judgement {
    let required: Vec<&Requirement> =
        requirements.iter().filter(|it| it.required && counts(it, domain, keys)).collect();
    let asks_for_proof = required.iter().any(|it| it.purpose == Purpose::Ownership);
    let owned = domain.kind == DomainKind::Sandbox || asks_for_proof;
    let mut judgement = Judgement {
        progress: 0,
        missing: Vec::new(),
        lacks: false,
        lacks_ownership: false,
        owned: false,
    };
    let mut known = 0;
    for requirement in &required {
        match standing(requirement, domain, findings, lookups) {
            Status::Satisfied => {
                known += 1;
                judgement.owned |= requirement.purpose == Purpose::Ownership;
                continue;
            }
            Status::Unknown => known += usize::from(before.contains(&requirement.id)),
            Status::Missing | Status::Wrong | Status::Propagating => {
                judgement.lacks = true;
                judgement.lacks_ownership |= requirement.purpose == Purpose::Ownership;
            }
        }
        judgement.missing.push(named(requirement));
    }
    if !owned {
        judgement.missing.push("ownership: the domain policy does not ask for it".to_owned());
    }
    let wanted = required.len() + usize::from(!owned);
    let percent = (known * 100).checked_div(wanted).unwrap_or(100);
    let most = if judgement.missing.is_empty() { 100 } else { 99 };
    judgement.progress = u8::try_from(percent).unwrap_or(0).min(most);
    judgement
}

impl Judgement {
    /// Nothing new: what was known stays, and nothing of it was seen.
    pub fn unchanged(standing: &Standing) -> Self {
        let (progress, missing) = (standing.progress, standing.missing.clone());
        Self { progress, missing, lacks: false, lacks_ownership: false, owned: false }
    }

    /// Takes a domain whose known proof the host has seen to be gone for one without an owner, whatever
    /// the policy asks for now.
    pub fn disown(&mut self, row: &DomainRow, lookups: &Lookups) {
        if self.owned || self.lacks_ownership || !is_disowned(row, lookups) {
            return;
        }
        self.progress = self.progress.min(99);
        (self.lacks, self.lacks_ownership) = (true, true);
        let proof =
            |it: Lookup| format!("{} ({})", wire_types::purpose_name(Purpose::Ownership), it.name);
        self.missing.extend(known_proofs(row).into_iter().map(proof));
    }
}

/// Whether a policy is content with a record.
pub fn is_satisfied(requirement: &Requirement, findings: &[Finding]) -> bool {
    status(requirement, findings) == Status::Satisfied
}

/// The status that counts: the policy's; of a proof of ownership the host's own, where the host has
/// seen that it is not there, or the policy has not seen what the host has not.
pub fn standing(
    requirement: &Requirement,
    domain: &SenderDomain,
    findings: &[Finding],
    lookups: &Lookups,
) -> Status {
    let found = status(requirement, findings);
    if requirement.purpose != Purpose::Ownership {
        return found;
    }
    match (found, proof(&requirement.name, requirement.record_type, domain, lookups)) {
        (Status::Unknown, seen @ (Status::Missing | Status::Wrong)) | (Status::Satisfied, seen) => {
            seen
        }
        (found, _) => found,
    }
}

/// The proofs of ownership that the last judgement asked for, so that the holder has had to publish
/// them: the host looks at them whatever the policy asks for now.
pub fn known_proofs(row: &DomainRow) -> Vec<Lookup> {
    let known = row.requirements.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_proof = |it: &&Value| {
        it["required"] == true && it["purpose"] == wire_types::purpose_name(Purpose::Ownership)
    };
    let look_up = |it: &Value| {
        let [id, name] = ["id", "name"].map(|member| it[member].as_str().map(str::to_owned));
        let record_type = wire_types::record_type_named(it["type"].as_str()?)?;
        Some(Lookup { id: id?, name: name?, record_type })
    };
    known.iter().filter(is_proof).filter_map(look_up).collect()
}

/// Whether the host has seen that one of them is not there.
fn is_disowned(row: &DomainRow, lookups: &Lookups) -> bool {
    let lost = |it: Lookup| {
        let seen = proof(&it.name, it.record_type, &row.domain, lookups);
        matches!(seen, Status::Missing | Status::Wrong)
    };
    known_proofs(row).into_iter().any(lost)
}

/// A record without a finding was not judged, so nothing is known of it.
fn status(requirement: &Requirement, findings: &[Finding]) -> Status {
    let of_it = findings.iter().find(|finding| finding.requirement_id == requirement.id);
    of_it.map_or(Status::Unknown, |finding| finding.status)
}

/// The host's own look at a proof of ownership.
fn proof(name: &str, record_type: RecordType, domain: &SenderDomain, lookups: &Lookups) -> Status {
    let Some(made) = lookups.of(name, record_type) else { return Status::Unknown };
    let inside = |name: &str| {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let above = name.strip_suffix(domain.name.as_str());
        above.is_some_and(|it| it.is_empty() || it.ends_with('.'))
    };
    match &made.seen.outcome {
        outcome @ Outcome::Answers(_) => {
            let stays = inside(&made.name) && made.seen.cname_chain.iter().all(|it| inside(it));
            let proven = stays && shows(outcome, &domain.verification_token);
            if proven { Status::Satisfied } else { Status::Wrong }
        }
        Outcome::NoData | Outcome::NxDomain => Status::Missing,
        Outcome::ServFail | Outcome::Refused | Outcome::TimedOut => Status::Unknown,
    }
}

/// The records of keys that do not sign do not count: those of a pair that waits, or that has signed.
fn counts(requirement: &Requirement, domain: &SenderDomain, keys: &[DkimKey]) -> bool {
    let mut others = keys.iter().filter(|key| key.phase != KeyPhase::Signing);
    !others.any(|key| {
        super::keys::record_name(&domain.name, key).eq_ignore_ascii_case(&requirement.name)
    })
}

fn named(requirement: &Requirement) -> String {
    format!("{} ({})", wire_types::purpose_name(requirement.purpose), requirement.name)
}

#[cfg(test)]
mod tests;
