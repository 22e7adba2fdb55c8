use serde_json::{Map, Value};
use waxwing_plugin::testing::configured;

use super::{SCHEMA, Settings};
use crate::DomainRules;

fn codes(settings: &str) -> Vec<String> {
    let faults = configured::<DomainRules>(settings).err().expect("the settings must be refused");
    faults.into_iter().map(|it| it.code).collect()
}

#[test]
fn the_schema_has_the_defaults_of_the_code_for_every_field() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let fields = schema["properties"].as_object().expect("fields");
    let names: Vec<_> = fields.keys().map(String::as_str).collect();
    assert_eq!(names, ["spf", "dmarc", "returnPath", "returnPathLabel", "returnPathTarget"]);
    let defaults: Map<_, _> =
        fields.iter().map(|(name, it)| (name.clone(), it["default"].clone())).collect();
    let settings: Settings = serde_json::from_value(defaults.into()).expect("defaults parse");
    assert_eq!(settings, Settings::default());
    assert!(configured::<DomainRules>("{}").is_ok());
}

#[test]
fn every_word_of_the_schema_parses_and_no_other() {
    for word in ["required", "advised"] {
        let settings = format!(r#"{{"spf":"{word}","dmarc":"{word}","returnPath":"{word}"}}"#);
        assert!(configured::<DomainRules>(&settings).is_ok(), "{word}");
    }
    assert!(configured::<DomainRules>(r#"{"returnPath":"off"}"#).is_ok());
    assert_eq!(codes(r#"{"dmarc":"off"}"#), ["settings"]);
}

#[test]
fn all_faults_are_named_at_once() {
    let settings = r#"{"returnPathLabel":"a b","returnPathTarget":"localhost"}"#;
    assert_eq!(codes(settings), ["label_invalid", "target_invalid"]);
    let faults = configured::<DomainRules>(settings).err().expect("the settings must be refused");
    let paths: Vec<_> = faults.iter().filter_map(|it| it.path.as_deref()).collect();
    assert_eq!(paths, ["returnPathLabel", "returnPathTarget"]);
    assert_eq!(codes(r#"{"returnPathLabel":""}"#), ["label_invalid"]);
}

#[test]
fn an_unknown_field_is_refused() {
    assert_eq!(codes(r#"{"dkim":"required"}"#), ["settings"]);
}
