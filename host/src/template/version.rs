//! One published text of a template. Versions never change; a change makes a new one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::contract::Contract;
use super::slug::Slug;
use super::source::TemplateSource;
use crate::clock::Timestamp;
use crate::id::TemplateId;

pub use super::variable::{Variable, VariableFormat, VariableType};

/// One version of a template, as a message names what it was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateRevision {
    pub slug: Slug,
    /// 0 for what an author tries and has not published.
    pub revision: u64,
}

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
    /// What the renderer found the source to read, and what its author says of it.
    pub variables: Vec<Variable>,
    /// The same, made ready for looking through data.
    pub contract: Contract,
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

impl TemplateVersion {
    /// About how many bytes of memory it holds, for caches.
    #[must_use]
    pub fn weight(&self) -> u32 {
        // As JSON, which is as long as the texts: it has all parts, locales and messages.
        let json = |text: Result<String, serde_json::Error>| text.map_or(0, |it| it.len());
        let texts =
            json(serde_json::to_string(&self.source)) + json(serde_json::to_string(&self.blocks));
        let dictionary = self.dictionary.as_ref().map_or(0, |it| it.bytes.len());
        let variables = self.variables.len() * 192;
        u32::try_from(1_024 + texts + dictionary + variables).unwrap_or(u32::MAX)
    }

    /// The required variables that are plainly absent from `data`.
    pub fn missing<'a>(&'a self, data: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
        let required = self.variables.iter().filter(|variable| variable.required);
        required.map(|variable| variable.path.as_str()).filter(|path| is_absent(data, path))
    }
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
