//! One published text of a template. Versions never change; a change makes a new one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::slug::Slug;
use crate::id::TemplateId;
use crate::message::address::EmailAddress;

/// The published version of a template.
#[derive(Debug, Clone)]
pub struct TemplateVersion {
    /// The template.
    pub template_id: TemplateId,
    /// The name by which it is sent.
    pub slug: Slug,
    /// 1 for the first version.
    pub revision: u64,
    /// What a person wrote.
    pub source: TemplateSource,
    /// What the renderer found the source to read.
    pub variables: Vec<Variable>,
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
    /// The subject line.
    pub subject: String,
    /// The line that mail clients show beside the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preheader: Option<String>,
    /// The HTML part.
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
}

impl TemplateVersion {
    /// The required variables that are plainly absent from `data`.
    pub fn missing<'a>(&'a self, data: &'a Map<String, Value>) -> impl Iterator<Item = &'a str> {
        let required = self.variables.iter().filter(|variable| variable.required);
        required.map(|variable| variable.path.as_str()).filter(|path| is_absent(data, path))
    }
}

/// Follows a path such as `user.name` or `items[].price`; what lies within a list is left to the
/// renderer, which looks at every element.
fn is_absent(data: &Map<String, Value>, path: &str) -> bool {
    let mut object = data;
    for step in path.split('.') {
        let name = step.strip_suffix("[]").unwrap_or(step);
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
            ("rows[].price", true),
        ] {
            assert_eq!(is_absent(data, path), absent, "{path}");
        }
    }
}
