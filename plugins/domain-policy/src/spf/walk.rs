//! Whether a record lets this server send, over its includes, within the bounds of RFC 7208 4.6.4.

use crate::seen::{Further, Seen};
use crate::spf::record::{Record, Term, is_spf};
use crate::text::{bare, same_host};

/// Receivers give up on a record that costs more look-ups.
pub const MOST_LOOK_UPS: usize = 10;

/// Each level of includes is a round of the host, which has three.
const DEEPEST: u8 = 2;

/// What a record means for this server.
#[derive(Debug, PartialEq, Eq)]
pub enum Sending {
    Allowed,
    NotAllowed,
    /// The include is there, with a `-`, `~` or `?` before it.
    Negated,
    /// The include is there, after `all`.
    AfterAll,
    TooManyLookUps,
    /// A record on the way could not be seen.
    Unseen(String),
    /// Further look-ups are under way.
    Pending,
}

/// Evaluates `record` for the server whose own record is at `include`.
pub fn sending(record: &Record, include: &str, seen: &mut Seen<'_>) -> Sending {
    let mut walk = Walk { include, look_ups: 0, visited: Vec::new(), open: None };
    if let Some(sending) = walk.directly(record) {
        return sending;
    }
    walk.over_includes(record, 1, seen)
}

struct Walk<'a> {
    include: &'a str,
    look_ups: usize,
    visited: Vec<String>,
    /// What could not be decided so far: pending before unseen.
    open: Option<Sending>,
}

impl Walk<'_> {
    /// What the record itself says; none if only its includes can say more. Receivers stop at the
    /// first match, so only what stands before it costs look-ups.
    fn directly(&mut self, record: &Record) -> Option<Sending> {
        let mut negated = false;
        for term in record.read_terms() {
            match term {
                Term::Include { name, passes } => {
                    self.look_ups += 1;
                    if same_host(name, self.include) {
                        if *passes && !negated {
                            return Some(self.allowed());
                        }
                        negated = true;
                    }
                }
                Term::LookUp => self.look_ups += 1,
                Term::Address | Term::All => {}
            }
        }
        if negated {
            return Some(Sending::Negated);
        }
        if let Some(name) = record.followed_redirect() {
            self.look_ups += 1;
            if same_host(name, self.include) {
                return Some(self.allowed());
            }
        }
        if self.look_ups > MOST_LOOK_UPS {
            return Some(Sending::TooManyLookUps);
        }
        let is_ours =
            |it: &Term| matches!(it, Term::Include { name, .. } if same_host(name, self.include));
        record.unread_terms().iter().any(is_ours).then_some(Sending::AfterAll)
    }

    fn allowed(&self) -> Sending {
        if self.look_ups > MOST_LOOK_UPS { Sending::TooManyLookUps } else { Sending::Allowed }
    }

    fn over_includes(&mut self, record: &Record, depth: u8, seen: &mut Seen<'_>) -> Sending {
        let includes = record.read_terms().iter().filter_map(|term| match term {
            Term::Include { name, passes: true } => Some(name.as_str()),
            Term::Include { .. } | Term::LookUp | Term::Address | Term::All => None,
        });
        for name in includes.chain(record.followed_redirect()) {
            match self.over(name, depth, seen) {
                Sending::Allowed => return Sending::Allowed,
                Sending::TooManyLookUps => return Sending::TooManyLookUps,
                Sending::Pending => self.open = Some(Sending::Pending),
                Sending::Unseen(name) => {
                    self.open.get_or_insert(Sending::Unseen(name));
                }
                Sending::NotAllowed | Sending::Negated | Sending::AfterAll => {}
            }
        }
        // An inner level leaves what is open to the outermost, which reports it.
        if depth == 1 { self.open.take().unwrap_or(Sending::NotAllowed) } else { Sending::NotAllowed }
    }

    fn over(&mut self, name: &str, depth: u8, seen: &mut Seen<'_>) -> Sending {
        let name = bare(name).to_ascii_lowercase();
        // Macros depend on the message, so there is no record to look at (RFC 7208 section 7).
        if name.contains('%') || depth > DEEPEST || self.visited.contains(&name) {
            return Sending::NotAllowed;
        }
        self.visited.push(name.clone());
        let records = match seen.txt(&format!("include:{name}"), &name) {
            Further::Records(records) => records,
            Further::Absent => return Sending::NotAllowed,
            Further::Failed => return Sending::Unseen(name),
            Further::Pending => return Sending::Pending,
        };
        let mut policies = records.iter().filter(|it| is_spf(it));
        let (Some(policy), None) = (policies.next(), policies.next()) else {
            return Sending::NotAllowed;
        };
        match Record::parse(policy) {
            Ok(record) => match self.directly(&record) {
                Some(sending) => sending,
                None => self.over_includes(&record, depth + 1, seen),
            },
            Err(_) => Sending::NotAllowed,
        }
    }
}
