//! What one resolver's answer means for one requirement, and what several mean together.

use waxwing_plugin::domain_policy::{Observation, Outcome, RecordType, Requirement, Status};

use crate::text::{shown, unquoted};

/// The most records of one answer that a finding repeats.
const SHOWN_RECORDS: usize = 10;

/// A finding that does not know its requirement yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub status: Status,
    pub found: Vec<String>,
    pub hint: String,
}

impl Reading {
    pub fn satisfied(found: &[String], hint: impl Into<String>) -> Self {
        Self::new(Status::Satisfied, found, hint)
    }

    pub fn missing(found: &[String], hint: impl Into<String>) -> Self {
        Self::new(Status::Missing, found, hint)
    }

    pub fn wrong(found: &[String], hint: impl Into<String>) -> Self {
        Self::new(Status::Wrong, found, hint)
    }

    pub fn unknown(hint: impl Into<String>) -> Self {
        Self::new(Status::Unknown, &[], hint)
    }

    /// There is nothing at the name at all.
    pub fn absent(requirement: &Requirement) -> Self {
        let Requirement { name, suggested_value, .. } = requirement;
        let kind = kind(requirement);
        Self::missing(
            &[],
            format!(
                "There is no {kind} record at {name}. Add one with the value `{suggested_value}`. If \
                 you have added it, check that your DNS provider did not append the domain a second \
                 time to the name; a new record can take some minutes to be seen."
            ),
        )
    }

    fn new(status: Status, found: &[String], hint: impl Into<String>) -> Self {
        let found = found.iter().take(SHOWN_RECORDS).map(|it| shown(it)).collect();
        Self { status, found, hint: hint.into() }
    }
}

/// Reads each resolver's answer with `judge`, and takes them together.
pub fn read_each<'a>(
    requirement: &Requirement,
    observations: impl Iterator<Item = &'a Observation>,
    mut judge: impl FnMut(&[String]) -> Reading,
) -> Reading {
    together(
        observations.map(|it| (it.resolver.as_str(), read(requirement, it, &mut judge))).collect(),
    )
}

/// Reads one resolver's answer; `judge` sees the records' data, out of their quotes.
pub fn read(
    requirement: &Requirement,
    observation: &Observation,
    judge: impl FnOnce(&[String]) -> Reading,
) -> Reading {
    match records(&observation.outcome) {
        Ok(records) => judge(&records),
        Err(NoRecords::Absent) => Reading::absent(requirement),
        Err(NoRecords::Failed(why)) => Reading::unknown(format!(
            "The look-up of {} failed: {why}. It will be tried again; nothing is known to be wrong \
             with the record.",
            requirement.name
        )),
    }
}

/// Why an answer has no records.
pub enum NoRecords {
    Absent,
    Failed(&'static str),
}

/// The data of an answer's records, out of their quotes.
pub fn records(outcome: &Outcome) -> Result<Vec<String>, NoRecords> {
    match outcome {
        Outcome::Answers(answers) if !answers.is_empty() => {
            Ok(answers.iter().map(|it| unquoted(&it.data)).collect())
        }
        Outcome::Answers(_) | Outcome::NoData | Outcome::NxDomain => Err(NoRecords::Absent),
        Outcome::ServFail => Err(NoRecords::Failed(
            "the domain's name servers do not answer properly, or its DNSSEC is broken",
        )),
        Outcome::Refused => Err(NoRecords::Failed("the name server refused to answer")),
        Outcome::TimedOut => Err(NoRecords::Failed("no answer came in time")),
    }
}

/// Resolvers that failed have no say. Those that disagree are between the old record and the new.
pub fn together(mut readings: Vec<(&str, Reading)>) -> Reading {
    let at = |wanted: Status| readings.iter().position(|(_, it)| it.status == wanted);
    let satisfied = at(Status::Satisfied);
    let unsatisfied = at(Status::Wrong).or_else(|| at(Status::Missing));
    match (satisfied, unsatisfied) {
        (Some(good), Some(bad)) => {
            let hint = format!(
                "The right record is published and is spreading: {} sees it, {} does not yet. There \
                 is nothing to do but wait. {} says: {}",
                readings[good].0, readings[bad].0, readings[bad].0, readings[bad].1.hint
            );
            Reading { status: Status::Propagating, hint, ..readings.swap_remove(good).1 }
        }
        (Some(index), None) | (None, Some(index)) => readings.swap_remove(index).1,
        (None, None) => match readings.pop() {
            Some((_, unknown)) => unknown,
            None => Reading::unknown("This record has not been looked up yet."),
        },
    }
}

/// The record's type as an account holder sees it at the DNS provider.
fn kind(requirement: &Requirement) -> &'static str {
    if requirement.record_type == RecordType::Cname { "CNAME" } else { "TXT" }
}
