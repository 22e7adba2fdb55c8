//! Messages and the filter `t`.

use super::{NOW, compile, template, with_partials};
use crate::{Compiled, Locale, Part, RenderError, Template, Undefined};

const MESSAGES: &str = r#"{
    "greeting": "Hello {{ name }}, & welcome to {{ shop.name }}",
    "terms_html": "Read <a href=\"/t\">our terms</a>, {{ name }}",
    "cart.items": {"zero": "nothing", "one": "{{ count }} item", "other": "{{ count }} items of {{ owner }}"},
    "files": {"one": "{{count}} файл", "few": "{{count}} файла", "many": "{{count}} файлов", "other": "{{count}} файла"},
    "braces": "{ {name} {{ \"{{\" }} }} %}",
    "plain": "No values"
}"#;

fn with_messages(parts: &[(Part, &str)], messages: &str) -> Template {
    with_partials(template(parts), &[("messages.json", messages)])
}

fn rendered(part: Part, locale: &str, source: &str, data: &str) -> Result<String, Vec<String>> {
    let it = with_messages(&[(part, source)], MESSAGES);
    let compiled =
        compile(&it).map_err(|it| it.into_iter().map(|it| it.message).collect::<Vec<_>>())?;
    match compiled.render_in(&Locale::new(locale), NOW, data) {
        Ok(it) => Ok(it.bodies[0].text.clone()),
        Err(RenderError::Data(it) | RenderError::Template(it)) => {
            Err(it.into_iter().map(|it| it.message).collect())
        }
    }
}

fn text(locale: &str, source: &str, data: &str) -> String {
    rendered(Part::Text, locale, source, data).expect("renders")
}

fn html(source: &str, data: &str) -> String {
    rendered(Part::Html, "en", source, data).expect("renders")
}

/// Codes and messages of the faults that a template is refused for.
fn faults(source: &str, messages: &str) -> Vec<(String, String)> {
    let faults = compile(&with_messages(&[(Part::Text, source)], messages)).expect_err("refused");
    faults.into_iter().map(|it| (it.code, it.message)).collect()
}

const DATA: &str = r#"{"name": "A & <b>B</b>", "shop": {"name": "S"}, "owner": "O"}"#;

#[test]
fn a_message_has_values_of_the_data_and_of_its_arguments() {
    let source = "{{ 'greeting' | t }}|{{ 'greeting' | t: name: 'X' }}";
    let expected = "Hello A & <b>B</b>, & welcome to S|Hello X, & welcome to S";
    assert_eq!(text("en", source, DATA), expected);
    assert_eq!(text("en", "{{ 'braces' | t }}", DATA), "{ {name} {{ }} %}");
    assert_eq!(text("en", "{% assign m = 'plain' | t | upcase %}{{ m }}", "{}"), "NO VALUES");
}

#[test]
fn a_message_is_escaped_and_markup_has_escaped_values() {
    assert_eq!(
        html("{{ 'greeting' | t }}", DATA),
        "Hello A &amp; &lt;b&gt;B&lt;/b&gt;, &amp; welcome to S"
    );
    assert_eq!(
        html("{{ 'terms_html' | t }}", DATA),
        "Read <a href=\"/t\">our terms</a>, A &amp; &lt;b&gt;B&lt;/b&gt;"
    );
    // A value that is markup stays so, and what is around it is escaped.
    assert_eq!(
        html("{% assign n = name | escape %}{{ 'greeting' | t: name: n }}", DATA),
        "Hello A &amp; &lt;b&gt;B&lt;/b&gt;, &amp; welcome to S"
    );
    // Where nothing is markup, the text of it is written.
    assert_eq!(text("en", "{{ 'terms_html' | t: name: 'A & B' }}", "{}"), "Read our terms, A & B");
}

#[test]
fn a_derived_text_has_the_text_of_a_message() {
    let source = "<p>{{ 'terms_html' | t }}</p><p>{{ 'greeting' | t }}</p>";
    let it = with_messages(&[(Part::Html, source)], MESSAGES);
    let output = compile(&it).expect("compiles").render(NOW, DATA).expect("renders");
    let expected = "A & <b>B</b>, & welcome to S";
    assert!(output.bodies[1].text.contains(expected), "{:?}", output.bodies[1].text);
    assert!(!output.bodies[1].text.contains("<a"), "{:?}", output.bodies[1].text);
}

#[test]
fn plural_forms_are_those_of_the_locale() {
    let of = |locale: &str, key: &str, count: &str| {
        let source = format!("{{{{ '{key}' | t: count: n }}}}");
        text(locale, &source, &format!(r#"{{"n": {count}, "owner": "O"}}"#))
    };
    assert_eq!(of("en", "cart.items", "0"), "nothing");
    assert_eq!(of("en", "cart.items", "1"), "1 item");
    assert_eq!(of("en", "cart.items", "1.0"), "1 item");
    assert_eq!(of("en", "cart.items", "\"1.5\""), "1.5 items of O");
    assert_eq!(of("en", "cart.items", "1234567"), "1,234,567 items of O");
    assert_eq!(of("ja", "cart.items", "1"), "1 items of O");
    for (count, expected) in
        [(1, "1 файл"), (3, "3 файла"), (5, "5 файлов"), (11, "11 файлов"), (21, "21 файл")]
    {
        assert_eq!(of("ru", "files", &count.to_string()), expected);
    }
    assert_eq!(of("ru", "files", "1.5"), "1,5 файла");
    // The rules of German have no `few`, so 3 takes the form `other`.
    assert_eq!(of("de", "files", "3"), "3 файла");
    let refused = rendered(Part::Text, "en", "{{ 'files' | t: count: n }}", r#"{"n": "many"}"#);
    assert_eq!(refused, Err(vec!["`count` of `t` is a number, found a string".to_owned()]));
}

#[test]
fn a_key_that_is_not_there_is_a_fault() {
    let of = |source: &str| faults(source, MESSAGES);
    let unknown = |message: &str| vec![("unknown_message".to_owned(), message.to_owned())];
    assert_eq!(
        of("{{ 'cart.item' | t: count: 1 }}"),
        unknown("there is no message `cart.item`; did you mean `cart.items`?")
    );
    assert_eq!(
        of("{% if x %}{% assign a = 'zzzzzz' | t %}{% endif %}"),
        unknown("there is no message `zzzzzz`")
    );
    assert_eq!(
        of("{{ 'files' | t }}")[0].1,
        "message `files` has plural forms: `t` needs `count:`"
    );
    let none = compile(&template(&[(Part::Html, "{{ 'a' | t }}")])).expect_err("no messages");
    assert_eq!(none.len(), 1);
    assert_eq!((none[0].line, none[0].column), (1, 10));
    assert!(none[0].message.ends_with("the template has no messages (`messages.json`)"));
    // A key that is computed is the data's; it is never written into a mail.
    let computed = "{{ k | prepend: 'cart.' | t: count: 2, owner: 'P' }}";
    assert_eq!(text("en", computed, r#"{"k": "items"}"#), "2 items of P");
    assert_eq!(
        rendered(Part::Text, "en", computed, r#"{"k": "itens"}"#),
        Err(vec!["there is no message `cart.itens`; did you mean `cart.items`?".to_owned()])
    );
    assert_eq!(text("en", "{{ k | t: default: 'other' }}", r#"{"k": "x"}"#), "other");
    assert_eq!(text("en", "{{ 'x' | t: default: 'other' }}", "{}"), "other");
    let number = rendered(Part::Text, "en", "{{ 5 | t }}", "{}");
    assert_eq!(number, Err(vec!["`t` takes the key of a message, found a number".to_owned()]));
}

#[test]
fn variables_of_messages_are_variables_of_the_template() {
    let of = |source: &str| -> Vec<String> {
        let compiled =
            compile(&with_messages(&[(Part::Text, source)], MESSAGES)).expect("compiles");
        let all = compiled.variables().into_iter();
        all.map(|it| format!("{}{}", it.path, if it.required { "" } else { "?" })).collect()
    };
    assert_eq!(of("{{ 'greeting' | t }}"), ["name", "shop.name"]);
    assert_eq!(of("{{ 'greeting' | t: name: user.first }}"), ["user.first", "shop.name"]);
    // What only some of the forms read is optional.
    assert_eq!(of("{{ 'cart.items' | t: count: n }}"), ["n", "owner?"]);
    assert_eq!(of("{% if a %}{{ 'greeting' | t }}{% endif %}"), ["a?", "name?", "shop.name?"]);
    // Any message may be meant by a key that is computed.
    assert_eq!(of("{{ k | t: count: 1 }}"), ["k", "owner?", "name?", "shop.name?"]);
    assert_eq!(of("{{ 'plain' | t: unread: x }}"), ["x?"]);
    let refused = rendered(Part::Text, "en", "{{ 'greeting' | t }}", r#"{"name": ["x"]}"#);
    let expected = ["`name` is an array, but it is printed", "`shop.name` is missing"];
    assert_eq!(refused.map_err(|it| it.join(", ")), Err(expected.join(", ")));
}

#[test]
fn an_object_in_a_message_is_of_the_wrong_type() {
    let source = "{% if true %}{{ 'greeting' | t: name: o }}{% endif %}";
    let refused = rendered(Part::Text, "en", source, r#"{"o": {"a": 1}, "shop": {"name": 1}}"#);
    assert_eq!(refused, Err(vec!["`o`: an object is written by a message".to_owned()]));
}

#[test]
fn faults_of_messages_name_their_key() {
    for (messages, code, message) in [
        (
            r#"{"a": "{{ x | upcase }}"}"#,
            "message_syntax",
            "message `a`: a value is a name, as `{{ user.name }}`, without filters: expected the end of the tag, found `|`",
        ),
        (
            r#"{"a": "{% include 'x' %}"}"#,
            "message_syntax",
            "message `a`: it has a tag; a message has only values, as `{{ name }}`",
        ),
        (r#"{"a": "{{ x"}"#, "message_syntax", "message `a`: `{{` is not closed"),
        (
            r#"{"a": "{{ 5 }}"}"#,
            "message_syntax",
            "message `a`: a value is a name, as `{{ user.name }}`, without filters",
        ),
        (
            r#"{"a": 5}"#,
            "bad_messages",
            "message `a`: it is neither text nor an object of plural forms",
        ),
        (
            r#"{"a": {"one": "x"}}"#,
            "bad_messages",
            "message `a`: it has no plural form `other`, which every language has",
        ),
        (
            r#"{"a": {"other": "x", "b": "y"}}"#,
            "bad_messages",
            "message `a`: `b` is no plural form; there are zero, one, two, few, many, other",
        ),
        (
            r#"{"a": {"other": ["x"]}}"#,
            "bad_messages",
            "message `a`: the plural form `other` is not text",
        ),
        ("[]", "bad_messages", "the messages are not a JSON object"),
        (
            "{\"a\":\n x}",
            "bad_messages",
            "the messages are not JSON: expected value at line 2 column 2",
        ),
    ] {
        let found = compile(&with_messages(&[(Part::Text, "x")], messages)).expect_err("refused");
        assert_eq!((found[0].code.as_str(), found[0].message.as_str()), (code, message));
        assert_eq!(found[0].part.as_deref(), Some("partial:messages.json"));
        assert_eq!(found[0].path.as_deref(), message.starts_with("message").then_some("a"));
    }
}

#[test]
fn values_are_never_read_as_liquid() {
    let data =
        r#"{"name": "{{ secret }}{% raw %}", "shop": {"name": "{{ 'x' | t }}"}, "secret": 1}"#;
    let expected = "Hello {{ secret }}{% raw %}, & welcome to {{ 'x' | t }}";
    assert_eq!(text("en", "{{ 'greeting' | t }}", data), expected);
}

#[test]
fn the_partial_of_the_messages_cannot_be_called() {
    for source in ["{% render 'messages.json' %}", "{% include 'messages.json' %}"] {
        assert_eq!(faults(source, MESSAGES)[0].0, "unknown_partial");
    }
    let it = with_messages(&[(Part::Text, "{% include p %}")], MESSAGES);
    let outcome = compile(&it).expect("compiles").render(NOW, r#"{"p": "messages.json"}"#);
    assert!(matches!(&outcome, Err(RenderError::Data(it)) if it[0].code == "unknown_partial"));
}

#[test]
fn partials_and_layouts_write_messages_of_their_own_scope() {
    let mut it = with_partials(
        template(&[(Part::Html, "{% render 'p', name: 'Inner' %}")]),
        &[("messages.json", MESSAGES), ("p", "{{ 'terms_html' | t }}")],
    );
    it.layout =
        Some("<html lang=\"{{ locale.lang }}\">{{ content }}{{ 'plain' | t }}</html>".to_owned());
    let output = compile(&it).expect("compiles").render_in(&Locale::new("fr"), NOW, "{}");
    let expected = "<html lang=\"fr\">Read <a href=\"/t\">our terms</a>, InnerNo values</html>";
    assert_eq!(output.expect("renders").bodies[0].text, expected);
}

#[test]
fn many_and_long_messages_are_taken() {
    let many: Vec<String> =
        (0..20_000).map(|i| format!(r#""key.{i}": "Text {i} of {{{{ a{i} }}}}""#)).collect();
    let messages = format!("{{{}}}", many.join(","));
    let calls = "{{ k | t }}".repeat(500) + &"{{ 'key.7' | t }}".repeat(500);
    let it = with_messages(&[(Part::Text, &calls)], &messages);
    let compiled = Compiled::new(&it, Undefined::Nil).expect("compiles");
    assert!(compiled.weight() as usize > messages.len());
    let output = compiled.render(NOW, r#"{"k": "key.19999", "a19999": "x"}"#).expect("renders");
    assert!(output.bodies[0].text.starts_with("Text 19999 of xText 19999 of x"));
    let wrong = "{{ 'key.x' | t }}".repeat(2_000);
    assert_eq!(faults(&wrong, &messages).len(), 50);
    let long = format!(r#"{{"a": "{}{{{{ n }}}}"}}"#, "ä".repeat(500_000));
    let it = with_messages(&[(Part::Html, "{{ 'a' | t }}")], &long);
    let output = compile(&it).expect("compiles").render(NOW, r#"{"n": "<"}"#).expect("renders");
    assert_eq!(output.bodies[0].text.len(), 1_000_004);
}
