//! The interface over time: components of every released version run, and one of another track is
//! told what to do.

use std::path::{Path, PathBuf};

use super::fixture::{PLAN, RENDERER, candidate};
use super::{plugins, still_renders};
use crate::plugin::Plugins;
use crate::plugin::promotion::golden_cases;
use crate::plugin::promotion::validation::UNOBSERVED;
use crate::plugin::runtime::limits::Limits;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures/plugins/v0")
}

/// Operators have plugins of this age: they run, and answer as they did.
async fn answers_as_it_did(plugins: &Plugins, slot: &str, fixture: &str, config: &str) {
    let component = std::fs::read(fixtures().join(format!("{fixture}.wasm"))).expect("a fixture");
    let folder = fixtures().join(format!("{fixture}.cases"));
    let candidate = candidate(slot, Some(component), config);
    let log = plugins.validator.log(&candidate.slot);
    let validated = plugins.validator.validate(&candidate, log, Some(&folder), UNOBSERVED).await;
    let validated = validated.unwrap_or_else(|error| panic!("{fixture}: {error}"));
    let cases = golden_cases::read(validated.kind(), &folder).expect("its cases");
    assert!(!cases.is_empty(), "{fixture} has cases");
    for case in cases {
        assert!(case.expected.is_some(), "{fixture}/{} says what comes out", case.name);
    }
}

#[tokio::test]
async fn components_of_the_first_release_answer_as_they_did() {
    let plugins = plugins(Limits::default()).await;
    answers_as_it_did(&plugins, PLAN, "plan", "[settings]\nprice = 3\ndailyLimit = 5\n").await;
    answers_as_it_did(&plugins, RENDERER, "renderer", "").await;
    answers_as_it_did(&plugins, "domain-policy", "domain", "").await;
}

#[tokio::test]
async fn a_later_version_of_the_same_track_loads() {
    let plugins = plugins(Limits::default()).await;
    for guest in ["price-one", "visible-a", "strict-domain"] {
        let later = waxwing_guests::at_version(&waxwing_guests::component(guest), "0.1.1");
        let slot = match guest {
            "price-one" => PLAN,
            "visible-a" => RENDERER,
            _ => "domain-policy",
        };
        let validated = plugins.try_out(&candidate(slot, Some(later), "")).await;
        let validated = validated.unwrap_or_else(|error| panic!("{guest}: {error}"));
        assert_eq!(validated.identity().name, guest);
    }
}

#[tokio::test]
async fn a_component_of_another_track_is_told_what_to_do() {
    let plugins = plugins(Limits::default()).await;
    let refusal = async |component: Vec<u8>| {
        let error = plugins.try_out(&candidate(PLAN, Some(component), "")).await;
        error.expect_err("another track").to_string()
    };
    let text = refusal(waxwing_guests::newer()).await;
    assert_eq!(
        text,
        "the component was built for waxwing:plugin/types@0.2.0, and this server speaks version \
         0.1 of the interface: upgrade the server, or build the plugin with the SDK that belongs \
         to this server"
    );
    let good = waxwing_guests::component("price-one");
    let text = refusal(waxwing_guests::at_version(&good, "1.0.0")).await;
    assert!(text.contains("upgrade the server"), "{text}");
    let text = refusal(waxwing_guests::at_version(&good, "0.0.9")).await;
    assert!(text.ends_with("build the plugin with a newer SDK"), "{text}");
    still_renders(&plugins).await;
}
