//! One SPF record, parsed as far as the question "does it let this server send" needs.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A record that receivers can evaluate.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// Mechanisms in their order; that decides which one speaks first.
    pub terms: Vec<Term>,
    /// Where evaluation goes on if there is no `all`.
    pub redirect: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Term {
    /// `passes` is false for `-`, `~` and `?`.
    Include { name: String, passes: bool },
    /// `a`, `mx`, `ptr`, `exists`: costs one lookup.
    LookUp,
    /// `ip4`, `ip6`: costs nothing.
    Address,
    /// Nothing after it is read. It `passes` everybody or nobody.
    All { passes: bool },
}

/// Why receivers answer `permerror` to a record.
#[derive(Debug, PartialEq, Eq)]
pub enum SpfFault {
    UnknownTerm(String),
    BadValue(String),
    TwoRedirects,
}

impl SpfFault {
    /// What is wrong, as the end of "The SPF record …".
    pub fn sentence(&self) -> String {
        match self {
            Self::UnknownTerm(term) => format!("has `{term}`, which SPF does not know"),
            Self::BadValue(term) => format!("has `{term}`, which is not complete or not valid"),
            Self::TwoRedirects => "has `redirect=` more than once".to_owned(),
        }
    }
}

/// Whether a TXT record is an SPF record: the version, then a space or nothing (RFC 7208 4.5).
pub fn is_spf(text: &str) -> bool {
    text.split(' ').next().is_some_and(|it| it.eq_ignore_ascii_case("v=spf1"))
}

/// Whether a TXT record looks as if it was meant as one.
pub fn resembles_spf(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(5).collect();
    start.eq_ignore_ascii_case("v=spf") || start.eq_ignore_ascii_case("spf1 ")
}

impl Record {
    /// Parses a record for which [`is_spf`] holds (RFC 7208 section 12; names in any case).
    pub fn parse(text: &str) -> Result<Self, SpfFault> {
        let mut record = Self { terms: Vec::new(), redirect: None };
        for term in text.split_ascii_whitespace().skip(1) {
            match modifier(term) {
                Some((name, value)) if name.eq_ignore_ascii_case("redirect") => {
                    if value.is_empty() {
                        return Err(SpfFault::BadValue(brief(term)));
                    }
                    if record.redirect.replace(value.to_owned()).is_some() {
                        return Err(SpfFault::TwoRedirects);
                    }
                }
                Some(_) => {}
                None => record.terms.push(mechanism(term)?),
            }
        }
        Ok(record)
    }

    /// Mechanisms that receivers read: those up to `all`.
    pub fn read_terms(&self) -> &[Term] {
        &self.terms[..self.all().unwrap_or(self.terms.len())]
    }

    /// Mechanisms that stand after `all`, where receivers never come.
    pub fn unread_terms(&self) -> &[Term] {
        self.all().map_or(&[], |it| &self.terms[it..])
    }

    /// `redirect=` counts only where there is no `all` (RFC 7208 section 6.1).
    pub fn followed_redirect(&self) -> Option<&str> {
        self.redirect.as_deref().filter(|_| self.all().is_none())
    }

    /// Whether the record's `all` passes everybody.
    pub fn passes_everybody(&self) -> bool {
        self.all().is_some_and(|it| self.terms[it] == Term::All { passes: true })
    }

    /// Whether there is any server that it may pass.
    pub fn may_pass(&self) -> bool {
        !self.read_terms().is_empty()
            || self.followed_redirect().is_some()
            || self.passes_everybody()
    }

    fn all(&self) -> Option<usize> {
        self.terms.iter().position(|it| matches!(it, Term::All { .. }))
    }
}

/// `name=value`, where the name comes before any `:` or `/`.
fn modifier(term: &str) -> Option<(&str, &str)> {
    let (name, value) = term.split_once('=')?;
    let valid = name.starts_with(|it: char| it.is_ascii_alphabetic())
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it));
    valid.then_some((name, value))
}

fn mechanism(term: &str) -> Result<Term, SpfFault> {
    let passes = !term.starts_with(['-', '~', '?']);
    let bare = term.strip_prefix(['+', '-', '~', '?']).unwrap_or(term);
    let (name, value) = match bare.find([':', '/']) {
        Some(at) => bare.split_at(at),
        None => (bare, ""),
    };
    let after_colon = value.strip_prefix(':').filter(|it| !it.is_empty());
    let bad = || SpfFault::BadValue(brief(term));
    match name.to_ascii_lowercase().as_str() {
        "all" if value.is_empty() => Ok(Term::All { passes }),
        "include" => {
            let name = after_colon.ok_or_else(bad)?.to_owned();
            Ok(Term::Include { name, passes })
        }
        "exists" => after_colon.map(|_| Term::LookUp).ok_or_else(bad),
        "a" | "mx" | "ptr" if value == ":" => Err(bad()),
        "a" | "mx" | "ptr" => Ok(Term::LookUp),
        "ip4" if after_colon.is_some_and(|it| is_network::<Ipv4Addr>(it, 32)) => Ok(Term::Address),
        "ip6" if after_colon.is_some_and(|it| is_network::<Ipv6Addr>(it, 128)) => Ok(Term::Address),
        "all" | "ip4" | "ip6" => Err(bad()),
        _ => Err(SpfFault::UnknownTerm(brief(term))),
    }
}

fn is_network<A: std::str::FromStr>(text: &str, longest: u8) -> bool {
    let (address, prefix) = text.split_once('/').unwrap_or((text, "0"));
    address.parse::<A>().is_ok() && prefix.parse::<u8>().is_ok_and(|it| it <= longest)
}

fn brief(term: &str) -> String {
    term.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn include(name: &str, passes: bool) -> Term {
        Term::Include { name: name.to_owned(), passes }
    }

    #[test]
    fn the_version_is_exact_in_any_case() {
        assert!(is_spf("v=spf1") && is_spf("V=SPF1 -all"));
        assert!(!is_spf("v=spf10 -all") && !is_spf(" v=spf1") && !is_spf("v=spf2.0/pra"));
        assert!(resembles_spf(" v=spf1") && resembles_spf("v=spf2.0") && !resembles_spf("google"));
    }

    #[test]
    fn mechanisms_keep_their_order_qualifiers_and_values() {
        let text = "v=spf1 +A mx:m.example/24 IP4:192.0.2.0/24 ip6:2001:db8::/32 -include:x ?ALL";
        let terms = Record::parse(text).expect("a record").terms;
        assert_eq!(
            terms,
            [
                Term::LookUp,
                Term::LookUp,
                Term::Address,
                Term::Address,
                include("x", false),
                Term::All { passes: false }
            ]
        );
    }

    #[test]
    fn what_stands_after_all_is_not_read() {
        let record = Record::parse("v=spf1 a -all include:x redirect=y").expect("a record");
        assert_eq!(record.read_terms(), [Term::LookUp]);
        assert!(record.unread_terms().contains(&include("x", true)));
        assert_eq!(record.followed_redirect(), None);
        let record = Record::parse("v=spf1 a redirect=y exp=z unknown=1").expect("a record");
        assert_eq!(record.followed_redirect(), Some("y"));
    }

    #[test]
    fn a_record_that_passes_nobody_is_told_from_one_that_passes_everybody() {
        let of = |it: &str| Record::parse(it).expect("a record");
        assert!(!of("v=spf1 -all").may_pass() && !of("v=spf1").may_pass());
        assert!(of("v=spf1 ip4:192.0.2.1 -all").may_pass() && of("v=spf1 redirect=a").may_pass());
        assert!(of("v=spf1 all").passes_everybody() && !of("v=spf1 ?all").passes_everybody());
    }

    #[test]
    fn what_receivers_cannot_evaluate_is_refused() {
        let unknown = |it: &str| Err(SpfFault::UnknownTerm(it.to_owned()));
        let bad = |it: &str| Err(SpfFault::BadValue(it.to_owned()));
        assert_eq!(Record::parse("v=spf1 incude:x -all"), unknown("incude:x"));
        assert_eq!(Record::parse("v=spf1 192.0.2.1"), unknown("192.0.2.1"));
        assert_eq!(Record::parse("v=spf1 include: -all"), bad("include:"));
        assert_eq!(Record::parse("v=spf1 ip4:192.0.2/24"), bad("ip4:192.0.2/24"));
        assert_eq!(Record::parse("v=spf1 ip4:192.0.2.0/33"), bad("ip4:192.0.2.0/33"));
        assert_eq!(Record::parse("v=spf1 redirect=a redirect=b"), Err(SpfFault::TwoRedirects));
    }
}
