//! What a CNAME at the asked name means for a record: it stands elsewhere, or can never be found.

use crate::domain_policy::Requirement;

use super::reading::{Reading, kind};
use super::text::same_host;

/// Puts the chain into a reading of the records at its end.
pub fn led(requirement: &Requirement, links: &[String], reading: Reading) -> Reading {
    match links.last() {
        Some(end) if !reading.is_satisfied() => {
            let hint = format!(
                "{} {} leads to {end} by a CNAME record, so that is where the record stands.",
                reading.hint, requirement.name
            );
            Reading { hint, ..reading }
        }
        Some(_) | None => reading,
    }
}

/// There is nothing at the chain's end.
pub fn dangling(requirement: &Requirement, links: &[String]) -> Reading {
    let Some(end) = links.last() else { return Reading::absent(requirement) };
    let Requirement { name, suggested_value, .. } = requirement;
    let kind = kind(requirement);
    Reading::missing(
        &shown(links),
        format!(
            "{name} leads to {end} by a CNAME record, perhaps that of a wildcard `*`, and there is \
             no {kind} record. Remove the CNAME record if it is at {name} itself, and add a {kind} \
             record there with the value `{suggested_value}`."
        ),
    )
}

/// The lookup failed. A chain that comes back to itself was seen, and will never be answered.
pub fn failed(requirement: &Requirement, links: &[String], why: &str) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let kind = kind(requirement);
    if is_circle(name, links) {
        let path = links.join(" > ");
        return Reading::wrong(
            &shown(links),
            format!(
                "The CNAME record at {name} leads in a circle ({name} > {path}), so nothing can be \
                 found. Remove it, and add a {kind} record with the value `{suggested_value}`."
            ),
        );
    }
    let over = links.last().map_or_else(String::new, |end| {
        format!(" {name} leads to {end} by a CNAME record; see that this is what you want.")
    });
    let reading = Reading::unknown(format!(
        "The {kind} record at {name} could not be seen: {why}. This does not count against you, and \
         it is asked again. If it stays so, ask whoever runs your DNS.{over}"
    ));
    Reading { found: shown(links), ..reading }
}

/// Whether the CNAME records from `name` over `links` come back to where they were.
#[must_use]
pub fn is_circle(name: &str, links: &[String]) -> bool {
    links.iter().enumerate().any(|(index, link)| {
        same_host(link, name) || links.iter().take(index).any(|it| same_host(it, link))
    })
}

fn shown(links: &[String]) -> Vec<String> {
    links.iter().map(|it| format!("CNAME {it}")).collect()
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;
    use crate::domain_policy::records::ownership;
    use crate::domain_policy::{Observation, Outcome, Status};
    use crate::testing::{answered, domain, observed};

    fn over(links: &[&str], observation: Observation) -> Reading {
        let wanted = ownership(&domain("example.com"));
        let cname_chain = links.iter().map(|it| (*it).to_owned()).collect();
        let observation = Observation { cname_chain, ..observation };
        read(&wanted, &observation, |records| Reading::of_suggested_value(&wanted, records))
    }

    #[test]
    fn a_record_at_the_end_of_a_chain_is_judged_and_says_where_it_stands() {
        let right = answered("ownership", &["waxwing-verification=tok3n"]);
        assert_eq!(over(&["a.example"], right).status, Status::Satisfied);
        let reading = over(&["a.example", "b.example"], answered("ownership", &["x"]));
        assert_eq!(reading.status, Status::Wrong);
        assert!(reading.hint.contains("leads to b.example by a CNAME"), "{}", reading.hint);
    }

    #[test]
    fn nothing_at_the_end_is_missing_and_shows_the_chain() {
        for outcome in [Outcome::NxDomain, Outcome::NoData] {
            let reading = over(&["a.example"], observed("ownership", outcome));
            assert_eq!(
                (reading.status, &reading.found[..]),
                (Status::Missing, &["CNAME a.example".to_owned()][..])
            );
            assert!(reading.hint.contains("waxwing-verification=tok3n"), "{}", reading.hint);
        }
    }

    #[test]
    fn a_circle_is_wrong_and_another_failure_is_unknown() {
        for links in [&["_waxwing.example.com"][..], &["a.example", "A.example."]] {
            let reading = over(links, observed("ownership", Outcome::ServFail));
            assert_eq!((reading.status, reading.found.len()), (Status::Wrong, links.len()));
            assert!(reading.hint.contains("in a circle"), "{}", reading.hint);
        }
        let reading = over(&["a.example"], observed("ownership", Outcome::ServFail));
        assert_eq!(reading.status, Status::Unknown);
        assert!(reading.hint.contains("leads to a.example"), "{}", reading.hint);
    }
}
