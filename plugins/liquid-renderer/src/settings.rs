//! The settings of the slot.

use serde::Deserialize;
use waxwing_plugin::PluginSettings;

/// All settings; every one has a default.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// What an unknown variable is.
    pub undefined: Undefined,
}

/// What a variable that the data lacks is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Undefined {
    /// Variables that are read unconditionally must be there.
    #[default]
    Required,
    /// Nothing is required and nothing is of the wrong type: absent is empty.
    Nil,
}

impl From<Undefined> for waxwing_liquid::Undefined {
    fn from(it: Undefined) -> Self {
        match it {
            Undefined::Required => Self::Required,
            Undefined::Nil => Self::Nil,
        }
    }
}

impl PluginSettings for Settings {
    fn schema() -> String {
        SCHEMA.to_owned()
    }
}

/// JSON Schema of [`Settings`].
const SCHEMA: &str = r#"{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Liquid renderer",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "undefined": {
      "type": "string",
      "enum": ["required", "nil"],
      "default": "required",
      "description": "required: refuse data that lacks a variable read unconditionally; nil: absent is empty"
    }
  }
}"#;
