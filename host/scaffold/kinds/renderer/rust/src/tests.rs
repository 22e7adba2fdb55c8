use waxwing_plugin::renderer::{Output, Part, Renderer, Source, Template};
use waxwing_plugin::testing::{configured, context};
use waxwing_plugin::{Diagnostic, Failure, Plugin};

use super::{Compiled, Language};

fn compile(settings: &str, parts: &[(Part, &str)]) -> Result<Compiled, Vec<Diagnostic>> {
    let language: Language = configured(settings).expect("the settings are right");
    let source = |it: &(Part, &str)| Source {
        part: it.0,
        text: it.1.to_owned(),
    };
    language.compile(&Template {
        slug: "test".to_owned(),
        revision: 1,
        sources: parts.iter().map(source).collect(),
        partials: Vec::new(),
        layout: None,
    })
}

fn render(settings: &str, parts: &[(Part, &str)], data: &str) -> Result<Output, Failure> {
    let Ok(compiled) = compile(settings, parts) else {
        panic!("the template is right")
    };
    Language::render(&compiled, &context(), data)
}

#[test]
fn values_are_escaped_in_html_only_and_a_text_is_derived() {
    let parts = [
        (Part::Subject, "Hi {{ a }}"),
        (Part::Html, "<p>{{ a }}</p><p>{{a}}</p>"),
    ];
    let output = render("{}", &parts, r#"{"a":"<b>"}"#).expect("an output");
    let texts: Vec<&str> = output.bodies.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(
        texts,
        ["Hi <b>", "<p>&lt;b&gt;</p><p>&lt;b&gt;</p>", "<b>\n<b>\n"]
    );
}

#[test]
fn every_missing_name_is_reported_each_once() {
    let failure = render("{}", &[(Part::Text, "{{ a }} {{ b.c }} {{ a }}")], "{}");
    let Err(Failure::InvalidInput(faults)) = failure else {
        panic!("{failure:?}")
    };
    let paths: Vec<_> = faults.iter().filter_map(|it| it.path.as_deref()).collect();
    assert_eq!(paths, ["a", "b.c"]);
}

#[test]
fn a_missing_name_prints_nothing_where_the_settings_say_so() {
    let output = render(r#"{"missing":"empty"}"#, &[(Part::Text, "[{{ a }}]")], "{}");
    let output = output.expect("an output");
    assert_eq!(
        (output.bodies[0].text.as_str(), output.missing),
        ("[]", vec!["a".to_owned()])
    );
}

#[test]
fn faults_of_a_template_have_a_position() {
    let Err(faults) = compile("{}", &[(Part::Html, "<p>\n é {{ 1st }}</p>")]) else {
        panic!("the template is wrong")
    };
    assert_eq!(
        (faults[0].part.as_deref(), faults[0].line, faults[0].column),
        (Some("html"), 2, 4)
    );
}

#[test]
fn the_self_test_passes() {
    let language: Language = configured("{}").expect("the settings are right");
    for result in language.self_test(&context()) {
        assert!(result.passed, "{}: {}", result.name, result.detail);
    }
}

#[test]
fn the_golden_cases_hold() {
    waxwing_plugin::testing::cases::<Language>("cases");
}
