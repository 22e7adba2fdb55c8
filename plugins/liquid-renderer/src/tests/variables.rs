//! The static analysis of what a template reads.

use waxwing_plugin::renderer::{Part, Renderer, Template};

use super::{compile, template, with_partials};
use crate::LiquidRenderer;

fn variables(it: &Template) -> Vec<String> {
    let compiled = compile(it).expect("compiles");
    let all = LiquidRenderer::variables(&compiled).into_iter();
    all.map(|it| format!("{}{}", it.path, if it.required { "" } else { "?" })).collect()
}

fn of(source: &str) -> Vec<String> {
    variables(&template(&[(Part::Text, source)]))
}

#[test]
fn what_is_read_unconditionally_is_required() {
    assert_eq!(
        of("{{ user.name }}{{ a | append: b }}{{ c[0].d }}{{ e['f g'] }}"),
        ["user.name", "a", "b", "c[0].d", "e.f g"]
    );
    assert_eq!(
        of("{% for i in items %}{{ i.price }}{{ i.tags | join: s }}{% endfor %}"),
        ["items", "items[].price", "items[].tags", "s"]
    );
    assert_eq!(
        of("{% for a in l %}{% for b in a.m %}{{ b }}{{ forloop.index }}{% endfor %}{% endfor %}"),
        ["l", "l[].m", "l[].m[]"]
    );
    assert_eq!(
        of("{% cycle x, y %}{% capture z %}{{ w }}{% endcapture %}{{ z }}"),
        ["x", "y", "w"]
    );
}

#[test]
fn what_stands_in_a_branch_or_has_a_default_is_optional() {
    assert_eq!(
        of("{% if a == b %}{{ c }}{% elsif d %}{% else %}{{ e }}{% endif %}"),
        ["a?", "b?", "c?", "d?", "e?"]
    );
    assert_eq!(
        of("{% unless a %}{{ b }}{% endunless %}{% case c %}{% when d %}{{ e }}{% endcase %}"),
        ["a?", "b?", "c?", "d?", "e?"]
    );
    assert_eq!(of("{{ a | default: b }}{{ c | upcase | default: 'x' }}"), ["a?", "b?", "c?"]);
    assert_eq!(
        of("{% for i in l %}{{ i.x }}{% else %}{{ y }}{% endfor %}"),
        ["l?", "l[].x?", "y?"]
    );
}

#[test]
fn required_anywhere_is_required() {
    assert_eq!(of("{% if a %}{{ a }}{% endif %}{{ a }}"), ["a"]);
    let it = template(&[(Part::Subject, "{{ s | default: 'x' }}"), (Part::Text, "{{ t }}{{ s }}")]);
    assert_eq!(variables(&it), ["s", "t"]);
}

#[test]
fn names_that_the_template_binds_are_not_data() {
    assert_eq!(
        of(
            "{% assign a = 1 %}{{ a }}{% increment n %}{{ n }}{% if x %}{% assign b = 1 %}{% endif %}{{ b }}"
        ),
        ["x?"]
    );
    assert_eq!(of("{{ a }}{% assign a = 1 %}{{ a }}"), ["a"]);
    assert_eq!(
        of(
            "{% assign u = user %}{{ u.name }}{% assign n = user.nick %}{% if n %}{{ n }}{% endif %}"
        ),
        ["user?", "user.name", "user.nick?"]
    );
}

#[test]
fn parts_partials_and_layout_are_one_list() {
    let mut it = with_partials(
        template(&[
            (Part::Subject, "{{ s }}"),
            (Part::Html, "{{ h }}{% render 'p', order: o %}{% render 'q' for list as item %}"),
        ]),
        &[("p", "{{ order.id }}{{ global }}"), ("q", "{{ item.n }}{{ forloop.index }}")],
    );
    it.layout = Some("{{ content }}{{ subject }}{{ preheader }}{{ company }}".to_owned());
    assert_eq!(variables(&it), ["s", "h", "o?", "o.id", "global", "list", "list[].n", "company"]);
}

#[test]
fn nothing_is_required_where_undefined_is_nil() {
    let renderer = LiquidRenderer {
        settings: serde_json::from_str(r#"{"undefined": "nil"}"#).expect("settings"),
    };
    let compiled =
        renderer.compile(&template(&[(Part::Text, "[{{ a.b.c }}{{ o }}]")])).expect("compiles");
    assert!(LiquidRenderer::variables(&compiled).iter().all(|it| !it.required));
    let output =
        LiquidRenderer::render(&compiled, &super::ctx(), r#"{"o": {"k": "v"}}"#).expect("renders");
    assert_eq!(output.bodies[0].text, "[{\"k\"=>\"v\"}]");
}
