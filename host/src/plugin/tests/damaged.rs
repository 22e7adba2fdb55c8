//! Components that were damaged on their way, or that harm before their first call: refused with
//! the cause, and never a crash.

use super::fixture::{PLAN, candidate};
use super::{plugins, still_renders};
use crate::plugin::Plugins;
use crate::plugin::promotion::error::LoadError;
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::runtime::limits::Limits;

async fn validated(plugins: &Plugins, component: Vec<u8>) -> Result<InstalledPlugin, LoadError> {
    plugins.try_out(&candidate(PLAN, Some(component), "")).await
}

async fn refusal(component: Vec<u8>) -> String {
    let plugins = plugins(Limits::default()).await;
    let error = validated(&plugins, component).await.expect_err("refused");
    still_renders(&plugins).await;
    error.to_string()
}

#[tokio::test]
async fn a_truncated_file_is_refused_with_the_place_where_it_ends() {
    let good = waxwing_guests::component("price-one");
    let plugins = plugins(Limits::default()).await;
    for keep in [8, 100, good.len() / 2, good.len() - 1] {
        let error = validated(&plugins, waxwing_guests::truncated(&good, keep)).await;
        let text = error.expect_err("refused").to_string();
        let is_clear = text.starts_with("the component is damaged at byte ")
            && text.ends_with("; copy it again")
            || text.starts_with("the component exports no kind of plugin");
        assert!(is_clear, "{keep} bytes: {text}");
    }
    still_renders(&plugins).await;
}

/// A flip may break the file, change what it answers, or mean nothing. It never harms the server.
#[tokio::test]
async fn a_flipped_bit_is_refused_or_still_valid() {
    const FLIPS: usize = 60;
    let good = waxwing_guests::component("price-one");
    let plugins = plugins(Limits::default()).await;
    let (mut refused, mut valid) = (0, 0);
    for flip in 0..FLIPS {
        let bit = good.len() * 8 / FLIPS * flip + flip % 8;
        match validated(&plugins, waxwing_guests::flipped(&good, bit)).await {
            Ok(_) => valid += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(refused > 0 && valid > 0, "{refused} refused and {valid} valid of {FLIPS}");
    still_renders(&plugins).await;
}

#[tokio::test]
async fn a_start_without_an_end_is_stopped() {
    let text = refusal(waxwing_guests::endless_start()).await;
    assert_eq!(
        text,
        "the plugin plan-policy used up its time in instantiate: plugins.limits.plan.prepare_ms \
         is 50 ms"
    );
}

#[tokio::test]
async fn a_start_that_wants_too_much_memory_is_refused_with_the_setting() {
    let text = refusal(waxwing_guests::greedy_start(1_024)).await;
    assert_eq!(
        text,
        "the plugin plan-policy used up its memory in instantiate: \
         plugins.limits.plan.memory_bytes is 16777216 bytes"
    );
    let text = refusal(waxwing_guests::greedy_start(65_536)).await;
    assert!(text.contains("memory"), "4 GiB: {text}");
}

#[tokio::test]
async fn a_table_does_not_grow_without_end() {
    let plugins = plugins(Limits::default()).await;
    match validated(&plugins, waxwing_guests::table_bomb()).await {
        Err(error) => panic!("the table is bounded, which is no failure of the plugin: {error}"),
        Ok(bomb) => assert_eq!(bomb.identity().name, "table-bomb"),
    }
    still_renders(&plugins).await;
}
