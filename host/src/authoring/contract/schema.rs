//! The data of a template as a JSON Schema (draft 2020-12). Where the author has declared types, a send accepts what it
//! accepts.

use serde_json::{Map, Value, json};

use super::SenderContract;
use crate::template::contract::{Contract, Member};
use crate::template::version::{VariableFormat, VariableType};

impl SenderContract {
    /// The schema of `data`.
    #[must_use]
    pub fn schema(&self) -> Value {
        let contract = Contract::of(&self.variables);
        let example = self.sample();
        let about = About { contract: self };
        let mut schema = Map::new();
        schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
        let comment = match self.revision {
            Some(revision) => format!("template {}, version {revision}", self.slug),
            None => format!("template {}, draft", self.slug),
        };
        schema.insert("$comment".to_owned(), comment.into());
        let name = if self.source.name.is_empty() { self.slug.as_str() } else { &self.source.name };
        schema.insert("title".to_owned(), name.into());
        if !self.source.description.is_empty() {
            schema.insert("description".to_owned(), self.source.description.as_str().into());
        }
        schema.insert("type".to_owned(), "object".into());
        let shown = self.source.example().cloned().map(Value::Object);
        about.members(contract.root(), "", shown.as_ref(), &mut schema);
        let mut examples: Vec<Value> =
            self.source.examples.values().cloned().map(Value::Object).collect();
        if examples.is_empty() && !example.is_empty() {
            examples.push(Value::Object(example));
        }
        if !examples.is_empty() {
            schema.insert("examples".to_owned(), Value::Array(examples));
        }
        Value::Object(schema)
    }
}

/// What is known of single places.
struct About<'c> {
    contract: &'c SenderContract,
}

impl About<'_> {
    /// A value at a path, of which `example` is one.
    fn value(&self, member: &Member, path: &str, needed: bool, example: Option<&Value>) -> Value {
        let mut schema = Map::new();
        let variables = &self.contract.source.variables;
        let declared = variables.iter().find(|it| it.path == path);
        if let Some(description) = declared.and_then(|it| it.description.as_ref()) {
            schema.insert("description".to_owned(), description.as_str().into());
        }
        let value_type = member.value_type.or_else(|| shape(member));
        if let Some(value_type) = value_type {
            let word = match member.format {
                Some(VariableFormat::Money) => "integer",
                Some(_) | None => value_type.as_str(),
            };
            // Null stands for an absent value.
            let word = if needed { json!(word) } else { json!([word, "null"]) };
            schema.insert("type".to_owned(), word);
        }
        schema.extend(member.format.map(said_of).unwrap_or_default());
        if value_type == Some(VariableType::Object) {
            self.members(member, path, example, &mut schema);
        }
        // Without a type this is said of lists alone.
        let is_list = value_type.is_none_or(|it| it == VariableType::Array);
        if let Some(item) = member.item.as_ref().filter(|_| is_list) {
            let first = example.and_then(|it| it.get(0));
            let at = format!("{path}[]");
            schema.insert("items".to_owned(), self.value(item, &at, is_needed(item), first));
        }
        if let Some(example) = example.filter(|it| !it.is_object() && !it.is_array()) {
            schema.insert("examples".to_owned(), json!([example]));
        }
        Value::Object(schema)
    }

    fn members(
        &self,
        object: &Member,
        path: &str,
        example: Option<&Value>,
        schema: &mut Map<String, Value>,
    ) {
        let mut properties = Map::new();
        let mut required: Vec<Value> = Vec::new();
        for (name, member) in &object.members {
            let path = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
            let needed = is_needed(member) && !self.contract.is_offered(&path);
            if needed {
                required.push(name.as_ref().into());
            }
            let example = example.and_then(|it| it.get(&**name));
            let value = self.value(member, &path, needed, example);
            properties.insert(name.to_string(), value);
        }
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), Value::Array(required));
        }
    }
}

/// Whether a send must give it: it is required, or a member of it is.
fn is_needed(member: &Member) -> bool {
    member.required || member.members.iter().any(|(_, it)| is_needed(it))
}

/// The type of a place of which none is declared, by what is read of it.
fn shape(member: &Member) -> Option<VariableType> {
    // These are read of lists, objects and texts alike.
    let is_of_any = |name: &str| matches!(name, "first" | "last" | "size");
    // A loop goes over the members of an object too.
    if member.item.is_some() {
        return None;
    }
    member.members.iter().any(|(name, _)| !is_of_any(name)).then_some(VariableType::Object)
}

fn said_of(format: VariableFormat) -> Map<String, Value> {
    let said = match format {
        VariableFormat::Date => json!({"anyOf": [{"format": "date"}, {"format": "date-time"}]}),
        VariableFormat::Url => json!({"format": "uri", "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"}),
        VariableFormat::Email => json!({"format": "email"}),
        VariableFormat::Money => json!({}),
        VariableFormat::Currency => json!({"pattern": "^[A-Z]{3}$"}),
    };
    said.as_object().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::account::brand::Brand;
    use crate::authoring::agreement::agreed;
    use crate::journey::accept::json::object::ObjectText;
    use crate::template::version::Variable;

    fn contract() -> SenderContract {
        let source = serde_json::from_value(json!({
            "name": "Receipt", "description": "When it was paid.",
            "variables": [
                {"path": "total", "format": "money", "description": "In cents."},
                {"path": "on", "type": "string", "format": "date"},
                {"path": "items", "type": "array"},
                {"path": "items[].link", "type": "string", "format": "url"},
                {"path": "user.mail", "type": "string", "format": "email"},
                {"path": "user", "type": "object", "description": "Who."},
                {"path": "product_name", "type": "string"},
            ],
            "examples": {"default": {
                "total": 1299, "items": [{"link": "https://example.com/"}], "user": {"mail": "a@example.com"},
            }},
        }))
        .expect("a source");
        let read = ["total", "on?", "items", "items[].link", "user.mail", "product_name"];
        let variable = |it: &str| Variable {
            path: it.trim_end_matches('?').to_owned(),
            required: !it.ends_with('?'),
            value_type: None,
            format: None,
            declared_only: false,
        };
        let variables = agreed(&source, read.map(variable).to_vec()).variables;
        let name = crate::account::brand::BrandField::ProductName;
        let brand = Brand::stored(BTreeMap::from([(name, "Tern".to_owned())]));
        let slug = "receipt".parse().expect("a slug");
        SenderContract { slug, revision: Some(3), source, variables, account_sender: None, brand }
    }

    #[test]
    fn a_schema_says_what_is_declared_with_descriptions_and_examples() {
        let schema = serde_json::to_string_pretty(&contract().schema()).expect("JSON");
        insta::assert_snapshot!(schema);
    }

    #[test]
    fn data_is_valid_exactly_where_a_send_would_take_it() {
        let contract = contract();
        let schema = contract.schema();
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .should_validate_formats(true)
            .build(&schema)
            .expect("a schema");
        let held = Contract::of(&contract.variables);
        let sample = Value::Object(contract.sample());
        let with = |path: &str, value: Value| {
            let mut data = sample.clone();
            *data.pointer_mut(path).expect("it is there") = value;
            data
        };
        let and = |name: &str, value: Value| {
            let mut data = sample.clone();
            data[name] = value;
            data
        };
        for (data, good) in [
            (sample.clone(), true),
            (and("on", json!("2026-12-24")), true),
            (and("on", json!("2026-12-24T18:00:00Z")), true),
            (and("on", Value::Null), true),
            (and("on", json!("24 December")), false),
            (and("on", json!("2026-12-24 18:00:00Z")), false),
            (with("/total", json!(1299.0)), true),
            (and("unread", json!(1)), true),
            (with("/total", json!(12.5)), false),
            (with("/total", json!("1299")), false),
            (with("/items", json!({})), false),
            (with("/items/0/link", json!("javascript:alert(1)")), false),
            (with("/user/mail", json!("ada")), false),
            (with("/user", json!("ada")), false),
        ] {
            let object = data.as_object().expect("an object");
            let found = held.check(ObjectText::from(object).members());
            assert_eq!(found.faults.is_empty(), good, "{data}");
            assert_eq!(validator.is_valid(&data), good, "{data}: {schema}");
        }
        let mut without = sample;
        without.as_object_mut().expect("an object").shift_remove("items");
        assert!(!validator.is_valid(&without), "what is required stands in the schema too");
    }
}
