//! What comes out: escaping, parts, layout, filters.

use super::{NOW, body, html, render, template, text, with_partials};
use crate::Part;

#[test]
fn values_are_escaped_once_in_html_and_never_in_text() {
    let data = r#"{"a": "<b> & \"c\" 'd' &amp;"}"#;
    let escaped = "&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; &amp;amp;";
    assert_eq!(html("<i>{{ a }}</i>", data), format!("<i>{escaped}</i>"));
    assert_eq!(html("{{ a | escape }}", data), escaped);
    assert_eq!(html("{{ a | escape | escape }}", data), escaped);
    assert_eq!(html("{{ a | escape_once }}", data), escaped.replace("amp;amp;", "amp;"));
    assert_eq!(text("{{ a }}", data), "<b> & \"c\" 'd' &amp;");
    assert_eq!(text("{{ 'a&b' | escape }}", data), "a&amp;b");
}

#[test]
fn raw_and_safe_opt_out_and_captured_html_is_not_escaped_again() {
    let data = r#"{"a": "<b>", "n": "x\n<y>"}"#;
    assert_eq!(html("{{ a | raw }}{{ a | safe }}", data), "<b><b>");
    assert_eq!(
        html("{% capture c %}<p>{{ a }}</p>{% endcapture %}{{ c }}{{ c | strip }}", data),
        "<p>&lt;b&gt;</p>".repeat(2)
    );
    assert_eq!(html("{{ '<br>' }}{{ a | append: '<hr>' }}", data), "<br>&lt;b&gt;<hr>");
    assert_eq!(html("{{ n | newline_to_br }}", data), "x<br />\n&lt;y&gt;");
    assert_eq!(
        html("{{ a | upcase }}{{ a | json }}{{ '<i>' | upcase }}", data),
        "&lt;B&gt;&quot;&lt;b&gt;&quot;<i>"
    );
}

/// A capture in HTML is markup: its text is escaped already.
#[test]
fn captured_markup_is_escaped_once_whatever_filter_it_goes_through() {
    let with = |filters: &str| {
        let source = format!(
            "{{% capture c %}}<b>{{{{ a }}}}</b>, x{{% endcapture %}}{{{{ c | {filters} }}}}"
        );
        html(&source, r#"{"a": "R&D <i>", "s": "<s>", "amp": "&"}"#)
    };
    let captured = "<b>R&amp;D &lt;i&gt;</b>, x";
    assert_eq!(with("strip"), captured);
    assert_eq!(with("upcase"), "<b>R&amp;D &lt;I&gt;</b>, X");
    assert_eq!(with("downcase | capitalize"), "<b>R&amp;d &lt;i&gt;</b>, x");
    assert_eq!(with("replace: 'x', s"), "<b>R&amp;D &lt;i&gt;</b>, &lt;s&gt;");
    assert_eq!(with("replace: amp, ' and '"), "<b>R and D &lt;i&gt;</b>, x");
    assert_eq!(with("remove: '<b>' | remove_first: '</b>'"), "R&amp;D &lt;i&gt;, x");
    assert_eq!(with("append: s"), format!("{captured}&lt;s&gt;"));
    assert_eq!(with("split: ', ' | join: '<br>'"), "<b>R&amp;D &lt;i&gt;</b><br>x");
    assert_eq!(with("split: ', ' | first"), "<b>R&amp;D &lt;i&gt;</b>");
    assert_eq!(with("strip_html"), "R&amp;D &lt;i&gt;, x");
    assert_eq!(with("truncate: 9, '.'"), "R&amp;D &lt;i&gt;,.");
    assert_eq!(with("truncate: 10"), captured, "what is not cut stays as it is");
    assert_eq!(with("strip_html | url_encode"), "R%26D+%3Ci%3E%2C+x");
    assert_eq!(with("url_encode"), "%3Cb%3ER%26D+%3Ci%3E%3C%2Fb%3E%2C+x");
    let data = r#"{"a": "b\nc<", "l": ["<", "d"]}"#;
    assert_eq!(html("{{ a | replace: 'b', '<hr>' }}", data), "<hr>\nc&lt;");
    assert_eq!(html("{{ l | join: '<br>' }}", data), "&lt;<br>d");
    assert_eq!(html("{{ 'a&b' | replace: '&', '+' }}{{ 'x&y' | url_encode }}", data), "a+bx%26y");
}

#[test]
fn a_subject_is_one_line_without_control_characters() {
    let it = template(&[(Part::Subject, " A\r\n {{ x }}\u{7} \u{2028}"), (Part::Text, "t")]);
    let data = "{\"x\": \"b & c\\r\\nBcc: d@e.f\\u0000\"}";
    assert_eq!(body(&it, Part::Subject, data), "A b & c Bcc: d@e.f");
}

#[test]
fn a_layout_is_given_the_content_unescaped_and_the_subject_escaped() {
    let mut it = template(&[(Part::Subject, "S & {{ x }}"), (Part::Html, "<p>{{ x }}</p>")]);
    it.layout = Some("<h1>{{ subject }}</h1>[{{ preheader }}]<div>{{ content }}</div>".to_owned());
    let data = r#"{"x": "<"}"#;
    assert_eq!(body(&it, Part::Html, data), "<h1>S &amp; &lt;</h1>[]<div><p>&lt;</p></div>");
    assert_eq!(body(&it, Part::Text, data), "S & <\n\n[]\n\n<\n");
}

#[test]
fn html_without_text_gets_a_text_body_with_unescaped_data() {
    let source = "<html><head><style>p{}</style></head><body><p>Hi {{ name | escape }}!</p>\n\
        <ul>{% for i in items %}\n  <li>{{ i.n }}: {{ i.p | money: 'EUR' }}</li>{% endfor %}</ul>\n\
        <a href=\"https://x.io/{{ id | url_encode }}\">Open</a>{% render 'foot' %}</body></html>";
    let it = with_partials(
        template(&[(Part::Html, source)]),
        &[("foot", "<p>Bye &copy; {{ 'x' }}</p>")],
    );
    let data =
        r#"{"name": "T & J", "id": "a b", "items": [{"n": "A", "p": 1299}, {"n": "B", "p": -5}]}"#;
    let output = render(&it, data).expect("renders");
    assert_eq!(
        output.bodies.iter().map(|it| it.part).collect::<Vec<_>>(),
        [Part::Html, Part::Text]
    );
    assert_eq!(
        output.bodies[1].text,
        "Hi T & J!\n\n- A: €12.99\n- B: -€0.05\nOpen (https://x.io/a+b)\n\nBye © x\n"
    );
}

/// The text part that is derived from an HTML part.
fn derived(source: &str, data: &str) -> String {
    body(&template(&[(Part::Html, source)]), Part::Text, data)
}

#[test]
fn a_loop_in_an_ordered_list_is_numbered() {
    let source = "<ol start=\"{{ s }}\">{% for i in l %}<li>{{ i }}</li>{% endfor %}</ol>";
    assert_eq!(derived(source, r#"{"l": ["a", "b"], "s": 3}"#), "3. a\n4. b\n");
}

#[test]
fn markup_in_literals_and_values_is_text_in_the_derived_part() {
    let default = "{{ n | default: '<b>R&amp;D</b> &mdash; none' }}";
    assert_eq!(derived(default, "{}"), "R&D — none\n");
    assert_eq!(derived(default, r#"{"n": "<b> &amp;"}"#), "<b> &amp;\n", "data is no markup");
    assert_eq!(derived("{{ a | append: '<br>b' }}", r#"{"a": "x < y &amp;"}"#), "x < y &amp;\nb\n");
    assert_eq!(
        derived("{% assign s = '<hr>' %}a{{ s }}b{% cycle '&lt;' %}", "{}").lines().count(),
        5
    );
    assert_eq!(
        derived("{{ h | raw }}", r#"{"h": "<p>a</p><p>b <a href='https://x.io'>c</a></p>"}"#),
        "a\n\nb c (https://x.io)\n"
    );
    assert_eq!(
        derived(
            "{% capture c %}<p>a & {{ x }}</p><p>b</p>{% endcapture %}{{ c }}",
            r#"{"x": "<"}"#
        ),
        "a & <\n\nb\n"
    );
    assert_eq!(derived("<pre>{{ x }}</pre>", r#"{"x": "a\n  b"}"#), "a\n  b\n");
}

#[test]
fn a_table_row_is_markup_in_html_and_lines_in_its_text() {
    let source = "<table>{% tablerow i in l cols: 2 %}{{ i }}{% endtablerow %}</table>";
    let it = template(&[(Part::Html, source)]);
    let data = r#"{"l": ["<", "b", "c"]}"#;
    assert!(body(&it, Part::Html, data).contains("<td class=\"col1\">&lt;</td>"));
    assert_eq!(body(&it, Part::Text, data), "<  b\nc\n");
}

#[test]
fn dates_read_iso_8601_and_now_is_the_caller_s() {
    for (value, pattern, expected) in [
        ("2024-01-02T03:04:05Z", "%Y-%m-%d %H:%M:%S %z", "2024-01-02 03:04:05 +0000"),
        ("2024-01-02T23:04:05.678+02:00", "%d %b %Y %-H:%M %L %:z", "02 Jan 2024 23:04 678 +02:00"),
        ("2024-02-29", "%A %e %B %j %U %G-W%V", "Thursday 29 February 060 08 2024-W09"),
        ("Tue, 05 Mar 2024 10:11:12 -0500", "%s %I:%M %p", "1709651472 10:11 AM"),
        ("2024-01-02 3:04pm", "%H:%M", "15:04"),
        ("not a date", "%Y", "not a date"),
        ("now", "%FT%T", "2024-03-05T06:07:08"),
    ] {
        let data = serde_json::json!({"v": value, "p": pattern}).to_string();
        assert_eq!(text("{{ v | date: p }}", &data), expected, "{value}");
    }
}

#[test]
fn money_is_in_minor_units() {
    for (source, expected) in [
        ("{{ 1299 | money: 'EUR' }}", "€12.99"),
        ("{{ 123456789 | money: 'usd' }}", "$1,234,567.89"),
        ("{{ 1299 | money: 'JPY' }}", "¥1,299"),
        ("{{ 5 | money: 'KWD' }}", "KWD 0.005"),
        ("{{ -5 | money: 'CHF' }}", "-CHF 0.05"),
        ("{{ 1299 | money }}", "12.99"),
        ("{{ 1299.0 | money: 'EUR' }}", "€12.99"),
    ] {
        assert_eq!(text(source, "{}"), expected, "{source}");
    }
}

#[test]
fn filters_beyond_the_suite_work() {
    let data = r#"{"l": [{"n": 1, "ok": true}, {"n": 2}], "o": {"a": [1, "x\"y"], "b": null}}"#;
    for (source, expected) in [
        ("{{ o | json }}", r#"{"a":[1,"x\"y"],"b":null}"#),
        ("{{ l | where: 'ok' | map: 'n' | join }}", "1"),
        ("{{ l | sum: 'n' }}", "3"),
        ("{% assign f = l | find: 'n', 2 %}{{ f.n }}", "2"),
        ("{{ 10.1 | plus: 2.2 }} {{ 7 | modulo: -3 }} {{ -7 | divided_by: 2 }}", "12.3 -2 -4"),
        ("{{ 9223372036854775807 | plus: 1 }}", "9.223372036854776e+18"),
    ] {
        assert_eq!(text(source, data), expected, "{source}");
    }
}

#[test]
fn the_same_input_gives_the_same_output() {
    let it = template(&[(
        Part::Html,
        "{% cycle 'a', 'b' %}{% increment n %}{{ x }}{% ifchanged %}{{ x }}{% endifchanged %}",
    )]);
    let compiled = super::compile(&it).expect("compiles");
    let once = || compiled.render(NOW, r#"{"x": 1}"#).expect("renders").bodies[0].text.clone();
    assert_eq!(once(), once());
}
