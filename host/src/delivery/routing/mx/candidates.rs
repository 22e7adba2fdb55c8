//! The hosts of a domain's MX records, in the order of trying.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use super::lookup_failure::LookupFailure;
use super::ttl::MAX_TTL;
use crate::delivery::outcome::FailureReason;
use crate::dns::Outcome;
use crate::id::fill_random;

/// A name that is no name: "there is no host" (RFC 7505).
const NO_HOST: &str = ".";

/// The hosts of a domain, before their addresses are known.
#[derive(Debug)]
pub(super) struct Candidates {
    pub(super) group: String,
    /// At least one, in their order.
    pub(super) hosts: Vec<Candidate>,
    pub(super) ttl: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    /// The lower, the earlier.
    pub(super) preference: u16,
    pub(super) name: String,
}

impl Candidates {
    /// Reads the answer to an MX query.
    pub(super) fn of(domain: &str, seen: &Outcome, own: &[String]) -> Result<Self, LookupFailure> {
        let (candidates, ttl) = match seen {
            Outcome::Answers(answers) => {
                let ttl = answers.iter().map(|it| it.ttl).min().unwrap_or_default();
                let candidates = answers.iter().filter_map(|it| parsed(&it.data)).collect();
                (candidates, Duration::from_secs(ttl.into()))
            }
            // Without MX records the domain is its own host.
            Outcome::NoData => {
                (vec![Candidate { preference: 0, name: domain.to_owned() }], MAX_TTL)
            }
            Outcome::NxDomain => {
                return Err(LookupFailure::permanent(
                    FailureReason::BadDestination,
                    format!("there is no domain {domain}"),
                ));
            }
            Outcome::ServFail | Outcome::Refused | Outcome::TimedOut => {
                let failure = failure(seen);
                return Err(LookupFailure::temporary(format!(
                    "the mail hosts of {domain} cannot be found: {failure}"
                )));
            }
        };
        let candidates = without_null(domain, candidates)?;
        let candidates = without_self(domain, candidates, own)?;
        Ok(Self { group: group(&candidates), hosts: in_order(candidates), ttl })
    }
}

pub(super) const fn failure(seen: &Outcome) -> &'static str {
    match seen {
        Outcome::ServFail => "the name servers fail (SERVFAIL)",
        Outcome::Refused => "the name servers refuse to answer (REFUSED)",
        Outcome::TimedOut => "no name server answers",
        Outcome::Answers(_) | Outcome::NoData | Outcome::NxDomain => "no failure",
    }
}

fn parsed(data: &str) -> Option<Candidate> {
    let (preference, name) = data.split_once(' ')?;
    Some(Candidate { preference: preference.parse().ok()?, name: name.to_owned() })
}

/// A null MX counts only where it stands alone.
fn without_null(
    domain: &str,
    mut candidates: Vec<Candidate>,
) -> Result<Vec<Candidate>, LookupFailure> {
    candidates.retain(|it| it.name != NO_HOST);
    if candidates.is_empty() {
        return Err(LookupFailure::permanent(
            FailureReason::NullMx,
            format!("{domain} takes no mail (null MX)"),
        ));
    }
    Ok(candidates)
}

/// Drops this server and all hosts of no better preference: they would send the mail back.
fn without_self(
    domain: &str,
    mut candidates: Vec<Candidate>,
    own: &[String],
) -> Result<Vec<Candidate>, LookupFailure> {
    let is_own =
        |name: &str| own.iter().any(|it| it.trim_end_matches('.').eq_ignore_ascii_case(name));
    let ours = candidates.iter().filter(|it| is_own(&it.name)).map(|it| it.preference).min();
    if let Some(ours) = ours {
        candidates.retain(|it| it.preference < ours);
    }
    if candidates.is_empty() {
        let reason = format!("mail for {domain} comes to this server, which does not take it");
        return Err(LookupFailure::permanent(FailureReason::RoutingLoop, reason));
    }
    Ok(candidates)
}

/// The organizational domains of all hosts, so that a domain that adds another operator's host does
/// not join that operator's group.
fn group(candidates: &[Candidate]) -> String {
    let organizations: BTreeSet<String> = candidates.iter().map(|it| operator(&it.name)).collect();
    organizations.into_iter().collect::<Vec<_>>().join("+")
}

/// The operator of a host: its organizational domain, or its name where it has none.
#[must_use]
pub fn operator(host: &str) -> String {
    let is_literal = host.starts_with('[');
    psl::domain_str(host).filter(|_| !is_literal).unwrap_or(host).to_owned()
}

/// By preference, equal ones at random (RFC 5321 section 5.1).
fn in_order(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by_cached_key(|it| (it.preference, at_random()));
    let mut named = HashSet::new();
    candidates.retain(|it| named.insert(it.name.clone()));
    candidates
}

/// A key to sort by where no order is better than another.
pub(super) fn at_random() -> u32 {
    let mut bytes = [0; 4];
    fill_random(&mut bytes);
    u32::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dns::Answer;

    fn seen(records: &[(&str, u32)]) -> Outcome {
        let answer = |(data, ttl): &(&str, u32)| Answer { data: (*data).to_owned(), ttl: *ttl };
        Outcome::Answers(records.iter().map(answer).collect())
    }

    fn of(records: &[(&str, u32)], own: &[&str]) -> Result<Candidates, LookupFailure> {
        let own: Vec<String> = own.iter().map(|it| (*it).to_owned()).collect();
        Candidates::of("example.com", &seen(records), &own)
    }

    fn names(candidates: &Candidates) -> Vec<&str> {
        candidates.hosts.iter().map(|it| it.name.as_str()).collect()
    }

    fn code(result: &Result<Candidates, LookupFailure>) -> String {
        match result {
            Ok(_) => "hosts".to_owned(),
            Err(LookupFailure::Permanent { failure, .. }) => {
                failure.enhanced().expect("each has a code").to_string()
            }
            Err(LookupFailure::Temporary { .. }) => "not now".to_owned(),
        }
    }

    #[test]
    fn hosts_come_by_preference_and_equal_ones_in_any_order() {
        let records =
            [("20 c.example", 60), ("10 b.example", 30), ("5 a.example", 90), ("10 d.example", 60)];
        let mut middles = BTreeSet::new();
        for _ in 0..64 {
            let candidates = of(&records, &[]).expect("hosts");
            assert_eq!(candidates.ttl, Duration::from_secs(30));
            let names = names(&candidates);
            let [first, middle @ .., last] = names.as_slice() else { panic!("four") };
            assert_eq!((*first, *last), ("a.example", "c.example"));
            middles.insert(middle.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        assert_eq!(middles.len(), 2, "64 lookups show both orders");
    }

    #[test]
    fn a_host_that_is_named_twice_is_tried_once() {
        let candidates =
            of(&[("30 a.example", 60), ("20 b.example", 60), ("10 a.example", 60)], &[]);
        assert_eq!(names(&candidates.expect("hosts")), ["a.example", "b.example"]);
    }

    #[test]
    fn a_record_of_no_host_says_something_only_alone() {
        assert_eq!(code(&of(&[("0 .", 60)], &[])), "5.1.10");
        let candidates = of(&[("0 .", 60), ("10 mx.example", 60)], &[]);
        assert_eq!(names(&candidates.expect("hosts")), ["mx.example"]);
    }

    #[test]
    fn this_server_and_what_is_behind_it_are_left_out() {
        let records = [
            ("5 a.example", 60),
            ("10 b.example", 60),
            ("10 us.example", 60),
            ("20 c.example", 60),
        ];
        let candidates = of(&records, &["other.example", "US.example."]).expect("hosts");
        assert_eq!(names(&candidates), ["a.example"]);
        assert_eq!(code(&of(&records, &["a.example"])), "5.4.6");
        let implicit = Candidates::of("us.example", &Outcome::NoData, &["us.example".to_owned()]);
        assert_eq!(code(&implicit), "5.4.6");
    }

    #[test]
    fn only_facts_are_final() {
        let of = |outcome| code(&Candidates::of("example.com", &outcome, &[]));
        assert_eq!(of(Outcome::NoData), "hosts");
        assert_eq!(of(Outcome::NxDomain), "5.1.2");
        for outcome in [Outcome::ServFail, Outcome::Refused, Outcome::TimedOut] {
            assert_eq!(of(outcome), "not now");
        }
    }

    #[test]
    fn customers_of_one_operator_are_one_group() {
        for (records, group) in [
            (&["10 aspmx.l.google.com", "20 alt1.aspmx.l.google.com"][..], "google.com"),
            (&["10 mx1.mail.example.co.uk"], "example.co.uk"),
            (&["10 b.one.example", "10 a.two.example"], "one.example+two.example"),
            (&["20 a.two.example", "10 b.one.example"], "one.example+two.example"),
            (&["10 github.io"], "github.io"),
            (&["10 localhost"], "localhost"),
        ] {
            let records: Vec<_> = records.iter().map(|it| (*it, 60)).collect();
            for _ in 0..8 {
                assert_eq!(of(&records, &[]).expect("hosts").group, group, "{records:?}");
            }
        }
    }
}
