//! The lookups of one check, each made once.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::wire_types;
use crate::dns::{self, Outcome, Resolver, text};
use crate::plugin::domain::{Lookup, Observation, RecordType};

/// What the lookups of a check may take together.
const MAX_LOOKUP_TIME: Duration = Duration::from_mins(1);
/// Octets of answers that are kept of one check; what is beyond is judged and not kept.
const MAX_ANSWER_OCTETS: usize = 512 << 10;

/// One lookup and what was seen.
#[derive(Debug)]
pub struct MadeLookup {
    /// The id by which the policy knows it.
    pub id: String,
    pub name: String,
    pub record_type: RecordType,
    pub seen: dns::Observation,
}

/// All lookups of a check.
#[derive(Debug)]
pub struct Lookups {
    made: Vec<MadeLookup>,
    until: Instant,
}

impl Lookups {
    /// None yet; what is not answered by `MAX_LOOKUP_TIME` from now has timed out, so that slow name servers
    /// delay a check and never keep it from its end.
    #[must_use]
    pub fn begin() -> Self {
        Self { made: Vec::new(), until: Instant::now() + MAX_LOOKUP_TIME }
    }

    /// Lookups that were made.
    #[cfg(test)]
    #[must_use]
    pub fn of_tests(made: Vec<MadeLookup>) -> Self {
        Self { made, ..Self::begin() }
    }

    /// Makes lookups beside each other; one that was made before is not made again.
    pub async fn make(&mut self, resolver: &Resolver, lookups: Vec<Lookup>) {
        let (known, until) = (&self, self.until);
        let seen = lookups.into_iter().map(|it| async move {
            let known = known.of(&it.name, it.record_type).map(|known| known.seen.clone());
            let seen = if let Some(seen) = known {
                seen
            } else {
                let look_up = resolver.look_up(&it.name, wire_types::dns_type(it.record_type));
                timeout_at(until, look_up).await.unwrap_or_else(|_| resolver.unseen())
            };
            MadeLookup { id: it.id, name: it.name, record_type: it.record_type, seen }
        });
        let seen = join_all(seen).await;
        self.made.extend(seen);
    }

    #[must_use]
    pub fn of(&self, name: &str, record_type: RecordType) -> Option<&MadeLookup> {
        let same =
            |it: &&MadeLookup| it.record_type == record_type && it.name.eq_ignore_ascii_case(name);
        self.made.iter().find(same)
    }

    /// Whether a text was seen in any record, in letters of either case.
    #[must_use]
    pub fn show(&self, wanted: &str) -> bool {
        self.made.iter().any(|made| shows(&made.seen.outcome, wanted))
    }

    /// What the policy is shown.
    #[must_use]
    pub fn observations(&self) -> Vec<Observation> {
        self.made.iter().map(|made| wire_types::observation(&made.id, &made.seen)).collect()
    }

    /// What is kept: the exact data in presentation format, who answered, and when.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut left = MAX_ANSWER_OCTETS;
        let keep = |made: &MadeLookup| {
            let answers = made.seen.outcome.answers();
            let size: usize = answers.iter().map(|answer| answer.data.len()).sum();
            let fits = size <= left;
            left -= if fits { size } else { 0 };
            let answer = |it: &dns::Answer| json!({"data": it.data, "ttl": it.ttl});
            let kept: Vec<Value> = answers.iter().filter(|_| fits).map(answer).collect();
            json!({
                "id": made.id,
                "name": made.name,
                "type": wire_types::record_type_name(made.record_type),
                "outcome": wire_types::outcome_name(&made.seen.outcome),
                "answers": kept,
                "tooLargeToKeep": !fits,
                "cnameChain": made.seen.cname_chain,
                "dnssecSecure": made.seen.dnssec_secure,
                "resolver": made.seen.resolver,
                "at": made.seen.at.rfc3339(),
            })
        };
        self.made.iter().map(keep).collect()
    }
}

/// Whether a text stands in an answer, in letters of either case.
pub fn shows(outcome: &Outcome, wanted: &str) -> bool {
    let has = |data: &str| {
        let text = text(data);
        text.windows(wanted.len().max(1)).any(|it| it.eq_ignore_ascii_case(wanted.as_bytes()))
    };
    outcome.answers().iter().any(|answer| has(&answer.data))
}
