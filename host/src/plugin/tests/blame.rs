//! Who is to blame for a trap: an input that two generations trap on is put aside, and the plugin
//! stays. Data that a template cannot take is refused, and the template stays.

use super::fixture::{PluginHost, RENDERER, TestDirs, marked};
use super::{
    ANYBODY, NOW, TemplateId, VersionKey, dear_ada, plugins, render_version, text_template,
};
use crate::plugin::Options;
use crate::plugin::kinds::renderer::{Blame, Body};
use crate::plugin::promotion::builtin;
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::kind::Kind;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::runtime::log::CallPurpose;
use crate::plugin::slots::status::SlotStatus;
use crate::plugin::slots::table::Unrendered;

const ADA: &str = r#"{"name":"Ada"}"#;

#[tokio::test]
async fn an_input_that_two_generations_trap_on_is_in_quarantine() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let poison = waxwing_guests::component("poison-renderer");
    dirs.put("liquid-renderer.wasm", marked(&poison, "first"));
    let first = host.live(RENDERER, "poison-renderer").await;
    dirs.put("liquid-renderer.wasm", marked(&poison, "second"));
    let is_second = |view: &SlotStatus| {
        let active = view.active.clone()?;
        (active.identity().digest != first.identity().digest).then_some(active)
    };
    let second = host.until(RENDERER, "the second is live", is_second).await;

    let key = VersionKey { template: TemplateId::new(NOW), revision: 1, locale: 0 };
    let poisoned = || render_version(&host.plugins, key, "POISON", ADA);
    let failure = poisoned().await.expect_err("a panic");
    assert!(matches!(failure, CallFailure::Trapped { .. }), "{failure}");
    let aside = |view: &SlotStatus| {
        (view.active.as_ref()?.stats().inputs_in_quarantine() == 1).then_some(())
    };
    host.until(RENDERER, "the input is put aside", aside).await;
    for _ in 0..10 {
        let text = poisoned().await.expect_err("it is put aside").to_string();
        assert!(
            text.starts_with(
                "the template is in quarantine, because two generations of the plugin trapped on \
                 it: the plugin poison-renderer trapped in render: "
            ) && text.ends_with("; change it, or replace the plugin"),
            "{text}"
        );
    }
    let expected = ["[poison-renderer] Hi Ada", "[poison-renderer] Dear Ada"];
    assert_eq!(dear_ada(&host.plugins).await, expected);
    let view = host.view(RENDERER);
    assert_eq!(view.quarantined, [], "the plugin is not rolled back");
    assert_eq!(view.active.expect("active").identity(), second.identity());
    assert_eq!(second.stats().failed(), 1, "an input that is put aside costs no more traps");
    let shown = host.view(RENDERER).active_report().expect("active");
    assert_eq!(shown.inputs_in_quarantine, 1);

    // A fixed version of the template is another input.
    let mended = VersionKey { revision: 2, ..key };
    let rendered = render_version(&host.plugins, mended, "Dear {{ name }}", ADA).await;
    assert!(rendered.expect("answered").is_ok());
}

fn version() -> VersionKey {
    VersionKey { template: TemplateId::new(NOW), revision: 1, locale: 0 }
}

fn too_much_work(
    rendered: Result<Result<Vec<Body>, Unrendered>, CallFailure>,
) -> (Blame, CallFailure) {
    match rendered {
        Ok(Err(Unrendered::TooMuchWork(blame, failure))) => (blame, failure),
        other => panic!("a limit should have been passed: {other:?}"),
    }
}

/// Two generations of a renderer come to the same limit, and the second is live.
#[tokio::test]
async fn data_that_comes_to_a_limit_is_to_blame_and_its_template_stays() {
    let mut limits = Limits::default();
    limits.renderer.memory_bytes = 8 << 20;
    limits.renderer.output_bytes = 1 << 20;
    let dirs = TestDirs::new();
    let host = PluginHost::start_with_calls(Options { limits, ..dirs.options() }, Vec::new()).await;
    dirs.put("liquid-renderer.wasm", marked(builtin::LIQUID_RENDERER, "another build"));
    let live = host.live(RENDERER, "waxwing-liquid-renderer").await;
    let time = "{% for i in (1..n) %}{% endfor %}";
    let memory = "{% assign x = 'aaaaaaaaaaaaaaaa' %}{% for i in (1..n) %}\
                  {% assign x = x | append: x %}{% endfor %}{{ x | size }}";
    let output = "{% for i in (1..n) %}0123456789{% endfor %}";
    let bombs = [
        (time, 1_000_000_000, "call_ms"),
        (memory, 22, "memory_bytes"),
        (output, 200_000, "output_bytes"),
    ];
    for (text, n, knob) in bombs {
        let key = version();
        let render = async |n: u64| {
            let data = format!(r#"{{"name":"Ada","n":{n}}}"#);
            render_version(&host.plugins, key, text, &data).await
        };
        render(3).await.expect("answered").expect("rendered");
        for _ in 0..3 {
            let (blame, failure) = too_much_work(render(n).await);
            assert_eq!(blame, Blame::Data);
            let limit = failure.limit().expect("a limit");
            assert!(limit.starts_with(&format!("plugins.limits.renderer.{knob} is ")), "{limit}");
            render(3).await.expect("answered").expect("rendered");
        }
    }
    let view = host.view(RENDERER);
    assert_eq!(view.active.expect("active").identity(), live.identity());
    assert_eq!(live.stats().inputs_in_quarantine(), 0);
}

/// Whoever takes the built-in renderer for a template of a slot's own keeps it: where no other generation can
/// be asked, the built-in one is.
#[tokio::test]
async fn a_copy_of_the_built_in_renderer_is_not_rolled_back_for_what_data_costs() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("liquid-renderer.wasm", builtin::LIQUID_RENDERER);
    let live = host.live(RENDERER, "waxwing-liquid-renderer").await;
    for n in 0..12 {
        let text = "{% for i in (1..n) %}{% endfor %}";
        let data = format!(r#"{{"name":"Ada","n":{}}}"#, 1_000_000_000 + n);
        let (blame, _) = too_much_work(render_version(&host.plugins, version(), text, &data).await);
        assert_eq!(blame, Blame::Data);
    }
    let view = host.view(RENDERER);
    assert_eq!(view.quarantined, [], "the plugin is not rolled back");
    assert!(!view.is_builtin && live.stats().inputs_in_quarantine() == 0);
}

#[tokio::test]
async fn a_template_that_renders_no_data_is_to_blame() {
    let plugins = plugins(Limits::default()).await;
    let (key, endless) = (version(), "{% for i in (1..1000000000) %}{% endfor %}");
    let blame = async |name: &str| {
        let data = format!(r#"{{"name":"{name}"}}"#);
        too_much_work(render_version(&plugins, key, endless, &data).await).0
    };
    // It has no example, so only different data can tell.
    assert_eq!(blame("Ada").await, Blame::Data);
    assert_eq!(blame("Ada").await, Blame::Data);
    assert_eq!(blame("Ben").await, Blame::Data);
    assert_eq!(blame("Cy").await, Blame::Template);
}

#[tokio::test]
async fn a_template_that_fails_its_example_is_not_called_with_each_send() {
    let plugins = plugins(Limits::default()).await;
    let key = version();
    let endless = || text_template("{% for i in (1..1000000000) %}{% endfor %}");
    let (context, table) = (plugins.context("test".to_owned()), plugins.table());
    let render = async |data: &str| {
        let data = data.to_owned();
        let example = || ADA.to_owned();
        let called = table.render(&ANYBODY, key, endless, example, &context, &data).await;
        too_much_work(called.result.map(|it| it.map(|output| output.bodies)))
    };
    let (blame, first) = render(ADA).await;
    assert_eq!(blame, Blame::Template);
    // From now on it costs nothing.
    let live = table.serving(Kind::Renderer, &ANYBODY);
    let (calls, cpu) = (live.stats().calls(), live.cpu(CallPurpose::Service));
    for name in ["Ada", "Ben", "Cy"] {
        let (blame, failure) = render(&format!(r#"{{"name":"{name}"}}"#)).await;
        assert_eq!((blame, failure.limit()), (Blame::Template, first.limit()));
    }
    assert_eq!((live.stats().calls(), live.cpu(CallPurpose::Service)), (calls, cpu));
    let another = render_version(&plugins, version(), "Dear {{ name }}", ADA).await;
    another.expect("answered").expect("no other template is refused");
}

#[tokio::test]
async fn data_that_two_generations_trap_on_keeps_nobody_from_the_template() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    let poison = waxwing_guests::component("poison-renderer");
    dirs.put("liquid-renderer.wasm", marked(&poison, "first"));
    let first = host.live(RENDERER, "poison-renderer").await;
    dirs.put("liquid-renderer.wasm", marked(&poison, "second"));
    let is_second = |view: &SlotStatus| {
        let active = view.active.clone()?;
        (active.identity().digest != first.identity().digest).then_some(active)
    };
    let second = host.until(RENDERER, "the second is live", is_second).await;
    let (good, bad) = (version(), version());
    let dear = async |name: &str| {
        let data = format!(r#"{{"name":"{name}"}}"#);
        render_version(&host.plugins, good, "Dear {{ name }}", &data).await
    };
    dear("Ada").await.expect("answered").expect("rendered");
    dear("POISON").await.expect_err("a panic");
    // What traps on any data is evaluated after it, and put aside.
    render_version(&host.plugins, bad, "POISON", ADA).await.expect_err("a panic");
    let aside = |view: &SlotStatus| {
        (view.active.as_ref()?.stats().inputs_in_quarantine() > 0).then_some(())
    };
    host.until(RENDERER, "the bad template is put aside", aside).await;
    for _ in 0..10 {
        dear("Ada").await.expect("answered").expect("rendered");
    }
    assert_eq!(second.stats().inputs_in_quarantine(), 1);
    assert_eq!(host.view(RENDERER).quarantined, [], "the plugin is not rolled back");
}

/// Without a generation of its own before it, the built-in plugin is asked; it renders the template.
#[tokio::test]
async fn an_input_that_only_one_plugin_traps_on_is_blamed_on_the_plugin() {
    let dirs = TestDirs::new();
    let host = PluginHost::start(&dirs).await;
    dirs.put("liquid-renderer.wasm", waxwing_guests::component("poison-renderer"));
    let live = host.live(RENDERER, "poison-renderer").await;
    let key = VersionKey { template: TemplateId::new(NOW), revision: 1, locale: 0 };
    for _ in 0..3 {
        render_version(&host.plugins, key, "POISON", ADA).await.expect_err("a panic");
    }
    host.built_in(RENDERER).await;
    assert_eq!(live.stats().inputs_in_quarantine(), 0);
    let bodies = render_version(&host.plugins, key, "POISON", ADA).await;
    assert_eq!(bodies.expect("answered").expect("rendered")[1].text, "POISON");
}
