//! The settings that a server runs with, for its operator.

use serde_json::{Value, json};

use crate::config::Config;
use crate::management::settings::Setting;

/// The settings of a configuration, each with where it comes from.
pub fn settings(config: &Config) -> Vec<Setting> {
    let (values, defaults) = (json!(config), json!(Config::default()));
    let mut settings = Vec::new();
    for (section, keys) in values.as_object().into_iter().flatten() {
        for (key, value) in keys.as_object().into_iter().flatten() {
            let variable = format!("WAXWING_{section}__{key}").to_uppercase();
            let source = match std::env::var_os(&variable) {
                Some(_) => variable,
                None if defaults[section][key] == *value => "default".to_owned(),
                None => "configuration".to_owned(),
            };
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other
                @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    other.to_string()
                }
            };
            let (section, key) = (section.clone(), key.clone());
            settings.push(Setting { section, key, value, source });
        }
    }
    settings
}
