//! Templates and data that mean harm are answered with diagnostics.

use super::{codes, compile, refused, template, text, with_partials};
use crate::{Part, RenderError};

#[test]
fn absurd_nesting_is_refused() {
    for n in [101, 5_000, 100_000] {
        let source = format!("{}{}", "{% if a %}".repeat(n), "{% endif %}".repeat(n));
        assert_eq!(codes(&template(&[(Part::Html, &source)])), ["nesting_too_deep"]);
    }
    let source = format!("{}x{}", "{% if true %}".repeat(100), "{% endif %}".repeat(100));
    assert_eq!(text(&source, "{}"), "x");
}

#[test]
fn deep_expressions_and_liquid_in_liquid_are_refused() {
    let deep = format!("{{{{ {}a{} }}}}", "a[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(codes(&template(&[(Part::Text, &deep)])), ["nesting_too_deep"]);
    let liquid = format!("{{% {}echo a %}}", "liquid ".repeat(10_000));
    assert_eq!(codes(&template(&[(Part::Text, &liquid)])), ["nesting_too_deep"]);
    let chain = format!("{{% if a{} %}}x{{% endif %}}", " and a".repeat(50_000));
    assert_eq!(text(&chain, r#"{"a": 1}"#), "x");
}

#[test]
fn an_include_that_finds_itself_at_run_time_is_a_fault_of_the_template() {
    let it = with_partials(
        template(&[(Part::Text, "{% assign p = 'a' %}{% include p %}")]),
        &[("a", "{% include p %}")],
    );
    let outcome = super::render(&it, "{}");
    assert!(
        matches!(&outcome, Err(RenderError::Template(it)) if it[0].code == "nesting_too_deep"),
        "{outcome:?}"
    );
}

#[test]
fn partials_that_nest_too_deep_together_are_refused() {
    let nested = |n: usize, inside: &str| {
        format!("{}{inside}{}", "{% if a %}".repeat(n), "{% endif %}".repeat(n))
    };
    let (a, b) = (nested(90, "{% render 'b' %}"), nested(90, "x"));
    let it = with_partials(template(&[(Part::Html, "{% render 'a' %}")]), &[("a", &a), ("b", &b)]);
    assert_eq!(codes(&it), ["nesting_too_deep"]);
}

#[test]
fn a_computed_partial_that_is_not_there_is_the_sender_s_fault() {
    assert_eq!(refused("{% include p %}", r#"{"p": "x"}"#)[0].0, "unknown_partial");
}

#[test]
fn partials_that_double_at_every_level_are_refused() {
    let names: Vec<String> = (0..=19).map(|i| format!("p{i}")).collect();
    let bodies: Vec<String> =
        (1..=20).map(|i| format!("{{% include 'p{i}' %}}").repeat(4)).collect();
    let mut partials: Vec<_> =
        names.iter().map(String::as_str).zip(bodies.iter().map(String::as_str)).collect();
    partials[19].1 = "x";
    let it = with_partials(template(&[(Part::Text, "{% include 'p0' %}")]), &partials);
    assert_eq!(codes(&it), ["too_complex"]);
}

#[test]
fn a_long_range_is_not_expanded() {
    assert_eq!(
        text(
            "{% for i in (1..9000000000000) %}{{ i }}{% if i == 3 %}{% break %}{% endif %}{% endfor %}",
            "{}"
        ),
        "123"
    );
    assert_eq!(text("{{ (1..9000000000000) | size }}", "{}"), "9000000000000");
    assert_eq!(refused("{{ (1..9000000000000) | join }}", "{}")[0].0, "render_error");
}

#[test]
fn deep_data_is_refused() {
    let data = format!("{{\"a\":{}{}}}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(refused("{{ a }}", &data)[0].0, "not_an_object");
}

#[test]
fn rounding_to_absurdly_many_places_has_a_result() {
    let most = "99999999999999999999";
    assert_eq!(text(&format!("{{{{ 15 | round: '-{most}' }}}}"), "{}"), "0");
    assert_eq!(text(&format!("{{{{ 15 | round: '{most}' }}}}"), "{}"), "15");
    assert_eq!(text("{{ 15.5 | round: '-9223372036854775808' }}", "{}"), "0");
}

/// An instance keeps compiled templates up to a sum of weights: a node takes more memory than the tag that it was.
#[test]
fn short_tags_weigh_more_than_text_of_their_length() {
    let tags = "{% if a %}x{% endif %}".repeat(500);
    let weight = |text: &str| compile(&template(&[(Part::Text, text)])).expect("compiles").weight();
    assert!(weight(&tags) > 5 * weight(&"x".repeat(tags.len())) / 2);
    assert!(weight(&tags) as usize > 500 * 2 * size_of::<crate::ast::Node>());
    let long = format!("{{% if a{} %}}x{{% endif %}}", " or a".repeat(2_000));
    assert!(weight(&long) as usize > 2_000 * size_of::<crate::ast::Comparison>());
}
