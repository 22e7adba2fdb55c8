//! The records of one answer, or why there are none.

use crate::domain_policy::Outcome;

use super::text::unquoted;

/// Why an answer has no records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRecords {
    /// There are none at the name.
    Absent,
    /// The lookup failed, and why.
    Failed(&'static str),
}

/// The data of an answer's records, out of their quotes.
///
/// # Errors
/// There are none, or the lookup failed.
pub fn records(outcome: &Outcome) -> Result<Vec<String>, NoRecords> {
    match outcome {
        Outcome::Answers(answers) if !answers.is_empty() => {
            Ok(answers.iter().map(|it| unquoted(&it.data)).collect())
        }
        Outcome::Answers(_) | Outcome::NoData | Outcome::NxDomain => Err(NoRecords::Absent),
        Outcome::ServFail => Err(NoRecords::Failed(
            "the domain's name servers did not answer properly, or its DNSSEC is broken",
        )),
        Outcome::Refused => Err(NoRecords::Failed("the name server refused to answer")),
        Outcome::TimedOut => Err(NoRecords::Failed("no answer came in time")),
    }
}
