//! What was looked up so far, and what to look up next: never the same twice, never without bound.
//!
//! The host allows 20 further names, and a domain has up to eight records of its own while keys are
//! rotated: twelve more are 20 in all, however they are counted. Of these SPF may have ten
//! for its includes, so that it never takes the place of the rest.

use waxwing_plugin::dns::{NoRecords, records};
use waxwing_plugin::domain_policy::{Lookup, Observation, RecordType};

/// Further names in all.
const MAX_FURTHER_LOOKUPS: usize = 12;

/// Names that SPF records include.
const MAX_INCLUDES: usize = 10;

/// How the ids of lookups for includes begin.
const INCLUDE: &str = "include:";

/// The observations of one judgement, and the lookups that it still wants.
pub struct Seen<'a> {
    observations: &'a [Observation],
    further: Vec<Lookup>,
    /// Further lookups of earlier rounds: those that belong to no requirement.
    asked: Vec<&'a str>,
}

/// What a further lookup brought.
pub enum Further {
    Records(Vec<String>),
    Absent,
    Failed,
    /// It is not looked up: there were enough.
    Beyond,
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
        Self { observations, further: Vec::new(), asked }
    }

    /// All observations of one lookup, one for each resolver.
    pub fn of(&self, id: &str) -> impl Iterator<Item = &'a Observation> + use<'a> {
        let id = id.to_owned();
        self.observations.iter().filter(move |it| it.lookup_id == id)
    }

    /// The TXT records at a name that an SPF record includes.
    pub fn included(&mut self, name: &str) -> Further {
        self.txt(&format!("{INCLUDE}{name}"), name)
    }

    /// The TXT records at `name`. Asks for them unless they were looked up.
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
        if !self.has_room_for(id) {
            return Further::Beyond;
        }
        let (id, name) = (id.to_owned(), name.to_owned());
        self.further.push(Lookup { id, name, record_type: RecordType::Txt });
        Further::Pending
    }

    fn has_room_for(&self, id: &str) -> bool {
        let ids = || self.asked.iter().copied().chain(self.further.iter().map(|it| it.id.as_str()));
        let includes = || ids().filter(|it| it.starts_with(INCLUDE));
        ids().count() < MAX_FURTHER_LOOKUPS
            && (!id.starts_with(INCLUDE) || includes().count() < MAX_INCLUDES)
    }

    /// What the judgement waits for; empty if it waits for nothing.
    pub fn into_further(self) -> Vec<Lookup> {
        self.further
    }
}
