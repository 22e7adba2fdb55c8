//! The members of a schema as rows of a table, those of objects within it below them.

use std::iter;

use serde_json::{Map, Value};

use super::words::{self, Span};

/// The members of an object; none of what is no object.
pub(super) fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// Objects within objects that are shown; beyond it only their type is.
const MAX_DEPTH: usize = 3;

/// A row.
#[derive(Debug)]
pub struct Field {
    pub name: String,
    /// How deep it stands.
    pub depth: usize,
    pub kind: String,
    pub is_required: bool,
    pub about: Vec<Span>,
    /// What values it takes.
    pub limits: Vec<String>,
}

/// The schemas that the others name.
#[derive(Debug, Clone, Copy)]
pub struct Schemas<'a>(pub &'a Value);

impl<'a> Schemas<'a> {
    /// What a schema is, by whatever name.
    pub fn resolved(self, schema: &'a Value) -> &'a Value {
        let name = schema["$ref"].as_str().and_then(|it| it.rsplit('/').next());
        name.map_or(schema, |name| &self.0[name])
    }

    /// What is said of a schema.
    pub fn about(self, schema: &'a Value) -> &'a str {
        let said = |schema: &'a Value| schema["description"].as_str();
        let of_choice =
            || choices(schema).find_map(|it| said(it).or_else(|| said(self.resolved(it))));
        said(schema).or_else(of_choice).or_else(|| said(self.resolved(schema))).unwrap_or_default()
    }

    /// The rows of a schema.
    pub fn fields(self, schema: &'a Value) -> Vec<Field> {
        let mut fields = Vec::new();
        self.add(schema, 0, &mut fields);
        fields
    }

    /// The row of a parameter of a path, a query or a header.
    pub fn parameter(self, parameter: &'a Value) -> Field {
        let schema = &parameter["schema"];
        let text = |name: &str| parameter[name].as_str().unwrap_or_default();
        Field {
            name: text("name").to_owned(),
            depth: 0,
            kind: format!("{} in the {}", self.kind(schema), text("in")),
            is_required: parameter["required"] == true,
            about: words::spans(text("description")),
            limits: self.limits(schema),
        }
    }

    /// The schemas that a schema is made of: itself, or all parts of it.
    fn parts(self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolved(schema);
        let parts = schema["allOf"].as_array().into_iter().flatten();
        iter::once(schema).chain(parts.flat_map(|part| self.parts(part))).collect()
    }

    fn add(self, schema: &'a Value, depth: usize, fields: &mut Vec<Field>) {
        for part in self.parts(schema) {
            let required: Vec<&Value> = part["required"].as_array().into_iter().flatten().collect();
            let mut all: Vec<(&String, &Value)> = members(&part["properties"]).collect();
            // What has to be there comes first.
            all.sort_by_key(|(name, _)| !required.iter().any(|it| *it == *name));
            for (name, member) in all {
                let is_required = required.iter().any(|it| *it == name);
                let kind = self.kind(member);
                fields.push(Field {
                    name: name.clone(),
                    depth,
                    // Null is as good as nothing where nothing has to be there.
                    kind: match kind.strip_suffix(" or null") {
                        Some(kind) if !is_required => kind.to_owned(),
                        Some(_) | None => kind,
                    },
                    is_required,
                    about: words::spans(self.about(member)),
                    limits: self.limits(member),
                });
                if depth < MAX_DEPTH {
                    self.add(member, depth + 1, fields);
                }
            }
            if !part["items"].is_null() {
                self.add(&part["items"], depth, fields);
            }
            for choice in choices(part) {
                self.add(choice, depth, fields);
            }
        }
    }

    /// The type, in a word or two.
    fn kind(self, schema: &'a Value) -> String {
        let schema = self.resolved(schema);
        let words: Vec<String> = match &schema["type"] {
            Value::String(word) => vec![self.word(word, schema)],
            Value::Array(words) => {
                words.iter().filter_map(Value::as_str).map(|it| self.word(it, schema)).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                let mut kinds: Vec<String> = choices(schema).map(|it| self.kind(it)).collect();
                kinds.extend(
                    schema["allOf"].as_array().and_then(|it| it.first()).map(|it| self.kind(it)),
                );
                kinds.dedup();
                kinds
            }
        };
        if words.is_empty() { "anything".to_owned() } else { words.join(" or ") }
    }

    fn word(self, word: &str, schema: &'a Value) -> String {
        let within = |schema: &'a Value| match schema {
            Value::Object(_) => Some(self.kind(schema)),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => None,
        };
        match word {
            "array" => within(&schema["items"])
                .map_or_else(|| "array".to_owned(), |items| format!("array of {items}")),
            "object" => within(&schema["additionalProperties"])
                .map_or_else(|| "object".to_owned(), |values| format!("object of {values}")),
            word => word.to_owned(),
        }
    }

    fn limits(self, schema: &'a Value) -> Vec<String> {
        let mut limits = Vec::new();
        for part in self.parts(schema).into_iter().chain(choices(self.resolved(schema))) {
            let part = self.resolved(part);
            let items = self.resolved(&part["items"])["enum"].as_array().into_iter().flatten();
            let words = part["enum"].as_array().into_iter().flatten();
            let words = words.chain(items).filter(|it| !it.is_null());
            let words: Vec<String> = words.map(shown).collect();
            if !words.is_empty() {
                limits.push(words.join(" | "));
            }
            limits.extend(
                part["format"].as_str().filter(|it| !it.starts_with("int")).map(str::to_owned),
            );
            for (least, most, unit) in [
                ("minimum", "maximum", ""),
                ("minLength", "maxLength", " characters"),
                ("minItems", "maxItems", " items"),
            ] {
                limits.extend(range(&part[least], &part[most], unit));
            }
            limits.extend(part["default"].as_str().map(|it| format!("default {it}")));
        }
        limits.dedup();
        limits
    }
}

/// The alternatives of a schema, null excepted.
fn choices(schema: &Value) -> impl Iterator<Item = &Value> {
    let all = ["oneOf", "anyOf"].into_iter().filter_map(|it| schema[it].as_array());
    all.flatten().filter(|it| it["type"] != "null")
}

fn range(least: &Value, most: &Value, unit: &str) -> Option<String> {
    match (least.as_i64(), most.as_i64()) {
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (Some(least), None) if least > 0 => Some(format!("at least {least}{unit}")),
        (Some(_) | None, None) => None,
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_rows_and_those_within_them_stand_below() {
        let schemas = json!({"Inner": {"type": "object", "description": "An inner one.", "required": ["a"],
            "properties": {"a": {"type": "string", "enum": ["x", "y"]}}}});
        let schema = json!({"type": "object", "required": ["list"], "properties": {
            "list": {"type": "array", "items": {"$ref": "#/components/schemas/Inner"}, "maxItems": 3},
            "maybe": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Inner"}]},
            "time": {"type": ["string", "null"], "format": "date-time"},
        }});
        let fields = Schemas(&schemas).fields(&schema);
        let rows: Vec<(&str, usize, &str, bool, String)> = fields
            .iter()
            .map(|it| {
                (it.name.as_str(), it.depth, it.kind.as_str(), it.is_required, it.limits.join("; "))
            })
            .collect();
        let wanted = [
            ("list", 0, "array of object", true, "at most 3 items".to_owned()),
            ("a", 1, "string", true, "x | y".to_owned()),
            ("maybe", 0, "object", false, String::new()),
            ("a", 1, "string", true, "x | y".to_owned()),
            ("time", 0, "string", false, "date-time".to_owned()),
        ];
        assert_eq!(rows, wanted);
    }

    #[test]
    fn a_schema_that_holds_itself_ends() {
        let schemas = json!({"Tree": {"type": "object", "properties": {"tree": {"$ref": "#/components/schemas/Tree"}}}});
        let fields = Schemas(&schemas).fields(&schemas["Tree"]);
        assert_eq!(fields.len(), MAX_DEPTH + 1);
    }
}
