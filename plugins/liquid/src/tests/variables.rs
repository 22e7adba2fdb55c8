//! The static analysis of what a template reads.

use super::{NOW, compile, refused, template, text, with_partials};
use crate::{Compiled, Part, Template, Undefined};

fn variables(it: &Template) -> Vec<String> {
    let compiled = compile(it).expect("compiles");
    let all = compiled.variables().into_iter();
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
fn what_every_branch_reads_is_required() {
    assert_eq!(
        of("{% if a %}{{ x }}{% else %}{{ x | upcase }}{{ y }}{% endif %}"),
        ["a?", "x", "y?"]
    );
    assert_eq!(
        of("{% if a %}{{ x }}{% elsif b %}{{ x }}{% else %}{{ x }}{{ a }}{% endif %}"),
        ["a?", "x", "b?"]
    );
    assert_eq!(of("{% if a %}{{ x }}{% elsif b %}{{ x }}{% endif %}"), ["a?", "x?", "b?"]);
    assert_eq!(of("{% unless a %}{{ x }}{% else %}{{ x }}{% endunless %}"), ["a?", "x"]);
    assert_eq!(
        of(
            "{% case a %}{% when 1 %}{{ x }}{% when 2 %}{{ x }}{{ y }}{% else %}{{ x }}{% endcase %}"
        ),
        ["a?", "x", "y?"]
    );
    assert_eq!(of("{% case a %}{% when 1 %}{{ x }}{% when 2 %}{{ x }}{% endcase %}"), ["a?", "x?"]);
    assert_eq!(of("{% for i in l %}{{ x }}{% else %}{{ x }}{% endfor %}"), ["l?", "x"]);
    let nested =
        "{% if a %}{% if b %}{{ x }}{% else %}{{ x }}{% endif %}{% else %}{{ x }}{% endif %}";
    assert_eq!(of(nested), ["a?", "b?", "x"]);
    assert_eq!(
        of("{% if a %}{% if b %}{{ x }}{% endif %}{% else %}{{ x }}{% endif %}"),
        ["a?", "b?", "x?"]
    );
}

#[test]
fn only_what_every_branch_prints_must_be_printable() {
    let list = r#"{"a": true, "x": [1]}"#;
    assert_eq!(text("{% if a %}{{ x | size }}{% else %}{{ x }}{% endif %}", list), "1");
    let printed = refused("{% if a %}{{ x }}{% else %}{{ x }}{% endif %}", list);
    assert_eq!(printed, [("wrong_type".to_owned(), "x".to_owned())]);
}

#[test]
fn what_is_assigned_or_captured_is_required_where_it_is_read() {
    let assign = "{% assign n = first | append: last %}";
    assert_eq!(of(assign), ["first?", "last?"]);
    assert_eq!(
        of(&format!("{assign}{{% if a %}}{{{{ n }}}}{{% endif %}}")),
        ["first?", "last?", "a?"]
    );
    assert_eq!(of(&format!("{assign}{{{{ n }}}}")), ["first", "last"]);
    let capture = "{% capture c %}{{ w }}{% endcapture %}";
    assert_eq!(of(capture), ["w?"]);
    assert_eq!(of(&format!("{capture}{{% if c != blank %}}{{{{ c }}}}{{% endif %}}")), ["w?"]);
    assert_eq!(of(&format!("{capture}{{{{ c | upcase }}}}")), ["w"]);
    assert_eq!(
        of("{% assign a = x | upcase %}{% assign b = a | append: y %}{{ b }}"),
        ["x", "y"],
        "through another name"
    );
}

#[test]
fn what_only_some_branches_assign_requires_only_what_all_need() {
    let assigned = |one: &str, other: &str| {
        of(&format!("{{% if a %}}{one}{{% else %}}{other}{{% endif %}}{{{{ n }}}}"))
    };
    let (x, y) = ("{% assign n = x | upcase %}", "{% assign n = y | upcase %}");
    assert_eq!(assigned(x, y), ["a?", "x?", "y?"]);
    assert_eq!(assigned(x, "{% assign n = x %}"), ["a?", "x"]);
    assert_eq!(assigned(x, ""), ["a?", "x?"]);
    assert_eq!(
        of(&format!("{x}{{% if a %}}{{% assign n = 'k' %}}{{% endif %}}{{{{ n }}}}")),
        ["x?", "a?"]
    );
    assert_eq!(
        of("{% assign t = 0 %}{% for i in l %}{% assign t = t | plus: i.p %}{% endfor %}{{ t }}"),
        ["l", "l[].p"],
        "a loop without an `else` counts as run"
    );
}

#[test]
fn what_a_loop_may_skip_is_optional() {
    assert_eq!(
        of("{% for i in l %}{% if i.s %}{% continue %}{% endif %}{{ i.p }}{% endfor %}{{ x }}"),
        ["l", "l[].s?", "l[].p?", "x"]
    );
    assert_eq!(
        of(
            "{% for i in l %}{{ i.a }}{% if i.s %}{% break %}{% else %}{{ i.b }}{% endif %}{% endfor %}"
        ),
        ["l", "l[].a", "l[].s?", "l[].b?"]
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
    let template = template(&[(Part::Text, "[{{ a.b.c }}{{ o }}]")]);
    let compiled = Compiled::new(&template, Undefined::Nil).expect("compiles");
    assert!(compiled.variables().iter().all(|it| !it.required));
    let output = compiled.render(NOW, r#"{"o": {"k": "v"}}"#).expect("renders");
    assert_eq!(output.bodies[0].text, "[{\"k\"=>\"v\"}]");
}

#[test]
fn an_include_names_its_value_and_its_arguments_as_the_render_does() {
    let of = |call: &str| {
        let partial = "{{ item.name }}{{ b.c }}";
        let it = template(&[(Part::Text, call)]);
        variables(&with_partials(it, &[("shop/item", partial)]))
    };
    assert_eq!(
        of("{% include 'shop/item' with order, a: x, b: a %}"),
        ["x?", "order?", "order.name", "x.c"]
    );
    assert_eq!(
        of("{% render 'shop/item' with order, a: x, b: a %}"),
        ["x?", "a?", "order?", "order.name", "a.c"]
    );
}

#[test]
fn items_are_named_where_a_list_is_read_whole_beside_a_loop() {
    let looped = "{% for i in items %}{{ i.price }}{% endfor %}";
    let with = |more: &str| {
        let found = of(&format!("{looped}{more}"));
        found.iter().any(|it| it.trim_end_matches('?') == "items[]")
    };
    for whole in [
        "{{ items | json }}",
        "{{ items | map: 'name' | join }}",
        "{% assign s = items | sort: 'name' %}{% for i in s %}{{ i.name }}{% endfor %}",
        "{% assign s = items %}{{ s | json }}",
        "{% for i in items %}{{ i }}{% endfor %}",
        "{{ items[n].name }}",
        "{% if items contains x %}y{% endif %}",
        "{% if items == x %}y{% endif %}",
        "{% if x %}{% assign s = items %}{% else %}{% assign s = x %}{% endif %}{{ s[0].name }}",
        "{% include n, rows: items %}",
    ] {
        assert!(with(whole), "{whole}");
    }
    for other in [
        "",
        "{{ items | size }}{{ items.size }}",
        "{% if items %}{% endif %}{% if items == empty %}{% endif %}{% unless items.size > 1 %}{% endunless %}",
        "{% assign s = items %}{% for i in s %}{{ i.name }}{% endfor %}",
        "{% for i in items limit: 3 %}{{ i.name | upcase }}{% endfor %}",
    ] {
        assert!(!with(other), "{other}");
    }
    assert_eq!(of("{{ items | json }}"), ["items"], "no member is named");
    let mut it = template(&[(
        Part::Text,
        "{% render 'rows', rows: items %}{% render 'row' for items as it %}",
    )]);
    it = with_partials(
        it,
        &[("rows", "{% for i in rows %}{{ i.a }}{% endfor %}"), ("row", "{{ it.b }}")],
    );
    assert_eq!(variables(&it), ["items", "items[].a", "items[].b"]);
}
