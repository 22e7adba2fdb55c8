//! Files on a running server: however they come, the next message is decided by them, and a broken
//! one changes nothing but what the operator sees.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use waxwing_tests::{Server, only_on_a_file};

use super::measure::tell;
use super::{Component, FILES_OF_ONE_SERVER, PLAN, RENDERER, of_kind, reason, sent, server};

/// How long a message may still be decided by what was there before; a release build on an idle
/// machine takes a twentieth of it.
const BOUND: Duration = Duration::from_secs(20);

/// Sends until a message is decided by that component; every one of them must be accepted.
async fn until_decided_by(server: &Server, kind: &str, component: &Component) -> Duration {
    let start = Instant::now();
    for n in 0.. {
        let decision = sent(server, n).await;
        if of_kind(&decision, kind)["digest"] == component.digest {
            break;
        }
        assert!(start.elapsed() < BOUND, "{kind} is still {decision:#}");
    }
    start.elapsed()
}

#[tokio::test]
async fn a_file_copied_renamed_or_linked_into_place_decides_the_next_message() {
    let server = server();
    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    let file = server.plugins_dir().join("plan-policy.wasm");
    // A rename into place, the first time and over another one.
    server.place("plan-policy.wasm", &one.bytes);
    let first = until_decided_by(&server, "plan", &one).await;
    server.place("plan-policy.wasm", &two.bytes);
    let rename = until_decided_by(&server, "plan", &two).await;
    // A copy over the file, which keeps its inode and is not whole at once.
    fs::write(&file, &one.bytes).expect("copied");
    let copy = until_decided_by(&server, "plan", &one).await;
    // A link that is swapped for another, as deployments do.
    let releases = server.scratch("releases");
    fs::create_dir(&releases).expect("a folder");
    fs::write(releases.join("two.wasm"), &two.bytes).expect("written");
    let link = server.scratch("link");
    symlink(releases.join("two.wasm"), &link).expect("a link");
    fs::rename(&link, &file).expect("swapped");
    let linked = until_decided_by(&server, "plan", &two).await;
    // What the link leads to changes elsewhere, where nobody watches.
    fs::write(releases.join("next.wasm"), &one.bytes).expect("written");
    fs::rename(releases.join("next.wasm"), releases.join("two.wasm")).expect("swapped");
    let behind = until_decided_by(&server, "plan", &one).await;
    tell(&format!(
        "plan policy, from the file to the first message that it decided: first {first:?}, rename \
         {rename:?}, copy {copy:?}, link {linked:?}, behind the link {behind:?}"
    ));
}

#[tokio::test]
async fn a_renderer_and_a_domain_policy_are_swapped_as_well() {
    let server = server();
    let (a, b) = (Component::guest("visible-a"), Component::guest("visible-b"));
    server.swap(RENDERER, &a.bytes, &a.digest).await;
    let cold = until_decided_by(&server, "renderer", &a).await;
    server.place("liquid-renderer.wasm", &b.bytes);
    until_decided_by(&server, "renderer", &b).await;
    server.place("liquid-renderer.wasm", &a.bytes);
    let warm = until_decided_by(&server, "renderer", &a).await;
    tell(&format!("renderer, the same: {cold:?} when it is compiled, {warm:?} when it was"));
    let strict = Component::guest("strict-domain");
    server.swap("domain-policy", &strict.bytes, &strict.digest).await;
    // The starter's sandbox domain stays verified: nobody asked DNS.
    sent(&server, 1).await;
}

#[tokio::test]
async fn a_broken_file_changes_nothing_but_what_the_operator_sees() {
    let server = server();
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let broken = waxwing_guests::truncated(&one.bytes, one.bytes.len() / 2);
    server.place("plan-policy.wasm", &broken);
    let words = server.rejected(PLAN, "the component is damaged at byte").await;
    let view = server.slot(PLAN).await;
    assert_eq!(view["active"]["digest"], one.digest, "what ran, runs on");
    assert_eq!(view["candidate"]["digest"], Component::of(broken).digest);
    assert_eq!(view["candidate"]["stage"], "inspecting");
    let listed = server.look("/v1/plugins").await;
    let listed = named(&listed["data"], PLAN).clone();
    assert_eq!(listed, view, "the list shows the same");
    let ready = server.get("/readyz").await;
    assert_eq!(ready.status, 200, "sends can be accepted");
    assert_eq!(named(&ready.body["plugins"], PLAN)["rejected"], true);
    assert!(!words.is_empty(), "the reason is for operators only");
    let log = server.log();
    let line = log.lines().find(|line| line.contains("plugin rejected")).expect("one line");
    assert!(line.contains("damaged") && line.contains("plan-policy.wasm"), "{line}");
    assert_eq!(reason(&server).await, "price one");

    // Not even a restart with the broken file in place.
    let mut server = server;
    server.restart();
    assert_eq!(reason(&server).await, "price one");
    server.rejected(PLAN, "damaged").await;

    let two = Component::guest("price-two");
    server.swap(PLAN, &two.bytes, &two.digest).await;
    let view = server.slot(PLAN).await;
    assert_eq!(view["candidate"], Value::Null, "the next good file clears it");
    let ready = server.get("/readyz").await;
    assert_eq!(named(&ready.body["plugins"], PLAN)["rejected"], false);
    assert_eq!(reason(&server).await, "price two");
}

#[tokio::test]
async fn a_settings_file_reloads_with_a_revision_of_its_own() {
    let server = server();
    let guest = Component::guest("price-setting");
    server.place("plan-policy.wasm", &guest.bytes);
    // It has a required setting, and none yet.
    let words = server.rejected(PLAN, "price").await;
    assert!(words.contains("settings"), "{words}");
    for (price, revision) in [(3, 1), (5, 2), (3, 1)] {
        server.place("plan-policy.toml", format!("[settings]\nprice = {price}\n"));
        let set = |view: &Value| {
            let settled = view["candidate"].is_null();
            (settled && view["active"]["settings"]["price"] == price).then_some(())
        };
        server.until_slot(PLAN, &format!("the price {price}"), set).await;
        let decision = sent(&server, 1).await;
        let policy = of_kind(&decision, "plan");
        assert_eq!(policy["reason"], format!("price {price}"));
        assert_eq!(policy["settingsRevision"], revision, "{policy}");
        let message = server.message(decision["messageId"].as_str().expect("a message"));
        assert_eq!(message["credits"], price, "{message}");
    }
    // Wrong settings are refused with their place, and what was right stays.
    server.place("plan-policy.toml", "[settings]\nprice = 1000\n");
    let words = server.rejected(PLAN, "price").await;
    assert!(words.contains("100"), "the bound is named: {words}");
    server.place("plan-policy.toml", "[settings\n");
    server.rejected(PLAN, "plan-policy.toml is not valid").await;
    assert_eq!(reason(&server).await, "price 3");

    // Settings roll back like a component, and a restart remembers it.
    let back = server.order(PLAN, "rollback").await;
    assert_eq!(back.status, 200, "{}", back.body);
    assert_eq!(reason(&server).await, "price 5");
    let mut server = server;
    server.restart();
    let decision = sent(&server, 1).await;
    assert_eq!(of_kind(&decision, "plan")["settingsRevision"], 2);
}

#[tokio::test]
async fn a_slot_without_a_component_is_the_built_in_plugin_with_settings() {
    if only_on_a_file(FILES_OF_ONE_SERVER) {
        return;
    }
    let server = server();
    let plans = "[settings]\nplans = [{ name = \"free\" }, { name = \"pro\", \
                 creditsPerRecipient = 7 }]\n";
    server.place("plan-policy.toml", plans);
    let set = |view: &Value| (view["active"]["settingsRevision"] == 1).then_some(());
    server.until_slot(PLAN, "the settings are live", set).await;
    let decision = sent(&server, 1).await;
    let message = server.message(decision["messageId"].as_str().expect("a message"));
    assert_eq!(message["credits"], 7);
    server.displace("plan-policy.toml");
    server.built_in(PLAN).await;
    let decision = sent(&server, 2).await;
    assert_eq!(of_kind(&decision, "plan")["settingsRevision"], 0);
}

#[tokio::test]
async fn a_removed_file_gives_its_calls_back_and_stays_removed_over_a_restart() {
    if only_on_a_file(FILES_OF_ONE_SERVER) {
        return;
    }
    let mut server = server();
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.displace("plan-policy.wasm");
    server.built_in(PLAN).await;
    server.restart();
    assert_ne!(reason(&server).await, "price one", "what was removed stays removed");
    // Removed while nothing ran: the file is the operator's word then, too.
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server.terminate();
    server.displace("plan-policy.wasm");
    server.restart();
    server.built_in(PLAN).await;
    assert_ne!(reason(&server).await, "price one");
}

#[tokio::test]
async fn a_file_with_a_name_of_no_slot_is_ignored_and_said() {
    let server = server();
    let one = Component::guest("price-one");
    server.place("Plan Policy.wasm", &one.bytes);
    server.swap(PLAN, &one.bytes, &one.digest).await;
    assert!(server.log().contains("plugin file ignored"));
    let listed = server.look("/v1/plugins").await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(4), "{listed}");
    assert_eq!(named(&listed["data"], RENDERER)["active"]["builtin"], json!(true));
}

fn named<'a>(slots: &'a Value, name: &str) -> &'a Value {
    let slots = slots.as_array().expect("a list of slots");
    slots.iter().find(|it| it["slot"] == name).expect("the slot is listed")
}
