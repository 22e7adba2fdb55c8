//! Whether the domain's SPF record names this server (RFC 7208).

use waxwing_plugin::dns::{Reading, same_host, slip};
use waxwing_plugin::domain_policy::Requirement;

/// Reads the TXT records of the domain; those of other services do not matter.
pub fn read(include: &str, requirement: &Requirement, records: &[String]) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let spf: Vec<&String> = records.iter().filter(|it| is_spf(it)).collect();
    let [record] = spf[..] else {
        if let Some(slip) = records.iter().find_map(|it| slip(it, is_spf)) {
            let hint = format!("The SPF record at {name} {}.", slip.sentence());
            return Reading::wrong(records, hint);
        }
        let hint = format!(
            "There are {} records at {name} that begin with `v=spf1`, and receivers want exactly \
             one, for example `{suggested_value}`.",
            spf.len()
        );
        return Reading::wrong(records, hint);
    };
    if record.split_whitespace().any(|it| includes(it, include)) {
        return Reading::satisfied(records, "The SPF record names this server.");
    }
    let hint =
        format!("Put `include:{include}` into the SPF record at {name}, before its last word.");
    Reading::wrong(records, hint)
}

fn is_spf(record: &str) -> bool {
    record.split(' ').next().is_some_and(|it| it.eq_ignore_ascii_case("v=spf1"))
}

fn includes(term: &str, include: &str) -> bool {
    let term = term.strip_prefix('+').unwrap_or(term);
    term.split_once(':').is_some_and(|(word, host)| {
        word.eq_ignore_ascii_case("include") && same_host(host, include)
    })
}

#[cfg(test)]
mod tests {
    use waxwing_plugin::domain_policy::{Status, records};
    use waxwing_plugin::testing::domain;

    fn status(records: &[&str]) -> Status {
        let domain = domain("example.com");
        let requirement = records::spf(&domain).expect("the server has a record to include");
        let records: Vec<String> = records.iter().map(|it| (*it).to_owned()).collect();
        super::read(&domain.spf_include, &requirement, &records).status
    }

    #[test]
    fn the_include_counts_among_other_words_and_records() {
        let own = "v=spf1 mx +INCLUDE:Spf.Waxwing.Example. -all";
        assert_eq!(status(&["other", own]), Status::Satisfied);
    }

    #[test]
    fn none_two_and_a_refusing_one_are_wrong() {
        let right = "v=spf1 include:spf.waxwing.example ~all";
        for records in [
            &["other"][..],
            &[right, right],
            &["v=spf1 -include:spf.waxwing.example"],
            &["\"v=spf1 include:spf.waxwing.example ~all\""],
        ] {
            assert_eq!(status(records), Status::Wrong, "{records:?}");
        }
    }
}
