//! The CNAME that sends bounces of the domain's mail back to this server, and SPF along with them.

use waxwing_plugin::dns::{Reading, is_circle, is_within, read, same_host, together};
use waxwing_plugin::domain_policy::{Requirement, Status};

use crate::seen::{Further, Seen};
use crate::spf::THROUGH_RETURN_PATH;

/// Judges the CNAME; one that leads to the target over others is right too.
pub fn judge(requirement: &Requirement, target: &str, seen: &mut Seen<'_>) -> Reading {
    let observations: Vec<_> = seen.of(&requirement.id).collect();
    let mut readings = Vec::new();
    for it in observations {
        let reading = if it.cname_chain.iter().any(|link| same_host(link, target)) {
            Reading::satisfied(&it.cname_chain, format!("The name leads to {target}."))
        } else {
            read(requirement, it, |records| judge_records(requirement, target, records, seen))
        };
        readings.push((it.resolver.as_str(), reading));
    }
    together(readings)
}

fn judge_records(
    requirement: &Requirement,
    target: &str,
    records: &[String],
    seen: &mut Seen<'_>,
) -> Reading {
    let name = &requirement.name;
    let [found] = records else {
        return Reading::wrong(
            records,
            format!(
                "There are {} CNAME records at {name}, and a name may have only one. Keep the one \
                 with the value `{target}`.",
                records.len()
            ),
        );
    };
    if same_host(found, target) {
        return Reading::satisfied(records, format!("{name} points to {target}."));
    }
    let appended = found
        .to_ascii_lowercase()
        .strip_prefix(&format!("{target}."))
        .is_some_and(|rest| is_within(name, rest));
    if appended {
        let hint = format!(
            "The CNAME record at {name} points to `{found}`: your DNS provider appended your domain \
             to the value. Write it with a dot at its end: `{target}.`"
        );
        return Reading::wrong(records, hint);
    }
    follow(requirement, target, found, seen)
}

/// Where `first`, which the record points to, leads: the lookup of SPF at the same name is led over
/// all of the chain, and tells it.
fn follow(requirement: &Requirement, target: &str, first: &str, seen: &mut Seen<'_>) -> Reading {
    let name = &requirement.name;
    let look_up = seen.txt(THROUGH_RETURN_PATH, name);
    let chains = seen.of(THROUGH_RETURN_PATH).map(|it| it.cname_chain.clone());
    let mut links = chains.max_by_key(Vec::len).unwrap_or_default();
    if links.is_empty() {
        links.push(first.to_owned());
    }
    if links.iter().any(|it| same_host(it, target)) {
        return Reading::satisfied(&links, format!("{name} leads to {target}."));
    }
    if is_circle(name, &links) {
        let path = links.join(" > ");
        let hint = format!(
            "The CNAME record at {name} leads in a circle ({name} > {path}). Change its value to \
             `{target}`."
        );
        return Reading::wrong(&links, hint);
    }
    match look_up {
        Further::Pending => Reading::unknown(format!("Where {first} leads is being looked up.")),
        Further::Failed => {
            let hint = format!(
                "The CNAME record at {name} points to `{first}`, and where that leads could not be \
                 seen. This does not count against you, and it is asked again. Better is the value \
                 `{target}`."
            );
            Reading { status: Status::Unknown, ..Reading::wrong(&links, hint) }
        }
        Further::Records(_) | Further::Absent | Further::Beyond => {
            let hint = format!(
                "The CNAME record at {name} points to `{first}`, which is not this server. Change \
                 its value to `{target}`."
            );
            Reading::wrong(&links, hint)
        }
    }
}

#[cfg(test)]
mod tests {
    use waxwing_plugin::domain_policy::Outcome::{NoData, ServFail};
    use waxwing_plugin::domain_policy::Status::{Missing, Propagating, Satisfied, Unknown, Wrong};
    use waxwing_plugin::domain_policy::{Observation, Outcome};
    use waxwing_plugin::testing::{answered, domain, observed};

    use super::*;
    use crate::requirements::needs;
    use crate::settings::Settings;

    const TARGET: &str = "rp.waxwing.example";

    fn read(observations: &[Observation]) -> Reading {
        let needs = needs(&Settings::default(), &domain("example.com")).expect("needs");
        let own = needs.iter().find(|it| it.requirement.id == "return-path").expect("it is there");
        judge(&own.requirement, TARGET, &mut Seen::new(observations, &["return-path"]))
    }

    fn cname(values: &[&str]) -> Observation {
        answered("return-path", values)
    }

    /// The lookup of SPF at the same name, and what it was led over.
    fn led(links: &[&str], outcome: Outcome) -> Observation {
        let cname_chain = links.iter().map(|it| (*it).to_owned()).collect();
        Observation { cname_chain, ..observed(THROUGH_RETURN_PATH, outcome) }
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
        let nothing_more = led(&["elsewhere.example"], NoData);
        let reading = read(&[cname(&["elsewhere.example."]), nothing_more]);
        assert_eq!((reading.status, reading.found), (Wrong, vec!["elsewhere.example".to_owned()]));
        assert!(reading.hint.contains("to `rp.waxwing.example`"), "{}", reading.hint);
        let several = read(&[cname(&[TARGET, "elsewhere.example"])]);
        assert!(several.status == Wrong && several.hint.contains("2 CNAME"), "{}", several.hint);
    }

    #[test]
    fn a_chain_over_other_names_is_right_if_it_comes_to_the_target() {
        let first = cname(&["a.example"]);
        let reading = read(&[first.clone(), led(&["a.example", "b.example", TARGET], NoData)]);
        assert_eq!((reading.status, reading.found.len()), (Satisfied, 3));
        assert_eq!(read(&[first.clone(), led(&["a.example", "b.example"], NoData)]).status, Wrong);
        assert!(read(&[first]).hint.contains("is being looked up"));
    }

    #[test]
    fn a_chain_that_cannot_be_seen_is_unknown_and_a_circle_is_wrong() {
        let first = cname(&["a.example"]);
        assert_eq!(read(&[first.clone(), led(&["a.example"], ServFail)]).status, Unknown);
        let back = led(&["a.example", "bounce.example.com"], ServFail);
        let reading = read(&[first, back]);
        assert!(reading.status == Wrong && reading.hint.contains("circle"), "{}", reading.hint);
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
