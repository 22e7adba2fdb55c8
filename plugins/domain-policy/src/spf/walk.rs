//! Whether a record lets this server send, over its includes, within the bounds of RFC 7208 4.6.4.

use waxwing_plugin::dns::{bare, same_host};

use crate::seen::{Further, Seen};
use crate::spf::record::{Record, Term, is_spf};

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
    directly(record, include).unwrap_or_else(|| {
        let mut walk = Walk { include, look_ups: 0, visited: Vec::new(), open: None };
        match (walk.evaluate(record, 1, seen), walk.open) {
            (Sending::Allowed, _) => Sending::Allowed,
            (_, Some(open)) => open,
            (sending, None) => sending,
        }
    })
}

/// What the record says itself; none if only its includes can say. What stands before the match
/// costs one look-up each, which is the least that it can cost.
fn directly(record: &Record, include: &str) -> Option<Sending> {
    let mut look_ups = 0;
    let within = |look_ups, sending| {
        Some(if look_ups > MOST_LOOK_UPS { Sending::TooManyLookUps } else { sending })
    };
    for term in record.read_terms() {
        match term {
            Term::Include { name, passes } => {
                look_ups += 1;
                if same_host(name, include) {
                    let sending = if *passes { Sending::Allowed } else { Sending::Negated };
                    return within(look_ups, sending);
                }
            }
            Term::LookUp => look_ups += 1,
            Term::Address | Term::All => {}
        }
    }
    if record.followed_redirect().is_some_and(|it| same_host(it, include)) {
        return within(look_ups + 1, Sending::Allowed);
    }
    let ours = |it: &Term| matches!(it, Term::Include { name, .. } if same_host(name, include));
    record.unread_terms().iter().any(ours).then_some(Sending::AfterAll)
}

/// An evaluation in the order of receivers: depth first, one count of look-ups for all levels.
struct Walk<'a> {
    include: &'a str,
    look_ups: usize,
    visited: Vec<String>,
    /// What could not be decided on the way: pending before unseen.
    open: Option<Sending>,
}

impl Walk<'_> {
    fn evaluate(&mut self, record: &Record, depth: u8, seen: &mut Seen<'_>) -> Sending {
        for term in record.read_terms() {
            let (name, passes) = match term {
                Term::Address | Term::All => continue,
                Term::LookUp => (None, false),
                Term::Include { name, passes } => (Some(name.as_str()), *passes),
            };
            if let Some(end) = self.step(name, passes, depth, seen) {
                return end;
            }
        }
        let redirect = record.followed_redirect();
        redirect
            .and_then(|it| self.step(Some(it), true, depth, seen))
            .unwrap_or(Sending::NotAllowed)
    }

    /// One look-up, over `name` if it leads to another record. Some if it ends the evaluation.
    fn step(
        &mut self,
        name: Option<&str>,
        passes: bool,
        depth: u8,
        seen: &mut Seen<'_>,
    ) -> Option<Sending> {
        self.look_ups += 1;
        if self.look_ups > MOST_LOOK_UPS {
            return Some(Sending::TooManyLookUps);
        }
        let name = name?;
        if same_host(name, self.include) {
            return Some(if passes { Sending::Allowed } else { Sending::NotAllowed });
        }
        if !passes {
            return None;
        }
        match self.over(name, depth, seen) {
            Sending::Pending => self.open = Some(Sending::Pending),
            Sending::Unseen(name) => {
                self.open.get_or_insert(Sending::Unseen(name));
            }
            end @ (Sending::Allowed | Sending::TooManyLookUps) => return Some(end),
            // An include that does not match is passed over (RFC 7208 section 5.2).
            Sending::NotAllowed | Sending::Negated | Sending::AfterAll => {}
        }
        None
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
            Ok(record) => self.evaluate(&record, depth + 1, seen),
            Err(_) => Sending::NotAllowed,
        }
    }
}
