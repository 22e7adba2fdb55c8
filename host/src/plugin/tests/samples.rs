//! Which calls are recorded: the first of a generation, then one of many, and each that trapped.

use super::NOW;
use super::fixture::{PLAN, PluginHost, TestDirs, TestEvidence, marked, use_of};
use super::guests::{check, put_live};
use crate::clock::Clock;
use crate::plugin::records::Call;
use crate::plugin::records::sample::{CallEnd, Sample};
use crate::plugin::runtime::kind::Kind;
use crate::plugin::slots::status::SlotStatus;
use crate::plugin::{Artifact, Options, Plugins};

#[tokio::test]
async fn the_first_calls_one_of_many_and_every_trap_are_recorded() {
    let options = Options { sample_every: 50, ..TestDirs::new().options() };
    let started = Plugins::start(options, Clock::manual(NOW)).await;
    let (plugins, _supervisor) = started.expect("the built-ins start");
    let guest = waxwing_guests::component("panic-on-poison");
    put_live(&plugins, guest, PLAN, "[settings]\nanything = 7\n").await;
    let mut recorded = Vec::new();
    for call in 0..120 {
        let template = if call == 70 { "poison" } else { "welcome" };
        if let Some(sample) = check(&plugins, &[use_of(template)]).await.decision.sample {
            recorded.push((call, sample));
        }
    }
    let numbers: Vec<u32> = recorded.iter().map(|(call, _)| *call).collect();
    let expected: Vec<u32> = (0..20).chain([50, 70, 100]).collect();
    assert_eq!(numbers, expected);

    let (_, trapped) = recorded.iter().find(|(call, _)| *call == 70).expect("the trap");
    assert_eq!(trapped.end, CallEnd::Failed);
    assert_eq!(trapped.slot, PLAN);
    // What is stored is enough to make the call again.
    let (call, answer): (Call, _) =
        Sample::read(Kind::Plan, &trapped.to_bytes()).expect("it is what was stored");
    assert_eq!(call.settings, Some(serde_json::json!({"anything": 7})));
    assert_eq!(call.context.call_id, "call-1");
    let text = answer["trap"].as_str().expect("how it trapped");
    assert!(text.contains("poisoned by the template"), "{text}");
}

/// Without its bytes a recorded call cannot be made again.
#[tokio::test]
async fn a_component_is_kept_as_long_as_a_recorded_call_names_it() {
    const BUILDS: usize = 12;
    let dirs = TestDirs::new();
    let one = waxwing_guests::component("price-one");
    let build = |n: usize| marked(&one, &format!("build {n:02}"));
    let (first, second) = (build(0), build(1));
    let components = vec![Artifact::new(first.clone()).digest().to_owned()];
    let evidence = TestEvidence { components, ..TestEvidence::default() };
    let host = PluginHost::start_with_evidence(dirs.options(), evidence).await;
    for n in 0..BUILDS {
        let digest = Artifact::new(build(n)).digest().to_owned();
        dirs.put("plan-policy.wasm", build(n));
        let is_live =
            |view: &SlotStatus| (view.active.as_ref()?.identity().digest == digest).then_some(());
        host.until(PLAN, "the next build is live", is_live).await;
    }
    // Two are named by the slot, eight are spare, and one is named by a call.
    let forgotten = |_: &SlotStatus| (!dirs.stored_component(&second).exists()).then_some(());
    host.until(PLAN, "a build that nothing names is forgotten", forgotten).await;
    assert!(dirs.stored_component(&first).exists());
}
