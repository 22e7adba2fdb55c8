//! What becomes of HTML.

use super::derive;
use crate::tidy::lines;

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
