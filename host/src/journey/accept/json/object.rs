//! An object as text: read once under the rules of all JSON here, and printed without white space as a
//! [`Value`] would be.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::strict::{Flaw, Kind, Scalar, Strict, Tree, note_nul, stands_twice};

/// Names of one object that are compared one by one; more of them are hashed.
const COMPARED_NAMES: usize = 16;

/// A JSON object, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectText {
    text: String,
    members: Vec<Member>,
}

/// Where a member of the object stands in the text, without commas.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Member {
    /// With its quotes.
    name: Range<usize>,
    value: Range<usize>,
}

impl ObjectText {
    /// The whole object.
    #[must_use]
    pub fn text(&self) -> &String {
        &self.text
    }

    /// The object as values.
    ///
    /// # Panics
    /// The text is no object; it was printed from one.
    #[must_use]
    pub fn parsed(&self) -> Map<String, Value> {
        serde_json::from_str(&self.text).expect("it was printed from an object")
    }

    /// The members in their order: each name and value as JSON text.
    pub fn members(&self) -> impl Iterator<Item = (&str, &str)> {
        let at = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        self.members.iter().map(move |it| (at(&it.name), at(&it.value)))
    }
}

/// The empty object.
impl Default for ObjectText {
    fn default() -> Self {
        Self { text: "{}".to_owned(), members: Vec::new() }
    }
}

impl From<&Map<String, Value>> for ObjectText {
    fn from(map: &Map<String, Value>) -> Self {
        let mut printer = Printer::default();
        printer.push("{");
        let mut members = Vec::with_capacity(map.len());
        for (name, value) in map {
            if !members.is_empty() {
                printer.push(",");
            }
            let start = printer.len();
            printer.print(name);
            let end = printer.len();
            printer.push(":");
            printer.print(value);
            members.push(Member { name: start..end, value: end + 1..printer.len() });
        }
        printer.push("}");
        Self { text: printer.finish(), members }
    }
}

/// Reads an object as text, which is expected to have up to so many octets; what is no object as a value.
pub(super) struct Printed {
    pub(super) room: usize,
}

impl Kind for Printed {
    type Made = Result<ObjectText, Value>;

    fn scalar(self, scalar: Scalar<'_>) -> Self::Made {
        Err(Tree.scalar(scalar))
    }

    fn list<'de, A: SeqAccess<'de>>(
        self,
        items: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Self::Made, A::Error> {
        Tree.list(items, flaw).map(Err)
    }

    fn object<'de, A: MapAccess<'de>>(
        self,
        entries: A,
        flaw: &Cell<Flaw>,
    ) -> Result<Self::Made, A::Error> {
        let mut printer = Printer::with_room(self.room);
        let mut members = Vec::new();
        print_object(&mut printer, entries, flaw, |member| members.push(member))?;
        Ok(Ok(ObjectText { text: printer.finish(), members }))
    }
}

/// Text that is being printed.
#[derive(Default)]
struct Printer {
    text: Vec<u8>,
    /// Where the names of each object stand that is not at its end, as they are printed: one name is printed in one
    /// way.
    names: Vec<Range<usize>>,
}

impl Printer {
    fn with_room(octets: usize) -> Self {
        Self { text: Vec::with_capacity(octets), names: Vec::new() }
    }

    fn len(&self) -> usize {
        self.text.len()
    }

    fn push(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    fn print(&mut self, value: &(impl Serialize + ?Sized)) {
        serde_json::to_writer(&mut self.text, value).expect("a vector takes everything");
    }

    /// Prints a text that needs no escapes, because it had none where it was read.
    fn print_plain(&mut self, text: &str) {
        self.push("\"");
        self.push(text);
        self.push("\"");
    }

    fn finish(self) -> String {
        String::from_utf8(self.text).expect("JSON is printed as UTF-8")
    }

    fn has_printed(&self, names: &[Range<usize>], name: &Range<usize>) -> bool {
        let name = self.text.get(name.clone());
        names.iter().any(|it| self.text.get(it.clone()) == name)
    }
}

impl Kind for &mut Printer {
    type Made = ();

    fn scalar(self, scalar: Scalar<'_>) {
        match scalar {
            Scalar::Null => self.push("null"),
            Scalar::Bool(value) => self.print(&value),
            Scalar::Integer(value) => self.print(&value),
            Scalar::Float(value) => self.print(&value),
            Scalar::Text(value) => self.print(&*value),
            Scalar::Plain(value) => self.print_plain(value),
        }
    }

    fn list<'de, A: SeqAccess<'de>>(self, mut items: A, flaw: &Cell<Flaw>) -> Result<(), A::Error> {
        self.push("[");
        let first = self.len();
        while items.next_element_seed(ListItem { printer: &mut *self, first, flaw })?.is_some() {}
        self.push("]");
        Ok(())
    }

    fn object<'de, A: MapAccess<'de>>(self, entries: A, flaw: &Cell<Flaw>) -> Result<(), A::Error> {
        print_object(self, entries, flaw, |_| {})
    }
}

/// An item of a list, which knows only now that it is there.
struct ListItem<'a> {
    printer: &'a mut Printer,
    first: usize,
    flaw: &'a Cell<Flaw>,
}

impl<'de> DeserializeSeed<'de> for ListItem<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.printer.len() > self.first {
            self.printer.push(",");
        }
        Strict { kind: self.printer, flaw: self.flaw }.deserialize(deserializer)
    }
}

fn print_object<'de, A: MapAccess<'de>>(
    printer: &mut Printer,
    mut entries: A,
    flaw: &Cell<Flaw>,
    mut note: impl FnMut(Member),
) -> Result<(), A::Error> {
    printer.push("{");
    let first = printer.names.len();
    let mut hashed = HashSet::new();
    while let Some(Name(name)) = entries.next_key()? {
        note_nul(&name, flaw);
        if printer.names.len() > first {
            printer.push(",");
        }
        let start = printer.len();
        match &name {
            Cow::Borrowed(plain) => printer.print_plain(plain),
            Cow::Owned(name) => printer.print(name),
        }
        let text_of_name = start..printer.len();
        printer.push(":");
        entries.next_value_seed(Strict { kind: &mut *printer, flaw })?;
        note(Member { name: text_of_name.clone(), value: text_of_name.end + 1..printer.len() });
        let names = printer.names.get(first..).unwrap_or_default();
        if printer.has_printed(names, &text_of_name) || hashed.contains(&name) {
            return Err(stands_twice(&name));
        }
        if names.len() < COMPARED_NAMES {
            printer.names.push(text_of_name);
        } else {
            hashed.insert(name);
        }
    }
    printer.names.truncate(first);
    printer.push("}");
    Ok(())
}

/// A name, borrowed from the body where it stands there as it is.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::super::{Body, parse, parse_body};
    use super::*;

    fn data(object: &str) -> Result<ObjectText, String> {
        let body = format!("{{\"data\":{object}}}");
        match parse_body(body.as_bytes()) {
            Ok(Body::One(super::super::Item::Object { data: Some(data), .. })) => Ok(data),
            Ok(other) => unreachable!("{other:?}"),
            Err(faults) => Err(faults[0].message.clone()),
        }
    }

    #[test]
    fn an_object_is_printed_as_its_value_would_be() {
        let many: Vec<String> = (0..40).map(|it| format!("\"n{it}\":[{it},{{}}]")).collect();
        for object in [
            "{}",
            "{ \"a\" : 1 , \"b\\u0041\\n\" : [ ] , \"c\":[null, true ,false,[[]], {}] }",
            "{\"f\":1.50,\"g\":1e2,\"h\":-0,\"i\":-0.0,\"j\":9223372036854775807,\"k\":0.1e-7}",
            "{\"s\":\"\\u00e9\\ud83d\\ude00 é \\\"\\\\\\/\\b\\u001f\\u007f\",\"\":\"\"}",
            &format!("{{{}}}", many.join(", ")),
        ] {
            let value = parse(object.as_bytes()).expect("valid");
            let text = data(object).expect("valid");
            assert_eq!(*text.text(), value.to_string());
            assert_eq!(text, ObjectText::from(value.as_object().expect("an object")));
            assert_eq!(Value::Object(text.parsed()), value);
        }
    }

    #[test]
    fn a_fault_in_the_data_is_named_as_in_a_value() {
        let last_twice: Vec<String> = (0..40).map(|it| format!("\"n{}\":1", it % 39)).collect();
        for object in [
            "{\"a\":1,\"a\":2}",
            "{\"a\":{\"b\":1,\"\\u0062\":2}}",
            &format!("{{{}}}", last_twice.join(",")),
            "{\"a\":\"x\\u0000y\"}",
            "{\"a\":[{\"b\\u0000\":1}]}",
            "{\"a\":1e300}",
            "{\"a\":9223372036854775808}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":1,}",
            "{\"a\"",
        ] {
            let body = format!("{{\"data\":{object}}}");
            let wanted = parse(body.as_bytes()).expect_err("faulty");
            assert_eq!(parse_body(body.as_bytes()).expect_err("faulty"), wanted, "{object}");
        }
        let twice = parse_body(br#"{"data":{},"data":{}}"#).expect_err("faulty");
        assert_eq!(twice, parse(br#"{"data":{},"data":{}}"#).expect_err("faulty"));
        let twice = parse_body(br#"{"data":1,"data":{}}"#).expect_err("faulty");
        assert_eq!(twice, parse(br#"{"data":1,"data":{}}"#).expect_err("faulty"));
        let deep = "[".repeat(200);
        assert_eq!(
            parse_body(format!("{{\"data\":{{\"a\":{deep}").as_bytes()).expect_err("faulty"),
            parse(format!("{{\"data\":{{\"a\":{deep}").as_bytes()).expect_err("faulty"),
        );
    }
}
