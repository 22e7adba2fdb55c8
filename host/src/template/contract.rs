//! What the data of a send must be: made once of the variables of a version, and held against every send.
//!
//! The data stays text. A value is read only as far as something is said of it: what no type, format or member is
//! known of is not looked at, so that a template without them costs a look-up for each name.

mod look;

use super::variable::{Variable, VariableFormat, VariableType};
use look::Looked;

/// Faults of the data of one send that are looked for; a list may hold many.
const MAX_DATA_FAULTS: usize = 200;
/// Members of the data of one send that are named because nothing reads them.
pub const MAX_UNREAD_NAMED: usize = 20;
/// Characters of such a name: a client chooses them.
const MAX_UNREAD_CHARS: usize = 100;

/// What the data of a version must be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contract {
    root: Member,
}

/// A place in the data that a template reads, or that leads to one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    pub value_type: Option<VariableType>,
    pub format: Option<VariableFormat>,
    /// Whether a send without it is refused, where what is around it is there.
    pub required: bool,
    /// Whether the value is read as it is, with all that is in it.
    pub whole: bool,
    /// The members of an object, by name in their order.
    pub members: Vec<(Box<str>, Member)>,
    /// Each item of a list.
    pub item: Option<Box<Member>>,
    /// Whether a type or a format is declared of it, or of what is in it.
    demands: bool,
}

/// What is wrong with the data, and what nothing reads of it.
#[derive(Debug, Default)]
pub struct DataCheck {
    pub faults: Vec<DataFault>,
    /// At most one more than [`MAX_UNREAD_NAMED`]; within bounds, and without control characters.
    pub unread: Vec<String>,
}

/// A value that is not what the author declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataFault {
    /// Where it stands, with the places in lists: `items[2].price`.
    pub path: String,
    pub wanted: Wanted,
}

/// What the author declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    Type(VariableType),
    Format(VariableFormat),
}

impl Wanted {
    /// For programs.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Type(_) => "type",
            Self::Format(_) => "format",
        }
    }
}

/// `must be of the type string`, `must be a date of RFC 3339, as …`.
impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Type(wanted) => write!(f, "must be of the type {}", wanted.as_str()),
            Self::Format(wanted) => write!(f, "must be {}", wanted.wanted()),
        }
    }
}

impl Contract {
    #[must_use]
    pub fn of(variables: &[Variable]) -> Self {
        let mut root = Member::default();
        for variable in variables {
            root.add(&variable.path, variable);
        }
        root.note_demands();
        Self { root }
    }

    /// The data as a whole: an object.
    #[must_use]
    pub fn root(&self) -> &Member {
        &self.root
    }

    /// Looks through the data of a send, which are names and values as JSON text.
    #[must_use]
    pub fn check<'d>(&self, data: impl Iterator<Item = (&'d str, &'d str)>) -> DataCheck {
        // Not every renderer says what its templates read.
        if self.root.is_leaf() {
            return DataCheck::default();
        }
        let mut looked = Looked::default();
        for (name, value) in data {
            looked.member(&self.root, name, value);
        }
        looked.end()
    }
}

impl Member {
    /// The member of that name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&Self> {
        let at = self.members.binary_search_by(|(it, _)| (**it).cmp(name)).ok()?;
        self.members.get(at).map(|(_, member)| member)
    }

    /// Whether it is no more than a value, as far as is known.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.members.is_empty() && self.item.is_none()
    }

    /// Adds what is said of a path below it, as in `user.name` or `[].price`.
    fn add(&mut self, path: &str, variable: &Variable) {
        let (step, rest) = Step::first(path);
        match step {
            Step::End => {
                self.value_type = variable.value_type;
                self.format = variable.format;
                self.required = variable.required;
                self.whole |= !variable.declared_only;
            }
            Step::Name(name) => {
                // Of a list, an object or a text as it is.
                self.whole |= matches!(name, "first" | "last" | "size");
                self.below(name).add(rest, variable);
            }
            Step::Each => self.item.get_or_insert_default().add(rest, variable),
            Step::Other => self.whole = true,
        }
    }

    fn note_demands(&mut self) -> bool {
        self.demands = self.value_type.is_some() || self.format.is_some();
        for (_, member) in &mut self.members {
            self.demands |= member.note_demands();
        }
        if let Some(item) = &mut self.item {
            self.demands |= item.note_demands();
        }
        self.demands
    }

    fn below(&mut self, name: &str) -> &mut Self {
        let at = match self.members.binary_search_by(|(it, _)| (**it).cmp(name)) {
            Ok(at) => at,
            Err(at) => {
                self.members.insert(at, (name.into(), Self::default()));
                at
            }
        };
        &mut self.members[at].1
    }
}

/// A step of a path.
enum Step<'p> {
    End,
    Name(&'p str),
    /// `[]`
    Each,
    /// One item, as in `[0]` or `["first"]`: nothing is said of the others.
    Other,
}

impl<'p> Step<'p> {
    /// The first step of a path, and what follows it: `items[].price` is `items` and `[].price`.
    fn first(path: &'p str) -> (Self, &'p str) {
        if path.is_empty() {
            return (Self::End, "");
        }
        if let Some(rest) = path.strip_prefix("[]") {
            return (Self::Each, rest);
        }
        if path.starts_with('[') {
            return (Self::Other, "");
        }
        let path = path.strip_prefix('.').unwrap_or(path);
        let (name, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
        (Self::Name(name), rest)
    }
}

#[cfg(test)]
mod tests;
