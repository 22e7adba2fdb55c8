//! The operator's golden cases, beside the component: a new one must hold them.

use serde_json::{Value, json};

use super::fixture::{PLAN, PluginHost, TestDirs};

/// Writes a case of the slot `plan-policy`.
fn case(dirs: &TestDirs, name: &str, input: &Value, expected: Option<&Value>) {
    let folder = dirs.directory().join("plan-policy.cases").join(name);
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
async fn a_component_that_fails_a_case_is_refused_with_the_difference() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    case(&dirs, "one-credit", &one_use(), Some(&allowed(1, "price one")));
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    host.live(PLAN, "price-one").await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let why = host.refused(PLAN, "one-credit").await;
    assert_eq!(
        why,
        "the plugin price-two did not pass the case `one-credit`: decisions[0].allow.credits: \
         1 -> 2; decisions[0].allow.reason: \"price one\" -> \"price two\""
    );
    assert_eq!(host.reason().await, "price one");
}

#[tokio::test]
async fn a_case_with_settings_is_asked_of_a_generation_with_those() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let mut input = one_use();
    input["settings"] = json!({"price": 50});
    case(&dirs, "fifty", &input, Some(&allowed(50, "price 50")));
    dirs.put("plan-policy.toml", "[settings]\nprice = 3\n");
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    host.live(PLAN, "price-setting").await;
    assert_eq!(host.reason().await, "price 3");
}

#[tokio::test]
async fn a_case_that_is_none_is_refused_by_its_file() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    case(&dirs, "typing-error", &json!({"acount": {}}), None);
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    let why = host.refused(PLAN, "typing-error").await;
    assert!(why.contains("input.json cannot be used") && why.contains("acount"), "{why}");
    case(&dirs, "typing-error", &one_use(), None);
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-two"));
    let why = host.refused(PLAN, "has no expected.json").await;
    assert!(why.contains("`waxwing plugin test --update` writes it"), "{why}");
}
