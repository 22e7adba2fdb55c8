use waxwing_plugin::renderer::{Output, Part, Renderer, Template};
use waxwing_plugin::testing::{cases, context, template};
use waxwing_plugin::{Diagnostic, Failure, Pair, Plugin};

use crate::MinijinjaRenderer;

fn compile(it: &Template) -> Result<crate::template::Compiled, Vec<Diagnostic>> {
    MinijinjaRenderer.compile(it)
}

fn render(it: &Template, data: &str) -> Result<Output, Failure> {
    MinijinjaRenderer::render(&compile(it).expect("the template is good"), &context(), data)
}

fn body(output: &Output, part: Part) -> &str {
    output.bodies.iter().find(|it| it.part == part).map_or("", |it| it.text.as_str())
}

/// Each path, with a question mark where it is optional.
fn variables(html: &str) -> Vec<String> {
    let compiled = compile(&template(&[(Part::Html, html)])).expect("the template is good");
    let variables = MinijinjaRenderer::variables(&compiled).into_iter();
    variables.map(|it| if it.required { it.path } else { format!("{}?", it.path) }).collect()
}

#[test]
fn the_self_test_passes() {
    for it in MinijinjaRenderer.self_test(&context()) {
        assert!(it.passed, "{}: {}", it.name, it.detail);
    }
}

#[test]
fn the_golden_cases_hold() {
    cases::<MinijinjaRenderer>("cases");
}

#[test]
fn only_html_is_escaped_and_a_text_is_made_of_it() {
    let mut it = template(&[
        (Part::Subject, "{{ name }}\n!"),
        (Part::Html, "<p title=\"{{ name }}\">{% include 'who' %}</p><ul><li>{{ name }}</ul>"),
    ]);
    it.partials.push(Pair { key: "who".to_owned(), value: "{{ name }}".to_owned() });
    it.layout = Some("<main>{{ content }}</main><i>{{ subject }}</i>".to_owned());
    let output = render(&it, r#"{"name": "<A & \"B\">"}"#).expect("the data are good");
    assert_eq!(body(&output, Part::Subject), "<A & \"B\"> !");
    let name = "&lt;A &amp; &quot;B&quot;&gt;";
    let html =
        format!("<main><p title=\"{name}\">{name}</p><ul><li>{name}</ul></main><i>{name} !</i>");
    assert_eq!(body(&output, Part::Html), html);
    assert_eq!(body(&output, Part::Text), "<A & \"B\">\n\n- <A & \"B\">\n<A & \"B\"> !\n");
}

#[test]
fn variables_are_known_with_their_paths_and_whether_they_are_required() {
    let html = "{{ user.name }} {{ user['mail'] | upper }} {% set first = items[0] %}\
                {% for it in items %}{{ it.price }}{% if it.note %}{{ it.note }}{% endif %}\
                {{ loop.index }}{% else %}{{ none_left }}{% endfor %}\
                {{ nick | default(user.alias) }} {{ a if b else c }} {% if d is defined %}{{ e }}{% endif %}\
                {% macro m(x) %}{{ x }}{{ f }}{% endmacro %}{{ m(g) }} {{ range(3) | length }}";
    let expected = [
        "user.name",
        "user.mail",
        "items",
        "items[].price",
        "items[].note?",
        "none_left?",
        "nick?",
        "user.alias",
        "b?",
        "a?",
        "c?",
        "d?",
        "e?",
        "f?",
        "g",
        // `items[0]` may be any of them, with all that is in it.
        "items[]?",
    ];
    assert_eq!(variables(html), expected);
}

#[test]
fn all_missing_variables_are_named_at_once() {
    let html = "{{ a.b }}{% for it in items %}{{ it.price }}{% endfor %}{{ list[0] }}{{ c }}{% if d %}{{ e }}{% endif %}\
                {% for x in gone %}{{ x.y }}{% endfor %}";
    let data = r#"{"a": {}, "items": [{"price": 1}, {}], "list": [], "c": null}"#;
    let Err(Failure::InvalidInput(faults)) = render(&template(&[(Part::Html, html)]), data) else {
        panic!("it is refused");
    };
    let paths: Vec<_> = faults.iter().filter_map(|it| it.path.as_deref()).collect();
    assert_eq!(paths, ["a.b", "items[1].price", "c", "gone"]);
    assert!(faults.iter().all(|it| it.code == "missing_variable"), "{faults:?}");
}

#[test]
fn optional_variables_may_be_absent_and_are_told() {
    let it = template(&[(
        Part::Text,
        "Hi {% if name %}{{ name }}{% endif %}{{ x.y | default('you') }}",
    )]);
    let output = render(&it, "{}").expect("nothing is required");
    assert_eq!(body(&output, Part::Text), "Hi you\n");
    assert_eq!(output.missing, ["name", "x.y"]);
}

#[test]
fn faults_have_part_line_and_column() {
    let place = |it: &Template| {
        let faults = compile(it).err().expect("the template is wrong");
        let it = &faults[0];
        (it.code.clone(), it.part.clone().unwrap_or_default(), it.line, it.column)
    };
    let it = template(&[(Part::Subject, "Hi"), (Part::Html, "<p>\nü {{ a b }}</p>")]);
    assert_eq!(place(&it), ("syntax".to_owned(), "html".to_owned(), 2, 8));
    let it = template(&[(Part::Text, "a\n{{ b | uper }}")]);
    assert_eq!(place(&it), ("unknown_filter".to_owned(), "text".to_owned(), 2, 8));
    let it = template(&[(Part::Text, "{% if a is odder %}{% endif %}")]);
    assert_eq!(place(&it).0, "unknown_test");
    let it = template(&[(Part::Html, "{% include 'foter' %}")]);
    assert_eq!(place(&it), ("unknown_partial".to_owned(), "html".to_owned(), 1, 12));
    let mut it = template(&[(Part::Html, "{% include 'footer' %}")]);
    it.partials.push(Pair { key: "footer".to_owned(), value: "{% if %}".to_owned() });
    assert_eq!((place(&it).0.as_str(), place(&it).1.as_str()), ("syntax", "partial:footer"));
}

#[test]
fn data_of_a_wrong_type_are_the_senders_fault_and_the_rest_the_templates() {
    let it = template(&[(Part::Text, "{{ a + 1 }}")]);
    assert!(matches!(render(&it, r#"{"a": {}}"#), Err(Failure::InvalidInput(_))));
    assert!(matches!(render(&it, "[]"), Err(Failure::InvalidInput(_))));
    assert!(matches!(render(&it, "{"), Err(Failure::InvalidInput(_))));
    let it = template(&[(Part::Text, "{{ nobody_has_this(1) }}")]);
    assert!(matches!(render(&it, "{}"), Err(Failure::Misconfigured(_))));
}

#[test]
fn a_partial_that_includes_itself_ends() {
    let mut it = template(&[(Part::Text, "{% include 'a' %}")]);
    it.partials.push(Pair { key: "a".to_owned(), value: "{% include 'a' %}".to_owned() });
    assert!(render(&it, "{}").is_err());
}
