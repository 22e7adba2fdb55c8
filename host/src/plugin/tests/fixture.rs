//! Test fixture: a plugin host with a running slot supervisor on temporary directories, and helpers for its tests.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{ANYBODY, NOW, cache};
use crate::clock::Clock;
use crate::plugin::config::binding::{Binding, Scope};
use crate::plugin::config::slot::{SlotConfig, SlotName};
use crate::plugin::kinds::plan::{Account, Channel, UseRequest, Verdict};
use crate::plugin::promotion::evidence::{
    Evidence, Found, Owner, OwnersCursor, OwnersPage, Published,
};
use crate::plugin::promotion::installed::InstalledPlugin;
use crate::plugin::promotion::validation::ValidationInput;
use crate::plugin::records::Call;
use crate::plugin::runtime::artifact::Artifact;
use crate::plugin::runtime::compiler::Compiler;
use crate::plugin::runtime::limits::Limits;
use crate::plugin::runtime::signature::SignatureRule;
use crate::plugin::slots::status::SlotStatus;
use crate::plugin::slots::supervisor::{Order, OrderError};
use crate::plugin::slots::table::Called;
use crate::plugin::{Kind, Options, Plugins};

/// The slot of the built-in plan policy.
pub const PLAN: &str = "plan-policy";
/// The name of the built-in plan policy.
pub const BUILT_IN: &str = "waxwing-plan-policy";
/// The slot of the built-in renderer.
pub const RENDERER: &str = "liquid-renderer";

/// Longer than anything here takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_mins(5);
const POLL: Duration = Duration::from_millis(5);

/// Evidence without a store: recorded calls of any slot, and the templates of one account.
#[derive(Debug, Default)]
pub struct TestEvidence {
    pub calls: Vec<Call>,
    pub templates: Vec<Published>,
    pub components: Vec<String>,
}

impl Evidence for TestEvidence {
    fn calls(&self, kind: Kind, _slot: SlotName) -> BoxFuture<'static, Found<Vec<Call>>> {
        let calls = self.calls.iter().filter(|it| it.kind() == kind).cloned().collect();
        Box::pin(async move { Ok(calls) })
    }

    fn components(&self) -> BoxFuture<'static, Found<Vec<String>>> {
        let components = self.components.clone();
        Box::pin(async move { Ok(components) })
    }

    /// One account, on the second page.
    fn accounts(
        &self,
        _binding: Binding,
        after: Option<OwnersCursor>,
    ) -> BoxFuture<'static, Found<OwnersPage>> {
        let owner = Owner { account: "acc_1".to_owned(), plan: "free".to_owned() };
        let page = match after {
            None => OwnersPage { owners: Vec::new(), next: Some(OwnersCursor(String::new())) },
            Some(_) => OwnersPage { owners: vec![owner], next: None },
        };
        Box::pin(async move { Ok(page) })
    }

    fn templates(&self, kind: Kind, owner: Owner) -> BoxFuture<'static, Found<Vec<Published>>> {
        let is_asked_for = |it: &&Published| it.input.kind() == kind && !owner.account.is_empty();
        let templates = self.templates.iter().filter(is_asked_for).cloned().collect();
        Box::pin(async move { Ok(templates) })
    }
}

/// The temporary directories of one server; they outlive its restarts.
pub struct TestDirs(TempDir);

/// A server's plugins, with the slot supervisor that swaps them.
pub struct PluginHost {
    pub plugins: Arc<Plugins>,
    stop: DropGuard,
    supervisor: JoinHandle<()>,
}

impl TestDirs {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    pub fn options(&self) -> Options {
        Options {
            limits: Limits::default(),
            directory: self.directory(),
            state: self.state(),
            shared: None,
            compiled: cache(),
            secret: b"tests".to_vec(),
            compiler: Compiler::Unbounded,
            signatures: SignatureRule::Off,
            trusted: Vec::new(),
            max_component_bytes: 16 << 20,
            sample_every: 0,
        }
    }

    pub fn directory(&self) -> PathBuf {
        self.0.path().join("plugins")
    }

    pub fn state(&self) -> PathBuf {
        self.0.path().join("plugin-state")
    }

    /// Where the server keeps a component's bytes.
    pub fn stored_component(&self, component: &[u8]) -> PathBuf {
        let digest = Artifact::new(component.to_vec()).digest().replace("sha256:", "");
        self.state().join("components").join(format!("{digest}.wasm"))
    }

    /// Renames a whole file into its place.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let partial = self.0.path().join("being-written");
        std::fs::create_dir_all(self.directory()).expect("made");
        std::fs::write(&partial, bytes).expect("written");
        std::fs::rename(partial, self.directory().join(name)).expect("renamed");
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.directory().join(name)).expect("removed");
    }
}

impl PluginHost {
    pub async fn start(dirs: &TestDirs) -> Self {
        Self::start_with_calls(dirs.options(), Vec::new()).await
    }

    /// Starts with these options and these recorded calls.
    pub async fn start_with_calls(options: Options, calls: Vec<Call>) -> Self {
        Self::start_with_evidence(options, TestEvidence { calls, ..TestEvidence::default() }).await
    }

    /// Starts with these options and this evidence.
    pub async fn start_with_evidence(options: Options, evidence: TestEvidence) -> Self {
        let started = Plugins::start(options, Clock::manual(NOW)).await;
        let (plugins, supervisor) = started.expect("the built-ins start");
        let stop = CancellationToken::new();
        let supervisor = tokio::spawn(supervisor.run(Arc::new(evidence), stop.clone()));
        Self { plugins, stop: stop.drop_guard(), supervisor }
    }

    pub async fn stop(self) {
        drop(self.stop);
        self.supervisor.await.expect("the supervisor ends");
    }

    /// The slot's status now.
    pub fn view(&self, slot: &str) -> SlotStatus {
        self.plugins.statuses().slot(&name(slot)).expect("the slot has a status")
    }

    /// The name of what answers the plan policy's slot now.
    pub fn active_name(&self) -> String {
        let active = self.view(PLAN).active.expect("something answers");
        active.identity().name.clone()
    }

    /// Looks at a slot until there is an answer.
    pub async fn until<T>(
        &self,
        slot: &str,
        what: &str,
        ask: impl Fn(&SlotStatus) -> Option<T>,
    ) -> T {
        let (slot, start) = (name(slot), Instant::now());
        loop {
            let view = self.plugins.statuses().slot(&slot);
            if let Some(answer) = view.as_ref().and_then(&ask) {
                return answer;
            }
            let seen = view.map(|it| (it.active_report(), it.candidate));
            assert!(
                start.elapsed() < TIMEOUT,
                "timed out waiting until {what}; {slot} is {seen:#?}"
            );
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until a plugin of that name is live in a slot, and nothing is on its way there.
    pub async fn live(&self, slot: &str, plugin: &str) -> InstalledPlugin {
        let live = |view: &SlotStatus| {
            let active = view.active.clone()?;
            let settled = view.candidate.is_none() && !view.is_builtin;
            (settled && active.identity().name == plugin).then_some(active)
        };
        self.until(slot, &format!("{plugin} is live"), live).await
    }

    /// Waits until the built-in plugin of a slot answers.
    pub async fn built_in(&self, slot: &str) {
        self.until(slot, "the built-in plugin answers", |view| view.is_builtin.then_some(())).await;
    }

    /// Waits until a slot's candidate is refused for a reason with that text in it.
    pub async fn refused(&self, slot: &str, part: &str) -> String {
        let reason = |view: &SlotStatus| view.candidate.clone()?.rejected;
        let refused = |view: &SlotStatus| reason(view).filter(|it| it.contains(part));
        self.until(slot, &format!("refused with `{part}`"), refused).await
    }

    /// Waits until the slot has no status any more.
    pub async fn gone(&self, slot: &str) {
        let (slot, start) = (name(slot), Instant::now());
        while self.plugins.statuses().slot(&slot).is_some() {
            assert!(start.elapsed() < TIMEOUT, "{slot} still has a status");
            tokio::time::sleep(POLL).await;
        }
    }

    pub async fn order(&self, slot: &str, order: Order) -> Result<(), OrderError> {
        self.plugins.order(name(slot), order).await
    }

    /// An order of somebody who has seen the slot with that mark.
    pub async fn order_on(&self, slot: &str, order: Order, seen: &str) -> Result<(), OrderError> {
        self.plugins.order_on(name(slot), order, seen.to_owned()).await
    }

    /// A check of one use.
    pub async fn check(&self, scope: &Scope<'_>, template: &str) -> Called<Vec<Verdict>> {
        let context = self.plugins.context("test".to_owned());
        let who = account(scope.account, scope.plan);
        self.plugins.table().check(scope, &context, &who, &[use_of(template)]).await
    }

    /// The reason that the plan policy gives for a good send by anybody.
    pub async fn reason(&self) -> String {
        reason(&self.check(&ANYBODY, "welcome").await)
    }
}

pub fn name(slot: &str) -> SlotName {
    slot.parse().expect("a slot's name")
}

/// A component in a slot, with the text of the slot's file.
pub fn candidate(slot: &str, component: Option<Vec<u8>>, config: &str) -> ValidationInput {
    let slot = name(slot);
    let config = SlotConfig::parse(&slot, config).expect("a slot's file");
    ValidationInput {
        slot,
        component: component.map(Artifact::new),
        signature: None,
        config: Arc::new(config),
        settings_revision: 0,
    }
}

/// The same component with an empty custom section, so that its digest differs.
pub fn marked(component: &[u8], mark: &str) -> Vec<u8> {
    let name = u8::try_from(mark.len()).expect("a short mark");
    [component, &[0, name + 1, name], mark.as_bytes()].concat()
}

pub fn account(id: &str, plan: &str) -> Account {
    Account {
        id: id.to_owned(),
        plan: plan.to_owned(),
        paid: plan != "free",
        credits_remaining: 10,
        created_unix_ms: 0,
        sent_last_day: 0,
        sent_last_month: 0,
        extra: Vec::new(),
    }
}

pub fn use_of(template: &str) -> UseRequest {
    UseRequest {
        channel: Channel::Api,
        template_slug: Some(template.to_owned()),
        template_required_plan: None,
        template_tags: Vec::new(),
        recipient_domain: "example.com".to_owned(),
        recipients: 1,
        size_bytes: 0,
    }
}

/// The reason of the only verdict, which allows.
pub fn reason(called: &Called<Vec<Verdict>>) -> String {
    match called.result.as_deref() {
        Ok([Verdict::Allow(charge)]) => charge.reason.clone().unwrap_or_default(),
        other => panic!("one use should be allowed: {other:?}"),
    }
}
