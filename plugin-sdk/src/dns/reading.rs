//! What a resolver's answer means for a requirement.

use crate::domain_policy::{RecordType, Requirement, Status};

use super::slip::slip;
use super::text::{quoted, same_host, shown};

/// The most records of one answer that a finding repeats.
const SHOWN_RECORDS: usize = 10;

/// A finding that does not know its requirement yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What is to be made of the records.
    pub status: Status,
    /// The records, for people: at most 10, shortened.
    pub found: Vec<String>,
    /// What to do, in words.
    pub hint: String,
}

impl Reading {
    /// The records are right.
    pub fn satisfied(found: &[String], hint: impl Into<String>) -> Self {
        Self::new(Status::Satisfied, found, hint)
    }

    /// None of the records is the wanted one.
    pub fn missing(found: &[String], hint: impl Into<String>) -> Self {
        Self::new(Status::Missing, found, hint)
    }

    /// The record is there, with a fault.
    pub fn wrong(found: &[String], hint: impl Into<String>) -> Self {
        Self::new(Status::Wrong, found, hint)
    }

    /// Unknown.
    pub fn unknown(hint: impl Into<String>) -> Self {
        Self::new(Status::Unknown, &[], hint)
    }

    /// There is nothing at the name at all.
    #[must_use]
    pub fn absent(requirement: &Requirement) -> Self {
        let Requirement { name, suggested_value, .. } = requirement;
        let kind = kind(requirement);
        let hidden = match requirement.record_type {
            RecordType::Cname => "does not proxy or flatten the record, which hides it, and ",
            RecordType::A
            | RecordType::Aaaa
            | RecordType::Caa
            | RecordType::Mx
            | RecordType::Ns
            | RecordType::Ptr
            | RecordType::Srv
            | RecordType::Tlsa
            | RecordType::Txt => "",
        };
        Self::missing(
            &[],
            format!(
                "There is no {kind} record at {name}. Add one with the value `{suggested_value}`. If \
                 you have added it, check that your DNS provider {hidden}did not append the domain a \
                 second time to the name; a new record can take some minutes to be seen."
            ),
        )
    }

    /// Satisfied if one of the records has the suggested value: the same host, or the same text but
    /// for white space.
    #[must_use]
    pub fn of_suggested_value(requirement: &Requirement, records: &[String]) -> Self {
        let Requirement { name, suggested_value, record_type, .. } = requirement;
        let is_host = matches!(record_type, RecordType::Cname | RecordType::Ns | RecordType::Ptr);
        let right = |record: &String| {
            if is_host {
                same_host(record, suggested_value)
            } else {
                without_space(record) == without_space(suggested_value)
            }
        };
        if records.iter().any(right) {
            return Self::satisfied(records, "The record is right.");
        }
        let kind = kind(requirement);
        let nearly = |record: &String| slip(record, |it| right(&it.to_owned()));
        let why = records.iter().find_map(nearly).map_or_else(
            || format!("is {}, which is another value", quoted(records)),
            |it| it.sentence().to_owned(),
        );
        Self::wrong(
            records,
            format!("The {kind} record at {name} {why}. Set it to `{suggested_value}`."),
        )
    }

    /// Whether the status is satisfied.
    #[must_use]
    pub fn is_satisfied(&self) -> bool {
        self.status == Status::Satisfied
    }

    fn new(status: Status, found: &[String], hint: impl Into<String>) -> Self {
        let found = found.iter().take(SHOWN_RECORDS).map(|it| shown(it)).collect();
        Self { status, found, hint: hint.into() }
    }
}

/// The record's type as an account holder sees it at the DNS provider.
pub(super) const fn kind(requirement: &Requirement) -> &'static str {
    match requirement.record_type {
        RecordType::A => "A",
        RecordType::Aaaa => "AAAA",
        RecordType::Caa => "CAA",
        RecordType::Cname => "CNAME",
        RecordType::Mx => "MX",
        RecordType::Ns => "NS",
        RecordType::Ptr => "PTR",
        RecordType::Srv => "SRV",
        RecordType::Tlsa => "TLSA",
        RecordType::Txt => "TXT",
    }
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain_policy::Purpose;
    use crate::domain_policy::records::{ownership, txt};
    use crate::testing::domain;

    #[test]
    fn the_suggested_value_satisfies_with_other_white_space_and_no_other_does() {
        let wanted = ownership(&domain("example.com"));
        let status = |it: &str| Reading::of_suggested_value(&wanted, &[it.to_owned()]).status;
        assert_eq!(status(" waxwing-verification =tok3n"), Status::Satisfied);
        assert_eq!(status("waxwing-verification=TOK3N"), Status::Wrong);
        assert_eq!(status(""), Status::Wrong);
    }

    #[test]
    fn another_value_is_repeated_and_quotes_in_the_value_are_explained() {
        let wanted = ownership(&domain("example.com"));
        let hint = |it: &str| Reading::of_suggested_value(&wanted, &[it.to_owned()]).hint;
        assert!(hint("tok2n").contains("is `tok2n`, which is another value"));
        assert!(hint("\"waxwing-verification=tok3n\"").contains("quotation marks"));
    }

    #[test]
    fn a_host_is_the_same_in_any_case_and_with_its_last_dot() {
        let record_type = RecordType::Cname;
        let wanted =
            txt("rp", Purpose::ReturnPath, "b.example.com".into(), "rp.example".into(), "");
        let wanted = Requirement { record_type, ..wanted };
        let reading = Reading::of_suggested_value(&wanted, &["RP.example.".to_owned()]);
        assert_eq!(reading.status, Status::Satisfied);
    }
}
