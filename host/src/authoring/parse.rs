//! A draft as JSON: every fault at once, and for a name that is not known the one that was meant.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::bounds::{
    MAX_EXAMPLES, MAX_EXAMPLES_BYTES, MAX_LINE, MAX_LOCALES, MAX_MESSAGES, MAX_PART_BYTES,
    MAX_SOURCE_BYTES, MAX_VARIABLES,
};
use super::suggest::nearest;
use crate::journey::accept::json::not_an_object;
use crate::journey::accept::refusal::Fault;
use crate::message::line::{ONE_LINE, is_one_line};
use crate::template::kind::TemplateKind;
use crate::template::locale::LocaleTag;
use crate::template::source::{
    DeclaredVariable, LocaleSource, Message, PLURAL_CATEGORIES, TemplateSource,
};
use crate::template::version::{VariableFormat, VariableType};

const MEMBERS: [&str; 17] = [
    "name",
    "description",
    "subject",
    "preheader",
    "html",
    "mjml",
    "text",
    "layout",
    "sender",
    "requiredPlan",
    "strict",
    "tags",
    "variables",
    "examples",
    "locale",
    "messages",
    "locales",
];
/// What a layout or a partial has.
const BLOCK_MEMBERS: [&str; 8] =
    ["name", "description", "html", "mjml", "tags", "locale", "messages", "locales"];
const LOCALE_MEMBERS: [&str; 6] = ["subject", "preheader", "html", "mjml", "text", "messages"];
const BLOCK_LOCALE_MEMBERS: [&str; 3] = ["html", "mjml", "messages"];
const VARIABLE_MEMBERS: [&str; 5] = ["path", "type", "format", "required", "description"];
/// Tags of a template.
const MAX_TAGS: usize = 20;
/// Bytes of the path of a declared variable.
const MAX_PATH: usize = 200;

/// Reads a source.
pub fn source(body: &Value, kind: TemplateKind) -> Result<TemplateSource, Vec<Fault>> {
    let mut read = Reader { kind, faults: Vec::new(), bytes: 0 };
    let source = read.source(body);
    if read.bytes > MAX_SOURCE_BYTES {
        let message = format!(
            "all parts and messages have {} bytes together; at most {MAX_SOURCE_BYTES} are allowed",
            read.bytes
        );
        read.fault("", "too_long", message);
    }
    if read.faults.is_empty() { Ok(source) } else { Err(read.faults) }
}

/// Puts a patch over a source (RFC 7396): null takes a member away.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.shift_remove(name);
        } else {
            merge(target.entry(name).or_insert(Value::Null), value);
        }
    }
}

struct Reader {
    kind: TemplateKind,
    faults: Vec<Fault>,
    /// Of all texts that were read.
    bytes: usize,
}

impl Reader {
    fn fault(&mut self, field: &str, code: &str, message: impl Into<String>) {
        self.faults.push(Fault::new(field, code, message));
    }

    fn source(&mut self, body: &Value) -> TemplateSource {
        let Value::Object(body) = body else {
            self.faults.push(not_an_object("a draft", body));
            return TemplateSource::default();
        };
        let known: &[&str] =
            if self.kind == TemplateKind::Template { &MEMBERS } else { &BLOCK_MEMBERS };
        self.only("", body, known);
        self.either_html_or_mjml("", body);
        TemplateSource {
            name: self.name(body).unwrap_or_default(),
            description: self.line(body, "description").unwrap_or_default(),
            subject: self.part(body, "", "subject").unwrap_or_default(),
            preheader: self.part(body, "", "preheader"),
            html: self.part(body, "", "html"),
            mjml: self.part(body, "", "mjml"),
            text: self.part(body, "", "text"),
            layout: self.parsed(body, "layout"),
            sender: self.parsed(body, "sender"),
            required_plan: self.line(body, "requiredPlan"),
            strict: self.flag(body, "", "strict").unwrap_or_default(),
            tags: self.tags(body),
            variables: self.variables(body),
            examples: self.examples(body),
            locale: self.parsed(body, "locale"),
            messages: self.messages(body, ""),
            locales: self.locales(body),
        }
    }

    /// There are no other members. One that is nearly called like a known one is told so.
    fn only(&mut self, within: &str, body: &Map<String, Value>, known: &[&str]) {
        for name in body.keys().filter(|it| !known.contains(&it.as_str())).take(50) {
            let name: String = name.chars().take(64).collect();
            let meant = match nearest(&name, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known are {}", known.join(", ")),
            };
            let what = match (self.kind, within) {
                (TemplateKind::Template, "") => "a draft of a template",
                (TemplateKind::Layout, "") => "a layout",
                (TemplateKind::Partial, "") => "a partial",
                (_, _) => "it",
            };
            let field = format!("{within}{name}");
            self.fault(&field, "unknown", format!("{what} has no such member; {meant}"));
        }
    }

    fn either_html_or_mjml(&mut self, within: &str, body: &Map<String, Value>) {
        let is_there = |name: &str| body.get(name).is_some_and(|it| !it.is_null());
        if is_there("html") && is_there("mjml") {
            let message = "stands in place of `html`, which is there too; leave one of them";
            self.fault(&format!("{within}mjml"), "invalid", message);
        }
    }

    fn text<'v>(&mut self, value: Option<&'v Value>, field: &str) -> Option<&'v str> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text),
            Some(_) => {
                self.fault(field, "type", "must be a string");
                None
            }
        }
    }

    /// What a person says of something: a bounded text.
    fn line(&mut self, body: &Map<String, Value>, name: &str) -> Option<String> {
        self.line_at(body.get(name), name)
    }

    /// What the template is called in lists.
    fn name(&mut self, body: &Map<String, Value>) -> Option<String> {
        let name = self.line(body, "name")?;
        if is_one_line(&name) {
            return Some(name);
        }
        self.fault("name", "invalid", format!("must be {ONE_LINE}"));
        None
    }

    fn line_at(&mut self, value: Option<&Value>, field: &str) -> Option<String> {
        let text = self.text(value, field)?;
        if text.chars().count() > MAX_LINE {
            self.fault(field, "too_long", format!("may have at most {MAX_LINE} characters"));
            return None;
        }
        Some(text.to_owned())
    }

    fn part(&mut self, body: &Map<String, Value>, within: &str, name: &str) -> Option<String> {
        let field = format!("{within}{name}");
        let text = self.text(body.get(name), &field)?;
        self.bytes += text.len();
        if text.len() > MAX_PART_BYTES {
            let message =
                format!("has {} bytes; one part may have at most {MAX_PART_BYTES}", text.len());
            self.fault(&field, "too_long", message);
            return None;
        }
        Some(text.to_owned())
    }

    fn parsed<T: FromStr<Err: Display>>(
        &mut self,
        body: &Map<String, Value>,
        field: &str,
    ) -> Option<T> {
        let text = self.text(body.get(field), field)?;
        match text.parse() {
            Ok(parsed) => Some(parsed),
            Err(error) => {
                self.fault(field, "invalid", error.to_string());
                None
            }
        }
    }

    fn flag(&mut self, body: &Map<String, Value>, within: &str, name: &str) -> Option<bool> {
        match body.get(name) {
            None | Some(Value::Null) => None,
            Some(Value::Bool(it)) => Some(*it),
            Some(_) => {
                self.fault(&format!("{within}{name}"), "type", "must be true or false");
                None
            }
        }
    }

    fn object<'v>(
        &mut self,
        value: Option<&'v Value>,
        field: &str,
    ) -> Option<&'v Map<String, Value>> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(object)) => Some(object),
            Some(_) => {
                self.fault(field, "type", "must be an object");
                None
            }
        }
    }

    fn array<'v>(&mut self, value: Option<&'v Value>, field: &str, most: usize) -> &'v [Value] {
        match value {
            None | Some(Value::Null) => &[],
            Some(Value::Array(items)) if items.len() <= most => items,
            Some(Value::Array(items)) => {
                let message = format!("has {} entries; at most {most} are allowed", items.len());
                self.fault(field, "too_many", message);
                &[]
            }
            Some(_) => {
                self.fault(field, "type", "must be an array");
                &[]
            }
        }
    }

    fn tags(&mut self, body: &Map<String, Value>) -> Vec<String> {
        let items = self.array(body.get("tags"), "tags", MAX_TAGS);
        let tag = |(index, item)| self.line_at(Some(item), &format!("tags[{index}]"));
        items.iter().enumerate().filter_map(tag).collect()
    }

    fn variables(&mut self, body: &Map<String, Value>) -> Vec<DeclaredVariable> {
        let items = self.array(body.get("variables"), "variables", MAX_VARIABLES);
        let mut seen = BTreeSet::new();
        let mut declared = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let field = format!("variables[{index}]");
            let Some(item) = self.object(Some(item), &field) else { continue };
            let within = format!("{field}.");
            self.only(&within, item, &VARIABLE_MEMBERS);
            let at = format!("{within}path");
            let Some(path) = self.line_at(item.get("path"), &at) else {
                if item.get("path").is_none_or(Value::is_null) {
                    self.fault(&at, "missing", "is required, as in `user.name`");
                }
                continue;
            };
            if path.is_empty() || path.len() > MAX_PATH {
                let message = format!("must have 1 to {MAX_PATH} bytes, as in `items[].price`");
                self.fault(&at, "invalid", message);
            }
            if !seen.insert(path.clone()) {
                self.fault(&at, "repeated", format!("declares `{path}` twice"));
            }
            let at = format!("{within}type");
            let value_type = self.text(item.get("type"), &at).and_then(|word| {
                let found = VariableType::from_name(word);
                if found.is_none() {
                    let known = VariableType::ALL.map(VariableType::as_str).join(", ");
                    let message =
                        format!("`{path}` has the type `{word}`, which is none of {known}");
                    self.fault(&at, "invalid", message);
                }
                found
            });
            let format = self.format(item, &within, &path, value_type);
            declared.push(DeclaredVariable {
                path,
                value_type,
                format,
                required: self.flag(item, &within, "required"),
                description: self.line_at(item.get("description"), &format!("{within}description")),
            });
        }
        declared
    }

    /// One that is known, and goes with the type.
    fn format(
        &mut self,
        item: &Map<String, Value>,
        within: &str,
        path: &str,
        value_type: Option<VariableType>,
    ) -> Option<String> {
        let at = format!("{within}format");
        let word = self.text(item.get("format"), &at)?;
        let Some(format) = VariableFormat::from_name(word) else {
            let known = VariableFormat::ALL.map(VariableFormat::as_str);
            let meant = match word {
                "date-time" => Some("date"),
                "uri" | "iri" | "uri-reference" => Some("url"),
                _ => nearest(word, known.into_iter()),
            };
            let meant = meant.map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
            let word: String = word.chars().take(64).collect();
            let known = known.join(", ");
            let message =
                format!("`{path}` has the format `{word}`, which is none of {known}{meant}");
            self.fault(&at, "invalid", message);
            return None;
        };
        if let Some(other) = value_type.filter(|it| *it != format.value_type()) {
            let message = format!(
                "`{path}` has the format `{word}`, which is of the type {}, and the type {}",
                format.value_type().as_str(),
                other.as_str()
            );
            self.fault(&at, "invalid", message);
        }
        Some(word.to_owned())
    }

    fn examples(&mut self, body: &Map<String, Value>) -> BTreeMap<String, Map<String, Value>> {
        let Some(all) = self.object(body.get("examples"), "examples") else {
            return BTreeMap::new();
        };
        if all.len() > MAX_EXAMPLES {
            let message = format!("has {} entries; at most {MAX_EXAMPLES} are allowed", all.len());
            self.fault("examples", "too_many", message);
            return BTreeMap::new();
        }
        let bytes = Value::Object(all.clone()).to_string().len();
        if bytes > MAX_EXAMPLES_BYTES {
            let message = format!("have {bytes} bytes; at most {MAX_EXAMPLES_BYTES} are allowed");
            self.fault("examples", "too_long", message);
            return BTreeMap::new();
        }
        let mut examples = BTreeMap::new();
        for (name, data) in all {
            if let Some(data) = self.object(Some(data), &format!("examples.{name}")) {
                examples.insert(name.clone(), data.clone());
            }
        }
        examples
    }

    fn messages(&mut self, body: &Map<String, Value>, within: &str) -> BTreeMap<String, Message> {
        let field = format!("{within}messages");
        let Some(all) = self.object(body.get("messages"), &field) else { return BTreeMap::new() };
        if all.len() > MAX_MESSAGES {
            let message = format!("has {} entries; at most {MAX_MESSAGES} are allowed", all.len());
            self.fault(&field, "too_many", message);
            return BTreeMap::new();
        }
        let mut messages = BTreeMap::new();
        for (key, value) in all {
            let field = format!("{field}.{key}");
            self.bytes += key.len();
            let message = match value {
                Value::String(text) => {
                    self.bytes += text.len();
                    Some(Message::Text(text.clone()))
                }
                Value::Object(forms) => self.plural(forms, &field),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
                    let message = "must be a string, or an object of its plural forms";
                    self.fault(&field, "type", message);
                    None
                }
            };
            messages.extend(message.map(|it| (key.clone(), it)));
        }
        messages
    }

    fn plural(&mut self, forms: &Map<String, Value>, field: &str) -> Option<Message> {
        let mut read = BTreeMap::new();
        self.only(&format!("{field}."), forms, &PLURAL_CATEGORIES);
        for (category, text) in forms {
            let text = self.text(Some(text), &format!("{field}.{category}"))?;
            self.bytes += text.len();
            read.insert(category.clone(), text.to_owned());
        }
        if !read.contains_key("other") {
            self.fault(field, "missing", "must have the plural form `other`");
            return None;
        }
        Some(Message::Plural(read))
    }

    fn locales(&mut self, body: &Map<String, Value>) -> BTreeMap<LocaleTag, LocaleSource> {
        let Some(all) = self.object(body.get("locales"), "locales") else {
            return BTreeMap::new();
        };
        if all.len() > MAX_LOCALES {
            let message = format!("has {} entries; at most {MAX_LOCALES} are allowed", all.len());
            self.fault("locales", "too_many", message);
            return BTreeMap::new();
        }
        let known: &[&str] = if self.kind == TemplateKind::Template {
            &LOCALE_MEMBERS
        } else {
            &BLOCK_LOCALE_MEMBERS
        };
        let mut locales = BTreeMap::new();
        for (name, value) in all {
            let field = format!("locales.{name}");
            let tag = match name.parse::<LocaleTag>() {
                Ok(tag) => tag,
                Err(error) => {
                    self.fault(&field, "invalid", error.to_string());
                    continue;
                }
            };
            let Some(body) = self.object(Some(value), &field) else { continue };
            let within = format!("{field}.");
            self.only(&within, body, known);
            self.either_html_or_mjml(&within, body);
            let locale = LocaleSource {
                subject: self.part(body, &within, "subject"),
                preheader: self.part(body, &within, "preheader"),
                html: self.part(body, &within, "html"),
                mjml: self.part(body, &within, "mjml"),
                text: self.part(body, &within, "text"),
                messages: self.messages(body, &within),
            };
            if locales.insert(tag, locale).is_some() {
                self.fault(&field, "repeated", "is the same locale as another one");
            }
        }
        locales
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(body: &Value) -> Vec<String> {
        let faults = source(body, TemplateKind::Template).err().unwrap_or_default();
        faults.into_iter().map(|it| format!("{}: {}: {}", it.field, it.code, it.message)).collect()
    }

    #[test]
    fn a_draft_is_read_and_printed_as_it_was_written() {
        let body = json!({
            "name": "Receipt", "description": "", "subject": "Hi {{ name }}", "html": "<p>", "layout": "base",
            "strict": true, "tags": ["a"],
            "variables": [{"path": "name", "type": "string", "required": true}],
            "examples": {"default": {"name": "Ada"}},
            "locale": "en",
            "messages": {"items": {"one": "1 item", "other": "%{count} items"}},
            "locales": {"de": {"subject": "Hallo {{ name }}", "messages": {"bye": "Tschüss"}}},
        });
        let read = source(&body, TemplateKind::Template).expect("it is sound");
        assert_eq!(json!(read), body);
        let again: TemplateSource = serde_json::from_value(json!(read)).expect("it is stored");
        assert_eq!(again, read);
    }

    #[test]
    fn every_fault_is_named_at_once_with_what_was_meant() {
        let faults = faults(&json!({
            "htlm": "<p>", "subject": 1, "layout": "No Slug", "strict": "yes", "tags": "a",
            "variables": [{"path": "a", "type": "text"}, {"path": "a"}, {"typ": "string"}, 1],
            "examples": {"default": []},
            "messages": {"a": 1, "b": {"one": "x"}, "c": {"other": "x", "onee": "y"}},
            "locales": {"german": {}, "xx-": {}, "de": {"htm": ""}, "DE": {}},
        }));
        let all = faults.join("\n");
        for words in [
            "htlm: unknown: a draft of a template has no such member; did you mean `html`?",
            "subject: type",
            "layout: invalid",
            "strict: type: must be true or false",
            "tags: type: must be an array",
            "variables[0].type: invalid: `a` has the type `text`, which is none of string",
            "variables[1].path: repeated: declares `a` twice",
            "variables[2].path: missing",
            "variables[2].typ: unknown: it has no such member; did you mean `type`?",
            "variables[3]: type",
            "examples.default: type",
            "messages.a: type",
            "messages.b: missing: must have the plural form `other`",
            "messages.c.onee: unknown: it has no such member; did you mean `one`?",
            "locales.xx-: invalid",
            "locales.de.htm: unknown: it has no such member; did you mean `html`?",
            "locales.DE: repeated",
        ] {
            assert!(all.contains(words), "{words} is not in\n{all}");
        }
    }

    #[test]
    fn mjml_stands_in_place_of_html() {
        let both = json!({"html": "<p>", "mjml": "<mjml>", "locales": {"de": {"mjml": "<mjml>"}}});
        assert_eq!(faults(&both).len(), 1);
        assert!(faults(&both)[0].starts_with("mjml: invalid: stands in place of `html`"));
        let one = json!({"html": null, "mjml": "<mjml>", "locales": {"de": {"html": "<p>"}}});
        let read = source(&one, TemplateKind::Template).expect("it is sound");
        assert_eq!((read.mjml.as_deref(), read.html), (Some("<mjml>"), None));
    }

    #[test]
    fn bounds_name_the_bound_and_the_value() {
        let long = "x".repeat(MAX_PART_BYTES + 1);
        let told = faults(&json!({"html": long})).join("\n");
        assert!(told.contains("524289") && told.contains("524288"), "{told}");
        let part = "x".repeat(MAX_PART_BYTES);
        let told = faults(&json!({"html": part, "text": part, "subject": "x"})).join("\n");
        assert!(told.contains("1048577") && told.contains("1048576"), "{told}");
        let many: Vec<Value> = (0..100_000).map(|n| json!({"path": format!("v{n}")})).collect();
        let told = faults(&json!({"variables": many})).join("\n");
        assert!(told.contains("100000") && told.contains("5000"), "{told}");
        let many: Map<String, Value> = (0..51).map(|n| (format!("en-{n:03}"), json!({}))).collect();
        assert!(faults(&json!({"locales": many})).join("").contains("51 entries; at most 50"));
    }

    #[test]
    fn a_layout_has_no_parts_of_a_template() {
        let body = json!({"html": "{{ content }}", "subject": "Hi"});
        let faults = source(&body, TemplateKind::Layout).expect_err("refused");
        assert_eq!((faults[0].field.as_str(), faults.len()), ("subject", 1));
    }

    #[test]
    fn a_patch_takes_null_members_away_and_leaves_the_others() {
        let mut target = json!({"name": "a", "html": "x", "locales": {"de": {"html": "y"}}});
        merge(&mut target, &json!({"html": null, "locales": {"fr": {"html": "z"}}}));
        let merged = json!({"name": "a", "locales": {"de": {"html": "y"}, "fr": {"html": "z"}}});
        assert_eq!(target, merged);
    }
}
