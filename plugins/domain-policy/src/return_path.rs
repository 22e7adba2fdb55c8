//! The CNAME that sends bounces of the domain's mail back to this server, and SPF along with them.

use waxwing_plugin::dns::{Reading, is_within, read, same_host, together};
use waxwing_plugin::domain_policy::Requirement;

use crate::seen::Seen;

/// Judges the CNAME; one that leads to the target over others is right too.
pub fn judge(requirement: &Requirement, target: &str, seen: &Seen<'_>) -> Reading {
    let readings = seen.of(&requirement.id).map(|it| {
        let reading = if it.cname_chain.iter().any(|link| same_host(link, target)) {
            Reading::satisfied(&it.cname_chain, format!("The name leads to {target}."))
        } else {
            read(requirement, it, |records| judge_records(requirement, target, records))
        };
        (it.resolver.as_str(), reading)
    });
    together(readings.collect())
}

fn judge_records(requirement: &Requirement, target: &str, records: &[String]) -> Reading {
    let name = &requirement.name;
    if records.len() == 1 && same_host(&records[0], target) {
        return Reading::satisfied(records, format!("{name} points to {target}."));
    }
    let appended = |it: &String| {
        let doubled = it.to_ascii_lowercase().starts_with(&format!("{target}."));
        doubled && is_within(name, it.get(target.len() + 1..).unwrap_or_default())
    };
    let why = if records.iter().any(appended) {
        "the DNS provider appended the domain to the value; write it with a dot at its end:"
    } else if records.len() > 1 {
        "there are several CNAME records, and a name may have only one. Keep this one:"
    } else {
        "it points elsewhere. Change its value to"
    };
    let hint = format!("The CNAME record at {name} is not right: {why} `{target}.`");
    Reading::wrong(records, hint)
}

#[cfg(test)]
mod tests {
    use waxwing_plugin::domain_policy::Observation;
    use waxwing_plugin::domain_policy::Outcome::{NoData, ServFail};
    use waxwing_plugin::domain_policy::Status::{Missing, Propagating, Satisfied, Unknown, Wrong};
    use waxwing_plugin::testing::{answered, domain, observed};

    use super::*;
    use crate::requirements::needs;
    use crate::settings::Settings;

    const TARGET: &str = "rp.waxwing.example";

    fn read(observations: &[Observation]) -> Reading {
        let needs = needs(&Settings::default(), &domain("example.com")).expect("needs");
        let own = needs.iter().find(|it| it.requirement.id == "return-path").expect("it is there");
        judge(&own.requirement, TARGET, &Seen::new(observations, &[]))
    }

    fn cname(values: &[&str]) -> Observation {
        answered("return-path", values)
    }

    #[test]
    fn the_target_is_right_in_any_case_and_with_a_last_dot() {
        assert_eq!(read(&[cname(&["RP.Waxwing.Example."])]).status, Satisfied);
    }

    #[test]
    fn a_chain_that_passes_the_target_is_right() {
        let mut over_another = cname(&["rp.corp.example."]);
        over_another.cname_chain = vec!["rp.corp.example".into(), "rp.waxwing.example.".into()];
        assert_eq!(read(&[over_another]).status, Satisfied);
    }

    #[test]
    fn another_target_is_wrong_and_the_hint_names_the_right_one() {
        let reading = read(&[cname(&["elsewhere.example."])]);
        assert_eq!((reading.status, reading.found), (Wrong, vec!["elsewhere.example.".to_owned()]));
        assert!(reading.hint.contains("rp.waxwing.example."), "{}", reading.hint);
    }

    #[test]
    fn a_target_with_the_domain_appended_is_explained() {
        let reading = read(&[cname(&["rp.waxwing.example.example.com."])]);
        assert!(reading.status == Wrong && reading.hint.contains("appended"), "{}", reading.hint);
    }

    #[test]
    fn no_record_is_missing_and_a_failure_is_unknown() {
        assert_eq!(read(&[observed("return-path", NoData)]).status, Missing);
        assert_eq!(read(&[observed("return-path", ServFail)]).status, Unknown);
        assert_eq!(read(&[]).status, Unknown);
    }

    #[test]
    fn resolvers_that_disagree_are_propagating() {
        let both = [cname(&[TARGET]), observed("return-path", NoData)];
        assert_eq!(read(&both).status, Propagating);
        let one_failed = [cname(&[TARGET]), observed("return-path", ServFail)];
        assert_eq!(read(&one_failed).status, Satisfied);
    }
}
