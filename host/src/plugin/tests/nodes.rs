//! Several nodes that share their slots: each is a plugin host with directories of its own, over one database in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use serde_json::Map;

use super::fixture::{BUILT_IN, PLAN, PluginHost, TestDirs, marked};
use crate::plugin::config::slot::{Activation, ImpactRule, OnFailure};
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::stage::Stage;
use crate::plugin::slots::shared::{
    FailedVersion, NodeReport, NodeSlot, Shared, SharedSlot, SharedSlots, VersionMark,
};
use crate::plugin::slots::status::{NodeState, SlotStatus};
use crate::plugin::slots::supervisor::{Order, OrderError};

/// The shared database of the nodes, in memory.
#[derive(Debug, Default)]
struct Rows {
    slots: BTreeMap<String, (i64, String)>,
    components: BTreeMap<String, Vec<u8>>,
    nodes: BTreeMap<String, String>,
    /// Another node writes a slot before the next one that saves it does.
    is_contended: bool,
}

/// A node's connection to it.
#[derive(Debug, Clone)]
struct SharedRows {
    rows: Arc<Mutex<Rows>>,
    node: String,
}

impl SharedRows {
    fn of(rows: &Arc<Mutex<Rows>>, node: &str) -> Self {
        Self { rows: Arc::clone(rows), node: node.to_owned() }
    }

    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn answer<'a, T: Send + 'a>(it: T) -> BoxFuture<'a, Shared<T>> {
    Box::pin(async move { Ok(it) })
}

impl SharedSlots for SharedRows {
    fn node(&self) -> &str {
        &self.node
    }

    fn generations(&self) -> BoxFuture<'_, Shared<Vec<(String, i64)>>> {
        answer(self.lock().slots.iter().map(|(slot, row)| (slot.clone(), row.0)).collect())
    }

    fn slot<'a>(&'a self, slot: &'a str) -> BoxFuture<'a, Shared<Option<(i64, String)>>> {
        answer(self.lock().slots.get(slot).cloned())
    }

    fn save<'a>(
        &'a self,
        slot: &'a str,
        seen: i64,
        state: &'a str,
    ) -> BoxFuture<'a, Shared<Option<i64>>> {
        let mut rows = self.lock();
        if std::mem::take(&mut rows.is_contended)
            && let Some((generation, _)) = rows.slots.get_mut(slot)
        {
            *generation += 1;
        }
        let now = rows.slots.get(slot).map_or(0, |row| row.0);
        if now != seen {
            return answer(None);
        }
        rows.slots.insert(slot.to_owned(), (seen + 1, state.to_owned()));
        answer(Some(seen + 1))
    }

    fn component<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Shared<Option<Vec<u8>>>> {
        answer(self.lock().components.get(digest).cloned())
    }

    fn keep<'a>(&'a self, component: &'a Artifact) -> BoxFuture<'a, Shared<()>> {
        let (digest, bytes) = (component.digest().to_owned(), component.bytes().to_vec());
        self.lock().components.insert(digest, bytes);
        answer(())
    }

    /// Drops none: all were given lately, and a node that asks may not have read yet that a slot names a new one.
    fn tidy<'a>(&'a self, _named: &'a [String]) -> BoxFuture<'a, Shared<()>> {
        answer(())
    }

    fn report<'a>(&'a self, report: &'a str) -> BoxFuture<'a, Shared<()>> {
        self.lock().nodes.insert(self.node.clone(), report.to_owned());
        answer(())
    }

    fn nodes(&self) -> BoxFuture<'_, Shared<Vec<(String, String)>>> {
        let nodes = self.lock().nodes.clone();
        answer(nodes.into_iter().collect())
    }

    fn leave(&self) -> BoxFuture<'_, Shared<()>> {
        self.lock().nodes.remove(&self.node);
        answer(())
    }
}

/// Starts a node.
async fn node(rows: &Arc<Mutex<Rows>>, name: &str, dirs: &TestDirs) -> PluginHost {
    let mut options = dirs.options();
    options.shared = Some(Arc::new(SharedRows::of(rows, name)));
    PluginHost::start_with_calls(options, Vec::new()).await
}

/// Two nodes, each with its directories.
async fn two_nodes() -> (Arc<Mutex<Rows>>, [TestDirs; 2], [PluginHost; 2]) {
    let rows = Arc::default();
    let dirs = [TestDirs::new(), TestDirs::new()];
    let one = node(&rows, "one", &dirs[0]).await;
    let other = node(&rows, "other", &dirs[1]).await;
    for host in [&one, &other] {
        let sees_both = |view: &SlotStatus| (view.nodes.len() == 2).then_some(());
        host.until(PLAN, "both nodes are seen", sees_both).await;
    }
    (rows, dirs, [one, other])
}

fn install(component: &[u8], impact: Option<ImpactRule>) -> Order {
    let activation = impact.map(|impact| Activation { impact, ..Activation::default() });
    Order::Install { component: component.to_vec().into(), signature: None, activation }
}

#[tokio::test]
async fn a_file_that_is_dropped_on_one_node_becomes_live_on_all() {
    let (_rows, dirs, [one, other]) = two_nodes().await;
    let component = waxwing_guests::component("price-one");
    dirs[0].put("plan-policy.wasm", &component);
    one.live(PLAN, "price-one").await;
    other.live(PLAN, "price-one").await;
    assert_eq!(one.reason().await, "price one");
    assert_eq!(other.reason().await, "price one");
    let file = dirs[1].directory().join("plan-policy.wasm");
    assert!(!file.exists(), "folders are where plugins arrive, not where they stand");
    let cached = std::fs::read(dirs[1].stored_component(&component)).expect("it was fetched");
    assert_eq!(cached, component);
    // What the folder lacks is as it was: a file with a rule alone keeps the component.
    dirs[0].remove("plan-policy.wasm");
    dirs[0].put("plan-policy.toml", "on_failure = \"builtin\"\n");
    let with_rule = |view: &SlotStatus| {
        let active = view.active.clone()?;
        let name = active.identity().name.clone();
        (active.config().on_failure == OnFailure::Builtin).then_some(name)
    };
    let name = other.until(PLAN, "the rule of the file holds", with_rule).await;
    assert_eq!(name, "price-one");
}

#[tokio::test]
async fn an_operator_may_ask_one_node_to_install_and_another_to_activate() {
    let (_rows, _dirs, [one, other]) = two_nodes().await;
    let component = waxwing_guests::component("price-one");
    one.order(PLAN, install(&component, Some(ImpactRule::Ask))).await.expect("taken");
    let waiting = |view: &SlotStatus| {
        let candidate = view.candidate.clone()?;
        (candidate.stage == Stage::Waiting && candidate.waits.is_some()).then_some(candidate)
    };
    one.until(PLAN, "it waits where it was proven", waiting).await;
    let shown = other.until(PLAN, "it waits elsewhere", waiting).await;
    assert_eq!(shown.node.as_deref(), Some("one"));
    assert_eq!(shown.digest.as_deref(), Some(Artifact::new(component).digest()));
    assert_eq!(other.active_name(), BUILT_IN);
    other.order(PLAN, Order::Activate).await.expect("it waits");
    other.live(PLAN, "price-one").await;
    one.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn nothing_comes_of_an_order_that_came_after_one_of_another_node() {
    let (rows, _dirs, [one, other]) = two_nodes().await;
    other
        .order(PLAN, install(&waxwing_guests::component("panic-on-poison"), None))
        .await
        .expect("taken");
    one.live(PLAN, "panic-on-poison").await;
    other.live(PLAN, "panic-on-poison").await;
    rows.lock().expect("nobody panicked").is_contended = true;
    let refused = one.order(PLAN, install(&waxwing_guests::component("price-one"), None)).await;
    assert!(matches!(refused, Err(OrderError::Changed(_))), "{refused:?}");
    assert!(one.view(PLAN).candidate.is_none());
    other.order(PLAN, install(&waxwing_guests::component("price-two"), None)).await.expect("taken");
    one.live(PLAN, "price-two").await;
    other.live(PLAN, "price-two").await;
    let before = other.view(PLAN).previous.and_then(|it| it.digest);
    let first = Artifact::new(waxwing_guests::component("panic-on-poison"));
    assert_eq!(before.as_deref(), Some(first.digest()), "what was refused was never live");
}

#[tokio::test]
async fn a_candidate_of_a_node_that_is_gone_is_proven_by_another_one() {
    let (_rows, _dirs, [one, other]) = two_nodes().await;
    let component = waxwing_guests::component("price-one");
    one.order(PLAN, install(&component, Some(ImpactRule::Ask))).await.expect("taken");
    let is_elsewhere = |view: &SlotStatus| {
        let candidate = view.candidate.as_ref()?;
        (candidate.stage == Stage::Waiting && candidate.node.is_some()).then_some(())
    };
    other.until(PLAN, "it waits on the other node", is_elsewhere).await;
    one.stop().await;
    let is_here = |view: &SlotStatus| {
        let candidate = view.candidate.as_ref()?;
        (candidate.stage == Stage::Waiting && candidate.node.is_none()).then_some(())
    };
    other.until(PLAN, "it waits here", is_here).await;
    assert_eq!(other.active_name(), BUILT_IN, "nobody has said that it may");
    other.order(PLAN, Order::Activate).await.expect("it waits");
    other.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn a_rollback_on_one_node_holds_on_all_and_nothing_is_loaded_for_it() {
    let (rows, _dirs, [one, other]) = two_nodes().await;
    for name in ["price-one", "price-two"] {
        one.order(PLAN, install(&waxwing_guests::component(name), None)).await.expect("taken");
        one.live(PLAN, name).await;
        other.live(PLAN, name).await;
    }
    let previous = |view: &SlotStatus| view.previous.clone();
    other.until(PLAN, "the version before is known", previous).await;
    // What a rollback needs is there already.
    rows.lock().expect("nobody panicked").components.clear();
    while matches!(other.order(PLAN, Order::RollBack).await, Err(OrderError::NotLoaded(_))) {}
    other.live(PLAN, "price-one").await;
    one.live(PLAN, "price-one").await;
    assert_eq!(one.reason().await, "price one");
    assert_eq!(one.view(PLAN).quarantined.len(), 1);
}

#[tokio::test]
async fn settings_that_one_node_changes_hold_on_all() {
    let (_rows, dirs, [one, other]) = two_nodes().await;
    dirs[0].put("plan-policy.toml", "[settings]\nprice = 3\n");
    dirs[0].put("plan-policy.wasm", waxwing_guests::component("price-setting"));
    other.live(PLAN, "price-setting").await;
    one.live(PLAN, "price-setting").await;
    assert_eq!(other.reason().await, "price 3");
    let revision = other.view(PLAN).active.expect("it is live").identity().settings_revision;
    let settings = Map::from_iter([("price".to_owned(), 5.into())]);
    let seen = one.view(PLAN).mark();
    assert_eq!(other.view(PLAN).mark(), seen, "what one node has shown, another one knows");
    other.order_on(PLAN, Order::Configure { settings }, &seen).await.expect("taken");
    let changed = |view: &SlotStatus| {
        let active = view.active.as_ref()?.identity().settings_revision;
        (active != revision && view.candidate.is_none()).then_some(active)
    };
    let here = other.until(PLAN, "they hold where they were changed", changed).await;
    let there = one.until(PLAN, "they hold on the other node", changed).await;
    assert_eq!(here, there, "settings have one number on all nodes");
    assert_eq!(one.reason().await, "price 5");
}

#[tokio::test]
async fn a_slot_that_one_node_switches_off_is_off_on_all_until_it_is_on() {
    let (_rows, _dirs, [one, other]) = two_nodes().await;
    let component = waxwing_guests::component("price-one");
    one.order(PLAN, install(&component, None)).await.expect("taken");
    other.live(PLAN, "price-one").await;
    other.order(PLAN, Order::Disable).await.expect("switched off");
    one.built_in(PLAN).await;
    one.order(PLAN, Order::Activate).await.expect("switched on");
    one.live(PLAN, "price-one").await;
    other.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn a_node_with_empty_directories_starts_with_what_the_others_run() {
    let (rows, dirs, [one, other]) = two_nodes().await;
    dirs[0].put("plan-policy.wasm", waxwing_guests::component("price-one"));
    one.live(PLAN, "price-one").await;
    one.stop().await;
    other.stop().await;
    let empty = TestDirs::new();
    let third = node(&rows, "third", &empty).await;
    assert_eq!(third.reason().await, "price one", "from the first moment on");
    third.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn an_old_file_in_the_folder_of_a_node_does_not_come_back_at_its_start() {
    let (rows, dirs, [one, other]) = two_nodes().await;
    dirs[0].put("plan-policy.wasm", waxwing_guests::component("price-one"));
    other.live(PLAN, "price-one").await;
    other.order(PLAN, install(&waxwing_guests::component("price-two"), None)).await.expect("taken");
    one.live(PLAN, "price-two").await;
    one.stop().await;
    let again = node(&rows, "one again", &dirs[0]).await;
    assert_eq!(again.reason().await, "price two");
    // The folder is looked at before a new file in it can be live.
    let new = marked(&waxwing_guests::component("price-one"), "new");
    let digest = Artifact::new(new.clone()).digest().to_owned();
    dirs[0].put("plan-policy.wasm", new);
    let is_live = |view: &SlotStatus| {
        let active = view.active.clone()?;
        (active.identity().digest == digest).then_some(())
    };
    other.until(PLAN, "a new file counts", is_live).await;
    let before = other.view(PLAN).previous.and_then(|it| it.digest);
    let two = Artifact::new(waxwing_guests::component("price-two"));
    assert_eq!(before.as_deref(), Some(two.digest()), "the old file was never live again");
}

#[tokio::test]
async fn a_plugin_is_live_nowhere_before_every_live_node_has_loaded_it() {
    let (rows, _dirs, [one, other]) = two_nodes().await;
    let stuck = SharedRows::of(&rows, "stuck");
    let nothing = serde_json::to_string(&NodeReport::default()).expect("a report");
    stuck.report(&nothing).await.expect("written");
    one.order(PLAN, install(&waxwing_guests::component("price-one"), None)).await.expect("taken");
    let loading = |view: &SlotStatus| {
        let is_loading = view.candidate.as_ref()?.stage == Stage::Loading;
        let ready = view.nodes.iter().filter(|it| it.state == NodeState::Ready).count();
        (is_loading && ready == 2).then(|| view.nodes.clone())
    };
    let nodes = other.until(PLAN, "two of three nodes are ready", loading).await;
    let stuck_one = nodes.iter().find(|it| it.node == "stuck").expect("it is listed");
    assert_eq!(stuck_one.state, NodeState::Loading);
    assert!(other.view(PLAN).is_builtin, "nothing is live before all are ready");
    stuck.leave().await.expect("gone");
    one.live(PLAN, "price-one").await;
    other.live(PLAN, "price-one").await;
}

#[tokio::test]
async fn a_plugin_that_one_node_cannot_load_is_refused_on_all() {
    let (rows, _dirs, [one, other]) = two_nodes().await;
    let stuck = SharedRows::of(&rows, "stuck");
    let nothing = serde_json::to_string(&NodeReport::default()).expect("a report");
    stuck.report(&nothing).await.expect("written");
    one.order(PLAN, install(&waxwing_guests::component("price-one"), None)).await.expect("taken");
    let loading =
        |view: &SlotStatus| (view.candidate.as_ref()?.stage == Stage::Loading).then_some(());
    one.until(PLAN, "it is about to be live", loading).await;
    let row = stuck.slot(PLAN).await.expect("readable").expect("it is shared").1;
    let slot: SharedSlot = serde_json::from_str(&row).expect("a slot");
    let version = VersionMark::of(&slot.promotion.expect("it is about to be live").version);
    let failed = Some(FailedVersion { version, reason: "too little memory".to_owned() });
    let said = NodeSlot { failed, ..NodeSlot::default() };
    let report = NodeReport(BTreeMap::from([(PLAN.to_owned(), said)]));
    let report = serde_json::to_string(&report).expect("a report");
    stuck.report(&report).await.expect("written");
    let why = "the node stuck cannot load it: too little memory";
    one.refused(PLAN, why).await;
    other.refused(PLAN, why).await;
    assert!(one.view(PLAN).is_builtin && other.view(PLAN).is_builtin);
}

#[tokio::test]
async fn what_a_server_had_in_its_files_goes_into_the_shared_database_once() {
    let dirs = TestDirs::new();
    let alone = PluginHost::start(&dirs).await;
    dirs.put("plan-policy.wasm", waxwing_guests::component("price-one"));
    alone.live(PLAN, "price-one").await;
    alone.stop().await;
    let rows = Arc::default();
    let first = node(&rows, "first", &dirs).await;
    assert_eq!(first.reason().await, "price one");
    let empty = TestDirs::new();
    let second = node(&rows, "second", &empty).await;
    second.live(PLAN, "price-one").await;
    assert_eq!(second.reason().await, "price one");
}

#[tokio::test]
async fn a_component_that_the_database_holds_damaged_is_not_loaded() {
    let (rows, dirs, [one, other]) = two_nodes().await;
    dirs[0].put("plan-policy.wasm", waxwing_guests::component("price-one"));
    one.live(PLAN, "price-one").await;
    other.stop().await;
    one.stop().await;
    for bytes in rows.lock().expect("nobody panicked").components.values_mut() {
        bytes.push(0);
    }
    let empty = TestDirs::new();
    let third = node(&rows, "third", &empty).await;
    let failed = |view: &SlotStatus| {
        let node = view.nodes.iter().find(|it| it.this)?;
        (node.state == NodeState::Failed).then(|| node.reason.clone())?
    };
    let reason = third.until(PLAN, "the node says that it cannot load it", failed).await;
    assert!(reason.contains("bytes are lost"), "{reason}");
    assert!(third.view(PLAN).is_builtin);
}
