//! One published text of a template. Versions never change; a change makes a new one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::slug::Slug;
use super::source::TemplateSource;
use crate::clock::Timestamp;
use crate::id::TemplateId;

pub use super::variable::{Variable, VariableType};

/// The published version of a template.
#[derive(Debug, Clone)]
pub struct TemplateVersion {
    pub template_id: TemplateId,
    /// The name by which it is sent.
    pub slug: Slug,
    /// 1 for the first version.
    pub revision: u64,
    /// What its author wrote.
    pub source: TemplateSource,
    /// What stands around and within it.
    pub blocks: Blocks,
    /// What the renderer found the source to read.
    pub variables: Vec<Variable>,
    /// What bodies of it are compressed with; none of a version that was published before there were dictionaries.
    pub dictionary: Option<Dictionary>,
    /// Since when it cannot be sent.
    pub archived_at: Option<Timestamp>,
}

/// What the bodies of one version have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dictionary {
    /// Its row in the database; a body names it.
    pub id: i64,
    /// A message of the version without anybody's data.
    pub bytes: Box<[u8]>,
}

/// The texts that a version was published with, each under its name: a send reads no other row, and a roll-back is
/// exact.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Blocks {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layout: Option<Block>,
    /// Those that it calls, and that these call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub partials: Vec<Block>,
}

/// A layout or a partial at one revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Block {
    pub name: Slug,
    pub revision: u64,
    pub source: TemplateSource,
}

impl Blocks {
    /// All of them, the layout first.
    pub fn iter(&self) -> impl Iterator<Item = &Block> {
        self.layout.iter().chain(&self.partials)
    }
}

/// A variable whose value has another type than its author declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongType {
    /// Where it stands, with the places in lists: `items[2].price`.
    pub path: String,
    /// What was declared.
    pub wanted: VariableType,
}

impl TemplateVersion {
    /// About how many bytes of memory it holds, for caches.
    #[must_use]
    pub fn weight(&self) -> u32 {
        // As JSON, which is as long as the texts: it has all parts, locales and messages.
        let json = |text: Result<String, serde_json::Error>| text.map_or(0, |it| it.len());
        let texts =
            json(serde_json::to_string(&self.source)) + json(serde_json::to_string(&self.blocks));
        let dictionary = self.dictionary.as_ref().map_or(0, |it| it.bytes.len());
        let variables = self.variables.len() * 64;
        u32::try_from(1_024 + texts + dictionary + variables).unwrap_or(u32::MAX)
    }

    /// The required variables that are plainly absent from `data`.
    pub fn missing<'a>(&'a self, data: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
        let required = self.variables.iter().filter(|variable| variable.required);
        required.map(|variable| variable.path.as_str()).filter(|path| is_absent(data, path))
    }

    /// The values of `data` that have another type than was declared.
    #[must_use]
    pub fn wrong_types(&self, data: &Map<String, Value>) -> Vec<WrongType> {
        wrong_types(&self.variables, data)
    }
}

/// The values of `data` that have another type than the variables declare.
#[must_use]
pub fn wrong_types(variables: &[Variable], data: &Map<String, Value>) -> Vec<WrongType> {
    let mut wrong = Vec::new();
    for variable in variables {
        let Some(wanted) = variable.value_type else { continue };
        let (name, rest) = split(&variable.path);
        if let Some(value) = data.get(name) {
            look(value, rest, wanted, &mut vec![Step::Name(name)], &mut wrong);
        }
    }
    wrong
}

/// Wrong types that are looked for; a list may hold many.
const MAX_WRONG: usize = 200;

/// The first name of a path, and what follows it: `items[].price` is `items` and `[].price`.
fn split(path: &str) -> (&str, &str) {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    path.split_at(end)
}

/// A step from a variable to a value inside it.
enum Step<'a> {
    Name(&'a str),
    Item(usize),
}

/// The values that a path names. A path steps into the members of objects and into every item of a list.
fn look<'a>(
    value: &Value,
    rest: &'a str,
    wanted: VariableType,
    place: &mut Vec<Step<'a>>,
    wrong: &mut Vec<WrongType>,
) {
    if wrong.len() >= MAX_WRONG {
        return;
    }
    if rest.is_empty() {
        if !wanted.holds(value) {
            wrong.push(WrongType { path: in_words(place), wanted });
        }
    } else if let Some(rest) = rest.strip_prefix("[]") {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            place.push(Step::Item(index));
            look(item, rest, wanted, place, wrong);
            place.pop();
        }
    } else if let Some(rest) = rest.strip_prefix('.') {
        let (name, rest) = split(rest);
        if let Some(value) = value.get(name) {
            place.push(Step::Name(name));
            look(value, rest, wanted, place, wrong);
            place.pop();
        }
    }
}

fn in_words(place: &[Step<'_>]) -> String {
    let step = |(at, step): (usize, &Step<'_>)| match step {
        Step::Name(name) if at == 0 => (*name).to_owned(),
        Step::Name(name) => format!(".{name}"),
        Step::Item(index) => format!("[{index}]"),
    };
    place.iter().enumerate().map(step).collect()
}

/// Follows a path such as `user.name`, `items[].price` or `items[0].price`; what lies within a list is
/// left to the renderer, which reads every element.
fn is_absent(data: &Map<String, Value>, path: &str) -> bool {
    let mut object = data;
    for step in path.split('.') {
        let name = step.split_once('[').map_or(step, |(name, _)| name);
        match object.get(name) {
            None | Some(Value::Null) => return true,
            Some(Value::Object(inner)) => object = inner,
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                return false;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_another_type_than_declared_are_named_with_their_place() {
        let variable = |path: &str, word| Variable {
            path: path.to_owned(),
            required: false,
            value_type: VariableType::from_name(word),
        };
        let version = TemplateVersion {
            template_id: TemplateId::new(Timestamp::from_millis(0)),
            slug: "receipt".parse().expect("a slug"),
            revision: 1,
            source: TemplateSource::default(),
            variables: vec![
                variable("total", "string"),
                variable("items", "array"),
                variable("items[].price", "number"),
                variable("user.name", "string"),
                variable("paid", "boolean"),
                variable("anything", "unsaid"),
            ],
            blocks: Blocks::default(),
            dictionary: None,
            archived_at: None,
        };
        let wrong = |data: Value| -> Vec<String> {
            let data = data.as_object().expect("an object");
            let wrong = version.wrong_types(data).into_iter();
            wrong.map(|it| format!("{}:{}", it.path, it.wanted.as_str())).collect()
        };
        assert_eq!(
            wrong(serde_json::json!({
                "total": 12, "items": [{"price": 1}, {"price": "2"}, {}, 3], "user": {"name": []},
                "paid": null, "anything": [1],
            })),
            ["total:string", "items[1].price:number", "user.name:string"]
        );
        assert_eq!(wrong(serde_json::json!({"items": {"price": 1}})), ["items:array"]);
        assert!(wrong(serde_json::json!({})).is_empty());
    }

    #[test]
    fn absence_is_seen_through_objects_and_left_to_the_renderer_in_lists() {
        let data = serde_json::json!({"user": {"name": "Ada", "mail": null}, "items": [{}]});
        let data = data.as_object().expect("an object");
        for (path, absent) in [
            ("user.name", false),
            ("user.mail", true),
            ("user.age", true),
            ("code", true),
            ("items[].price", false),
            ("items[0].price", false),
            ("items.first.price", false),
            ("rows[0].price", true),
            ("rows[].price", true),
        ] {
            assert_eq!(is_absent(data, path), absent, "{path}");
        }
    }
}
