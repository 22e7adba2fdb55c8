//! What exists: records by name, and how a question is answered from them (RFC 1034 section 4.3.2).

use std::collections::{BTreeMap, HashSet};
use std::str::FromStr;

use hickory_server::proto::rr::rdata::{CNAME, SOA, TXT};
use hickory_server::proto::rr::{LowerName, Name, RData, Record, RecordType};

/// The seconds that every record may be cached.
const TTL: u32 = 300;
/// The longest chain of CNAMEs that is followed, as resolvers in the field do.
const CHAIN: usize = 16;

/// All records. `LowerName` sorts from the root downwards, so a sub-tree is a range.
#[derive(Debug, Default)]
pub(crate) struct Zone {
    nodes: BTreeMap<LowerName, Vec<RData>>,
    secure: HashSet<LowerName>,
}

/// An answer before it is a message.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) answers: Vec<Record>,
    pub(crate) nx_domain: bool,
    pub(crate) secure: bool,
}

/// What a single name holds of a type.
enum Found {
    Answers(Vec<RData>),
    Alias(Name),
    NoData,
    NxDomain,
}

impl Zone {
    pub(crate) fn add(&mut self, name: &str, data: RData) {
        let node = self.nodes.entry(lower(name)).or_default();
        if matches!(data, RData::CNAME(_)) {
            node.retain(|it| !matches!(it, RData::CNAME(_)));
        }
        if !node.contains(&data) {
            node.push(data);
        }
    }

    pub(crate) fn remove(&mut self, name: &str, record_type: RecordType) {
        let name = lower(name);
        if let Some(node) = self.nodes.get_mut(&name) {
            node.retain(|it| it.record_type() != record_type);
            if node.is_empty() {
                self.nodes.remove(&name);
            }
        }
    }

    pub(crate) fn remove_all(&mut self, name: &str) {
        self.nodes.remove(&lower(name));
    }

    pub(crate) fn secure(&mut self, name: &str) {
        self.secure.insert(lower(name));
    }

    /// Answers a question, along at most `links` CNAMEs.
    pub(crate) fn answer(&self, asked: &Name, record_type: RecordType, links: Links) -> Reply {
        let mut reply = Reply { secure: true, ..Reply::default() };
        let mut name = asked.clone();
        let mut seen = HashSet::new();
        loop {
            let key = LowerName::new(&name);
            reply.secure &= self.is_secure(&key);
            match self.find(&key, record_type) {
                Found::Answers(data) => {
                    reply.answers.extend(data.into_iter().map(|it| record(name.clone(), it)));
                    return reply;
                }
                Found::NoData => return reply,
                Found::NxDomain => {
                    reply.nx_domain = true;
                    return reply;
                }
                Found::Alias(target) => {
                    reply.answers.push(record(name, RData::CNAME(CNAME(target.clone()))));
                    seen.insert(key);
                    let end = match links {
                        Links::One => true,
                        Links::All => {
                            seen.len() >= CHAIN || seen.contains(&LowerName::new(&target))
                        }
                    };
                    if end {
                        return reply;
                    }
                    name = target;
                }
            }
        }
    }

    fn find(&self, name: &LowerName, record_type: RecordType) -> Found {
        if let Some(node) = self.nodes.get(name) {
            return of_type(node, record_type);
        }
        if self.exists(name) {
            return Found::NoData;
        }
        let mut encloser = name.base_name();
        while !self.exists(&encloser) {
            encloser = encloser.base_name();
        }
        let wildcard = Name::from_str("*")
            .and_then(|star| star.append_domain(&Name::from(&encloser)))
            .map(|it| LowerName::new(&it));
        let node = wildcard.ok().and_then(|it| self.nodes.get(&it));
        node.map_or(Found::NxDomain, |node| of_type(node, record_type))
    }

    /// Whether there is anything at a name or below it; the root always is.
    fn exists(&self, name: &LowerName) -> bool {
        name.is_root()
            || self.nodes.range(name..).next().is_some_and(|(first, _)| name.zone_of(first))
    }

    fn is_secure(&self, name: &LowerName) -> bool {
        self.secure.iter().any(|it| it.zone_of(name))
    }
}

/// How far a chain of CNAMEs is followed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Links {
    One,
    All,
}

fn of_type(node: &[RData], record_type: RecordType) -> Found {
    let mut alias = None;
    let mut answers = Vec::new();
    for data in node {
        if data.record_type() == record_type {
            answers.push(data.clone());
        } else if let RData::CNAME(CNAME(target)) = data {
            alias = Some(target.clone());
        }
    }
    match alias {
        Some(target) => Found::Alias(target),
        None if answers.is_empty() => Found::NoData,
        None => Found::Answers(answers),
    }
}

/// A record of this server.
pub(crate) fn record(name: Name, data: RData) -> Record {
    Record::from_rdata(name, TTL, data)
}

/// The SOA that comes with "no such name" and "no data".
pub(crate) fn start_of_authority() -> Record {
    let soa = SOA::new(absolute("ns.invalid"), absolute("admin.invalid"), 1, 3600, 600, 86_400, 60);
    record(Name::root(), RData::SOA(soa))
}

/// Record data from its presentation; a TXT value is taken as it is.
pub(crate) fn parsed(record_type: RecordType, presentation: &str) -> RData {
    if record_type == RecordType::TXT {
        return RData::TXT(TXT::from_bytes(presentation.as_bytes().chunks(255).collect()));
    }
    RData::try_from_str(record_type, presentation).expect("record data in presentation form")
}

/// A name without its last dot, as an absolute one; the root is "" or ".".
pub(crate) fn absolute(name: &str) -> Name {
    if name.is_empty() || name == "." {
        return Name::root();
    }
    Name::from_ascii(format!("{name}.")).expect("a domain name")
}

/// The same, to look up by.
pub(crate) fn lower(name: &str) -> LowerName {
    LowerName::new(&absolute(name))
}
