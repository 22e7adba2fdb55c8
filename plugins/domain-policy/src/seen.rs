//! What was looked up so far, and what to look up next: never the same twice, never without bound.

use waxwing_plugin::dns::{NoRecords, records};
use waxwing_plugin::domain_policy::{Lookup, Observation, RecordType};

/// The host allows 20 names in all; requirements have look-ups of their own.
const MOST_FURTHER: usize = 12;

/// The observations of one judgement, and the look-ups that it still wants.
pub struct Seen<'a> {
    observations: &'a [Observation],
    further: Vec<Lookup>,
    /// Further look-ups of earlier rounds: those that belong to no requirement.
    asked: usize,
}

/// What a further look-up brought.
pub enum Further {
    Records(Vec<String>),
    Absent,
    Failed,
    /// It is being asked for now: the verdict waits for it.
    Pending,
}

impl<'a> Seen<'a> {
    /// `own` are the requirements' ids, which the host looks up by itself.
    pub fn new(observations: &'a [Observation], own: &[&str]) -> Self {
        let mut asked: Vec<&str> = observations.iter().map(|it| it.lookup_id.as_str()).collect();
        asked.retain(|it| !own.contains(it));
        asked.sort_unstable();
        asked.dedup();
        Self { observations, further: Vec::new(), asked: asked.len() }
    }

    /// All observations of one look-up, one for each resolver.
    pub fn of(&self, id: &str) -> impl Iterator<Item = &'a Observation> + use<'a> {
        let id = id.to_owned();
        self.observations.iter().filter(move |it| it.lookup_id == id)
    }

    /// The TXT records at `name`. Asks for them unless they were looked up; past the bound they
    /// count as failed.
    pub fn txt(&mut self, id: &str, name: &str) -> Further {
        let mut failed = false;
        let mut absent = false;
        for observation in self.of(id) {
            match records(&observation.outcome) {
                Ok(records) => return Further::Records(records),
                Err(NoRecords::Absent) => absent = true,
                Err(NoRecords::Failed(_)) => failed = true,
            }
        }
        if absent {
            return Further::Absent;
        }
        if failed {
            return Further::Failed;
        }
        if self.further.iter().any(|it| it.id == id) {
            return Further::Pending;
        }
        if self.asked + self.further.len() >= MOST_FURTHER {
            return Further::Failed;
        }
        let (id, name) = (id.to_owned(), name.to_owned());
        self.further.push(Lookup { id, name, record_type: RecordType::Txt });
        Further::Pending
    }

    /// What the judgement waits for; empty if it waits for nothing.
    pub fn into_further(self) -> Vec<Lookup> {
        self.further
    }
}
