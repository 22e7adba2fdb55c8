//! One look at the data of a send, as text.

use std::borrow::Cow;
use std::fmt;
use std::ptr;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::member::{Member, Whole};
use crate::template::variable::{VariableFormat, VariableType};

/// Faults of the data of one send that are looked for; a list may hold many.
pub const MAX_DATA_FAULTS: usize = 200;
/// Members of the data of one send that are named because nothing reads them.
pub const MAX_UNREAD_NAMED: usize = 20;
/// Characters of such a name: a client chooses them.
pub const MAX_UNREAD_CHARS: usize = 100;

/// What is wrong with the data, and what nothing reads of it.
#[derive(Debug, Default)]
pub struct DataCheck {
    pub faults: Vec<DataFault>,
    /// At most one more than [`MAX_UNREAD_NAMED`]; within bounds, and without control characters. A member of the items
    /// of a list is named once, as `items[].price`.
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

/// What was found so far.
#[derive(Default)]
pub struct Looked<'m> {
    found: DataCheck,
    /// In which object each unread member stands, and its name: the items of a list have them all alike.
    unread_in: Vec<(&'m Member, Box<str>)>,
}

/// The way to a value, from the inside out.
#[derive(Clone, Copy)]
enum Place<'p> {
    Name(Option<&'p Place<'p>>, &'p str),
    Item(&'p Place<'p>, usize),
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(None, name) => f.write_str(name),
            Self::Name(Some(around), name) => write!(f, "{around}.{name}"),
            Self::Item(around, index) => write!(f, "{around}[{index}]"),
        }
    }
}

impl Place<'_> {
    /// The same of all items, as in `items[].price`.
    fn of_each_item(&self) -> String {
        match self {
            Self::Name(None, name) => (*name).to_owned(),
            Self::Name(Some(around), name) => format!("{}.{name}", around.of_each_item()),
            Self::Item(around, _) => format!("{}[]", around.of_each_item()),
        }
    }
}

impl<'m> Looked<'m> {
    /// Looks at a member of the data: its name and its value are JSON text.
    pub fn member(&mut self, data: &'m Member, name: &str, value: &str) {
        let name = unquoted(name);
        let place = Place::Name(None, &name);
        let Some((_, member)) = data.member(&name) else { return self.unread(data, place) };
        let may_be_unread = match value.as_bytes().first() {
            Some(b'{') => member.whole == Whole::No,
            Some(b'[') => member.whole != Whole::Yes && member.item.is_some(),
            _ => false,
        };
        if !member.demands && !may_be_unread {
            return;
        }
        if member.is_leaf() && member.format.is_none() {
            // The first character of a value says its type.
            if let Some(wanted) = member.value_type
                && type_of(value).is_some_and(|it| it != wanted)
            {
                self.fault(place, Wanted::Type(wanted));
            }
            return;
        }
        let mut deserializer = serde_json::Deserializer::from_str(value);
        let look = Look { member, place, is_read: false, looked: self };
        let read = look.deserialize(&mut deserializer);
        debug_assert!(read.is_ok(), "the data was read as JSON before: {read:?}");
    }

    pub fn end(self) -> DataCheck {
        self.found
    }

    fn fault(&mut self, place: Place<'_>, wanted: Wanted) {
        if self.found.faults.len() < MAX_DATA_FAULTS {
            self.found.faults.push(DataFault { path: place.to_string(), wanted });
        }
    }

    /// Nothing reads the place, which is a member of what `around` says.
    fn unread(&mut self, around: &'m Member, place: Place<'_>) {
        // Paths do not say whether a dot is part of a name: such a name may be read.
        let Place::Name(_, name) = place else { return };
        if self.found.unread.len() > MAX_UNREAD_NAMED || name.contains(['.', '[']) {
            return;
        }
        let is_same = |(at, it): &(&Member, Box<str>)| ptr::eq(*at, around) && **it == *name;
        if self.unread_in.iter().any(is_same) {
            return;
        }
        self.unread_in.push((around, name.into()));
        let path = place.of_each_item();
        let shown = path.chars().filter(|c| !c.is_control()).take(MAX_UNREAD_CHARS);
        self.found.unread.push(shown.collect());
    }
}

/// A name without its quotes and escapes.
fn unquoted(name: &str) -> Cow<'_, str> {
    let plain = name.strip_prefix('"').and_then(|it| it.strip_suffix('"')).unwrap_or(name);
    if !plain.contains('\\') {
        return plain.into();
    }
    serde_json::from_str::<String>(name).map_or(plain.into(), Cow::Owned)
}

/// The type of a value by its first character; none of `null`, which stands for an absent value.
fn type_of(value: &str) -> Option<VariableType> {
    match value.as_bytes().first()? {
        b'n' => None,
        b't' | b'f' => Some(VariableType::Boolean),
        b'"' => Some(VariableType::String),
        b'[' => Some(VariableType::Array),
        b'{' => Some(VariableType::Object),
        _ => Some(VariableType::Number),
    }
}

/// Looks at one value.
struct Look<'m, 'p, 'l> {
    member: &'m Member,
    place: Place<'p>,
    /// Whether something around it is read with all that is in it.
    is_read: bool,
    looked: &'l mut Looked<'m>,
}

/// What an amount of money must be, and must not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Number {
    /// One that fits into 64 bits with a sign.
    Whole,
    Fractional,
}

impl Look<'_, '_, '_> {
    /// Whether the value may be of this type; else that is a fault.
    fn is(&mut self, found: VariableType) -> bool {
        let wanted = self.member.value_type.filter(|wanted| *wanted != found);
        if let Some(wanted) = wanted {
            self.looked.fault(self.place, Wanted::Type(wanted));
        }
        wanted.is_none()
    }

    fn number(mut self, number: Number) {
        if self.is(VariableType::Number)
            && let Some(format @ VariableFormat::Money) = self.member.format
            && number == Number::Fractional
        {
            self.looked.fault(self.place, Wanted::Format(format));
        }
    }
}

impl<'de> DeserializeSeed<'de> for Look<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Look<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    /// An absent value has any type.
    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(mut self, _: bool) -> Result<(), E> {
        self.is(VariableType::Boolean);
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.number(Number::Whole);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.number(if i64::try_from(number).is_ok() { Number::Whole } else { Number::Fractional });
        Ok(())
    }

    /// 12.0 is the integer 12, as in JSON Schema.
    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        let is_whole = number.to_string().parse::<i64>().is_ok();
        self.number(if is_whole { Number::Whole } else { Number::Fractional });
        Ok(())
    }

    fn visit_str<E>(mut self, text: &str) -> Result<(), E> {
        if self.is(VariableType::String)
            && let Some(format) = self.member.format
            && !format.holds_text(text)
        {
            self.looked.fault(self.place, Wanted::Format(format));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let is_list = self.is(VariableType::Array);
        let is_read = self.is_read || self.member.whole == Whole::Yes;
        let may_be_unread = |it: &Member| !is_read && it.whole != Whole::Yes;
        let is_looked_at = |it: &&Member| is_list && (it.demands || may_be_unread(it));
        let Some(item) = self.member.item.as_deref().filter(is_looked_at) else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let mut index = 0;
        loop {
            let place = Place::Item(&self.place, index);
            let look = Look { member: item, place, is_read, looked: &mut *self.looked };
            if items.next_element_seed(look)?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let is_object = self.is(VariableType::Object);
        if !is_object || self.member.members.is_empty() {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        let is_read = self.is_read || self.member.whole != Whole::No;
        while let Some(name) = entries.next_key_seed(NameIn(self.member))? {
            match name {
                Name::Known(name, member) => {
                    let place = Place::Name(Some(&self.place), name);
                    let look = Look { member, place, is_read, looked: &mut *self.looked };
                    entries.next_value_seed(look)?;
                }
                Name::Other(name) => {
                    entries.next_value::<IgnoredAny>()?;
                    if !is_read {
                        let place = Place::Name(Some(&self.place), &name);
                        self.looked.unread(self.member, place);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reads a name in an object: one that something is known of is not copied.
struct NameIn<'m>(&'m Member);

enum Name<'m> {
    Known(&'m str, &'m Member),
    Other(String),
}

impl<'de, 'm> DeserializeSeed<'de> for NameIn<'m> {
    type Value = Name<'m>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name<'m>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'m> Visitor<'_> for NameIn<'m> {
    type Value = Name<'m>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Name<'m>, E> {
        Ok(match self.0.member(name) {
            Some((name, member)) => Name::Known(name, member),
            None => Name::Other(name.to_owned()),
        })
    }
}
