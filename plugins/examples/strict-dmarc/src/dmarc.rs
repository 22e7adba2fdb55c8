//! Checks that a domain's DMARC record is strict enough: policy, `pct` and alignment (RFC 7489 section 6.3).

use waxwing_plugin::dns::{Reading, Tags, slip};
use waxwing_plugin::domain_policy::Requirement;

use crate::settings::{Alignment, MinimumPolicy, Settings};

/// Whose record applies: that of the sender domain, or of its organizational domain, where `sp=` counts for subdomains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The sender domain's own.
    Domain,
    /// That of the domain above it.
    Organization,
}

/// The record to suggest: the mildest one that passes the check.
pub fn suggested(settings: Settings) -> String {
    let policy = match settings.policy {
        MinimumPolicy::Reject => "reject",
        MinimumPolicy::Quarantine => "quarantine",
    };
    let alignment = match settings.alignment {
        Alignment::Strict => "; adkim=s; aspf=s",
        Alignment::Relaxed => "",
    };
    format!("v=DMARC1; p={policy}{alignment}")
}

/// Reads the records at `_dmarc.<domain>`.
pub fn read(
    settings: Settings,
    requirement: &Requirement,
    records: &[String],
    owner: Owner,
) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let is_dmarc = |it: &str| it.starts_with("v=DMARC1");
    let policies: Vec<&String> = records.iter().filter(|it| is_dmarc(it)).collect();
    let [policy] = policies[..] else {
        if let Some(slip) = records.iter().find_map(|it| slip(it, is_dmarc)) {
            let why = slip.sentence();
            let hint = format!("The DMARC record at {name} {why}. Set it to `{suggested_value}`.");
            return Reading::wrong(records, hint);
        }
        let hint = format!(
            "There are {} DMARC records at {name}, and there must be exactly one. Set it to \
             `{suggested_value}`.",
            policies.len()
        );
        return Reading::wrong(records, hint);
    };
    match fault(settings, policy, owner) {
        None => Reading::satisfied(records, "The DMARC policy is strict enough."),
        Some(why) => {
            let hint = format!("The DMARC record {why}. A right one is `{suggested_value}`.");
            Reading::wrong(records, hint)
        }
    }
}

/// What is wrong, as the end of "The DMARC record …".
fn fault(settings: Settings, record: &str, owner: Owner) -> Option<String> {
    let tags = match Tags::parse(record) {
        Ok(tags) => tags,
        Err(fault) => return Some(fault.sentence()),
    };
    let for_all = tags.value_any_case("p");
    let (tag, policy) = match (owner, tags.value_any_case("sp")) {
        (Owner::Organization, Some(policy)) => ("sp", Some(policy)),
        (Owner::Organization | Owner::Domain, _) => ("p", for_all),
    };
    let accepted: &[&str] = match settings.policy {
        MinimumPolicy::Reject => &["reject"],
        MinimumPolicy::Quarantine => &["quarantine", "reject"],
    };
    if !policy.is_some_and(|it| accepted.iter().any(|word| word.eq_ignore_ascii_case(it))) {
        return Some(format!("has no `{tag}={}`", accepted.join("` or `")));
    }
    if tags.value_any_case("pct").is_some_and(|it| it != "100") {
        return Some(
            "has a `pct` other than 100, so some forged mail escapes the policy: remove it"
                .to_owned(),
        );
    }
    let loose =
        |tag: &&str| !tags.value_any_case(tag).is_some_and(|it| it.eq_ignore_ascii_case("s"));
    match settings.alignment {
        Alignment::Strict => {
            let tag = ["adkim", "aspf"].into_iter().find(|it| loose(it))?;
            Some(format!(
                "has no `{tag}=s`: mail from other subdomains of your domain passes as yours"
            ))
        }
        Alignment::Relaxed => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(record: &str, owner: Owner) -> Option<String> {
        fault(Settings::default(), record, owner)
    }

    #[test]
    fn the_suggested_record_is_right_under_every_setting() {
        for policy in [MinimumPolicy::Reject, MinimumPolicy::Quarantine] {
            for alignment in [Alignment::Strict, Alignment::Relaxed] {
                let settings = Settings { policy, alignment };
                assert_eq!(fault(settings, &suggested(settings), Owner::Domain), None);
            }
        }
    }

    #[test]
    fn milder_policies_partial_ones_and_loose_alignment_are_wrong() {
        for (record, word) in [
            ("v=DMARC1; adkim=s; aspf=s", "`p=reject`"),
            ("v=DMARC1; p=quarantine; adkim=s; aspf=s", "`p=reject`"),
            ("v=DMARC1; p=reject; pct=50; adkim=s; aspf=s", "`pct`"),
            ("v=DMARC1; p=reject; aspf=s", "`adkim=s`"),
            ("v=DMARC1; p=reject; adkim=s; aspf=r", "`aspf=s`"),
        ] {
            let fault = fault_of(record, Owner::Domain).expect("a fault");
            assert!(fault.contains(word), "{record}: {fault}");
        }
    }

    #[test]
    fn the_policy_for_subdomains_holds_for_them_only() {
        let record = "v=DMARC1; p=reject; sp=none; adkim=s; aspf=s";
        assert_eq!(fault_of(record, Owner::Domain), None);
        assert_eq!(fault_of(record, Owner::Organization).as_deref(), Some("has no `sp=reject`"));
    }
}
