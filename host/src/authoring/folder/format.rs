//! Which files a folder of templates has, and what each says: from files to a source and back.
//!
//! A source that is written and read again is the same source; a file whose text differs and whose meaning does not is
//! never rewritten.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::authoring::error::{FileFault, SaidTwice};
use crate::authoring::liquid::line_and_column;
use crate::authoring::parse;
use crate::journey::accept::json as strict_json;
use crate::journey::accept::refusal::Fault;
use crate::template::imported::{with_escaped_liquid, with_unescaped_liquid};
use crate::template::kind::TemplateKind;
use crate::template::locale::LocaleTag;
use crate::template::slug::Slug;
use crate::template::source::{PLURAL_CATEGORIES, TemplateSource};

/// Where the locales of a template stand in its folder.
const LOCALES: &str = "locales";
const DEFAULT_EXAMPLE: &str = "default";

/// A file that a template, a layout, a partial or one of their locales may have.
#[derive(Debug)]
pub struct FileKind {
    pub name: &'static str,
    /// The member of a source that the file is; of [`Content::Description`], those that no other file is.
    member: &'static str,
    content: Content,
    owners: &'static [FileOwner],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Content {
    /// `template.toml`.
    Description,
    /// The text as it is.
    Text,
    /// The same, with Liquid that another tool has escaped.
    Html,
    /// TOML, whose tables are keys with dots.
    Messages,
    /// JSON.
    Examples,
}

/// What has a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOwner {
    /// A template, layout or partial.
    Template,
    /// One of its locales.
    Locale,
}

const OF_TEMPLATES: &[FileOwner] = &[FileOwner::Template];
const OF_BOTH: &[FileOwner] = &[FileOwner::Template, FileOwner::Locale];

/// All of them. A part of a template that becomes a file is one line here.
static FILES: [FileKind; 8] = [
    file("template.toml", "", Content::Description, OF_TEMPLATES),
    file("subject.liquid", "subject", Content::Text, OF_BOTH),
    file("preheader.liquid", "preheader", Content::Text, OF_BOTH),
    file("html.liquid", "html", Content::Html, OF_BOTH),
    // Editors know MJML by its ending.
    file("body.mjml", "mjml", Content::Text, OF_BOTH),
    file("text.liquid", "text", Content::Text, OF_BOTH),
    file("messages.toml", "messages", Content::Messages, OF_BOTH),
    file("examples.json", "examples", Content::Examples, OF_TEMPLATES),
];

const fn file(
    name: &'static str,
    member: &'static str,
    content: Content,
    owners: &'static [FileOwner],
) -> FileKind {
    FileKind { name, member, content, owners }
}

/// The file of that name.
pub fn kind_of(name: &str, owner: FileOwner) -> Option<&'static FileKind> {
    FILES.iter().find(|it| it.name == name && it.owners.contains(&owner))
}

/// The file that a layout or partial may be whole.
pub fn html() -> &'static FileKind {
    let html = FILES.iter().find(|it| it.content == Content::Html);
    html.unwrap_or(&FILES[0])
}

/// The names, for people.
pub fn known(owner: FileOwner) -> String {
    let files = FILES.iter().filter(|it| it.owners.contains(&owner));
    files.map(|it| it.name).collect::<Vec<_>>().join(", ")
}

/// `template.toml`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    name: String,
    #[serde(rename = "description")]
    purpose: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required_plan: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    strict: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    #[serde(default, rename = "variable", skip_serializing_if = "Vec::is_empty")]
    variables: Vec<Value>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    example: Map<String, Value>,
}

/// Its members in `template.toml` and in a draft.
const RENAMED: [(&str, &str); 2] = [("required_plan", "requiredPlan"), ("variable", "variables")];

impl FileKind {
    /// What the file says, as members of a draft.
    pub fn members(&self, text: &str, locale: Option<&LocaleTag>) -> Result<Value, FileFault> {
        let one = |value: Value| Map::from_iter([(self.member.to_owned(), value)]);
        let members = match self.content {
            Content::Text => one(text.into()),
            Content::Html => one(with_unescaped_liquid(text).into()),
            Content::Messages => {
                let mut messages = Map::new();
                flatten(toml(text)?, "", &mut messages);
                one(messages.into())
            }
            Content::Examples => {
                let read = strict_json::parse(text.as_bytes());
                one(read.map_err(FileFault::Json)?)
            }
            Content::Description => members_of(&toml(text)?),
        };
        Ok(match locale {
            Some(tag) => json!({LOCALES: {tag.as_str(): members}}),
            None => members.into(),
        })
    }

    /// Whether two texts of the file say the same.
    pub fn is_same(&self, one: &str, other: &str, kind: TemplateKind) -> bool {
        if one == other {
            return true;
        }
        let source = |text: &str| parse::source(&self.members(text, None).ok()?, kind).ok();
        source(one).is_some_and(|it| source(other) == Some(it))
    }
}

/// Without the line that it is about: an author chooses how long that is.
fn toml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, FileFault> {
    toml::from_str(text).map_err(|error| {
        let (line, column) = line_and_column(text, error.span().map_or(0, |it| it.start));
        FileFault::Toml { line, column, what: error.message().trim().to_owned() }
    })
}

fn members_of(description: &Description) -> Map<String, Value> {
    let Value::Object(mut table) = json!(description) else { return Map::new() };
    for (here, there) in RENAMED {
        if let Some(value) = table.shift_remove(here) {
            table.insert(there.to_owned(), value);
        }
    }
    if let Some(example) = table.shift_remove("example") {
        table.insert("examples".to_owned(), json!({DEFAULT_EXAMPLE: example}));
    }
    table
}

/// Tables in tables are keys with dots between them; a table of plural forms is one message.
fn flatten(table: Map<String, Value>, before: &str, messages: &mut Map<String, Value>) {
    for (name, value) in table {
        let key = if before.is_empty() { name } else { format!("{before}.{name}") };
        match value {
            Value::Object(inner) if !is_plural(&inner) => flatten(inner, &key, messages),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_) => {
                messages.insert(key, value);
            }
        }
    }
}

fn is_plural(table: &Map<String, Value>) -> bool {
    table.contains_key("other")
        && table
            .iter()
            .all(|(name, it)| PLURAL_CATEGORIES.contains(&name.as_str()) && it.is_string())
}

/// Puts what one file says to what others say.
///
/// # Errors
/// Another one has said it; the member is named.
pub fn join(all: &mut Map<String, Value>, more: Value) -> Result<(), SaidTwice> {
    let Value::Object(more) = more else { return Ok(()) };
    for (name, value) in more {
        let levels = match name.as_str() {
            LOCALES => 2,
            "examples" => 1,
            _ => 0,
        };
        put(all, name, value, levels)?;
    }
    Ok(())
}

/// So many levels below a member several files may say something.
fn put(
    all: &mut Map<String, Value>,
    name: String,
    value: Value,
    levels: u8,
) -> Result<(), SaidTwice> {
    match (all.get_mut(&name), value) {
        (None, value) => {
            all.insert(name, value);
        }
        (Some(Value::Object(inner)), Value::Object(more)) if levels > 0 => {
            for (below, value) in more {
                put(inner, below, value, levels - 1).map_err(|it| it.below(&name))?;
            }
        }
        (Some(_), _) => return Err(SaidTwice { member: name }),
    }
    Ok(())
}

/// A draft of what files say.
pub fn source_of(
    mut body: Map<String, Value>,
    kind: TemplateKind,
    slug: &Slug,
) -> Result<TemplateSource, Vec<Fault>> {
    // A layout or partial without a description is called by its slug.
    if kind != TemplateKind::Template {
        body.entry("name").or_insert_with(|| slug.as_str().into());
    }
    parse::source(&Value::Object(body), kind)
}

/// The files of a source, each with its path below the template's folder, in the order of [`FILES`], then by locale.
pub fn files_of(
    source: &TemplateSource,
    kind: TemplateKind,
    slug: &Slug,
) -> Vec<(String, &'static FileKind, String)> {
    let Value::Object(mut own) = json!(source) else { return Vec::new() };
    let locales = own.shift_remove(LOCALES);
    let mut files = Vec::new();
    let mut description = own.clone();
    let examples = own.shift_remove("examples").and_then(|it| match it {
        Value::Object(examples) => Some(examples),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            None
        }
    });
    for it in FILES.iter().filter(|it| !it.member.is_empty()) {
        description.shift_remove(it.member);
    }
    let mut examples = examples.unwrap_or_default();
    let text = described(&description, &mut examples);
    let is_plain = kind != TemplateKind::Template
        && description.iter().all(|(name, value)| match name.as_str() {
            "name" => value == slug.as_str(),
            _ => *value == json!("") || *value == json!([]),
        });
    if !examples.is_empty() {
        own.insert("examples".to_owned(), examples.into());
    }
    for it in &FILES {
        match it.content {
            Content::Description if is_plain => {}
            Content::Description => files.push((it.name.to_owned(), it, text.clone())),
            Content::Text | Content::Html | Content::Messages | Content::Examples => {
                files.extend(it.written(&own).map(|text| (it.name.to_owned(), it, text)));
            }
        }
    }
    for (tag, members) in locales.as_ref().and_then(Value::as_object).into_iter().flatten() {
        let Some(members) = members.as_object() else { continue };
        for it in FILES.iter().filter(|it| it.owners.contains(&FileOwner::Locale)) {
            let path = format!("{LOCALES}/{tag}/{}", it.name);
            files.extend(it.written(members).map(|text| (path, it, text)));
        }
    }
    files
}

impl FileKind {
    /// The text of the file; none where there is nothing to say.
    fn written(&self, members: &Map<String, Value>) -> Option<String> {
        let value = members.get(self.member)?;
        match self.content {
            Content::Text => value.as_str().map(str::to_owned),
            Content::Html => value.as_str().map(|html| {
                let is_kept = with_unescaped_liquid(html) == html;
                if is_kept { html.to_owned() } else { with_escaped_liquid(html) }
            }),
            Content::Messages => value.as_object().map(messages_in_toml),
            Content::Examples => serde_json::to_string_pretty(value).ok().map(|text| text + "\n"),
            Content::Description => None,
        }
    }
}

/// `template.toml`, with the default example where TOML can hold it: there is no null in TOML, and no number beyond 64
/// bits.
fn described(members: &Map<String, Value>, examples: &mut Map<String, Value>) -> String {
    let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
    let mut description = Description {
        name: text("name").unwrap_or_default(),
        purpose: text("description").unwrap_or_default(),
        tags: members
            .get("tags")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|it| it.as_str().map(str::to_owned))
            .collect(),
        layout: text("layout"),
        sender: text("sender"),
        required_plan: text("requiredPlan"),
        strict: members.get("strict").and_then(Value::as_bool).unwrap_or_default(),
        locale: text("locale"),
        variables: members.get("variables").and_then(Value::as_array).cloned().unwrap_or_default(),
        example: Map::new(),
    };
    let without = toml_text(&description).unwrap_or_default();
    let Some(Value::Object(example)) = examples.get(DEFAULT_EXAMPLE) else { return without };
    if example.is_empty() {
        return without;
    }
    description.example.clone_from(example);
    let Some(text) = toml_text(&description) else { return without };
    match toml::from_str::<Description>(&text) {
        Ok(read) if json!(read) == json!(description) => {
            examples.shift_remove(DEFAULT_EXAMPLE);
            text
        }
        Ok(_) | Err(_) => without,
    }
}

/// Keys with dots as tables, where they are read as the same keys again.
fn messages_in_toml(messages: &Map<String, Value>) -> String {
    let mut tables = Map::new();
    for (key, message) in messages {
        let table = key.rsplit_once('.').filter(|(before, last)| {
            !last.is_empty() && !before.is_empty() && !messages.contains_key(*before)
        });
        match table {
            None => {
                tables.insert(key.clone(), message.clone());
            }
            Some((before, last)) => {
                let table = tables.entry(before).or_insert_with(|| json!({}));
                if let Value::Object(table) = table {
                    table.insert(last.to_owned(), message.clone());
                }
            }
        }
    }
    for candidate in [&tables, messages] {
        let Some(text) = toml_text(candidate) else { continue };
        let mut read = Map::new();
        if let Ok(table) = toml::from_str(&text) {
            flatten(table, "", &mut read);
        }
        if read == *messages {
            return text;
        }
    }
    String::new()
}

/// Pretty where what is pretty is read as the same again.
fn toml_text<T: Serialize + serde::de::DeserializeOwned>(value: &T) -> Option<String> {
    let wanted = json!(value);
    let candidates = [toml::to_string_pretty(value).ok(), toml::to_string(value).ok()];
    candidates
        .into_iter()
        .flatten()
        .find(|text| toml::from_str::<T>(text).is_ok_and(|read| json!(read) == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slug() -> Slug {
        "note".parse().expect("a slug")
    }

    /// What the files of a source say.
    fn read_again(source: &TemplateSource, kind: TemplateKind) -> TemplateSource {
        let mut body = Map::new();
        for (path, file, text) in files_of(source, kind, &slug()) {
            let tag = path.split('/').nth(1).map(|it| it.parse().expect("a locale"));
            let members = file.members(&text, tag.as_ref()).expect("readable");
            join(&mut body, members).expect("said once");
        }
        source_of(body, kind, &slug()).expect("a source")
    }

    #[test]
    fn tables_of_messages_are_keys_with_dots_and_plural_forms_one_message() {
        let text = "a = '1'\n[b.c]\nd = '2'\n[b.days]\none = 'a day'\nother = 'days'\n";
        let mut messages = Map::new();
        flatten(toml(text).expect("a table"), "", &mut messages);
        let expected = json!({"a": "1", "b.c.d": "2", "b.days": {"one": "a day", "other": "days"}});
        assert_eq!(Value::Object(messages), expected);
    }

    #[test]
    fn a_source_that_is_written_and_read_is_the_same_source() {
        let hostile = json!({
            "name": "N\"'''\"\"\"", "description": "a\r\nb", "subject": "", "preheader": "",
            "html": "{{ a | default: &quot;b&quot; }} &amp; {{ 'x&amp;y' }} {% raw %}{{ &amp;lt; }}",
            "text": "\n\r\n\u{feff}  ", "layout": "base", "sender": "a@example.com",
            "requiredPlan": "pro", "strict": true, "tags": ["", "b"], "locale": "de-AT",
            "variables": [{"path": "items[].price", "type": "number", "required": false}],
            "examples": {
                "default": {"a": null, "b": [1, "x", {"c": 1.0}], "big": 9_007_199_254_740_991_u64},
                "../x": {}, "z": {"$__toml_private_datetime": "1979-05-27"},
            },
            "messages": {
                "": "e", ".b": "1", "b.": "2", "a": "3", "a.b": "4", "c..d": "5", "x.one": "6",
                "x.other": "7", "p": {"one": "1", "other": "\r\n'''"}, "q.r": {"other": "é\u{1}"},
                "deep.er.and.deeper": "8", "deep.er": "9",
            },
            "locales": {"pt-BR": {"subject": "", "messages": {"other": "o"}}, "fr": {}},
        });
        let kind = TemplateKind::Template;
        let source = parse::source(&hostile, kind).expect("a source");
        let again = read_again(&source, kind);
        // A locale that says nothing has no files.
        let mut expected = source.clone();
        expected.locales.retain(|_, it| *it != crate::template::source::LocaleSource::default());
        assert_eq!(json!(again), json!(expected));
        assert_eq!(files_of(&again, kind, &slug()).len(), files_of(&source, kind, &slug()).len());
        let plain = parse::source(&json!({"examples": {"default": {"a": {"b": 1}}}}), kind);
        let plain = plain.expect("a source");
        assert_eq!(read_again(&plain, kind), plain);
        assert!(files_of(&plain, kind, &slug()).iter().all(|(path, ..)| path != "examples.json"));
    }

    #[test]
    fn a_layout_that_is_nothing_but_its_html_is_one_file() {
        let kind = TemplateKind::Layout;
        let layout = json!({"name": "note", "html": "{{ content }}"});
        let layout = parse::source(&layout, kind).expect("a layout");
        let files = files_of(&layout, kind, &slug());
        assert_eq!(
            files.iter().map(|(path, ..)| path.as_str()).collect::<Vec<_>>(),
            ["html.liquid"]
        );
        assert_eq!(read_again(&layout, kind), layout);
    }

    #[test]
    fn a_file_that_says_the_same_in_other_words_is_the_same_file() {
        let file = kind_of("template.toml", FileOwner::Template).expect("known");
        let kind = TemplateKind::Template;
        let (one, other) =
            ("name='a' # why\ndescription=''", "description = ''\nname = \"a\"\ntags = []");
        assert!(file.is_same(one, other, kind));
        assert!(!file.is_same(one, "name='b'\ndescription=''", kind));
        assert!(!file.is_same("name=", one, kind), "what cannot be read says nothing");
    }
}
