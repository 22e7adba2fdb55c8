//! What becomes of HTML.

use waxwing_html_text::lines;

use super::derive;

fn text(html: &str) -> String {
    lines(&derive(html).expect("pieces"))
}

#[test]
fn blocks_become_lines_and_paragraphs_stand_apart() {
    let html =
        "<html><body><h1>Hi</h1>\n <p>One\n  two<br>three</p><div>a</div><div>b</div></body>";
    assert_eq!(text(html), "Hi\n\nOne two\nthree\n\na\nb\n");
}

#[test]
fn links_keep_their_address_unless_the_label_is_the_address() {
    assert_eq!(
        text("<a href='https://x.io/?a=1&amp;b=2'>Go</a>."),
        "Go (https://x.io/?a=1&b=2).\n"
    );
    assert_eq!(text(r#"<a href="{{ url }}">{{url}}</a>"#), "{{ url }}\n");
    assert_eq!(text(r#"<a href="{{ url }}">Pay {{ n }}</a>"#), "Pay {{ n }} ({{ url }})\n");
    assert_eq!(text(r#"<a href="mailto:a@b.c">a@b.c</a>"#), "a@b.c\n");
    assert_eq!(text(r#"<a href="x"><img src="y" alt="Logo"></a>"#), "Logo (x)\n");
    assert_eq!(text(r#"<a href="x"><img src="y"></a><a href="z"> </a>"#), "x\n");
}

#[test]
fn what_is_not_read_is_dropped_but_its_silent_tags_stay() {
    let html = "<head><title>t</title>{% assign a = 1 %}<style>b{{ c }}</style></head>\
        <div style=\"display: none\">hidden <div>x</div> {{ y }}</div><!-- c {% if a %} -->\
        <p {% if b %}class=\"{{ d }}\"{% endif %}>shown</p>{% endif %}";
    assert_eq!(
        text(html),
        "{% assign a = 1 %}{% if a %}{% if b %}{% endif %}\n\nshown\n\n{% endif %}\n"
    );
}

#[test]
fn lists_and_cells_are_laid_out() {
    let html = "<ul>{% for i in x %}<li>{{ i }}</li>{% endfor %}</ul>\
        <table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>";
    assert_eq!(text(html), "{% for i in x %}\n- {{ i }}\n{% endfor %}\na  b\nc\n");
}

#[test]
fn entities_are_characters() {
    assert_eq!(
        text("&lt;b&gt; &amp; &euro;&#8364;&#x20ac; &uuml; &nope; a&nbsp;b"),
        "<b> & €€€ ü &nope; a b\n"
    );
}

#[test]
fn white_space_control_and_raw_blocks_survive() {
    assert_eq!(text("<p>a {{- b -}} c</p>"), "a{{ b }}c\n");
    assert_eq!(
        text("<p>{% raw %}<b>{{ x }}</b>{% endraw %}</p>"),
        "{% raw %}{{ x }}{% endraw %}\n"
    );
    assert_eq!(text("<p>{% comment %}<b>{% endcomment %}a < b</p>"), "a < b\n");
}

/// A button that Outlook draws from VML and every other client from the link beside it.
#[test]
fn a_bulletproof_button_is_a_link_and_only_hidden_text_is_dropped() {
    let button = "<!--[if mso]><v:roundrect href=\"{{ url }}\"><center>Pay</center></v:roundrect>\
        <![endif]--><a href=\"{{ url }}\" style=\"color:#fff;mso-hide:all;\">Pay now</a>";
    assert_eq!(text(button), "Pay now ({{ url }})\n");
    for style in ["display:none", "DISPLAY : NONE !important; mso-hide: all", "visibility:hidden"] {
        assert_eq!(text(&format!("<p style=\"{style}\">x</p>y")), "y\n", "{style}");
    }
    for style in ["mso-hide:all", "display:block", "--no-display:none"] {
        assert_eq!(text(&format!("<p style=\"{style}\">x</p>")), "x\n", "{style}");
    }
    assert_eq!(text("<img alt=\"pixel\" style=\"display:none\"><hr hidden>x"), "x\n");
}

#[test]
fn ordered_lists_keep_their_numbers() {
    assert_eq!(text("<ol><li>a</li><li>b</li></ol><p>c</p>"), "1. a\n2. b\n\nc\n");
    assert_eq!(
        text("<ol start=\"9\"><li>a<li>b<li value=\"20\">c<li>d</ol>"),
        "9. a\n10. b\n20. c\n21. d\n"
    );
}

#[test]
fn nested_lists_are_indented() {
    let html = "<p>To do</p><ul><li>a<ol><li>b<br>c</li><li>d</li></ol></li><li>e</li></ul>f";
    assert_eq!(text(html), "To do\n\n- a\n  1. b\n     c\n  2. d\n- e\nf\n");
    let deep = format!("{}x", "<ul><li>".repeat(100_000));
    assert!(text(&deep).len() < 100, "a bound");
}

#[test]
fn a_paragraph_in_an_item_is_one_line() {
    assert_eq!(
        text("<ul>\n <li>\n  <p>a</p>\n </li>\n <li><p>b</p><p>c</p></li>\n</ul><p>d</p>"),
        "- a\n- b\n\n  c\n\nd\n"
    );
}

#[test]
fn preformatted_text_keeps_its_lines_and_a_rule_is_a_line() {
    assert_eq!(
        text("<p>Run</p><pre>if x:\n    go  on\n\nend</pre>then"),
        "Run\n\nif x:\n    go  on\n\nend\n\nthen\n"
    );
    let rule = "-".repeat(40);
    assert_eq!(text("<p>a</p><hr><p>b</p>"), format!("a\n\n{rule}\n\nb\n"));
}
