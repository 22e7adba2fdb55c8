use serde_json::Value;
use waxwing_plugin::Diagnostic;
use waxwing_plugin::testing::configured;

use super::{SCHEMA, Settings};
use crate::PlanRules;

fn faults(settings: &str) -> Vec<Diagnostic> {
    configured::<PlanRules>(settings).err().expect("the settings must be refused")
}

fn codes(settings: &str) -> Vec<String> {
    faults(settings).into_iter().map(|it| it.code).collect()
}

#[test]
fn no_settings_are_five_plans_at_one_credit_without_limits() {
    let settings: Settings = serde_json::from_str("{}").expect("an empty object");
    let names: Vec<_> = settings.plans.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["free", "starter", "pro", "business", "enterprise"]);
    assert!(settings.plans.iter().all(|it| it.credits_per_recipient == 1));
    assert!(settings.plans.iter().all(|it| it.daily_limit.or(it.monthly_limit).is_none()));
    assert!(configured::<PlanRules>("{}").is_ok());
}

#[test]
fn the_schema_has_the_defaults_of_the_code() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let plans = &schema["properties"]["plans"];
    let default = format!(r#"{{"plans":{}}}"#, plans["default"]);
    let settings: Settings = serde_json::from_str(&default).expect("the default parses");
    assert_eq!(settings, Settings::default());
    let credits = &plans["items"]["properties"]["creditsPerRecipient"];
    assert_eq!((&credits["default"], &credits["maximum"]), (&1.into(), &u32::MAX.into()));
}

#[test]
fn every_field_of_a_plan_is_in_the_schema_and_parses() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let fields = schema["properties"]["plans"]["items"]["properties"].as_object().expect("fields");
    let names: Vec<_> = fields.keys().map(String::as_str).collect();
    assert_eq!(names, ["name", "creditsPerRecipient", "dailyLimit", "monthlyLimit"]);
    let all = r#"{"plans":[{"name":"a","creditsPerRecipient":2,"dailyLimit":3,"monthlyLimit":4}]}"#;
    assert!(configured::<PlanRules>(all).is_ok());
}

#[test]
fn all_faults_are_named_at_once() {
    let settings = r#"{"plans":[{"name":"a"},{"name":""},{"name":"a"},{"name":"paid"},
        {"name":" b"},{"name":"c","dailyLimit":0,"monthlyLimit":0},{}]}"#;
    assert_eq!(
        codes(settings),
        [
            "name_empty",
            "name_duplicate",
            "name_reserved",
            "name_characters",
            "limit_zero",
            "limit_zero",
            "name_empty"
        ]
    );
    let faults = faults(settings);
    let paths: Vec<_> = faults.iter().filter_map(|it| it.path.as_deref()).collect();
    assert_eq!(
        paths,
        [
            "plans[1].name",
            "plans[2].name",
            "plans[3].name",
            "plans[4].name",
            "plans[5].dailyLimit",
            "plans[5].monthlyLimit",
            "plans[6].name"
        ]
    );
    let duplicate = &faults[1].message;
    assert!(duplicate.contains("plans[2].name") && duplicate.contains("`a`"), "{duplicate}");
}

#[test]
fn an_empty_list_of_plans_is_refused() {
    assert_eq!(codes(r#"{"plans":[]}"#), ["plans_empty"]);
}

#[test]
fn an_unknown_field_is_refused_with_its_name_and_place() {
    let faults = faults("{\"plans\":[{\"name\":\"a\",\n\"dailylimit\":5}]}");
    assert!(faults[0].message.contains("dailylimit"), "{faults:?}");
    assert_eq!(faults[0].line, 2);
}

#[test]
fn a_price_with_a_fraction_or_a_sign_is_refused() {
    for price in ["1.5", "-1", "4294967296", "\"1\""] {
        let settings = format!(r#"{{"plans":[{{"name":"a","creditsPerRecipient":{price}}}]}}"#);
        assert_eq!(codes(&settings), ["settings"], "{price}");
    }
}
