//! `plugin check` and `plugin test`: what a server would say, said before.

use serde_json::{Value, json};

use super::Desk;

const STAGES: [&str; 5] = ["inspecting", "compiling", "linking", "configuring", "testing"];

#[test]
fn a_good_component_passes_every_stage_and_its_code_is_kept() {
    let desk = Desk::with("price-one");
    let first = desk.json(&["check", "price-one.wasm"]);
    assert_eq!((&first["ok"], &first["kind"]), (&json!(true), &json!("plan")));
    assert_eq!((&first["name"], &first["version"]), (&json!("price-one"), &json!("1.0.0")));
    let stages = first["stages"].as_array().expect("a list");
    let names: Vec<&Value> = stages.iter().map(|it| &it["stage"]).collect();
    assert_eq!(names, STAGES);
    assert_eq!((&first["compiledBefore"], &first["warning"]), (&json!(false), &Value::Null));
    assert_eq!(first["limits"]["callMs"], 10);
    assert_eq!(desk.json(&["check", "price-one.wasm"])["compiledBefore"], true);
    let text = desk.says(&["check", "price-one.wasm", "--kind", "plan"]);
    for words in ["compile", "kept from before", "price-one 1.0.0", "A server takes it."] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

#[test]
fn what_a_server_would_refuse_fails_with_its_stage_and_its_reason() {
    for (guest, stage, words) in [
        ("reads-file", "inspecting", "wasi:filesystem"),
        ("wrong-world", "inspecting", "exports no kind"),
        ("trap-describe", "configuring", "trapped in describe"),
        ("refuses-settings", "configuring", "the second fault"),
        ("price-setting", "configuring", "price"),
        ("fails-self-test", "testing", "two and two: expected 4 and got 5"),
        ("too-few", "testing", "decisions"),
        ("endless-loop", "testing", "plugins.limits.plan.call_ms is 10 ms"),
    ] {
        let desk = Desk::with(guest);
        let (said, report) = desk.fails(&["check", &format!("{guest}.wasm")]);
        assert!(said.starts_with("error: ") && said.contains(words), "{guest}: {said}");
        assert_eq!((&report["ok"], &report["stage"]), (&json!(false), &json!(stage)), "{guest}");
        assert!(report["reason"].as_str().is_some_and(|it| it.contains(words)), "{report}");
    }
    let desk = Desk::with("price-one");
    let kind = ["check", "price-one.wasm", "--kind", "renderer"];
    let (said, _) = desk.fails(&kind);
    assert!(said.contains("is a plan policy, and this slot takes a template renderer"), "{said}");
    let whole = waxwing_guests::component("price-one");
    desk.put("damaged.wasm", waxwing_guests::truncated(&whole, whole.len() / 2));
    assert!(desk.fails(&["check", "damaged.wasm"]).0.contains("damaged at byte"));
    assert!(desk.fails(&["check", "nothing.wasm"]).0.contains("nothing.wasm cannot be read"));
    assert!(desk.fails(&["check"]).0.contains("waxwing plugin new"), "here is no project");
}

#[test]
fn the_files_of_a_slot_and_of_a_server_hold() {
    let desk = Desk::with("price-setting");
    desk.put("price-setting.toml", "[settings]\nprice = 3\n");
    assert_eq!(desk.json(&["check", "price-setting.wasm"])["ok"], true);
    desk.put("other.toml", "[settings]\nprice = 0\n[limits]\ncall_ms = 7\n");
    let (said, _) = desk.fails(&["check", "price-setting.wasm", "--slot-file", "other.toml"]);
    assert!(said.contains("settings/price"), "{said}");
    desk.put("other.toml", "[settings]\nprice = 1\n[limits]\ncall_ms = 7\n");
    let checked = desk.json(&["check", "price-setting.wasm", "--slot-file", "other.toml"]);
    assert_eq!(checked["limits"]["callMs"], 7);
    desk.put("server.toml", "[plugins]\nmax_component_bytes = 2000\n");
    let (said, _) = desk.fails(&["check", "price-setting.wasm", "--config", "server.toml"]);
    assert!(said.contains("plugins.max_component_bytes is 2000"), "{said}");
}

#[test]
fn golden_cases_are_told_to_be_new_written_held_and_broken() {
    let desk = Desk::new();
    desk.project("price-one");
    let (said, _) = desk.fails(&["test"]);
    assert!(said.contains("no golden cases"), "{said}");
    let input = r#"{"account": {"plan": "free"}, "uses": [{"recipients": 3}]}"#;
    desk.put("cases/three/input.json", input);
    let (said, report) = desk.fails(&["test"]);
    assert!(said.contains("1 of 1 cases failed"), "{said}");
    assert_eq!(report["cases"][0]["outcome"], "new");
    assert!(desk.fails(&["check"]).0.contains("has no expected.json"), "nor does a check pass it");

    assert_eq!(desk.json(&["test", "--update"])["cases"][0]["outcome"], "updated");
    let written: Value = serde_json::from_str(&desk.text("cases/three/expected.json")).unwrap();
    assert_eq!(written, json!({"decisions": [{"allow": {"credits": 3, "reason": "price one"}}]}));
    let held = desk.json(&["test"]);
    assert_eq!((&held["ok"], &held["cases"][0]["outcome"]), (&json!(true), &json!("held")));
    assert_eq!(desk.json(&["check"])["cases"], 1);

    desk.project("price-two");
    let (_, report) = desk.fails(&["test"]);
    let details = report["cases"][0]["details"].to_string();
    assert!(details.contains("decisions[0].allow.credits: 3 -> 6"), "{details}");
    let output = desk.run(&["test"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("differs   three") && text.contains("3 -> 6"), "{text}");
    let before = desk.text("cases/three/expected.json");
    assert!(before.contains('3'), "a test without --update writes nothing");
    assert_eq!(desk.json(&["test", "--update"])["ok"], true);
    assert!(desk.text("cases/three/expected.json").contains("\"credits\": 6"));
}

#[test]
fn a_case_may_have_settings_of_its_own() {
    let desk = Desk::new();
    desk.project("price-setting");
    desk.put("made.toml", "[settings]\nprice = 2\n");
    for (case, input) in [
        ("of-the-slot", r#"{"uses": [{"recipients": 1}]}"#),
        ("own", r#"{"settings": {"price": 5}, "uses": [{"recipients": 1}]}"#),
    ] {
        desk.put(&format!("cases/{case}/input.json"), input);
    }
    assert_eq!(desk.json(&["test", "--update"])["failed"], 0);
    assert!(desk.text("cases/of-the-slot/expected.json").contains("\"credits\": 2"));
    assert!(desk.text("cases/own/expected.json").contains("\"credits\": 5"));
    assert_eq!(desk.json(&["check"])["cases"], 2);
    desk.put("cases/wrong/input.json", r#"{"settings": {"price": 0}, "uses": []}"#);
    let (_, report) = desk.fails(&["test"]);
    assert_eq!(
        (&report["failed"], &report["cases"][2]["outcome"]),
        (&json!(1), &json!("no answer"))
    );
    // What traps is no answer that could be kept.
    desk.project("panic-check");
    desk.put("made.toml", "");
    let (said, _) = desk.fails(&["test", "--update"]);
    assert!(said.contains("trapped in check"), "{said}");
    assert!(!desk.path("cases/wrong/expected.json").exists());
}
