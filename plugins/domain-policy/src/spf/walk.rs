//! Whether a record lets this server send, as receivers evaluate it (RFC 7208 sections 4.6.4, 5, 6).
//!
//! What stands before this server's include is followed, for it may use up the ten lookups or end
//! the evaluation. Lookups of `a`, `mx` and `exists` count, but whether they are void is not seen.

use waxwing_plugin::dns::{bare, same_host};

use crate::seen::{Further, Seen};
use crate::spf::record::{Record, SpfFault, Term, is_spf};

/// Receivers give up on a record that costs more lookups.
pub const MAX_LOOKUPS: usize = 10;

/// Each level of includes is a round of the host, which has three.
const DEEPEST: usize = 3;

/// What a record means for this server.
#[derive(Debug, PartialEq, Eq)]
pub enum Sending {
    Allowed,
    /// By `+all`: everybody may send.
    Everybody,
    NotNamed,
    /// The same, as far as the includes can be followed.
    NotNamedSoFar,
    /// The include is there, with a `-`, `~` or `?` before it.
    Negated,
    /// The include is there, after `all`.
    AfterAll,
    TooManyLookups,
    /// Receivers give up at an included name.
    Broken(String, Broken),
    /// A record on the way could not be seen.
    Unseen(String),
    /// Further lookups are under way.
    Pending,
}

/// Why receivers give up at an included name.
#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    NoRecord,
    SeveralRecords,
    Fault(SpfFault),
    /// It includes what it is included by.
    Circle,
}

impl Broken {
    /// What is wrong, as the end of "The record includes a name that …".
    pub fn sentence(&self) -> String {
        match self {
            Self::NoRecord => "has no SPF record".to_owned(),
            Self::SeveralRecords => "has several SPF records".to_owned(),
            Self::Fault(fault) => fault.sentence(),
            Self::Circle => "leads back to itself".to_owned(),
        }
    }
}

/// Evaluates the `record` at `name` for the server whose own record is at `include`.
pub fn sending(name: &str, record: &Record, include: &str, seen: &mut Seen<'_>) -> Sending {
    let path = vec![bare(name).to_ascii_lowercase()];
    let mut walk =
        Walk { include, lookups: 0, path, open: None, beyond: Beyond::No, by: By::Include };
    let matched = walk.evaluate(record, seen);
    if let Some(open) = walk.open {
        return open;
    }
    let ours = |it: &&Term| matches!(it, Term::Include { name, .. } if same_host(name, include));
    match matched {
        Matched::Pass => match walk.by {
            By::Include => Sending::Allowed,
            By::All => Sending::Everybody,
        },
        Matched::Ended(why) => why,
        Matched::Refused if record.read_terms().iter().any(|it| ours(&it)) => Sending::Negated,
        Matched::Nobody if record.unread_terms().iter().any(|it| ours(&it)) => Sending::AfterAll,
        Matched::Refused | Matched::Nobody => match walk.beyond {
            Beyond::No => Sending::NotNamed,
            Beyond::Yes => Sending::NotNamedSoFar,
        },
    }
}

/// What one record says of this server.
enum Matched {
    Pass,
    /// It is matched by a mechanism with `-`, `~` or `?`.
    Refused,
    Nobody,
    /// Receivers give up here.
    Ended(Sending),
}

/// Whether there are records that were not followed.
enum Beyond {
    No,
    Yes,
}

/// What matched.
enum By {
    Include,
    All,
}

/// An evaluation in the order of receivers: depth first, one count of lookups for all levels.
struct Walk<'a> {
    include: &'a str,
    lookups: usize,
    /// The names from the domain down to the record that is evaluated.
    path: Vec<String>,
    /// What could not be decided on the way: pending before unseen.
    open: Option<Sending>,
    beyond: Beyond,
    by: By,
}

impl Walk<'_> {
    fn evaluate(&mut self, record: &Record, seen: &mut Seen<'_>) -> Matched {
        for term in record.read_terms() {
            let matched = match term {
                Term::Address | Term::All { .. } => continue,
                Term::LookUp => self.count().unwrap_or(Matched::Nobody),
                Term::Include { name, .. } => self.over(name, seen),
            };
            match (matched, term) {
                (Matched::Pass, Term::Include { passes: false, .. }) => return Matched::Refused,
                (end @ (Matched::Pass | Matched::Ended(_)), _) => return end,
                // An include that does not match is passed over (RFC 7208 section 5.2).
                (Matched::Refused | Matched::Nobody, _) => {}
            }
        }
        if record.passes_everybody() {
            self.by = By::All;
            return Matched::Pass;
        }
        record.followed_redirect().map_or(Matched::Nobody, |it| self.over(it, seen))
    }

    /// One lookup more; some if it is one too many.
    fn count(&mut self) -> Option<Matched> {
        self.lookups += 1;
        (self.lookups > MAX_LOOKUPS).then_some(Matched::Ended(Sending::TooManyLookups))
    }

    /// One lookup, of a name that has a record of its own.
    fn over(&mut self, name: &str, seen: &mut Seen<'_>) -> Matched {
        if let Some(end) = self.count() {
            return end;
        }
        let name = bare(name).to_ascii_lowercase();
        if same_host(&name, self.include) {
            self.by = By::Include;
            return Matched::Pass;
        }
        if self.path.contains(&name) {
            return Matched::Ended(Sending::Broken(name, Broken::Circle));
        }
        // Macros depend on the message, so there is no record to look at (RFC 7208 section 7).
        if name.contains('%') || self.path.len() > DEEPEST {
            self.beyond = Beyond::Yes;
            return Matched::Nobody;
        }
        match seen.included(&name) {
            Further::Records(records) => self.into(name, &records, seen),
            Further::Absent => Matched::Ended(Sending::Broken(name, Broken::NoRecord)),
            Further::Failed => {
                self.open.get_or_insert(Sending::Unseen(name));
                Matched::Nobody
            }
            Further::Beyond => {
                self.beyond = Beyond::Yes;
                Matched::Nobody
            }
            Further::Pending => {
                self.open = Some(Sending::Pending);
                Matched::Nobody
            }
        }
    }

    fn into(&mut self, name: String, records: &[String], seen: &mut Seen<'_>) -> Matched {
        let policies: Vec<&String> = records.iter().filter(|it| is_spf(it)).collect();
        let record = match policies[..] {
            [] => Err(Broken::NoRecord),
            [policy] => Record::parse(policy).map_err(Broken::Fault),
            [..] => Err(Broken::SeveralRecords),
        };
        match record {
            Ok(record) => {
                self.path.push(name);
                let matched = self.evaluate(&record, seen);
                self.path.pop();
                matched
            }
            Err(broken) => Matched::Ended(Sending::Broken(name, broken)),
        }
    }
}
