//! The operator's golden cases, beside the component: a new one must hold them.

use serde_json::{Value, json};

use super::platform::{Home, PLAN, Platform};

/// Writes a case of the slot `plan-policy`.
fn case(home: &Home, name: &str, input: &Value, expected: Option<&Value>) {
    let folder = home.directory().join("plan-policy.cases").join(name);
    std::fs::create_dir_all(&folder).expect("made");
    std::fs::write(folder.join("input.json"), input.to_string()).expect("written");
    if let Some(expected) = expected {
        std::fs::write(folder.join("expected.json"), expected.to_string()).expect("written");
    }
}

fn one_use() -> Value {
    json!({"account": {"id": "acc_1"}, "uses": [{"templateSlug": "welcome", "recipients": 1}]})
}

fn allowed(credits: u32, reason: &str) -> Value {
    json!({"decisions": [{"allow": {"credits": credits, "reason": reason}}]})
}

#[tokio::test]
async fn a_component_that_answers_a_case_otherwise_is_refused_with_the_difference() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    case(&home, "one-credit", &one_use(), Some(&allowed(1, "price one")));
    home.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    platform.live(PLAN, "price-one").await;
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let why = platform.refused(PLAN, "one-credit").await;
    assert_eq!(
        why,
        "the plugin price-two did not pass the case `one-credit`: decisions[0].allow.credits: \
         1 -> 2; decisions[0].allow.reason: \"price one\" -> \"price two\""
    );
    assert_eq!(platform.reason().await, "price one");
}

#[tokio::test]
async fn a_case_with_settings_is_asked_of_a_generation_with_those() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    let mut input = one_use();
    input["settings"] = json!({"price": 50});
    case(&home, "fifty", &input, Some(&allowed(50, "price 50")));
    home.put("plan-policy.toml", "[settings]\nprice = 3\n");
    home.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    platform.live(PLAN, "price-setting").await;
    assert_eq!(platform.reason().await, "price 3");
}

#[tokio::test]
async fn a_case_that_is_none_is_refused_by_its_file() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    case(&home, "typing-error", &json!({"acount": {}}), None);
    home.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    let why = platform.refused(PLAN, "typing-error").await;
    assert!(why.contains("input.json cannot be used") && why.contains("acount"), "{why}");
    case(&home, "typing-error", &one_use(), None);
    home.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let why = platform.refused(PLAN, "has no expected.json").await;
    assert!(why.contains("`waxwing plugin test --update` writes it"), "{why}");
}
