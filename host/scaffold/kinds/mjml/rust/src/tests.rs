use waxwing_plugin::Plugin;
use waxwing_plugin::mjml_compiler::{Document, MjmlCompiler};
use waxwing_plugin::testing::{configured, context};

use super::Compiler;

fn document(source: &str) -> Document {
    Document {
        source: source.to_owned(),
        includes: Vec::new(),
    }
}

#[test]
fn liquid_stays_and_the_language_is_that_of_the_settings() {
    let compiler: Compiler = configured(r#"{"language": "de"}"#).expect("the settings are right");
    let source = "<mjml><mj-body><mj-text>{{ a }}</mj-text></mj-body></mjml>";
    let compiled = compiler.compile(&context(), &document(source));
    let html = compiled.expect("it is good").html;
    assert_eq!(
        html,
        "<!doctype html><html lang=\"de\"><body><p>{{ a }}</p></body></html>"
    );
}

#[test]
fn every_unknown_element_is_named_with_its_place() {
    let compiler: Compiler = configured("{}").expect("the settings are right");
    let source = "<mjml>\n é<mj-txt>x</mj-txt></mjml>";
    let faults = compiler
        .compile(&context(), &document(source))
        .expect_err("it is wrong");
    let places: Vec<(u32, u32)> = faults.iter().map(|it| (it.line, it.column)).collect();
    assert_eq!(places, [(2, 3), (2, 12)]);
}

#[test]
fn the_self_test_passes() {
    let compiler: Compiler = configured("{}").expect("the settings are right");
    for result in compiler.self_test(&context()) {
        assert!(result.passed, "{}: {}", result.name, result.detail);
    }
}

#[test]
fn the_golden_cases_hold() {
    waxwing_plugin::testing::cases::<Compiler>("cases");
}
