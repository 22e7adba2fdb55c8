use waxwing_plugin::renderer::{Part, Renderer, Source, Template};
use waxwing_plugin::testing::context;
use waxwing_plugin::{CallContext, Failure, Pair, Plugin};

use crate::{LiquidRenderer, Settings};

fn renderer(settings: &str) -> LiquidRenderer {
    let settings: Settings = serde_json::from_str(settings).expect("settings");
    LiquidRenderer::configure(settings).expect("the settings are good")
}

fn template(html: &str) -> Template {
    Template {
        slug: "t".to_owned(),
        revision: 1,
        sources: vec![Source { part: Part::Html, text: html.to_owned() }],
        partials: vec![Pair { key: "who".to_owned(), value: "{{ name }}".to_owned() }],
        layout: Some("<main>{{ content }}</main>".to_owned()),
    }
}

#[test]
fn the_self_test_passes() {
    let results = renderer("{}").self_test(&context());
    assert!(!results.is_empty());
    for it in results {
        assert!(it.passed, "{}: {}", it.name, it.detail);
    }
}

#[test]
fn sources_partials_and_layout_reach_the_engine() {
    let compiled = renderer("{}").compile(&template("<p>{% render 'who', name: n %}</p>"));
    let compiled = compiled.expect("the template is good");
    let output = LiquidRenderer::render(&compiled, &context(), r#"{"n": "A & B"}"#);
    let bodies = output.expect("the data is good").bodies;
    let bodies: Vec<_> = bodies.iter().map(|it| (it.part, it.text.as_str())).collect();
    let expected = [(Part::Html, "<main><p>A &amp; B</p></main>"), (Part::Text, "A & B\n")];
    assert_eq!(bodies, expected);
}

#[test]
fn the_settings_say_what_is_required() {
    for (settings, required) in [("{}", true), (r#"{"undefined": "nil"}"#, false)] {
        let compiled =
            renderer(settings).compile(&template("{{ n }}")).expect("the template is good");
        let variables = LiquidRenderer::variables(&compiled);
        assert_eq!((variables[0].path.as_str(), variables[0].required), ("n", required));
        let output = LiquidRenderer::render(&compiled, &context(), "{}");
        assert_eq!(matches!(output, Err(Failure::InvalidInput(_))), required);
    }
}

#[test]
fn a_fault_keeps_its_place() {
    let faults = renderer("{}").compile(&template("\n{{ a | nope }}")).expect_err("no such filter");
    assert_eq!((faults[0].line, faults[0].part.as_deref()), (2, Some("html")));
}

#[test]
fn the_locale_of_the_call_reaches_the_engine() {
    let mut template = template("{{ locale.lang }} {{ 'files' | t: count: n }}");
    let messages = r#"{"files": {"one": "{{ count }} Datei", "other": "{{ count }} Dateien"}}"#;
    template.partials = vec![Pair { key: "messages.json".to_owned(), value: messages.to_owned() }];
    template.layout = None;
    let compiled = renderer("{}").compile(&template).expect("the template is good");
    for (locale, expected) in
        [(Some("de_at"), "de-AT 1 Datei"), (Some("fi"), "fi 1 Datei"), (None, "en 1 Datei")]
    {
        let context = CallContext { locale: locale.map(str::to_owned), ..context() };
        let output = LiquidRenderer::render(&compiled, &context, r#"{"n": 1}"#);
        assert_eq!(output.expect("the data is good").bodies[0].text, expected);
    }
}
