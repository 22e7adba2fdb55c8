//! Faults by name.

use std::collections::HashMap;
use std::time::Duration;

use hickory_server::proto::rr::LowerName;

use crate::zone::lower;

/// What goes wrong with the answers for a name and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    ServFail,
    Refused,
    /// NOTIMP, as of a server that does not know the type.
    NotImplemented,
    /// No answer, over UDP and TCP.
    Silent,
    /// The next so many queries are lost, later ones answered.
    Lost(u32),
    /// The right answer, after this time.
    Slow(Duration),
    /// Nothing but the TC bit over UDP, the right answer over TCP.
    Truncated,
    /// Nothing but the TC bit over UDP, no answer over TCP.
    NoTcp,
    /// An answer whose record does not parse.
    Malformed,
    /// The right answer between records of other names.
    Unrelated,
    /// Of a chain of CNAMEs only the first, as an authoritative server gives it.
    OneLink,
}

/// Which names fail how.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    everywhere: Option<Fault>,
    below: HashMap<LowerName, Fault>,
}

impl Faults {
    pub(crate) fn set(&mut self, name: &str, fault: Fault) {
        self.below.insert(lower(name), fault);
    }

    pub(crate) fn clear(&mut self, name: &str) {
        self.below.remove(&lower(name));
    }

    pub(crate) fn everywhere(&mut self, fault: Option<Fault>) {
        self.everywhere = fault;
    }

    /// The fault that the next query for `name` meets.
    pub(crate) fn meet(&mut self, name: &LowerName) -> Option<Fault> {
        if let Some(fault) = &mut self.everywhere {
            return spend(fault);
        }
        let mut name = name.clone();
        loop {
            if let Some(fault) = self.below.get_mut(&name) {
                return spend(fault);
            }
            if name.is_root() {
                return None;
            }
            name = name.base_name();
        }
    }
}

fn spend(fault: &mut Fault) -> Option<Fault> {
    if let Fault::Lost(left) = fault {
        *left = left.checked_sub(1)?;
        return Some(Fault::Silent);
    }
    Some(*fault)
}
