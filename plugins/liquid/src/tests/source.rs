//! Faults of a template.

use super::{body, codes, compile, template, with_partials};
use crate::Part;

#[test]
fn every_fault_has_its_part_line_and_column() {
    let it = template(&[
        (Part::Subject, "{{ a | nope }}"),
        (Part::Html, "<p>\n  {{ b c }}\n{% if x %}"),
    ]);
    let faults = compile(&it).expect_err("faults");
    let places: Vec<_> = faults
        .iter()
        .map(|it| (it.code.as_str(), it.part.as_deref(), it.message.as_str(), it.line, it.column))
        .collect();
    assert_eq!(
        places,
        [
            ("unknown_filter", Some("subject"), "there is no filter `nope`", 1, 8),
            ("syntax", Some("html"), "expected the end of the tag, found `c`", 2, 8),
            ("unclosed_tag", Some("html"), "`if` without its `endif`", 3, 1),
        ]
    );
    assert_eq!(faults[1].snippet.as_deref(), Some("{{ b c }}"));
}

#[test]
fn a_column_counts_characters_not_bytes() {
    let faults = compile(&template(&[(Part::Text, "üü {{ | }}")])).expect_err("a fault");
    assert_eq!((faults[0].line, faults[0].column), (1, 7));
}

#[test]
fn faults_have_codes() {
    for (source, code) in [
        ("{% nope %}", "unknown_tag"),
        ("{% endif %}", "unexpected_tag"),
        ("{{ a", "unclosed_tag"),
        ("{% comment %}", "unclosed_tag"),
        ("{{ 'a }}", "syntax"),
        ("{{ a | append }}", "filter_arguments"),
        ("{{ a | default: 1, nope: 2 }}", "filter_arguments"),
        ("{% render 'x' %}", "unknown_partial"),
        ("{% render x %}", "syntax"),
    ] {
        assert_eq!(codes(&template(&[(Part::Text, source)])), [code], "{source}");
    }
}

#[test]
fn a_misspelt_filter_is_recognised() {
    let faults = compile(&template(&[(Part::Text, "{{ a | upcas }}")])).expect_err("a fault");
    assert!(faults[0].message.ends_with("did you mean `upcase`?"), "{}", faults[0].message);
}

#[test]
fn a_template_has_a_body_and_each_part_once() {
    assert_eq!(codes(&template(&[(Part::Subject, "a")])), ["no_body"]);
    assert_eq!(codes(&template(&[(Part::Text, "a"), (Part::Text, "b")])), ["duplicate_part"]);
}

#[test]
fn recursive_partials_are_refused() {
    let it = with_partials(
        template(&[(Part::Html, "{% render 'a' %}")]),
        &[("a", "{% include 'b' %}"), ("b", "\n{% if x %}{% render 'a' %}{% endif %}")],
    );
    let faults = compile(&it).expect_err("a fault");
    assert_eq!(faults[0].code, "recursive_partial");
    assert_eq!(faults[0].message, "partial `a` calls itself: a -> b -> a");
    assert_eq!(faults[0].part.as_deref(), Some("partial:b"));
    assert_eq!(faults[0].line, 2);
}

#[test]
fn faults_of_a_partial_and_of_the_layout_name_them() {
    let mut it = with_partials(
        template(&[(Part::Html, "{% render 'foot' %}")]),
        &[("foot", "{{ }}{{ | }}")],
    );
    it.layout = Some("{{ content | nope }}".to_owned());
    let parts: Vec<_> = compile(&it).expect_err("faults").into_iter().map(|it| it.part).collect();
    let expected = ["partial:foot", "layout"].map(|it| Some(it.to_owned()));
    assert_eq!(parts, expected);
}

#[test]
fn a_byte_order_mark_at_the_start_is_not_text() {
    let mut it = with_partials(
        template(&[
            (Part::Subject, "\u{FEFF}Hi"),
            (Part::Html, "\u{FEFF}<p>{% render 'p' %}</p>"),
            (Part::Text, "\u{FEFF}{{ 'a\u{FEFF}' }}"),
        ]),
        &[("p", "\u{FEFF}x")],
    );
    it.layout = Some("\u{FEFF}{{ content }}".to_owned());
    assert_eq!(body(&it, Part::Subject, "{}"), "Hi");
    assert_eq!(body(&it, Part::Html, "{}"), "<p>x</p>");
    assert_eq!(body(&it, Part::Text, "{}"), "a\u{FEFF}", "elsewhere it is a character");
}
