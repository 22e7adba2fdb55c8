//! What public DNS shows of the host's records.

use std::net::IpAddr;

use futures_util::future::join_all;

use super::{HostRecord, Proof};
use crate::account::ip_network::IpNetwork;
use crate::dns::{Outcome, RecordType, Resolver, text};

/// A record, and what was seen of it.
#[derive(Debug)]
pub struct Finding {
    pub record: HostRecord,
    pub standing: Standing,
    /// The records of the type that are there, of a TXT record those of SPF.
    pub seen: Vec<String>,
    /// Who was asked.
    pub resolver: String,
}

/// How a record stands in public DNS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Seen,
    /// There is another one, or one too many.
    Differs,
    Missing,
    /// No name server answered.
    Unknown,
}

impl Standing {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Seen => "seen",
            Self::Differs => "differs",
            Self::Missing => "missing",
            Self::Unknown => "unknown",
        }
    }
}

/// Looks all of them up.
pub async fn observe(resolver: &Resolver, records: Vec<HostRecord>) -> Vec<Finding> {
    let findings = records.into_iter().map(|record| async move {
        let observation = resolver.look_up(&record.name, record.record_type).await;
        let answers = observation.outcome.answers().iter().map(|it| it.data.as_str());
        let seen = seen(record.record_type, answers);
        let standing = standing(&record, &observation.outcome, &seen);
        Finding { record, standing, seen, resolver: observation.resolver }
    });
    join_all(findings).await
}

impl Finding {
    /// What to do; none where nothing is to be done.
    #[must_use]
    pub fn advice(&self) -> Option<String> {
        let advice = match (self.standing, self.record.record_type) {
            (Standing::Seen, _) => return None,
            (Standing::Unknown, _) => {
                return Some(format!(
                    "no answer from {}: try again, or name other servers in [dns] nameservers",
                    self.resolver
                ));
            }
            (Standing::Missing, RecordType::Ptr) => {
                "whoever gave this machine the address sets it: look for \"reverse DNS\" there"
            }
            (Standing::Missing, _) => "publish it",
            (Standing::Differs, RecordType::Ptr) => {
                "let the address have this name and no other, with whoever gave it to this machine"
            }
            (Standing::Differs, RecordType::A | RecordType::Aaaa) => {
                "the name leads to another machine: replace the record, or give the right --address"
            }
            (Standing::Differs, RecordType::Txt) if self.seen.len() > 1 => {
                "a name with several SPF records has none: leave one of them"
            }
            (Standing::Differs, RecordType::Txt) => {
                "the SPF record does not let this server send: replace it, or add what it lacks"
            }
            (Standing::Differs, _) => "replace what is there",
        };
        Some(advice.to_owned())
    }
}

/// What is shown of answers: a TXT record as its text, and of several those that are SPF.
fn seen<'a>(record_type: RecordType, answers: impl Iterator<Item = &'a str>) -> Vec<String> {
    if record_type != RecordType::Txt {
        return answers.map(str::to_owned).collect();
    }
    let texts = answers.map(|it| String::from_utf8_lossy(&text(it)).into_owned());
    let is_spf = |it: &String| {
        it.split(' ').next().is_some_and(|version| version.eq_ignore_ascii_case("v=spf1"))
    };
    texts.filter(is_spf).collect()
}

fn standing(record: &HostRecord, outcome: &Outcome, seen: &[String]) -> Standing {
    if outcome.is_failure() {
        return Standing::Unknown;
    }
    let Some(first) = seen.first() else { return Standing::Missing };
    let holds = match (record.record_type, &record.proof) {
        (RecordType::Mx, _) => {
            let host =
                |value: &str| value.split(' ').nth(1).map(|it| it.trim_end_matches('.').to_owned());
            seen.iter().all(|it| host(it) == host(&record.value))
        }
        (RecordType::Ptr, _) => seen.len() == 1 && *first == record.value.trim_end_matches('.'),
        (_, Proof::Value) => seen.contains(&record.value),
        (_, Proof::SpfOfOthers) => seen.len() == 1,
        (_, Proof::SpfOf { host, addresses }) => {
            seen.len() == 1
                && (first.eq_ignore_ascii_case(&record.value)
                    || addresses.iter().all(|it| lets_send(first, *it, (&record.name, host))))
        }
    };
    if holds { Standing::Seen } else { Standing::Differs }
}

/// Whether a mechanism of an SPF record plainly names an address, or the host by its name.
fn lets_send(spf: &str, address: IpAddr, (name, host): (&str, &str)) -> bool {
    spf.to_ascii_lowercase().split_ascii_whitespace().skip(1).any(|term| {
        let term = term.strip_prefix('+').unwrap_or(term);
        match term.split_once(':') {
            None => term == "a" && name == host,
            Some(("a", target)) => target.trim_end_matches('.') == host,
            Some(("ip4" | "ip6", network)) => {
                network.parse::<IpNetwork>().is_ok_and(|it| it.contains(address))
            }
            Some(_) => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::Answer;

    fn spf(addresses: &[&str]) -> HostRecord {
        HostRecord {
            name: "spf.mail.example.net".to_owned(),
            record_type: RecordType::Txt,
            value: "v=spf1 a:mail.example.net -all".to_owned(),
            purpose: "",
            proof: Proof::SpfOf {
                host: "mail.example.net".to_owned(),
                addresses: addresses.iter().map(|it| it.parse().expect("an address")).collect(),
            },
        }
    }

    fn judged(record: &HostRecord, answers: &[&str]) -> Standing {
        let all = answers.iter().map(|it| Answer { data: (*it).to_owned(), ttl: 60 });
        let outcome = Outcome::Answers(all.collect());
        standing(record, &outcome, &seen(record.record_type, answers.iter().copied()))
    }

    #[test]
    fn an_spf_record_of_another_wording_counts_if_it_lets_the_host_send() {
        let record = spf(&["192.0.2.25", "2001:db8::25"]);
        for (answers, wanted) in [
            (&[r#""v=spf1 a:mail.example.net -all""#][..], Standing::Seen),
            (&[r#""v=spf1 ip4:192.0.2.0/24 ip6:2001:db8::25 -all""#], Standing::Seen),
            (&[r#""V=SPF1 A:MAIL.example.net. ~all""#, r#""something else""#], Standing::Seen),
            (&[r#""v=spf1 ip4:192.0.2.0/24 -all""#], Standing::Differs),
            (&[r#""v=spf1 -ip4:192.0.2.25 a -all""#], Standing::Differs),
            (&[r#""v=spf1 a:mail.example.net -all""#, r#""v=spf1 -all""#], Standing::Differs),
            (&[r#""v=spf10 a:mail.example.net -all""#], Standing::Missing),
        ] {
            assert_eq!(judged(&record, answers), wanted, "{answers:?}");
        }
        let others = HostRecord { proof: Proof::SpfOfOthers, ..record };
        assert_eq!(judged(&others, &[r#""v=spf1 include:spf.example.com -all""#]), Standing::Seen);
    }

    #[test]
    fn a_name_of_an_address_and_a_mail_exchanger_stand_alone() {
        let record = |record_type, value: &str| HostRecord {
            record_type,
            value: value.to_owned(),
            proof: Proof::Value,
            ..spf(&[])
        };
        let ptr = record(RecordType::Ptr, "mail.example.net.");
        assert_eq!(judged(&ptr, &["mail.example.net"]), Standing::Seen);
        assert_eq!(judged(&ptr, &["mail.example.net", "other.example"]), Standing::Differs);
        let mx = record(RecordType::Mx, "10 mail.example.net.");
        assert_eq!(judged(&mx, &["5 mail.example.net"]), Standing::Seen);
        assert_eq!(judged(&mx, &["10 mail.example.net", "20 other.example"]), Standing::Differs);
        let a = record(RecordType::A, "192.0.2.25");
        assert_eq!(judged(&a, &["192.0.2.26"]), Standing::Differs);
        assert_eq!(standing(&a, &Outcome::TimedOut, &[]), Standing::Unknown);
        assert_eq!(standing(&a, &Outcome::NxDomain, &[]), Standing::Missing);
    }
}
