//! What a reply says, along its CNAMEs.

use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::{DNSClass, Name, RData, Record, RecordType as Wire};

use super::name::shown;
use super::observation::{Answer, Outcome, RecordType};
use super::text::presentation;

/// The most CNAMEs that are followed.
const MAX_ALIASES: usize = 8;
/// The most answers of one lookup, and the most bytes of their data. The first is kept whole.
const MAX_ANSWERS: usize = 64;
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The names of one lookup so far: the asked one and the targets of CNAMEs after it.
#[derive(Debug)]
pub(super) struct Chain {
    asked: Name,
    targets: Vec<Name>,
    secure: bool,
}

/// What comes after a reply.
#[derive(Debug)]
pub(super) enum Step {
    /// Its CNAMEs lead on: the last of the names is to be queried.
    Asks,
    /// The lookup ends.
    Ends(Outcome),
}

impl Chain {
    pub(super) fn of(asked: Name) -> Self {
        Self { asked, targets: Vec::new(), secure: true }
    }

    /// The name to ask for.
    pub(super) fn last(&self) -> &Name {
        self.targets.last().unwrap_or(&self.asked)
    }

    pub(super) fn is_secure(&self) -> bool {
        self.secure
    }

    /// The targets, as they are shown.
    pub(super) fn targets(&self) -> Vec<String> {
        self.targets.iter().map(shown).collect()
    }

    /// Takes in a reply to a question for the last name. Only records of that name and of the
    /// targets that it leads to count; whatever else a reply holds was not queried.
    pub(super) fn follow(&mut self, reply: &Message, record_type: RecordType) -> Step {
        self.secure &= reply.metadata.authentic_data;
        let already = self.targets.len();
        loop {
            let own = |it: &&Record| it.name == *self.last() && it.dns_class == DNSClass::IN;
            let own: Vec<&Record> = reply.answers.iter().filter(own).collect();
            // Record data of no length at all: made wrongly, and no statement of any kind.
            if own.iter().any(|it| matches!(it.data, RData::Update0(_))) {
                return Step::Ends(Outcome::ServFail);
            }
            let answers = of_type(&own, record_type.wire());
            if !answers.is_empty() {
                return Step::Ends(kept(answers));
            }
            let Some(target) = own.iter().find_map(|it| alias(it)) else { break };
            let seen = self.asked == *target || self.targets.contains(target);
            let endless = seen || self.targets.len() >= MAX_ALIASES;
            self.targets.push(target.clone());
            if endless {
                return Step::Ends(Outcome::ServFail);
            }
        }
        // With a chain, the code is that of its end (RFC 6604 section 2).
        if reply.metadata.response_code == ResponseCode::NXDomain {
            Step::Ends(Outcome::NxDomain)
        } else if self.targets.len() > already {
            Step::Asks
        } else if !reply.answers.iter().any(|it| it.name == *self.last())
            && !reply.answers.is_empty()
        {
            // Answers, and none of them to the question: nothing is known.
            Step::Ends(Outcome::ServFail)
        } else {
            Step::Ends(Outcome::NoData)
        }
    }
}

fn alias(record: &Record) -> Option<&Name> {
    if let RData::CNAME(target) = &record.data { Some(&target.0) } else { None }
}

fn of_type(own: &[&Record], record_type: Wire) -> Vec<Answer> {
    let own = own.iter().filter(|it| it.record_type() == record_type);
    own.filter_map(|it| Some(Answer { data: presentation(&it.data)?, ttl: it.ttl })).collect()
}

/// Sorted, so that the same records are kept in whatever order they came.
fn kept(mut answers: Vec<Answer>) -> Outcome {
    answers.sort_unstable();
    answers.dedup_by(|one, other| one.data == other.data);
    answers.truncate(MAX_ANSWERS);
    let mut bytes = 0;
    let fitting = answers.iter().take_while(|it| {
        bytes += it.data.len();
        bytes <= MAX_ANSWER_BYTES
    });
    let fitting = fitting.count().max(1);
    answers.truncate(fitting);
    Outcome::Answers(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_data_is_not_taken_for_no_data() {
        let name = Name::from_ascii("example.com.").expect("a name");
        for record_type in [Wire::TXT, Wire::CNAME] {
            let mut reply = Message::query();
            let empty = RData::Update0(record_type);
            reply.answers.push(Record::from_rdata(name.clone(), 60, empty));
            let step = Chain::of(name.clone()).follow(&reply, RecordType::Txt);
            assert!(matches!(step, Step::Ends(Outcome::ServFail)), "{step:?}");
        }
    }
}
