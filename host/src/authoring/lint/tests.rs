use serde_json::{Value, json};

use super::*;

/// What is told of a template, each as `code line:column`.
fn told(source: &Value) -> Vec<String> {
    let findings = findings(source);
    findings.iter().map(|it| format!("{} {}:{}", it.code, it.line, it.column)).collect()
}

fn findings(source: &Value) -> Vec<Finding> {
    let source: TemplateSource = serde_json::from_value(source.clone()).expect("a source");
    let mut findings = Vec::new();
    lint((&source, &Blocks::default()), source.all_locales(), &mut findings);
    findings
}

fn html(html: &str) -> Vec<String> {
    let told = told(&json!({"html": html}));
    told.into_iter().filter(|it| !it.starts_with("missing_preheader")).collect()
}

fn mjml(column: &str) -> Vec<String> {
    told(&json!({"mjml": format!(
        "<mjml><mj-head><mj-preview>x</mj-preview></mj-head><mj-body><mj-section><mj-column>\n{column}\
         </mj-column></mj-section></mj-body></mjml>"
    )}))
}

#[test]
fn good_html_and_mjml_are_left_alone() {
    let good = "<!doctype html><html><head><style>.a { color: red; gap: inherit } @media (x) { .b { position: fixed } }\
                </style></head><body style=\"background-color:#fff\"><div class=\"preheader\">Hi</div><table><tr>\
                {% if a %}<td bgcolor=\"#eee\">{% else %}<td>{% endif %}<p style=\"color:#333\">{{ a }}<p>b\
                <a href=\"https://example.com/{{ a }}\">{{ b }}</a><a href=\"mailto:{{ a }}\"><img src=\"https://a.b/c.png\" \
                alt=\"x\" width=\"10\"></a></td></tr></table></body></html>";
    let wanted: [&str; 1] = ["not_in_all_clients 1:52"];
    assert_eq!(html(good), wanted, "`gap` stands outside of `@media`");
    let column = "<mj-image src=\"https://a.b/c\" alt=\"\" /><mj-button href=\"https://a.b\">Go</mj-button>\
                  <mj-text color=\"#333\" container-background-color=\"#fff\">{{ a }}</mj-text>";
    assert!(mjml(column).is_empty(), "{:?}", mjml(column));
}

#[test]
fn data_where_escaping_does_not_protect_is_named_with_its_place() {
    for (source, wanted) in [
        ("<p>\n<td class={{ a }}>", "unquoted_attribute 2:5"),
        ("<p {{ a }}>", "unquoted_attribute 1:4"),
        ("<p title=\"a\" class=b{{ a }}>", "unquoted_attribute 1:14"),
        ("<p onclick='f({{ a }})'>", "output_in_script 1:4"),
        ("<script>\nlet a = {{ a }};</script>", "output_in_script 2:9"),
        ("<style>p { color: {{ a }} }</style>", "output_in_style 1:19"),
        ("<a href='{{ a.b | append: 'x' }}'>x</a>", "link_of_data 1:4"),
        ("<p>\n<{{ x }}>a</p>", "output_in_tag 2:1"),
        ("<h{{ x.level }} class='a'>a</h1>", "output_in_tag 1:1"),
        ("<p>a</{{ x }}>", "output_in_tag 1:5"),
        ("<a href=\"javascript:{{ x }}\">x</a>", "output_in_script 1:4"),
        ("<a href=\" java&#115;cript:a({{ x }})\">x</a>", "output_in_script 1:4"),
        ("<a href=\"{% if a %}javascript:b{% endif %}\">x</a>", "script_link 1:4"),
        ("<img src='Java\tScript:b'>", "script_link 1:6"),
        ("<p style=\"color:{{ c }}\">x", "output_in_style 1:4"),
        ("<p style=\"width:{{ c | times: 2 | append: 'px' }}\">x", "output_in_style 1:4"),
        ("<iframe srcdoc=\"{{ x }}\"></iframe>", "output_in_srcdoc 1:9"),
        ("{% for i in a %}<a href=\"{{ i.url }}\">x</a>{% endfor %}", "link_of_data 1:20"),
    ] {
        let told = html(source);
        assert!(told.iter().any(|it| it == wanted), "{source}: {told:?}");
    }
    for source in [
        "{% assign h = 'h1' %}<{{ h }}>a</{{ h }}>",
        "<p>{{ x }}<b>{{ y }}</b></p>",
        "<p style=\"color:{{ brand_color }};width:{{ c | times: 2 }}px\">x",
        "<a href=\"https://a.b/javascript:{{ x }}\">x</a>",
    ] {
        let told = html(source);
        let is_known = |it: &String| it.starts_with("output_in") || it.starts_with("script_link");
        assert!(!told.iter().any(is_known), "{source}: {told:?}");
    }
    let number = json!({
        "html": "<p class=\"preheader\"></p><p style=\"width:{{ a.b }}%\">x",
        "variables": [{"path": "a.b", "type": "number"}],
    });
    assert!(told(&number).is_empty(), "{:?}", told(&number));
    let declared = json!({
        "html": "{% for i in a %}{% assign u = i.url %}<a href=\"{{ u }}\">x</a>{% endfor %}\
                 <a href=\"{{ product_url }}\">y</a><a href=\"{{ 'https://a.b' }}\">z</a><p class=\"preheader\">",
        "variables": [{"path": "a[].url", "format": "url"}],
    });
    assert!(told(&declared).is_empty(), "{:?}", told(&declared));
    assert_eq!(mjml("<mj-button href=\"{{ a }}\">x</mj-button>"), ["link_of_data 2:12"]);
    assert_eq!(mjml("<mj-raw><script>{{ a }}</script></mj-raw>"), ["output_in_script 2:17"]);
    let message = &findings(&json!({"html": "<a href=\"{{ a }}\">x</a>"}))[1].message;
    assert!(
        message.contains("`url`") && message.contains("https://example.com/{{ a }}"),
        "{message}"
    );
}

#[test]
fn pictures_and_links_that_say_nothing_are_named() {
    assert_eq!(
        html("<img src=\"https://a.b\">"),
        ["image_without_alt 1:1", "image_without_size 1:1"]
    );
    assert_eq!(html("<img src=x alt='' style=\"height:2px;width:auto\">"), [""; 0]);
    assert_eq!(
        html("x\n<a href=\"https://a.b\"> <img src=y alt='' width=1></a>"),
        ["link_without_text 2:1"]
    );
    assert_eq!(html("<a href=\"https://a.b\">{% render 'x' %}</a><a name=\"x\"></a>"), [""; 0]);
    assert_eq!(html("<a href=\"https://a.b\">&nbsp;&zwnj;</a>"), ["link_without_text 1:1"]);
    assert_eq!(html("<a href=\"http://a.b\">x</a>"), ["http_link 1:4"]);
    assert_eq!(html("<a href=\" Data:text/html,{{ x }}\">x</a>"), ["data_link 1:4"]);
    assert_eq!(html("<img src=\"data:image/png;base64,AA\" alt='' width=1>"), [""; 0]);
    assert_eq!(
        mjml("<mj-image src=\"http://a.b\" />\n<mj-button href=\"https://a.b\"> </mj-button>"),
        ["http_link 2:11", "image_without_alt 2:1", "link_without_text 3:1"]
    );
}

#[test]
fn tables_without_an_end_are_named_and_branches_are_alternatives() {
    assert_eq!(html("<table><tr><td>\n<table><tr><td>x</table>"), ["unclosed_table 1:1"]);
    let branches = "{% if a %}<table class=\"b\">{% elsif c %}<table>{% else %}<table>{% endif %}<tr></tr></table>";
    assert_eq!(html(branches), [""; 0]);
    assert_eq!(html("<!--[if mso]><table><![endif]--><div><table></div>"), ["unclosed_table 1:38"]);
    assert_eq!(html("<table>{% render 'end' %}"), [""; 0]);
}

#[test]
fn texts_that_are_hard_to_read_are_named() {
    assert_eq!(html("<td bgcolor=\"#fff\"><p style=\"color:#999\">x"), ["low_contrast 1:20"]);
    assert_eq!(html("<td bgcolor=\"#fff\"><p style=\"color:#888;font-size:30px\">x"), [""; 0]);
    assert_eq!(
        html("<td bgcolor=\"#fff\"><p style=\"color:rgba(0,0,0,0.3)\">x"),
        ["low_contrast 1:20"]
    );
    assert_eq!(html("<td bgcolor=\"#fff\"><p style=\"color:rgba(0,0,0,0.7)\">x"), [""; 0]);
    assert_eq!(
        html("<td bgcolor=\"#000\"><p style=\"background:rgba(255,255,255,0.1);color:#333\">x"),
        ["low_contrast 1:20"]
    );
    assert_eq!(
        html("<td style=\"background:{{ a }}\"><p style=\"color:#999\">x"),
        ["output_in_style 1:5"]
    );
    assert_eq!(html("<p style=\"color:#222\">x"), ["unreadable_in_the_dark 1:1"]);
    assert_eq!(
        html("<style>@media (prefers-color-scheme: dark) {}</style><p style=\"color:#222\">x"),
        [""; 0]
    );
    for silent in [
        "<!-- prefers-color-scheme: dark -->",
        "{% comment %}@media (prefers-color-scheme: dark) {}{% endcomment %}",
        "<style>/* @media (prefers-color-scheme: dark) {} light-dark( */</style>",
        "<style>@media (prefers-color-scheme: light) {}</style>",
        "<p>@media (prefers-color-scheme: dark), light-dark()</p>",
    ] {
        let told = html(&format!("{silent}<p style=\"color:#222\">x"));
        assert!(
            told.iter().any(|it| it.starts_with("unreadable_in_the_dark")),
            "{silent}: {told:?}"
        );
    }
    let dark = |rule: &str| {
        html(&format!("<style>@media (prefers-color-scheme: dark) {{\n{rule}}}</style>"))
    };
    let low = ".t{color:#222222 !important;background-color:#000000}";
    assert_eq!(dark(low), ["low_contrast 2:4"]);
    assert_eq!(dark(&format!(".a{{color:#fff;background:#000}} {low}")), ["low_contrast 2:35"]);
    assert_eq!(dark(".t{color:#eee;background-color:#000} .u{color:#222}"), [""; 0]);
    assert_eq!(dark("/* .t{color:#222;background-color:#000} */"), [""; 0]);
    assert_eq!(html("<p style=\"color:#222;display:none\">x"), [""; 0]);
    assert_eq!(
        html("<td style=\"color:#222\">&nbsp;&#8203;</td><td style=\"color:#222\"></td>"),
        [""; 0]
    );
    assert_eq!(html("<td style=\"color:#222\">&nbsp;{{ a }}</td>"), ["unreadable_in_the_dark 1:1"]);
    assert_eq!(
        mjml("<mj-text color=\"#eee\" container-background-color=\"white\">x</mj-text>"),
        ["low_contrast 2:1"]
    );
    assert_eq!(
        mjml("<mj-button color=\"#444\" href=\"https://a.b\">x</mj-button>"),
        ["low_contrast 2:1"]
    );
}

#[test]
fn what_clients_do_not_show_is_named_once_with_the_clients_and_the_day() {
    let source = "<div class=\"preheader\"></div><p style=\"position:absolute;mso-x:1\"><video></video><p style=\"position:fixed\">";
    let found = findings(&json!({"html": source}));
    let codes: Vec<&str> = found.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["not_in_all_clients"; 2]);
    assert!(
        found[0].message.contains("Gmail") && found[0].message.contains("css-position, 2026-05-13")
    );
    assert!(found[1].message.contains("html-video"));
    assert!(found.iter().all(|it| it.suggestion.is_none()));
    let fonts = "<style>@import url(https://example.com/a.css);p{color:#000}</style>";
    let found = told(&json!({"html": fonts}));
    assert!(found.iter().any(|it| it == "not_in_all_clients 1:8"), "{found:?}");
}

#[test]
fn mjml_in_html_is_told_its_place_and_a_preheader_is_asked_for() {
    let found = findings(&json!({"html": "\n<mjml><mj-body></mj-body></mjml>"}));
    let fault = found.iter().find(|it| it.is_error()).expect("a fault");
    assert_eq!((fault.code.as_str(), fault.line), ("raw_mjml", 2));
    assert!(fault.message.contains("`mjml` in place of `html`"));
    assert_eq!(told(&json!({"html": "<p>x"})), ["missing_preheader 0:0"]);
    assert_eq!(told(&json!({"html": "<p>x", "preheader": "y"})), ["preheader_not_shown 0:0"]);
    assert_eq!(told(&json!({"mjml": "<mjml></mjml>"})), ["missing_preheader 0:0"]);
    assert_eq!(told(&json!({"subject": "x", "text": "y"})), [""; 0]);
}

#[test]
fn a_layout_lends_its_background_and_shows_the_preheader() {
    let mut source: TemplateSource = serde_json::from_value(json!({
        "html": "<p style=\"color:#bbb\">x", "preheader": "y", "layout": "base",
    }))
    .expect("a source");
    let layout = "<body style=\"background:#fff\"><i>{{ preheader }}</i><table><tr><td>{{ content }}</td></tr></table>";
    let block = crate::authoring::resolve::block(
        "base".parse().expect("a slug"),
        1,
        &TemplateSource { html: Some(layout.to_owned()), ..TemplateSource::default() },
    );
    let blocks = Blocks { layout: Some(block), partials: Vec::new() };
    let mut findings = Vec::new();
    lint((&source, &blocks), source.all_locales(), &mut findings);
    let codes: Vec<&str> = findings.iter().map(|it| it.code.as_str()).collect();
    assert_eq!(codes, ["low_contrast"]);
    source.preheader = None;
    let mut findings = Vec::new();
    lint((&source, &blocks), source.all_locales(), &mut findings);
    assert!(findings[0].message.contains("write the part `preheader`"), "{findings:?}");
}

#[test]
fn warnings_are_bounded_and_the_others_counted() {
    let many = "<img src=\"http://a.b\" width=1>\n".repeat(1_000);
    let found = findings(&json!({"html": many}));
    assert_eq!(found.len(), 1 + 2 * (MAX_OF_CODE + 1));
    let more: Vec<&str> =
        found.iter().map(|it| it.message.as_str()).filter(|it| it.contains("more")).collect();
    assert_eq!(more, ["there are 995 more like it"; 2]);
}

#[test]
fn a_hostile_source_takes_no_longer_than_its_length() {
    let length = 512 << 10;
    let of = |it: &str| it.repeat(length / it.len());
    for source in [
        of("<div>"),
        of("<table><tr><td>"),
        of("{% if a %}<p>{% else %}"),
        of("<a href={{ a }}>"),
        of("{{"),
        of("<p style='color:#000;"),
        of("<style>a{b:c}@"),
        of("{% assign a = a.b %}"),
    ] {
        let start = std::time::Instant::now();
        drop(html(&source));
        let took = start.elapsed();
        assert!(took.as_secs() < 5, "{took:?} for {}", source.chars().take(20).collect::<String>());
    }
}

#[test]
fn names_that_stand_for_one_another_keep_no_long_paths() {
    let path = "x".repeat(300);
    let name = |number: u32| format!("{{%assign a{number} = a{}.x%}}", number - 1);
    let names: Vec<String> = (1..2_000).map(name).collect();
    let mut html = format!("{{%assign a0=b.{path}%}}{}", names.concat());
    html += "<div class=\"preheader\"></div><a href=\"{{ a1999 }}\">x</a>";
    let found = findings(&json!({"html": html}));
    let link = found.iter().find(|it| it.code == "link_of_data").expect("a warning");
    assert!(link.message.len() < 1_000, "{}", link.message.len());
}

#[test]
fn choices_that_are_not_followed_leave_the_others_in_their_places() {
    let deep = |inside: &str| {
        let choices = 60;
        let (open, end) = ("{% if a %}".repeat(choices), "{% else %}{% endif %}".repeat(choices));
        format!(
            "<div class=\"preheader\"></div>{{% if b %}}<table>{open}{inside}{end}</table>{{% endif %}}"
        )
    };
    assert_eq!(told(&json!({"html": deep("<p>x")})), [""; 0]);
}

#[test]
fn a_feature_is_told_once_however_many_there_are() {
    let features =
        ["position:absolute", "display:flex", "float:left", "gap:1px", "object-fit:fill"];
    let many = ["opacity:1", "transform:none", "animation:a", "filter:none", "clip-path:none"];
    let style = |it: &&str| format!("<p style=\"{it}\">x</p>");
    let styles: Vec<String> = features.iter().chain(&many).map(style).collect();
    let styles = styles.concat();
    let twice = format!("<div class=\"preheader\"></div>{styles}{styles}");
    let of = |html: &str| {
        findings(&json!({"html": html})).into_iter().map(|it| it.message).collect::<Vec<_>>()
    };
    let once = of(&format!("<div class=\"preheader\"></div>{styles}"));
    assert_eq!(of(&twice), once);
}
