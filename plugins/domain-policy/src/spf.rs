//! The list of servers that may send for the domain (RFC 7208), on the domain or its return path.

mod record;
mod walk;

use waxwing_plugin::dns::{Reading, quoted, read_each, slip};
use waxwing_plugin::domain_policy::{Outcome, Requirement, Status};

use crate::seen::{Further, Seen};
use record::{Record, is_spf, resembles_spf};
use walk::{MAX_LOOKUPS, Sending, sending};

/// The further lookup of the SPF record that the return path's CNAME leads to.
pub const THROUGH_RETURN_PATH: &str = "spf:return-path";

/// The longest record that a hint repeats with the include in it.
const SHOWN_IN_FULL: usize = 450;

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
    let exists = observations.iter().any(|it| it.outcome != Outcome::NxDomain);
    let own = read_each(requirement, observations.into_iter(), |records| {
        judge_records(requirement, include, records, seen)
    });
    let own = match own.status {
        Status::Missing if !exists => Reading::missing(&own.found, nothing_at_all(requirement)),
        Status::Missing
        | Status::Satisfied
        | Status::Wrong
        | Status::Propagating
        | Status::Unknown => own,
    };
    match return_path {
        Some(name) if own.status != Status::Satisfied => through_return_path(own, name, seen),
        _ => own,
    }
}

/// The domain's own name is not there, so the registration is at fault.
fn nothing_at_all(requirement: &Requirement) -> String {
    let Requirement { name, suggested_value, .. } = requirement;
    format!(
        "DNS does not know the name {name} at all. Check that it is spelt right, registered, and \
         that its name servers are set; then add a TXT record with the value `{suggested_value}`."
    )
}

fn through_return_path(own: Reading, name: &str, seen: &mut Seen<'_>) -> Reading {
    let records = match seen.txt(THROUGH_RETURN_PATH, name) {
        Further::Records(records) => records,
        Further::Absent => Vec::new(),
        Further::Failed => return not_seen_through(own, name),
        Further::Beyond | Further::Pending => return own,
    };
    let mut policies = records.iter().filter(|it| is_spf(it));
    let usable = match (policies.next(), policies.next()) {
        (Some(policy), None) => Record::parse(policy).is_ok_and(|it| it.may_pass()),
        _ => false,
    };
    if !usable {
        let hint = format!(
            "{} (The return path {name} leads to this server, but has no SPF record that lets it \
             send; the operator of this server must fix that.)",
            own.hint
        );
        return Reading { hint, ..own };
    }
    let mut hint = format!(
        "SPF holds through the return path {name}: your mail leaves with it as envelope sender, and \
         that is where receivers look."
    );
    if own.status == Status::Wrong {
        hint = format!("{hint} Apart from that: {}", own.hint);
    }
    let found: Vec<String> = own.found.into_iter().chain(records).collect();
    Reading::satisfied(&found, hint)
}

/// What the return path might make good is not known while its record is not seen.
fn not_seen_through(own: Reading, name: &str) -> Reading {
    let hint = format!(
        "The SPF record of the return path {name} could not be seen. This does not count against \
         you, and it is asked again. The domain itself: {}",
        own.hint
    );
    match own.status {
        Status::Missing | Status::Wrong => Reading { status: Status::Unknown, hint, ..own },
        Status::Satisfied | Status::Propagating | Status::Unknown => own,
    }
}

fn judge_records(
    requirement: &Requirement,
    include: &str,
    records: &[String],
    seen: &mut Seen<'_>,
) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let policies: Vec<&String> = records.iter().filter(|it| is_spf(it)).collect();
    match policies[..] {
        [policy] => judge_policy(requirement, include, policy, records, seen),
        [] => none_of(requirement, records),
        [..] => Reading::wrong(
            records,
            format!(
                "There are {} SPF records at {name}, and a name may have only one: receivers ignore \
                 them all. Merge them into one that has `include:{include}`, such as \
                 `{suggested_value}`.",
                policies.len()
            ),
        ),
    }
}

fn none_of(requirement: &Requirement, records: &[String]) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let nearly = |it: &String| slip(it, is_spf);
    if let Some(slip) = records.iter().find_map(nearly) {
        let why = slip.sentence();
        let hint =
            format!("The SPF record at {name} {why}. It should look like `{suggested_value}`.");
        return Reading::wrong(records, hint);
    }
    if let Some(meant) = records.iter().find(|it| resembles_spf(it)) {
        let found = quoted(std::slice::from_ref(meant));
        let hint = format!(
            "The TXT record {found} at {name} is ignored by receivers: an SPF record must begin \
             with exactly `v=spf1` and a space. Set it to `{suggested_value}`."
        );
        return Reading::wrong(records, hint);
    }
    let hint = format!(
        "None of the TXT records at {name} is an SPF record. Add one more with the value \
         `{suggested_value}`; the others can stay."
    );
    Reading::missing(records, hint)
}

fn judge_policy(
    requirement: &Requirement,
    include: &str,
    policy: &str,
    records: &[String],
    seen: &mut Seen<'_>,
) -> Reading {
    let name = &requirement.name;
    let found = quoted(&[policy.to_owned()]);
    let wrong =
        |why: String| Reading::wrong(records, format!("The SPF record {found} at {name} {why}"));
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
    match sending(name, &record, include, seen) {
        Sending::Allowed => Reading::satisfied(records, "The SPF record lets this server send."),
        Sending::Everybody => Reading::satisfied(
            records,
            format!(
                "The SPF record lets this server send in your name, and everybody else too: it has \
                 an `all` without `~` or `-`. Better is `{}`.",
                requirement.suggested_value
            ),
        ),
        Sending::NotNamed => {
            wrong(format!("does not name this server. {}", with_include(policy, include)))
        }
        Sending::NotNamedSoFar => wrong(format!(
            "does not name this server, as far as its includes can be followed. {}",
            with_include(policy, include)
        )),
        Sending::Negated => wrong(format!(
            "has `include:{include}` with a `-`, `~` or `?` before it, which refuses this server. \
             Remove that character."
        )),
        Sending::AfterAll => wrong(format!(
            "has `include:{include}` after `all`, where receivers never come. Move it before `all`."
        )),
        Sending::TooManyLookups => wrong(format!(
            "needs more than {MAX_LOOKUPS} lookups before receivers come to this server, so they \
             ignore it all. Remove what is no longer used, or place `include:{include}` first."
        )),
        Sending::Broken(other, broken) => wrong(format!(
            "leads to {other}, which {}; receivers give up there. Remove {other}, or place \
             `include:{include}` before it.",
            broken.sentence()
        )),
        Sending::Unseen(other) => Reading {
            status: Status::Unknown,
            hint: format!(
                "The SPF record {found} at {name} leads to {other}, whose record could not be seen. \
                 This does not count against you, and it is asked again. To be independent of \
                 {other}, place `include:{include}` before it."
            ),
            ..Reading::wrong(records, "")
        },
        Sending::Pending => {
            Reading::unknown("The records that the SPF record includes are being looked up.")
        }
    }
}

/// What to change: the include goes before the mechanism that ends the list.
fn with_include(policy: &str, include: &str) -> String {
    if policy.len() > SHOWN_IN_FULL {
        return format!("Put `include:{include}` into it, before its last word.");
    }
    let ends = |term: &&str| {
        let bare = term.trim_start_matches(['+', '-', '~', '?']).to_ascii_lowercase();
        bare == "all" || bare.starts_with("redirect=")
    };
    let mut terms: Vec<&str> = policy.split_ascii_whitespace().collect();
    let ours = format!("include:{include}");
    let at = terms.iter().position(ends).unwrap_or(terms.len());
    terms.insert(at, &ours);
    format!("Change it to `{}`.", terms.join(" "))
}

#[cfg(test)]
mod tests;
