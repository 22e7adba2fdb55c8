//! What is known of one place in the data of a template.

use crate::template::variable::{Variable, VariableFormat, VariableType};

/// A place in the data that a template reads, or that leads to one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Member {
    pub value_type: Option<VariableType>,
    pub format: Option<VariableFormat>,
    /// Whether a send without it is refused, where what is around it is there.
    pub required: bool,
    pub whole: Whole,
    /// The members of an object, by name in their order.
    pub members: Vec<(Box<str>, Member)>,
    /// Each item of a list.
    pub item: Option<Box<Member>>,
    /// Whether a type or a format is declared of it, or of what is in it.
    pub demands: bool,
}

/// Whether a value is read as it is, with all that is in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whole {
    #[default]
    No,
    /// Where it is a list, without its items: a loop that reads members of these reads nothing else of them.
    ButItems,
    Yes,
}

/// What there is in a place, or in one within it.
struct Within {
    demands: bool,
    is_read: bool,
}

impl Member {
    /// The member of that name, with its name.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<(&str, &Self)> {
        let at = self.members.binary_search_by(|(it, _)| (**it).cmp(name)).ok()?;
        self.members.get(at).map(|(name, member)| (&**name, member))
    }

    /// Whether it is no more than a value, as far as is known.
    #[must_use]
    pub fn is_leaf(&self) -> bool {
        self.members.is_empty() && self.item.is_none()
    }

    /// Adds what is said of a path below it, as in `user.name` or `[].price`.
    pub fn add(&mut self, path: &str, variable: &Variable) {
        let (step, rest) = Step::first(path);
        match step {
            Step::End => {
                self.value_type = variable.value_type;
                self.format = variable.format;
                self.required = variable.required;
                if !variable.declared_only {
                    self.read_whole(Whole::ButItems);
                }
            }
            Step::Name(name) => {
                // Of a list, an object or a text as it is.
                match name {
                    "first" | "last" => self.read_whole(Whole::Yes),
                    "size" => self.read_whole(Whole::ButItems),
                    _ => {}
                }
                self.below(name).add(rest, variable);
            }
            Step::Each => self.item.get_or_insert_default().add(rest, variable),
            Step::Other => self.read_whole(Whole::Yes),
        }
    }

    fn read_whole(&mut self, whole: Whole) {
        self.whole = self.whole.max(whole);
    }

    /// Notes where something is declared, and what is read as it is: once all is added.
    pub fn settle(&mut self) {
        self.within();
    }

    fn within(&mut self) -> Within {
        let mut all = Within {
            demands: self.value_type.is_some() || self.format.is_some(),
            is_read: self.whole != Whole::No,
        };
        for (_, member) in &mut self.members {
            let inner = member.within();
            all.demands |= inner.demands;
            all.is_read |= inner.is_read;
        }
        let item = self.item.as_mut().map(|item| item.within());
        if self.whole == Whole::ButItems && !item.as_ref().is_some_and(|it| it.is_read) {
            self.whole = Whole::Yes;
        }
        if let Some(item) = item {
            all.demands |= item.demands;
            all.is_read |= item.is_read;
        }
        self.demands = all.demands;
        all
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
