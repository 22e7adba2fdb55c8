//! What a template reads of its data.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A variable that a template reads, e.g. `user.name` or `items[].price`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = TemplateVariable)]
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
#[derive(ToSchema)]
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
    pub(super) fn holds(self, value: &Value) -> bool {
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
