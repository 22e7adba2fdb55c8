//! Data that a template cannot take.

use super::{refused, render, template, text};
use crate::{Part, RenderError};

fn all(code: &str, paths: &[&str]) -> Vec<(String, String)> {
    paths.iter().map(|it| (code.to_owned(), (*it).to_owned())).collect()
}

#[test]
fn every_missing_required_variable_is_named() {
    let source = "{{ a }}{{ user.name }}{{ user.mail | upcase }}{% for i in items %}{{ i.price }}{% endfor %}";
    assert_eq!(
        refused(source, "{}"),
        all("missing_variable", &["a", "user.name", "user.mail", "items"])
    );
    let data =
        r#"{"a": null, "user": {"name": "x"}, "items": [{"price": 1}, {}, {"price": null}]}"#;
    assert_eq!(
        refused(source, data),
        all("missing_variable", &["a", "user.mail", "items[1].price", "items[2].price"])
    );
}

#[test]
fn wrong_types_are_named_with_what_is_missing() {
    let source =
        "{% for i in items %}{{ i }}{% endfor %}{{ user.name }}{{ object }}{{ list }}{{ gone }}";
    let data = r#"{"items": 5, "user": "Bob", "object": {"a": 1}, "list": [1]}"#;
    let mut expected = all("wrong_type", &["items", "user", "object", "list"]);
    expected.extend(all("missing_variable", &["gone"]));
    assert_eq!(refused(source, data), expected);
}

#[test]
fn an_object_printed_in_a_branch_is_of_the_wrong_type_when_it_is_printed() {
    let source = "{% if show %}{{ o }}{% endif %}";
    assert_eq!(refused(source, r#"{"show": true, "o": {"a": 1}}"#), all("wrong_type", &["o"]));
    assert_eq!(text(source, r#"{"show": false, "o": {"a": 1}}"#), "");
}

#[test]
fn data_that_is_not_an_object_is_refused() {
    for data in ["[]", "1", "null", "", "{", "{\"a\": 1,}"] {
        assert_eq!(refused("x", data)[0].0, "not_an_object", "{data}");
    }
}

#[test]
fn only_what_goes_out_blank_is_listed_as_missing() {
    let source = "{% if a.b %}x{% else %}{{ c }}{% endif %}{{ d | default: 'e' }}{% if true %}{% for i in l %}{{ i.n }}{% endfor %}{% endif %}{% if false %}{{ never }}{% endif %}{% case k %}{% when m %}{{ o | upcase }}{% endcase %}{% unless u %}{{ v | default: w }}{% endunless %}{% assign x = y %}{% if x %}{{ x }}{% endif %}";
    let it = template(&[(Part::Text, source)]);
    let output = render(&it, r#"{"l": [{"n": 1}, {}]}"#).expect("renders");
    assert_eq!(output.bodies[0].text, "e1");
    assert_eq!(output.missing, ["c", "l[].n", "o", "v", "w"]);
}

#[test]
fn a_division_by_zero_is_the_sender_s_fault_with_its_place() {
    let it = template(&[(Part::Text, "\n{{ 10 | divided_by: n }}")]);
    let outcome = render(&it, r#"{"n": 0}"#);
    let expected = ("render_error", 2, Some("text"), "divided by 0");
    assert!(
        matches!(&outcome, Err(RenderError::Data(it)) if (it[0].code.as_str(), it[0].line, it[0].part.as_deref(), it[0].message.as_str()) == expected),
        "{outcome:?}"
    );
}

#[test]
fn a_division_by_a_literal_zero_is_the_template_s_fault() {
    assert_eq!(refused("{{ n | divided_by: 0 }}", r#"{"n": 1}"#)[0].0, "template: render_error");
}

#[test]
fn the_order_of_keys_is_the_order_of_the_data() {
    let source = "{% for p in o %}{{ p[0] }}={{ p[1] }};{% endfor %}";
    assert_eq!(text(source, r#"{"o": {"z": 1, "a": 2, "z": 3}}"#), "z=3;a=2;");
}

#[test]
fn a_comparison_of_unlike_types_names_the_path_and_the_cure() {
    let source = "{% if order.total > 10 %}a{% endif %}{% for i in l %}{% if 3 <= i.n %}b{% endif %}{% endfor %}";
    let data =
        r#"{"order": {"total": "19.90"}, "l": [{"n": 5}, {"n": [1]}, {"n": true}, {"n": "4"}]}"#;
    let outcome = render(&template(&[(Part::Text, source)]), data);
    let Err(RenderError::Data(faults)) = outcome else { panic!("{outcome:?}") };
    let faults: Vec<_> = faults
        .iter()
        .map(|it| (it.code.as_str(), it.path.as_deref().unwrap_or_default(), it.message.as_str()))
        .collect();
    assert_eq!(
        faults,
        [
            (
                "wrong_type",
                "order.total",
                "`order.total`: it is a string, but it is compared with a number; send a number, or \
                 make it one in the template with `| plus: 0` in an `assign`"
            ),
            (
                "wrong_type",
                "l[].n",
                "`l[].n`: it is a string, but it is compared with a number; send a number, or make it one \
                 in the template with `| plus: 0` in an `assign`"
            ),
        ]
    );
    let cured = "{% assign t = total | plus: 0 %}{% if t > 10 %}yes{% endif %}";
    assert_eq!(text(cured, r#"{"total": "19.90"}"#), "yes");
    assert_eq!(
        text("{% if total > 10 %}yes{% else %}no{% endif %}", "{}"),
        "no",
        "absent is false"
    );
    assert_eq!(text("{% if n == '1' %}yes{% else %}no{% endif %}", r#"{"n": 1}"#), "no");
}

#[test]
fn a_comparison_of_unlike_literals_is_the_template_s_fault() {
    assert_eq!(refused("{% if '2' > 1 %}a{% endif %}", "{}")[0].0, "template: render_error");
    let computed = "{% assign t = total | append: '' %}{% if t > 10 %}a{% endif %}";
    assert_eq!(refused(computed, r#"{"total": 19}"#)[0].0, "render_error");
}

#[test]
fn the_first_item_of_an_empty_list_is_missing() {
    let source = "{{ items.first.n }}";
    assert_eq!(refused(source, r#"{"items": []}"#), all("missing_variable", &["items.first.n"]));
    assert_eq!(refused(source, r#"{"items": [{}]}"#), all("missing_variable", &["items.first.n"]));
    assert_eq!(text(source, r#"{"items": [{"n": 7}]}"#), "7");
    assert_eq!(refused("{{ items.n }}", r#"{"items": []}"#), all("wrong_type", &["items"]));
}

/// Of a list it is `nil`, as in Ruby: what would go out blank is refused.
#[test]
fn the_first_in_brackets_is_a_key_of_an_object() {
    let source = "{{ items['first'] }}";
    assert_eq!(text(source, r#"{"items": {"first": 7}}"#), "7");
    assert_eq!(refused(source, r#"{"items": {}}"#), all("missing_variable", &["items[\"first\"]"]));
    assert_eq!(refused(source, r#"{"items": [7]}"#), all("wrong_type", &["items"]));
    assert_eq!(text("{{ items.first }}", r#"{"items": [7]}"#), "7");
}
