//! The domains, by number, and what DNS says of each: the records of one of them, under its own name.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;
use waxwing_dns::DnsServer;

/// The domain that the others are made after.
pub const ORIGINAL: &str = "load-aaaaaa.example";
/// Its part that the others have another of. What an eye sees of it is the same, letter by letter.
pub const ORIGINAL_LABEL: &str = "load-aaaaaa";

const FAMILY: &str = "load-";
const TOP: &str = ".example";

/// A question, without the domain that it is about: `_dmarc` and `TXT`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// Empty for the domain itself.
    prefix: String,
    pub record_type: String,
}

/// What each domain publishes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publication(BTreeMap<Question, Vec<String>>);

/// The label of a domain. Numbers begin with 1: the original has none.
pub fn label(number: u32) -> String {
    // Ten letters that no other letter looks like, so that no domain looks like another.
    let letter = |digit: char| match digit {
        '0' => 'a',
        '1' => 'b',
        '2' => 'c',
        '3' => 'd',
        '4' => 'e',
        '5' => 'f',
        '6' => 'g',
        '7' => 'h',
        '8' => 'j',
        _ => 'k',
    };
    format!("{number:06}").chars().fold(FAMILY.to_owned(), |mut label, digit| {
        label.push(letter(digit));
        label
    })
}

impl Question {
    /// The question about a name of one of the domains, and that domain's label.
    fn parse<'a>(name: &'a str, record_type: &str) -> Option<(Self, &'a str)> {
        let host = name.strip_suffix(TOP)?;
        let (prefix, label) = host.rsplit_once('.').unwrap_or(("", host));
        let question = Self { prefix: prefix.to_owned(), record_type: record_type.to_owned() };
        label.starts_with(FAMILY).then_some((question, label))
    }

    /// The name to ask for, absolute.
    pub fn name(&self, label: &str) -> String {
        let dot = if self.prefix.is_empty() { "" } else { "." };
        format!("{}{dot}{label}{TOP}.", self.prefix)
    }

    /// All questions that a server was asked; every one is about a domain.
    pub fn all(asked: &[(String, String)]) -> io::Result<Vec<Self>> {
        let about = |(name, record_type): &(String, String)| {
            let question = Self::parse(name, record_type).map(|(question, _)| question);
            question.ok_or_else(|| io::Error::other(format!("{name} {record_type} was asked for")))
        };
        asked.iter().map(about).collect()
    }
}

impl Publication {
    /// From the records of the original, as the server lists them.
    pub fn of(records: &Value) -> io::Result<Self> {
        let mut publication = BTreeMap::<_, Vec<String>>::new();
        for record in records.as_array().into_iter().flatten() {
            let text = |field: &str| record[field].as_str().unwrap_or_default();
            let question = Question::parse(text("name"), text("type"));
            let (question, _) = question.ok_or_else(|| {
                io::Error::other(format!("no record of {ORIGINAL}: {}", text("name")))
            })?;
            let mut value = text("value").to_owned();
            if question.record_type == "CNAME" {
                value.push('.');
            }
            publication.entry(question).or_default().push(value);
        }
        if publication.is_empty() {
            return Err(io::Error::other("the server wants no record at all"));
        }
        Ok(Self(publication))
    }

    /// Lets a server answer for every domain.
    pub fn serve(self, dns: &DnsServer) {
        dns.answer_any(move |name, record_type| self.answer(name, record_type));
    }

    fn answer(&self, name: &str, record_type: &str) -> Option<Vec<String>> {
        let (question, label) = Question::parse(name, record_type)?;
        let values = self.0.get(&question)?;
        Some(values.iter().map(|value| value.replace(ORIGINAL_LABEL, label)).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_domain_has_a_label_of_its_own() {
        assert_eq!(format!("{}{TOP}", label(0)), ORIGINAL);
        assert_eq!(label(0), ORIGINAL_LABEL);
        assert_eq!((label(1).as_str(), label(234_567).as_str()), ("load-aaaaab", "load-cdefgh"));
    }

    #[test]
    fn each_domain_publishes_the_records_of_the_original_under_its_own_name() {
        let records = json!([
            {"type": "TXT", "name": "_waxwing.load-aaaaaa.example", "value": "waxwing=1"},
            {"type": "TXT", "name": "load-aaaaaa.example", "value": "v=spf1 a:load-aaaaaa.example"},
            {"type": "CNAME", "name": "bounce.load-aaaaaa.example", "value": "bounce.host"},
        ]);
        let publication = Publication::of(&records).expect("records");
        let answer = |name: &str, record_type: &str| publication.answer(name, record_type);
        let one = |text: &str| Some(vec![text.to_owned()]);
        assert_eq!(answer("_waxwing.load-aaaaab.example", "TXT"), one("waxwing=1"));
        assert_eq!(answer("load-aaaaab.example", "TXT"), one("v=spf1 a:load-aaaaab.example"));
        assert_eq!(answer("bounce.load-aaaaab.example", "CNAME"), one("bounce.host."));
        assert_eq!(answer("bounce.load-aaaaab.example", "TXT"), None);
        assert_eq!(answer("bounce.host", "TXT"), None);
    }

    #[test]
    fn a_question_comes_back_about_another_domain() {
        let asked = [
            ("a._domainkey.load-aaaaaa.example".to_owned(), "TXT".to_owned()),
            ("load-aaaaaa.example".to_owned(), "TXT".to_owned()),
        ];
        let questions = Question::all(&asked).expect("about domains");
        let names: Vec<String> = questions.iter().map(|it| it.name(&label(1))).collect();
        assert_eq!(names, ["a._domainkey.load-aaaaab.example.", "load-aaaaab.example."]);
        assert!(Question::all(&[("host.test".to_owned(), "TXT".to_owned())]).is_err());
    }
}
