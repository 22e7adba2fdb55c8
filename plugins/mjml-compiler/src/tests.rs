use waxwing_plugin::mjml_compiler::{Compiled, Document};
use waxwing_plugin::testing::context;
use waxwing_plugin::{Diagnostic, Pair, Plugin, Severity};

use crate::MjmlCompiler;
use crate::compile::compile;

mod npm;

fn document(source: &str, includes: &[(&str, &str)]) -> Document {
    let pair =
        |(key, value): &(&str, &str)| Pair { key: (*key).to_owned(), value: (*value).to_owned() };
    Document { source: source.to_owned(), includes: includes.iter().map(pair).collect() }
}

fn body(inside: &str) -> String {
    format!("<mjml>\n<mj-body>\n{inside}\n</mj-body>\n</mjml>")
}

fn column(inside: &str) -> String {
    body(&format!("<mj-section><mj-column>\n{inside}\n</mj-column></mj-section>"))
}

fn compiled(source: &str) -> Compiled {
    compile(&document(source, &[])).expect("the document is good")
}

fn faults(source: &str) -> Vec<Diagnostic> {
    compile(&document(source, &[])).expect_err("the document is wrong")
}

/// Code, line and column of the only fault, and a part of its message.
fn assert_fault(source: &str, (code, line, column): (&str, u32, u32), says: &str) {
    let faults = faults(source);
    let it = &faults[0];
    assert_eq!((it.code.as_str(), it.line, it.column), (code, line, column), "{faults:?}");
    assert!(it.message.contains(says), "{}", it.message);
    assert_eq!(faults.len(), 1, "{faults:?}");
}

/// Code and line of the only warning, and a part of its message.
fn assert_warning(source: &str, (code, line): (&str, u32), says: &str) {
    let warnings = compiled(source).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let it = &warnings[0];
    assert_eq!((it.code.as_str(), it.line, it.severity), (code, line, Severity::Warning));
    assert!(it.message.contains(says), "{}", it.message);
}

#[test]
fn the_self_test_passes() {
    let results = MjmlCompiler.self_test(&context());
    assert_eq!(results.len(), 2);
    for it in results {
        assert!(it.passed, "{}: {}", it.name, it.detail);
    }
}

#[test]
fn the_golden_cases_hold() {
    waxwing_plugin::testing::cases::<MjmlCompiler>("cases");
}

#[test]
fn liquid_survives_wherever_it_may_stand() {
    let source = r#"<mjml lang="{{ locale.lang }}">
<mj-head>
  <mj-title>{{ title }}</mj-title>
  <mj-preview>Hi {{ name | append: "<!>" }}</mj-preview>
  <mj-attributes><mj-all font-family="{{ font }}" /><mj-text color="{{ colour }}" /></mj-attributes>
  <mj-style>.a { color: {{ accent }} }</mj-style>
</mj-head>
<mj-body background-color="{{ ground }}">
  {% for it in sections %}
  <mj-section css-class="{{ it.class }}" border="1px solid {{ line }}">
    {% comment %}<mj-column>{% endcomment %}
    <mj-column>
      {% if a < b and c > d %}
      <mj-text>{{ it.text }} {% raw %}{{ not_read }}{% endraw %}</mj-text>
      {% endif %}
      <mj-button href="{{ it.url | append: "?a=1" }}">Go</mj-button>
      <mj-image src='{{ it.image | append: "x" | append: 'y' }}' alt="{{ it.alt }}" />
      <mj-table>{% for row in it.rows %}<tr><td>{{ row }}</td></tr>{% endfor %}</mj-table>
    </mj-column>
  </mj-section>
  {% endfor %}
  <mj-raw>{% render 'footer' %}</mj-raw>
</mj-body>
</mjml>"#;
    let html = compiled(source).html;
    for liquid in [
        "lang=\"{{ locale.lang }}\"",
        "<title>{{ title }}</title>",
        "{{ name | append: \"<!>\" }}",
        "{{ font }}",
        "color:{{ colour }}",
        ".a { color: {{ accent }} }",
        "background-color:{{ ground }}",
        "{% for it in sections %}",
        "{{ it.class }}-outlook",
        "1px solid {{ line }}",
        "{% comment %}<mj-column>{% endcomment %}",
        "{% if a < b and c > d %}",
        "{% raw %}{{ not_read }}{% endraw %}",
        "href=\"{{ it.url | append: \"?a=1\" }}\"",
        "src=\"{{ it.image | append: \"x\" | append: 'y' }}\"",
        "{% for row in it.rows %}<tr>",
        "</tr>{% endfor %}",
        "{% render 'footer' %}",
    ] {
        assert!(html.contains(liquid), "{liquid} is not in {html}");
    }
    assert!(!html.contains("liquid"), "a word is left");
}

#[test]
fn a_source_may_have_the_words_that_stand_for_liquid() {
    let html = compiled(&column("<mj-text>liquid0x {{ a }} liquidq1x</mj-text>")).html;
    assert!(html.contains("liquid0x {{ a }} liquidq1x"), "{html}");
}

#[test]
fn output_is_deterministic_and_ids_are_unique() {
    let source = column(
        "<mj-carousel><mj-carousel-image src=\"a\" /><mj-carousel-image src=\"b\" /></mj-carousel>\
         <mj-carousel><mj-carousel-image src=\"c\" /><mj-carousel-image src=\"d\" /></mj-carousel>\
         <mj-navbar hamburger=\"hamburger\"><mj-navbar-link href=\"/\">x</mj-navbar-link></mj-navbar>",
    );
    let html = compiled(&source).html;
    assert_eq!(html, compiled(&source).html);
    let ids = |html: &str| {
        let ids = html.split(" id=\"").skip(1).filter_map(|it| it.split('"').next());
        let mut ids: Vec<&str> = ids.collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        (all, ids.len())
    };
    let (all, different) = ids(&html);
    assert!(all > 4 && all == different, "{all} ids, {different} of them different");
}

#[test]
fn the_preview_is_offered_as_the_preheader() {
    let head = "<mjml><mj-head><mj-preview>\n  Hi {{ name }},\n  it's here </mj-preview></mj-head>\
                <mj-body></mj-body></mjml>";
    let it = compiled(head);
    assert_eq!(it.preheader.as_deref(), Some("Hi {{ name }}, it's here"));
    assert!(it.html.contains("Hi {{ name }},"), "{}", it.html);
    assert_eq!(compiled(&body("")).preheader, None);
}

#[test]
fn unknown_elements_are_faults_with_a_suggestion() {
    assert_fault(
        &column("<mj-txt>x</mj-txt>"),
        ("unknown_element", 4, 1),
        "did you mean `<mj-text>`?",
    );
    assert_fault(&column("<mj-chart />"), ("unknown_element", 4, 1), "it would be dropped");
}

#[test]
fn unknown_attributes_are_warnings_with_a_suggestion() {
    let source = column("<mj-text colour=\"red\">x</mj-text>");
    assert_warning(&source, ("unknown_attribute", 4), "did you mean `color`?");
    let source = body("<mj-wrapper gap=\"3px\"><mj-section /></mj-wrapper>");
    assert_warning(&source, ("unknown_attribute", 3), "no attribute `gap`");
    let head = "<mjml><mj-head><mj-attributes><mj-all frob=\"1\" /></mj-attributes></mj-head>\
                <mj-body></mj-body></mjml>";
    assert_warning(head, ("unknown_attribute", 1), "no element has an attribute `frob`");
}

#[test]
fn elements_in_a_wrong_place_are_faults_that_name_the_right_one() {
    let source = body("<mj-section><mj-text>x</mj-text></mj-section>");
    assert_fault(&source, ("misplaced_element", 3, 13), "put it into `<mj-column>`");
    let source = body("<mj-section><p>x</p></mj-section>");
    assert_fault(&source, ("misplaced_element", 3, 13), "put HTML into `<mj-raw>`");
    assert_fault(&column("some text"), ("stray_text", 4, 1), "put it into `<mj-text>`");
    let source = column("<mj-text><mj-button>x</mj-button></mj-text>");
    assert_fault(&source, ("misplaced_element", 4, 10), "does not belong in `<mj-text>`");
    let source = column("<mj-table><mj-raw>{% if a %}</mj-raw><tr></tr></mj-table>");
    assert_fault(&source, ("misplaced_element", 4, 11), "is not needed in HTML");
    let source = column("<mj-text><p><mj-button>x</mj-button></p></mj-text>");
    assert_fault(&source, ("misplaced_element", 4, 13), "stands in HTML");
}

#[test]
fn liquid_in_what_is_computed_is_refused() {
    for (attribute, column) in [
        ("width=\"{{ w }}\"", 18),
        ("height=\"{{ w }}px\"", 19),
        ("padding=\"0 {{ p }}\"", 20),
        ("padding-left=\"{{ p }}\"", 25),
        ("border=\"{{ b }} solid red\"", 19),
        ("border-top=\"{{ b }}px solid red\"", 23),
    ] {
        let source = self::column(&format!("<mj-image {attribute} src=\"a\" />"));
        let place = ("liquid_in_dimension", 4, column);
        assert_fault(&source, place, "computed with when the template is published");
    }
    let head = "<mjml><mj-head><mj-breakpoint width=\"{{ b }}\" /></mj-head><mj-body /></mjml>";
    assert_fault(head, ("liquid_in_dimension", 1, 38), "two elements between `{% if %}`");
    let good = column("<mj-text line-height=\"{{ l }}\" font-size=\"{{ s }}\">x</mj-text>");
    assert!(compiled(&good).warnings.is_empty());
}

#[test]
fn liquid_that_would_get_lost_is_named_with_its_line() {
    let source =
        column("<mj-social>\n{% if a %}<mj-social-element name=\"x\" />{% endif %}</mj-social>");
    let found = faults(&source);
    assert_eq!((found[0].code.as_str(), found[0].line), ("liquid_between_elements", 5));
    let source =
        column("<mj-image src=\"a\" name=\"{{ unused }}\" />\n<mj-spacer css-class=\"{{ c }}\" />");
    // mrml prints a name on an image that is a link only.
    let found = faults(&source);
    assert_eq!((found[0].code.as_str(), found[0].line), ("liquid_lost", 4), "{found:?}");
    let head = "<mjml><mj-head><mj-attributes><mj-button color=\"{{ c }}\" /></mj-attributes></mj-head>\
                <mj-body></mj-body></mjml>";
    assert_warning(head, ("liquid_lost", 1), "`{{ c }}` is not in the HTML");
}

#[test]
fn liquid_in_tag_or_attribute_names_is_refused() {
    let source = column("<mj-text><td {% if a %}class=\"b\"{% endif %}>x</td></mj-text>");
    let found = faults(&source);
    assert_eq!((found[0].code.as_str(), found[0].column), ("liquid_in_name", 14), "{found:?}");
    let found = faults(&column("<mj-text><{{ tag }}>x</{{ tag }}></mj-text>"));
    assert_eq!(found[0].code, "liquid_in_name", "{found:?}");
    let source = column("<mj-text>\n{{ a }\n</mj-text>");
    assert_fault(&source, ("unclosed_tag", 5, 1), "does not end");
}

#[test]
fn loops_and_choices_of_columns_are_warnings() {
    let of = |tag: &str, end: &str| {
        body(&format!(
            "<mj-section>{tag}<mj-column><mj-text>x</mj-text></mj-column>{end}</mj-section>"
        ))
    };
    assert_warning(
        &of("{% for a in b %}", "{% endfor %}"),
        ("looped_column", 3),
        "the loop around",
    );
    assert_warning(&of("{% if a %}", "{% endif %}"), ("conditional_column", 3), "two sections");
}

#[test]
fn inline_styles_are_a_warning() {
    let head = "<mjml><mj-head><mj-style inline=\"inline\">p{color:red}</mj-style></mj-head>\
                <mj-body></mj-body></mjml>";
    assert_warning(head, ("style_not_inlined", 1), "stay in `<style>`");
}

#[test]
fn markup_that_is_not_well_formed_is_refused_with_its_line() {
    let source = column("<mj-text>\n<p>a<b>c</p></mj-text>");
    assert_fault(&source, ("unclosed_element", 5, 9), "before the end of `<b>` of line 5");
    let source = column("<mj-text>a < b</mj-text>");
    assert_eq!(faults(&source)[0].code, "not_xml");
    assert_eq!(faults(&source)[0].line, 4);
    let source = column("<mj-text><a title='say \"x\"'>b</a></mj-text>");
    assert_fault(&source, ("quote_in_value", 4, 20), "&quot;");
    assert_fault("{% assign a = 1 %}<mjml></mjml>", ("not_xml", 1, 1), "into `<mj-body>`");
    assert_fault("<p>x</p>", ("no_root", 1, 1), "begins with `<mjml>`");
    assert_fault("<mjml></mjml>", ("no_body", 1, 1), "there is no `<mj-body>`");
    assert_fault("", ("no_body", 1, 1), "there is no `<mj-body>`");
}

#[test]
fn columns_count_characters_behind_liquid_and_umlauts() {
    let source = column("<mj-text>ü{{ a_long_name }}ü <b x=\"1\" x=\"2\">y</b></mj-text>");
    assert_fault(&source, ("duplicate_attribute", 4, 39), "twice");
}

#[test]
fn includes_are_inlined_and_faults_keep_their_place() {
    let source = column(
        "<mj-include path=\"./footer.mjml\" /><mj-include path=\"note\" type=\"html\"></mj-include>{{ b }}",
    );
    let includes =
        [("footer", "<mj-text>{{ a }}</mj-text>"), ("note", "<b>{{ n }}</b>"), ("unused", "{{")];
    let html = compile(&document(&source, &includes)).expect("it is good").html;
    let at = |text: &str| html.find(text).expect(text);
    assert!(at("{{ a }}") < at("<b>{{ n }}</b>") && at("<b>{{ n }}</b>") < at("{{ b }}"));

    let includes = [("footer", "<mj-text>x</mj-text>\n <mj-txt />"), ("note", "")];
    let found = compile(&document(&source, &includes)).expect_err("it is wrong");
    let place = (found[0].part.as_deref(), found[0].line, found[0].column);
    assert_eq!(place, (Some("include:footer"), 2, 2), "{found:?}");
    assert_eq!(found[0].snippet.as_deref(), Some("<mj-txt />"));
}

#[test]
fn an_include_that_cannot_be_had_is_refused() {
    let fault = |source: &str, includes: &[(&str, &str)]| {
        let found = compile(&document(source, includes)).expect_err("it is wrong");
        (found[0].code.clone(), found[0].line, found[0].message.clone())
    };
    let one = column("<mj-include path=\"foter\" />");
    let (code, line, message) = fault(&one, &[("footer", "")]);
    assert_eq!((code.as_str(), line), ("unknown_include", 4));
    assert!(message.contains("did you mean `footer`?"), "{message}");
    assert_eq!(fault(&one, &[]).0, "unknown_include");
    let escape = column("<mj-include path=\"/etc/passwd\" type=\"html\" />");
    assert_eq!(fault(&escape, &[("footer", "")]).0, "unknown_include");
    let (code, _, message) = fault(
        &column("<mj-include path=\"a\" />"),
        &[("a", "<mj-include path=\"b\" />"), ("b", "<mj-include path=\"a\" />")],
    );
    assert_eq!(code, "include_cycle", "{message}");
    assert_eq!(fault(&column("<mj-include path=\"{{ a }}\" />"), &[]).0, "liquid_in_include");
    let whole = [("a", "<mjml><mj-body /></mjml>")];
    assert_eq!(fault(&column("<mj-include path=\"a\" />"), &whole).0, "include_is_document");
}

#[test]
fn what_would_take_too_much_is_refused_before_it_is_parsed() {
    let deep =
        column(&format!("<mj-text>{}{}</mj-text>", "<div>".repeat(5_000), "</div>".repeat(5_000)));
    assert_eq!(faults(&deep)[0].code, "too_deep");
    let large = column(&"<mj-spacer />".repeat(100_000));
    assert_eq!(faults(&large)[0].code, "too_large");
    // Ten includes of ten includes of ten …: bounded by what they would come to.
    let ten = |of: &str| format!("<mj-include path=\"{of}\" />").repeat(10);
    let texts: Vec<(String, String)> =
        (0..9).map(|it| (format!("i{it}"), ten(&format!("i{}", it + 1)))).collect();
    let last = ("i9".to_owned(), "<mj-text>x</mj-text>".repeat(10));
    let all: Vec<(&str, &str)> =
        texts.iter().chain([&last]).map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let found = compile(&document(&column("<mj-include path=\"i0\" />"), &all));
    assert_eq!(found.expect_err("too large")[0].code, "too_large");
}

#[test]
fn many_faults_are_listed_within_a_bound() {
    let found = faults(&column(&"<mj-txt />".repeat(1_000)));
    assert_eq!(found.len(), 50);
}
