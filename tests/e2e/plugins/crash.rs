//! kill -9 at every stage of a plugin's way, then a start on what was left: the server runs with
//! what was last known to be good, and takes up the file again.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use waxwing_tests::{Server, only_on_a_file, until};

use super::{Component, PLAN, RENDERER, SOON, note_to, of_kind, reason, sent, server};
use crate::fixture::Database;

/// So slow that a poll cannot miss it, and allowed to be.
const SLOWLY: &str = "[limits]\ncall_ms = 30000\n[settings]\nturns = 150000000\n";

/// A server on which `price-one` decides.
async fn priced() -> Server {
    let server = server();
    let one = Component::guest("price-one");
    server.swap(PLAN, &one.bytes, &one.digest).await;
    server
}

/// Kills it, looks at what it left, and starts it again.
async fn killed(server: &mut Server) {
    server.kill9();
    Database::of(server).await.assert_sound().await;
    assert_readable(server).await;
    server.restart();
    let ready = server.get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert_readable(server).await;
}

/// The state is whole: a slot's JSON, and components that are what their names say.
async fn assert_readable(server: &Server) {
    let state = &server.data_dir().join("plugin-state");
    let (slots, kept): (Vec<String>, Vec<String>) = if server.store_url().is_some() {
        let database = Database::of(server).await;
        let slots = database.texts("SELECT state FROM plugin_slots").await;
        (slots, database.texts("SELECT digest FROM plugin_blobs").await)
    } else {
        let slots = files(state).filter(|path| path.extension().is_some_and(|it| it == "json"));
        let slots = slots.map(|path| fs::read_to_string(&path).expect("a state is read"));
        let components = state.join("components");
        let kept = files(&components);
        let kept = kept.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
        (slots.collect(), kept.collect())
    };
    for slot in slots {
        let slot: Value = serde_json::from_str(&slot).expect("a state is JSON");
        // What nodes share says more than the state.
        let slot = slot.get("state").cloned().unwrap_or(slot);
        assert!(slot["quarantined"].is_array() && slot["settings"].is_array(), "{slot}");
        let digest = slot["active"]["digest"].as_str();
        let is_kept = |digest: &str| kept.iter().any(|it| bare(it) == bare(digest));
        assert!(digest.is_none_or(is_kept), "the live component is kept: {slot}");
    }
    for path in files(&state.join("components")) {
        if path.extension().is_some_and(|it| it == "wasm") {
            let kept = Component::of(fs::read(&path).expect("a component is read"));
            let stem = path.file_stem().and_then(|it| it.to_str());
            assert_eq!(stem, Some(bare(&kept.digest)), "a component is what its name says");
        }
    }
}

fn files(directory: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    fs::read_dir(directory).expect("a folder").map(|it| it.expect("an entry").path())
}

fn bare(digest: &str) -> &str {
    digest.trim_start_matches("sha256:")
}

#[tokio::test]
async fn kill_9_while_a_file_is_still_being_written() {
    let mut server = priced().await;
    let two = Component::guest("price-two");
    let file = server.plugins_dir().join("plan-policy.wasm");
    let (killed_now, bytes) = (Arc::new(AtomicBool::new(false)), two.bytes.clone());
    let writer = {
        let (stop, file) = (Arc::clone(&killed_now), file.clone());
        // Slower than any copy, and not held up by this test's own requests: it never stands still. The sleep paces the
        // writer; the test waits for what the server says of the slot.
        std::thread::spawn(move || {
            for length in 1..30_000 {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                fs::write(&file, &bytes[..length]).expect("written");
                std::thread::sleep(Duration::from_millis(1));
            }
        })
    };
    while server.slot(PLAN).await["candidate"]["stage"] != "settling" {
        assert!(!writer.is_finished(), "the server never saw the file change");
    }
    killed(&mut server).await;
    killed_now.store(true, Ordering::Relaxed);
    writer.join().expect("it wrote");
    assert_eq!(reason(&server).await, "price one");
    server.rejected(PLAN, "damaged at byte").await;
    // The copy goes on to its end.
    fs::write(&file, &two.bytes).expect("written");
    server.live(PLAN, &two.digest).await;
    assert_eq!(reason(&server).await, "price two");
}

#[tokio::test]
async fn kill_9_while_a_component_is_compiled() {
    let mut server = priced().await;
    let big = Component::of(waxwing_guests::big_slow(3_000));
    server.place("plan-policy.wasm", &big.bytes);
    server.at_stage(PLAN, "compiling").await;
    assert_eq!(reason(&server).await, "price one", "sends do not wait for the compiler");
    killed(&mut server).await;
    let decision = sent(&server, 1).await;
    assert_ne!(of_kind(&decision, "plan")["digest"], big.digest);
    server.live(PLAN, &big.digest).await;
    assert_eq!(of_kind(&sent(&server, 2).await, "plan")["digest"], big.digest);
}

#[tokio::test]
async fn kill_9_while_a_plugin_describes_itself() {
    let mut server = priced().await;
    // It never comes back, and is given a long time.
    let endless = Component::guest("endless-describe");
    server.place("plan-policy.toml", "[limits]\nprepare_ms = 3000\n");
    let limit = |view: &Value| (view["active"]["limits"]["prepareMs"] == 3000).then_some(());
    server.until_slot(PLAN, "the limit is live", limit).await;
    server.place("plan-policy.wasm", &endless.bytes);
    server.at_stage(PLAN, "configuring").await;
    killed(&mut server).await;
    assert_eq!(reason(&server).await, "price one");
    server
        .rejected(PLAN, "used up its time in describe: plugins.limits.plan.prepare_ms is 3000")
        .await;
    assert_eq!(reason(&server).await, "price one");
}

#[tokio::test]
async fn kill_9_while_a_plugin_is_tested_and_while_its_impact_is_found_out() {
    let mut server = server();
    let (a, slow) = (Component::guest("visible-a"), Component::guest("slow-render"));
    server.swap(RENDERER, &a.bytes, &a.digest).await;
    for n in 0..3 {
        sent(&server, n).await;
    }
    let database = Database::of(&server).await;
    let samples = "SELECT count(*) FROM samples WHERE kind = 'renderer'";
    let kept = || async { (database.number(samples).await == 3).then_some(()) };
    waxwing_tests::until_async("the calls are recorded", SOON, kept).await;
    drop(database);
    // The host's own case is one slow render; the recorded calls are three more.
    server.place("liquid-renderer.toml", SLOWLY.replace("[settings]\nturns = 150000000\n", ""));
    let limit = |view: &Value| (view["active"]["limits"]["callMs"] == 30_000).then_some(());
    server.until_slot(RENDERER, "the limit is live", limit).await;
    server.place("liquid-renderer.toml", SLOWLY);
    server.place("liquid-renderer.wasm", &slow.bytes);
    for stage in ["testing", "impact"] {
        server.at_stage(RENDERER, stage).await;
        killed(&mut server).await;
        let decision = sent(&server, 5).await;
        assert_eq!(of_kind(&decision, "renderer")["digest"], a.digest, "killed while {stage}");
    }
    server.live(RENDERER, &slow.digest).await;
    let decision = sent(&server, 6).await;
    assert_eq!(of_kind(&decision, "renderer")["digest"], slow.digest);
}

#[tokio::test]
async fn kill_9_in_the_shadow_and_the_operators_word_still_holds() {
    let mut server = priced().await;
    let two = Component::guest("price-two");
    let installed = server.install(PLAN, "?shadow=4&impact=ask", &two.bytes).await;
    assert_eq!(installed.status, 202, "{}", installed.body);
    server.at_stage(PLAN, "shadow").await;
    sent(&server, 1).await;
    killed(&mut server).await;
    assert_eq!(reason(&server).await, "price one");
    // It is in the shadow again, from the first call on, and does not become live unasked. Among nodes it is first shown as
    // that of the killed one.
    let is_again = |view: &Value| {
        let candidate = &view["candidate"];
        (candidate["node"].is_null() && candidate["stage"] == "shadow").then_some(())
    };
    server.until_slot(PLAN, "the shadow runs again", is_again).await;
    for n in 0..4 {
        assert_eq!(of_kind(&sent(&server, n).await, "plan")["reason"], "price one");
    }
    let view = server.at_stage(PLAN, "waiting").await;
    assert_eq!(view["candidate"]["shadow"]["compared"], 4, "{view:#}");
    assert_eq!(reason(&server).await, "price one");
    assert_eq!(server.order(PLAN, "activate").await.status, 200);
    assert_eq!(reason(&server).await, "price two");
}

#[tokio::test]
async fn kill_9_while_a_plugin_waits_and_it_waits_again() {
    let mut server = priced().await;
    let two = Component::guest("price-two");
    server.install(PLAN, "?impact=ask", &two.bytes).await;
    server.at_stage(PLAN, "waiting").await;
    killed(&mut server).await;
    server.at_stage(PLAN, "waiting").await;
    assert_eq!(reason(&server).await, "price one", "nobody has said that it may");
    assert_eq!(server.order(PLAN, "activate").await.status, 200);
    server.live(PLAN, &two.digest).await;
    killed(&mut server).await;
    assert_eq!(reason(&server).await, "price two", "and what was said is kept");
    // The file's own word holds as well.
    server.place("plan-policy.toml", "[activation]\nimpact = \"ask\"\n");
    server.at_stage(PLAN, "waiting").await;
    killed(&mut server).await;
    server.at_stage(PLAN, "waiting").await;
}

#[tokio::test]
async fn kill_9_as_soon_as_a_plugin_is_live_and_right_after_it_was_rolled_back() {
    let mut server = priced().await;
    let bad = Component::guest("panic-on-poison");
    server.swap(PLAN, &bad.bytes, &bad.digest).await;
    killed(&mut server).await;
    assert_eq!(reason(&server).await, "panic-on-poison");
    let poison = note_to(1, "a@poison.example");
    let view = server.slot(PLAN).await;
    assert_eq!(view["active"]["digest"], bad.digest, "{view:#}");
    // The rule counts from each start on.
    server.restart();
    for _ in 0..3 {
        server.send(server.key(), &poison).await.assert_refused(503, "UNAVAILABLE");
    }
    let back = |view: &Value| view["quarantined"][0]["reason"].as_str().map(str::to_owned);
    let why = server.until_slot(PLAN, "it is rolled back", back).await;
    killed(&mut server).await;
    assert_eq!(reason(&server).await, "price one");
    let view = server.slot(PLAN).await;
    assert_eq!(view["quarantined"][0]["reason"], why, "{view:#}");
    // Nodes do not examine a file again that they have examined.
    if server.store_url().is_none() {
        server.rejected(PLAN, "in quarantine").await;
    }
}

#[tokio::test]
async fn a_start_survives_a_state_that_was_damaged_while_nothing_ran() {
    if only_on_a_file("the state of the slots is in the database") {
        return;
    }
    let mut server = priced().await;
    let one = Component::guest("price-one");
    server.terminate();
    let state = server.data_dir().join("plugin-state");
    // Half a state: the slot's file is validated anew.
    fs::write(state.join("plan-policy.json"), "{\"active\":").expect("written");
    server.restart();
    server.live(PLAN, &one.digest).await;
    server.terminate();
    // A component that was changed on disk is not run.
    let kept = state.join("components").join(format!("{}.wasm", bare(&one.digest)));
    fs::write(&kept, b"\0asm other bytes").expect("written");
    server.restart();
    server.live(PLAN, &one.digest).await;
    let log = || server.log().contains("its bytes are lost or were changed on disk").then_some(());
    until("the log says so", SOON, log);
    assert_eq!(reason(&server).await, "price one");
}
