//! Who is to blame for a trap: an input that two generations trap on is put aside, and the plugin
//! stays.

use serde_json::json;

use super::platform::{Home, Platform, RENDERER, marked};
use super::{NOW, TemplateId, VersionKey, dear_ada, render_version};
use crate::plugin::board::SlotView;
use crate::plugin::error::CallFailure;

const ADA: &str = r#"{"name":"Ada"}"#;

#[tokio::test]
async fn an_input_that_two_generations_trap_on_is_put_aside_and_the_plugin_stays() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    let poison = waxwing_guests::component("poison-renderer");
    home.put("liquid-renderer.wasm", marked(&poison, "first"));
    let first = platform.live(RENDERER, "poison-renderer").await;
    home.put("liquid-renderer.wasm", marked(&poison, "second"));
    let is_second = |view: &SlotView| {
        let active = view.active.clone()?;
        (active.identity().digest != first.identity().digest).then_some(active)
    };
    let second = platform.until(RENDERER, "the second is live", is_second).await;

    let key = VersionKey { template: TemplateId::new(NOW), revision: 1 };
    let poisoned = || render_version(&platform.plugins, key, "POISON", ADA);
    let failure = poisoned().await.expect_err("a panic");
    assert!(matches!(failure, CallFailure::Trapped { .. }), "{failure}");
    let aside =
        |view: &SlotView| (view.active.as_ref()?.pulse().inputs_in_quarantine() == 1).then_some(());
    platform.until(RENDERER, "the input is put aside", aside).await;
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
    assert_eq!(dear_ada(&platform.plugins).await, expected);
    let view = platform.view(RENDERER);
    assert_eq!(view.quarantined, [], "the plugin is not rolled back");
    assert_eq!(view.active.expect("active").identity(), second.identity());
    assert_eq!(second.pulse().trapped(), 1, "an input that is put aside costs no more traps");
    let shown = platform.view(RENDERER).to_json(second.slot());
    assert_eq!(shown["active"]["inputsInQuarantine"], json!(1));

    // A mended version of the template is another input.
    let mended = VersionKey { revision: 2, ..key };
    let rendered = render_version(&platform.plugins, mended, "Dear {{ name }}", ADA).await;
    assert!(rendered.expect("answered").is_ok());
}

/// Without a generation of its own before it, the built-in plugin is asked; it renders the template.
#[tokio::test]
async fn an_input_that_only_one_plugin_traps_on_is_blamed_on_the_plugin() {
    let home = Home::new();
    let platform = Platform::start(&home).await;
    home.put("liquid-renderer.wasm", waxwing_guests::component("poison-renderer"));
    let live = platform.live(RENDERER, "poison-renderer").await;
    let key = VersionKey { template: TemplateId::new(NOW), revision: 1 };
    for _ in 0..3 {
        render_version(&platform.plugins, key, "POISON", ADA).await.expect_err("a panic");
    }
    platform.built_in(RENDERER).await;
    assert_eq!(live.pulse().inputs_in_quarantine(), 0);
    let bodies = render_version(&platform.plugins, key, "POISON", ADA).await;
    assert_eq!(bodies.expect("answered").expect("rendered")[1].text, "POISON");
}
