//! What receivers shall do with mail that fails the other checks (RFC 7489 sections 6.3 and 6.6.3).

use waxwing_plugin::dns::{Reading, Tags, read_each};
use waxwing_plugin::domain_policy::{Requirement, Status};

use crate::seen::{Further, Seen};

/// The further look-up of the organizational domain's record, which its subdomains inherit.
pub const INHERITED: &str = "dmarc:organizational";

/// The value that changes nothing but makes the domain's mail count as having a policy.
pub const SUGGESTED: &str = "v=DMARC1; p=none";

/// Judges the records at `_dmarc.<domain>`; where there is none, those of `organizational`.
pub fn judge(
    requirement: &Requirement,
    organizational: Option<&str>,
    seen: &mut Seen<'_>,
) -> Reading {
    let own = read_each(requirement, seen.of(&requirement.id), |records| {
        judge_records(requirement, records)
    });
    match organizational {
        Some(domain) if own.status == Status::Missing => inherited(own, requirement, domain, seen),
        _ => own,
    }
}

fn inherited(
    own: Reading,
    requirement: &Requirement,
    domain: &str,
    seen: &mut Seen<'_>,
) -> Reading {
    let name = format!("_dmarc.{domain}");
    match seen.txt(INHERITED, &name) {
        Further::Records(records) => {
            let above = judge_records(requirement, &records);
            if above.status == Status::Satisfied {
                Reading { hint: format!("The record of {domain} holds for this domain."), ..above }
            } else {
                own
            }
        }
        Further::Absent | Further::Failed | Further::Pending => own,
    }
}

fn judge_records(requirement: &Requirement, records: &[String]) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let policies: Vec<&String> = records.iter().filter(|it| claims_to_be_dmarc(it)).collect();
    match policies[..] {
        [] => Reading::missing(
            records,
            format!(
                "The TXT records at {name} are no DMARC records. Add one with the value \
                 `{suggested_value}`."
            ),
        ),
        [policy] => match fault(policy) {
            None => Reading::satisfied(records, "The domain has a DMARC policy."),
            Some(why) => Reading::wrong(
                records,
                format!("The DMARC record at {name} {why}. A right one is `{suggested_value}`."),
            ),
        },
        [..] => Reading::wrong(
            records,
            format!(
                "There are {} DMARC records at {name}, so receivers ignore them all. Keep one.",
                policies.len()
            ),
        ),
    }
}

/// Receivers pass over what does not begin with `v=DMARC1`; a near miss is worth a word.
fn claims_to_be_dmarc(record: &str) -> bool {
    let start: String = record.chars().filter(|it| !it.is_whitespace()).take(7).collect();
    start.eq_ignore_ascii_case("v=DMARC") || record.contains("DMARC1")
}

/// What is wrong with a record, as the end of "The record …".
fn fault(record: &str) -> Option<String> {
    let tags = match Tags::parse(record) {
        Ok(tags) => tags,
        Err(fault) => return Some(fault.sentence()),
    };
    let version_first = tags
        .first()
        .is_some_and(|(name, value)| name.eq_ignore_ascii_case("v") && value == "DMARC1");
    if !version_first {
        return Some("must begin with exactly `v=DMARC1`".to_owned());
    }
    let known = |policy: &str| {
        ["none", "quarantine", "reject"].iter().any(|it| policy.eq_ignore_ascii_case(it))
    };
    match tags.value_any_case("p") {
        None => Some("has no policy: the tag `p=` is not there".to_owned()),
        Some(policy) if known(policy) => None,
        Some(_) => {
            Some("has an unknown policy: `p=` must be `none`, `quarantine` or `reject`".to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
