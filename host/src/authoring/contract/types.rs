//! The data of templates as types of programming languages, made of their JSON Schemas: the same schemas give the same
//! text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::snippets::literal::JSON;

/// For which compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeLanguage {
    TypeScript,
    Python,
}

/// A template with the schema of its data.
#[derive(Debug)]
pub struct TypedTemplate {
    pub slug: String,
    pub schema: Value,
}

const ORIGIN: &str =
    "Made by `waxwing template types`; make it again after a change of a template.";

/// Types of all templates, in the order of their slugs.
#[must_use]
pub fn types(mut templates: Vec<TypedTemplate>, language: TypeLanguage) -> String {
    templates.sort_by(|one, other| one.slug.cmp(&other.slug));
    match language {
        TypeLanguage::TypeScript => typescript(&templates),
        TypeLanguage::Python => Python::default().file(&templates),
    }
}

fn typescript(templates: &[TypedTemplate]) -> String {
    let mut out = format!("// {ORIGIN}\n\n/** The data that each published template takes. */\n");
    out.push_str("export interface TemplateData {\n");
    for it in templates {
        comment(&about(&it.schema), 1, &mut out);
        let data = typescript_of(&it.schema, 1);
        put(&mut out, format_args!("  {}: {data};\n", quoted(&it.slug)));
    }
    out.push_str("}\n\nexport type TemplateSlug = keyof TemplateData;\n\n");
    out.push_str(
        "/** What is posted to /messages/send: `data` is that of the template. */\n\
         export type TemplateMessage = {\n  \
         [Slug in TemplateSlug]: { to: string; type: \"EMAIL\"; template: Slug; data: TemplateData[Slug] };\n\
         }[TemplateSlug];\n",
    );
    out
}

fn typescript_of(schema: &Value, depth: usize) -> String {
    let shape = Shape::of(schema);
    let word = match shape.kind {
        Kind::Text => "string".to_owned(),
        Kind::Number | Kind::Integer => "number".to_owned(),
        Kind::Flag => "boolean".to_owned(),
        Kind::List(None) => "Array<unknown>".to_owned(),
        Kind::List(Some(item)) => format!("Array<{}>", typescript_of(item, depth)),
        Kind::Object(None) => "{ [name: string]: unknown }".to_owned(),
        Kind::Object(Some(members)) => {
            let mut out = "{\n".to_owned();
            for (name, member) in members {
                comment(&description(member), depth + 1, &mut out);
                let optional = if is_required(schema, name) { "" } else { "?" };
                let of = typescript_of(member, depth + 1);
                let indent = "  ".repeat(depth + 1);
                put(&mut out, format_args!("{indent}{}{optional}: {of};\n", quoted(name)));
            }
            put(&mut out, format_args!("{}}}", "  ".repeat(depth)));
            out
        }
        Kind::Any => return "unknown".to_owned(),
    };
    if shape.nullable { format!("{word} | null") } else { word }
}

/// A comment of one line, which nothing in its text can end.
fn comment(text: &str, depth: usize, out: &mut String) {
    if !text.is_empty() {
        let text = text.replace("*/", "* /");
        put(out, format_args!("{}/** {text} */\n", "  ".repeat(depth)));
    }
}

/// Classes, each before those that name it.
#[derive(Default)]
struct Python {
    classes: String,
    names: BTreeSet<String>,
}

impl Python {
    fn file(mut self, templates: &[TypedTemplate]) -> String {
        // What the file itself calls so.
        self.names.extend(["TemplateData", "TemplateSlug"].map(str::to_owned));
        let mut map = String::new();
        for it in templates {
            let name = self.name_for(&pascal(&it.slug));
            let about = about(&it.schema);
            self.class(&name, &it.schema, &about);
            put(&mut map, format_args!("        {}: Required[{name}],\n", quoted(&it.slug)));
        }
        let slugs: Vec<String> = templates.iter().map(|it| quoted(&it.slug)).collect();
        let slug = match slugs.as_slice() {
            [] => "Never".to_owned(),
            all => format!("Literal[\n    {},\n]", all.join(",\n    ")),
        };
        format!(
            "# {ORIGIN}\n# Python 3.11 or later.\n\n\
             from typing import Any, Literal, Never, NotRequired, Required, TypedDict\n\n\
             __all__ = [\"TemplateData\", \"TemplateSlug\"]\n\n{}\
             # The data that each published template takes.\n\
             TemplateData = TypedDict(\n    \"TemplateData\",\n    {{\n{map}    }},\n)\n\n\
             TemplateSlug = {slug}\n",
            self.classes
        )
    }

    /// Every schema of `data` is an object, also where nothing is known of its members.
    fn class(&mut self, name: &str, schema: &Value, about: &str) {
        let base = name.strip_suffix("Data").unwrap_or(name);
        let none = Map::new();
        let members = schema["properties"].as_object().unwrap_or(&none);
        let mut lines = String::new();
        for (member, of) in members {
            let of_type = self.type_of(of, &format!("{base}{}", pascal(member)));
            let needed = if is_required(schema, member) { "Required" } else { "NotRequired" };
            let about = description(of);
            if !about.is_empty() {
                put(&mut lines, format_args!("        # {about}\n"));
            }
            put(&mut lines, format_args!("        {}: {needed}[{of_type}],\n", quoted(member)));
        }
        if !about.is_empty() {
            put(&mut self.classes, format_args!("# {about}\n"));
        }
        put(
            &mut self.classes,
            format_args!(
                "{name} = TypedDict(\n    {},\n    {{\n{lines}    }},\n)\n\n",
                quoted(name)
            ),
        );
    }

    fn type_of(&mut self, schema: &Value, name: &str) -> String {
        let shape = Shape::of(schema);
        let word = match shape.kind {
            Kind::Text => "str".to_owned(),
            Kind::Number => "float".to_owned(),
            Kind::Integer => "int".to_owned(),
            Kind::Flag => "bool".to_owned(),
            Kind::List(None) => "list[Any]".to_owned(),
            Kind::List(Some(item)) => {
                format!("list[{}]", self.type_of(item, &format!("{name}Item")))
            }
            Kind::Object(None) => "dict[str, Any]".to_owned(),
            Kind::Object(Some(_)) => {
                let name = self.name_for(name);
                self.class(&name, schema, "");
                name
            }
            Kind::Any => return "Any".to_owned(),
        };
        if shape.nullable { format!("{word} | None") } else { word }
    }

    /// A name that is not taken.
    fn name_for(&mut self, wanted: &str) -> String {
        let wanted = format!("{wanted}Data");
        let mut name = wanted.clone();
        let mut number = 2;
        while !self.names.insert(name.clone()) {
            name = format!("{wanted}{number}");
            number += 1;
        }
        name
    }
}

/// What a schema says of a value.
struct Shape<'s> {
    kind: Kind<'s>,
    nullable: bool,
}

enum Kind<'s> {
    Text,
    Number,
    Integer,
    Flag,
    List(Option<&'s Value>),
    Object(Option<&'s Map<String, Value>>),
    Any,
}

impl<'s> Shape<'s> {
    fn of(schema: &'s Value) -> Self {
        let words: Vec<&str> = match &schema["type"] {
            Value::String(word) => vec![word],
            Value::Array(words) => words.iter().filter_map(Value::as_str).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
        };
        let nullable = words.contains(&"null");
        let (item, members) = (schema.get("items"), schema["properties"].as_object());
        let kind = match words.iter().find(|it| **it != "null") {
            Some(&"string") => Kind::Text,
            Some(&"number") => Kind::Number,
            Some(&"integer") => Kind::Integer,
            Some(&"boolean") => Kind::Flag,
            Some(&"array") => Kind::List(item),
            Some(&"object") => Kind::Object(members.filter(|it| !it.is_empty())),
            Some(_) | None => match (item, members) {
                (Some(item), None) => Kind::List(Some(item)),
                (_, _) => Kind::Any,
            },
        };
        Self { kind, nullable }
    }
}

fn is_required(object: &Value, name: &str) -> bool {
    let required = object["required"].as_array();
    required.is_some_and(|it| it.iter().any(|it| it.as_str() == Some(name)))
}

/// What a template is called and when it is sent, on one line.
fn about(schema: &Value) -> String {
    let title = schema["title"].as_str().unwrap_or_default();
    match description(schema).as_str() {
        "" => one_line(title),
        about => format!("{}: {about}", one_line(title)),
    }
}

fn description(schema: &Value) -> String {
    one_line(schema["description"].as_str().unwrap_or_default())
}

fn one_line(text: &str) -> String {
    let words = text.split(|c: char| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    });
    words.filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A text in double quotes: those of JSON are the same in TypeScript and Python.
fn quoted(text: &str) -> String {
    JSON.text(text)
}

/// `password-reset` is `PasswordReset`. A name begins with a letter.
fn pascal(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|it| !it.is_empty());
    let name: String = words.map(capital).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic()) { name } else { format!("T{name}") }
}

fn capital(word: &str) -> String {
    let mut rest = word.chars();
    rest.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(rest).collect()
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail.
    let written = out.write_fmt(text);
    debug_assert!(written.is_ok());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn templates() -> Vec<TypedTemplate> {
        let receipt = json!({
            "title": "Receipt", "description": "Sent when\npaid */ export const x = 1; /*",
            "type": "object", "required": ["total", "items"],
            "properties": {
                "items": {"type": "array", "items": {
                    "type": ["object", "null"], "required": ["price"],
                    "properties": {"price": {"type": "integer"}, "a \"b\"\n": {"type": ["boolean", "null"]}},
                }},
                "rows": {"items": {}}, "tags": {"type": ["array", "null"]}, "any": {},
                "total": {"type": "string", "description": "As it is shown."},
                "user": {"type": ["object", "null"]},
            },
        });
        let none = json!({"title": "2fa", "type": "object"});
        vec![
            TypedTemplate { slug: "receipt".to_owned(), schema: receipt },
            TypedTemplate { slug: "2fa".to_owned(), schema: none },
        ]
    }

    #[test]
    fn types_for_typescript() {
        insta::assert_snapshot!(types(templates(), TypeLanguage::TypeScript));
    }

    #[test]
    fn types_for_python() {
        insta::assert_snapshot!(types(templates(), TypeLanguage::Python));
    }

    #[test]
    fn names_that_become_the_same_are_told_apart() {
        let of =
            |slug: &str| TypedTemplate { slug: slug.to_owned(), schema: json!({"type": "object"}) };
        let text =
            types(vec![of("a1-b"), of("a1b"), of("a-1b"), of("template")], TypeLanguage::Python);
        for name in ["A1BData = ", "A1bData = ", "A1bData2 = ", "TemplateData2 = "] {
            assert!(text.contains(&format!("\n{name}")), "{name}:\n{text}");
        }
        assert!(types(Vec::new(), TypeLanguage::Python).contains("TemplateSlug = Never"));
    }
}
