//! Reads the answers of several resolvers for one requirement.

use crate::domain_policy::{Observation, Requirement, Status};

use super::chain;
use super::outcome::{NoRecords, records};
use super::reading::Reading;

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
    let links = &observation.cname_chain;
    match records(&observation.outcome) {
        Ok(records) => chain::led(requirement, links, judge(&records)),
        Err(NoRecords::Absent) => chain::dangling(requirement, links),
        Err(NoRecords::Failed(why)) => chain::failed(requirement, links, why),
    }
}

/// What several resolvers' readings mean together: resolvers that failed have no say, and those that
/// disagree are between the old record and the new.
#[must_use]
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
