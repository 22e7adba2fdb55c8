//! The data of a template as a JSON Schema (draft 2020-12). Where the author has declared types, a send accepts what it
//! accepts.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::SenderContract;
use crate::template::contract::{Contract, Member};
use crate::template::version::{VariableFormat, VariableType};

/// The last single item of a list that is told: all before it stand in the schema too.
const MAX_INDEX: usize = 99;

impl SenderContract {
    /// The schema of `data`.
    #[must_use]
    pub fn schema(&self) -> Value {
        let contract = Contract::of(&self.variables);
        let example = self.sample();
        let about = About { contract: self, of_single_items: of_single_items(self) };
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
    /// The required paths that lead through a single item of a list, as `a[0].b`.
    of_single_items: Vec<&'c str>,
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
        let singles = self.single_items(path);
        let has_singles_alone = !singles.is_empty() && member.is_leaf();
        let value_type = member.value_type.or_else(|| shape(member));
        let value_type = value_type.or(has_singles_alone.then_some(VariableType::Array));
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
            schema.insert("items".to_owned(), self.value(item, &at, self.needs(item, &at), first));
        }
        if let Some((last, _)) = singles.last_key_value() {
            let single = |index: usize| {
                let Some(item) = singles.get(&index) else { return json!({}) };
                let example = example.and_then(|it| it.get(index));
                self.value(item, &format!("{path}[{index}]"), true, example)
            };
            let items: Vec<Value> = (0..=*last).map(single).collect();
            // By itself, so that it does not take these items out of what `items` says of all.
            let said = json!([{"minItems": items.len(), "prefixItems": items}]);
            schema.insert("allOf".to_owned(), said);
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
            let needed = self.needs(member, &path) && !self.contract.is_offered(&path);
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

    /// Whether a send must give it: it is required, or something in it is.
    fn needs(&self, member: &Member, path: &str) -> bool {
        let is_inside = |it: &&str| {
            let rest = it.strip_prefix(path).filter(|rest| rest.starts_with(['.', '[']));
            rest.is_some_and(|rest| !rest.contains("[]"))
        };
        is_needed(member) || self.of_single_items.iter().any(is_inside)
    }

    /// The single items of a list that a send must give, by index, with what is read of them.
    fn single_items(&self, list: &str) -> BTreeMap<usize, Member> {
        let mut items: BTreeMap<usize, Member> = BTreeMap::new();
        if !self.of_single_items.iter().any(|it| index_in(it, list).is_some()) {
            return items;
        }
        for variable in &self.contract.variables {
            if let Some((index, rest)) = index_in(&variable.path, list) {
                items.entry(index).or_default().add(rest, variable);
            }
        }
        items.retain(|index, _| {
            let is_of_it = |it: &&str| index_in(it, list).is_some_and(|(at, _)| at == *index);
            self.of_single_items.iter().any(is_of_it)
        });
        items
    }
}

fn of_single_items(contract: &SenderContract) -> Vec<&str> {
    let is_index = |it: &str| it.starts_with(|c: char| c.is_ascii_digit());
    let required = contract.variables.iter().filter(|it| it.required);
    required.map(|it| it.path.as_str()).filter(|it| it.split('[').skip(1).any(is_index)).collect()
}

/// The index of a single item of a list through which a path leads, and the rest of the path: 0 and `.b` for `a[0].b`.
fn index_in<'p>(path: &'p str, list: &str) -> Option<(usize, &'p str)> {
    let (index, rest) = path.strip_prefix(list)?.strip_prefix('[')?.split_once(']')?;
    let index = index.parse::<usize>().ok().filter(|it| *it <= MAX_INDEX)?;
    Some((index, rest))
}

/// Whether it is required, or a member of it is.
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
    use crate::template::source::TemplateSource;
    use crate::template::version::Variable;

    fn variable(it: &str) -> Variable {
        Variable {
            path: it.trim_end_matches('?').to_owned(),
            required: !it.ends_with('?'),
            value_type: None,
            format: None,
            declared_only: false,
        }
    }

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
    fn a_single_item_that_is_read_unguarded_must_be_given() {
        let variables = ["a[0].b", "a[0].c?", "d[2].x?", "e.f[1]", "g[4000000000]"].map(variable);
        let (variables, source) = (variables.to_vec(), TemplateSource::default());
        let schema = SenderContract { source, variables, ..contract() }.schema();
        assert_eq!(schema["properties"]["d"], json!({}));
        let single = &schema["properties"]["a"]["allOf"][0]["prefixItems"][0];
        assert_eq!(single["required"], json!(["b"]));
        let validator = jsonschema::draft202012::new(&schema).expect("a schema");
        for (a, f, good) in [
            (json!([{"b": 1}]), json!([1, 2]), true),
            (json!([{"b": 1, "c": 2}, {}]), json!([1, 2, 3]), true),
            (json!([{"c": 2}]), json!([1, 2]), false),
            (json!([]), json!([1, 2]), false),
            (json!("text"), json!([1, 2]), false),
            (json!([{"b": 1}]), json!([1]), false),
        ] {
            let data = json!({"a": a, "e": {"f": f}, "g": []});
            assert_eq!(validator.is_valid(&data), good, "{data}: {schema}");
        }
        assert!(!validator.is_valid(&json!({"e": {"f": [1, 2]}, "g": []})), "{schema}");
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
