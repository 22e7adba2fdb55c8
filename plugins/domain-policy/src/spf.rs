//! The list of servers that may send for the domain (RFC 7208), on the domain or its return path.

mod record;
mod walk;

use waxwing_plugin::dns::{Reading, read_each};
use waxwing_plugin::domain_policy::{Requirement, Status};

use crate::seen::{Further, Seen};
use record::{Record, is_spf, resembles_spf};
use walk::{MOST_LOOK_UPS, Sending, sending};

/// The further look-up of the SPF record that the return path's CNAME leads to.
pub const THROUGH_RETURN_PATH: &str = "spf:return-path";

/// The record's value for a name that has none yet.
pub fn value(include: &str) -> String {
    format!("v=spf1 include:{include} ~all")
}

/// Judges the TXT records at the requirement's name. `return_path` is the name whose CNAME was seen
/// to lead to this server: its SPF record is the one that receivers look at, so it is enough.
pub fn judge(
    requirement: &Requirement,
    include: &str,
    return_path: Option<&str>,
    seen: &mut Seen<'_>,
) -> Reading {
    let observations: Vec<_> = seen.of(&requirement.id).collect();
    let own = read_each(requirement, observations.into_iter(), |records| {
        judge_records(requirement, include, records, seen)
    });
    match return_path {
        Some(name) if own.status != Status::Satisfied => {
            through_return_path(name, seen).unwrap_or(own)
        }
        _ => own,
    }
}

fn through_return_path(name: &str, seen: &mut Seen<'_>) -> Option<Reading> {
    let Further::Records(records) = seen.txt(THROUGH_RETURN_PATH, name) else { return None };
    let mut policies = records.iter().filter(|it| is_spf(it));
    let (Some(policy), None) = (policies.next(), policies.next()) else { return None };
    Record::parse(policy).ok()?;
    let hint = format!("SPF holds through the return path {name}; nothing else is needed.");
    Some(Reading::satisfied(&records, hint))
}

fn judge_records(
    requirement: &Requirement,
    include: &str,
    records: &[String],
    seen: &mut Seen<'_>,
) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let policies: Vec<&String> = records.iter().filter(|it| is_spf(it)).collect();
    let wrong = |why: String| Reading::wrong(records, format!("The SPF record at {name} {why}"));
    let policy = match policies[..] {
        [policy] => policy,
        [] if records.iter().any(|it| resembles_spf(it)) => {
            return wrong(format!(
                "must begin with exactly `v=spf1` and a space. Set it to `{suggested_value}`."
            ));
        }
        [] => {
            return Reading::missing(
                records,
                format!(
                    "None of the TXT records at {name} is an SPF record. Add one more with the \
                     value `{suggested_value}`; the others can stay."
                ),
            );
        }
        [..] => {
            return Reading::wrong(
                records,
                format!(
                    "There are {} SPF records at {name}, and a name may have only one: receivers \
                     ignore them all. Merge them into one that has `include:{include}`.",
                    policies.len()
                ),
            );
        }
    };
    let record = match Record::parse(policy) {
        Ok(record) => record,
        Err(fault) => {
            return wrong(format!(
                "{}, so receivers ignore it all. Correct it, and see that it has \
                 `include:{include}`.",
                fault.sentence()
            ));
        }
    };
    match sending(&record, include, seen) {
        Sending::Allowed => Reading::satisfied(records, "The SPF record lets this server send."),
        Sending::NotAllowed => wrong(format!(
            "does not let this server send. Change it to `{}`.",
            with_include(policy, include)
        )),
        Sending::Negated => wrong(format!(
            "has `include:{include}` with a `-`, `~` or `?` before it, which refuses this server. \
             Remove that character."
        )),
        Sending::AfterAll => wrong(format!(
            "has `include:{include}` after `all`, where receivers never come. Move it before `all`."
        )),
        Sending::TooManyLookUps => wrong(format!(
            "needs more than {MOST_LOOK_UPS} look-ups, so receivers ignore it all. Remove what is \
             no longer used, and place `include:{include}` first."
        )),
        Sending::Unseen(other) => Reading::unknown(format!(
            "The SPF record at {name} includes {other}, whose record could not be looked up. It \
             will be tried again. To be independent of it, add `include:{include}` to your record."
        )),
        Sending::Pending => {
            Reading::unknown("The records that the SPF record includes are being looked up.")
        }
    }
}

/// The record as it should be: the include before the mechanism that ends the list.
fn with_include(policy: &str, include: &str) -> String {
    let ends = |term: &&str| {
        let bare = term.trim_start_matches(['+', '-', '~', '?']).to_ascii_lowercase();
        bare == "all" || bare.starts_with("redirect=")
    };
    let mut terms: Vec<&str> = policy.split_ascii_whitespace().collect();
    let ours = format!("include:{include}");
    let at = terms.iter().position(ends).unwrap_or(terms.len());
    terms.insert(at, &ours);
    terms.join(" ")
}

#[cfg(test)]
mod tests;
