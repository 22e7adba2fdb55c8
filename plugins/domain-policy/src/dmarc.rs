//! What receivers shall do with mail that fails the other checks (RFC 7489 sections 6.3 and 6.6.3).
//!
//! No record can make the mail of this server fail: its signatures carry exactly the domain of
//! `From`, so that DMARC passes even with `adkim=s`, and `aspf` does not matter then.

use waxwing_plugin::dns::{Reading, Tags, quoted, read_each, slip};
use waxwing_plugin::domain_policy::{Requirement, Status};

use crate::seen::{Further, Seen};

/// The further lookup of the organizational domain's record, which its subdomains inherit.
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
            let above = judge_records(&Requirement { name, ..requirement.clone() }, &records);
            match above.status {
                Status::Satisfied => {
                    let hint = format!("The record of {domain} holds here too. {}", above.hint);
                    Reading { hint, ..above }
                }
                Status::Wrong => {
                    let hint = format!(
                        "{} The record of {domain} would hold here too, but: {}",
                        own.hint, above.hint
                    );
                    Reading { hint, ..own }
                }
                Status::Missing | Status::Propagating | Status::Unknown => own,
            }
        }
        Further::Failed => {
            let hint = format!(
                "The record at {name}, which would hold here too, could not be seen. This does not \
                 count against you, and it is asked again. To be independent of it, add a TXT \
                 record at {} with the value `{}`.",
                requirement.name, requirement.suggested_value
            );
            Reading { status: Status::Unknown, hint, ..own }
        }
        Further::Absent | Further::Beyond | Further::Pending => own,
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
            None => Reading::satisfied(records, satisfied(policy)),
            Some(why) => {
                let found = quoted(std::slice::from_ref(policy));
                let why = slip(policy, |it| fault(it).is_none())
                    .map_or(why, |it| it.sentence().to_owned());
                let hint = format!(
                    "The DMARC record {found} at {name} {why}. A right one is `{suggested_value}`."
                );
                Reading::wrong(records, hint)
            }
        },
        [..] => Reading::wrong(
            records,
            format!(
                "There are {} DMARC records at {name}, so receivers ignore them all. Keep one, such \
                 as `{suggested_value}`.",
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

/// What makes receivers ignore a record, as the end of "The record …".
fn fault(record: &str) -> Option<String> {
    let tags = match Tags::parse(record) {
        Ok(tags) => tags,
        Err(fault) => return Some(fault.sentence()),
    };
    if !record.starts_with('v') || tags.first() != Some(("v", "DMARC1")) {
        return Some("must begin with exactly `v=DMARC1`".to_owned());
    }
    let unknown = |tag: &str| {
        format!("has an unknown policy: `{tag}=` must be `none`, `quarantine` or `reject`")
    };
    match (tags.value_any_case("p"), tags.value_any_case("sp")) {
        (None, _) => Some("has no policy: the tag `p=` is not there".to_owned()),
        (Some(policy), _) if !is_one_of(policy, &["none", "quarantine", "reject"]) => {
            Some(unknown("p"))
        }
        (Some(_), Some(policy)) if !is_one_of(policy, &["none", "quarantine", "reject"]) => {
            Some(unknown("sp"))
        }
        (Some(_), _) => None,
    }
}

/// What to say of a good record: the tags that receivers replace by their defaults are worth a word.
fn satisfied(record: &str) -> String {
    let mut hint = "The domain has a DMARC policy, and mail through this server passes it: it is \
                    signed with exactly this domain."
        .to_owned();
    let Ok(tags) = Tags::parse(record) else { return hint };
    let value = |tag: &str| tags.value_any_case(tag);
    for tag in ["adkim", "aspf"] {
        if value(tag).is_some_and(|it| !is_one_of(it, &["r", "s"])) {
            hint.push_str(" Receivers ignore `");
            hint.push_str(tag);
            hint.push_str("`: it must be `r` or `s`.");
        }
    }
    if value("pct").is_some_and(|it| !it.parse::<u8>().is_ok_and(|it| it <= 100)) {
        hint.push_str(" Receivers ignore `pct`: it must be a number from 0 to 100.");
    }
    for tag in ["rua", "ruf"] {
        if value(tag).is_some_and(|it| !it.split(',').all(is_mailbox)) {
            hint.push_str(" Reports do not arrive: `");
            hint.push_str(tag);
            hint.push_str("` must be addresses as in `mailto:dmarc@example.com`.");
        }
    }
    hint
}

/// `mailto:local@domain`, with a size limit after `!` if there is one.
fn is_mailbox(uri: &str) -> bool {
    let uri = uri.trim();
    let address = uri.split_once(':').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("mailto"));
    address
        .and_then(|(_, it)| it.split('!').next()?.split_once('@'))
        .is_some_and(|(local, domain)| !local.is_empty() && domain.contains('.'))
}

fn is_one_of(value: &str, words: &[&str]) -> bool {
    words.iter().any(|it| value.eq_ignore_ascii_case(it))
}

#[cfg(test)]
mod tests;
