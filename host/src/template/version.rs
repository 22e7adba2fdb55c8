//! One published text of a template. Versions never change; a change makes a new one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::slug::Slug;
use crate::id::TemplateId;
use crate::message::address::EmailAddress;

/// The published version of a template.
#[derive(Debug, Clone)]
pub struct TemplateVersion {
    pub template_id: TemplateId,
    /// The name by which it is sent.
    pub slug: Slug,
    /// 1 for the first version.
    pub revision: u64,
    /// What a person wrote.
    pub source: TemplateSource,
    /// What the renderer found the source to read.
    pub variables: Vec<Variable>,
    /// What bodies of it are compressed with; none of a version that was published before there were dictionaries.
    pub dictionary: Option<Dictionary>,
}

/// What the bodies of one version have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dictionary {
    /// Its row in the database; a body names it.
    pub id: i64,
    /// A message of the version without anybody's data.
    pub bytes: Box<[u8]>,
}

/// What a person wrote: the parts, and what surrounds them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplateSource {
    /// What a person calls it.
    #[serde(default)]
    pub name: String,
    /// When to send it.
    #[serde(default)]
    pub description: String,
    pub subject: String,
    /// The line that mail clients show beside the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preheader: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// The text part; derived from the HTML part where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What surrounds the HTML part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The sender where the request names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<EmailAddress>,
    /// The plan that it needs, e.g. `pro`, or `paid` for any paid one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_plan: Option<String>,
    /// Whether a send is refused that would leave a variable blank.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// Words to find it by; the plan policy sees them.
    #[serde(default)]
    pub tags: Vec<String>,
    /// A data object that it renders well with.
    #[serde(default)]
    pub example: Map<String, Value>,
}

/// A variable that a template reads, e.g. `user.name` or `items[].price`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Variable {
    /// Where it stands in `data`.
    pub path: String,
    /// Whether a send without it is refused.
    pub required: bool,
    /// What a send may give, where its author has said so.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub value_type: Option<VariableType>,
}

/// What a variable holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableType {
    /// Text.
    String,
    /// A number, not in quotation marks.
    Number,
    /// `true` or `false`.
    Boolean,
    Array,
    /// Members with names.
    Object,
}

/// A variable whose value has another type than its author declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongType {
    /// Where it stands, with the places in lists: `items[2].price`.
    pub path: String,
    /// What was declared.
    pub wanted: VariableType,
}

impl VariableType {
    pub const ALL: [Self; 5] =
        [Self::String, Self::Number, Self::Boolean, Self::Array, Self::Object];

    /// The word in `template.toml` and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The type of that word.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }

    /// Whether a value is of this type. `null` stands for an absent one, which has any type.
    fn holds(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Bool(_) => self == Self::Boolean,
            Value::Number(_) => self == Self::Number,
            Value::String(_) => self == Self::String,
            Value::Array(_) => self == Self::Array,
            Value::Object(_) => self == Self::Object,
        }
    }
}

impl TemplateVersion {
    /// About how many bytes of memory it holds, for caches.
    #[must_use]
    pub fn weight(&self) -> u32 {
        let source = &self.source;
        let texts = [&source.preheader, &source.html, &source.text, &source.layout];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
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
            template_id: TemplateId::new(crate::clock::Timestamp::from_millis(0)),
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
            dictionary: None,
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
