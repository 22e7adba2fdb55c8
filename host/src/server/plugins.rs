//! What the plugin host gets from the configuration and from the store.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::data_dir::{DataDir, DataDirError};
use super::directory::{UnusableDirectory, check_readable, check_writable};
use super::limits::LiveLimits;
use super::tasks::Tasks;
use crate::api::RequestLimits;
use crate::authoring::mjml_documents;
use crate::clock::Clock;
use crate::config::Config;
use crate::domain::name::DomainName;
use crate::id::AccountId;
use crate::journey::accept::json::object::ObjectText;
use crate::journey::accept::variables::Variables;
use crate::journey::render::template::version_for_plugin;
use crate::plugin::binding::Binding;
use crate::plugin::compiler::Compiler;
use crate::plugin::evidence::{
    Evidence, EvidenceError, Found, Owner, OwnersCursor, OwnersPage, Published,
};
use crate::plugin::records::{Call, Input};
use crate::plugin::shared::SharedSlots;
use crate::plugin::slot::SlotName;
use crate::plugin::supervisor::{Event, EventKind, Listener, SlotSupervisor};
use crate::plugin::{Kind, Options};
use crate::store::seal::Seal;
use crate::store::{self, AccountRow, Store, StoreError, TemplateFilter, TemplateOwner};
use crate::template::kind::TemplateKind;
use crate::upkeep::replay;

/// Events that may wait.
const MAX_WAITING_EVENTS: usize = 256;
/// Templates that are read at one time, for their MJML.
const MJML_PAGE: u32 = 50;
/// Accounts that are read at one time, to find those that a plugin decides for.
const ACCOUNTS_PAGE: u32 = 200;

/// What a new plugin is compared on, out of the store.
#[derive(Clone)]
struct StoreEvidence {
    store: Store,
    /// Opens recorded calls.
    seal: Arc<Seal>,
    clock: Clock,
    /// How many recorded calls.
    limits: Arc<ArcSwap<RequestLimits>>,
}

/// What a new plugin is compared on, out of the store.
#[must_use]
pub fn evidence(
    store: &Store,
    seal: &Arc<Seal>,
    clock: &Clock,
    limits: &LiveLimits,
) -> Arc<dyn Evidence> {
    Arc::new(StoreEvidence {
        store: store.clone(),
        seal: Arc::clone(seal),
        clock: clock.clone(),
        limits: Arc::clone(&limits.requests),
    })
}

impl Evidence for StoreEvidence {
    fn calls(&self, kind: Kind, slot: SlotName) -> BoxFuture<'static, Found<Vec<Call>>> {
        let it = self.clone();
        Box::pin(async move {
            let limit = it.limits.load().impact_calls;
            let calls = replay::newest(&it.store, &it.seal, kind, slot.as_str(), limit).await;
            calls.map_err(EvidenceError::new)
        })
    }

    fn components(&self) -> BoxFuture<'static, Found<Vec<String>>> {
        let store = self.store.clone();
        Box::pin(async move { store.sampled_components().await.map_err(EvidenceError::new) })
    }

    fn accounts(
        &self,
        binding: Binding,
        after: Option<OwnersCursor>,
    ) -> BoxFuture<'static, Found<OwnersPage>> {
        let it = self.clone();
        Box::pin(async move {
            let after: Option<AccountId> =
                after.map(|it| it.0.parse()).transpose().map_err(EvidenceError::new)?;
            let rows = it.store.accounts_after(after, ACCOUNTS_PAGE, it.clock.now()).await;
            let rows = rows.map_err(EvidenceError::new)?;
            let next = rows.last().map(|it| OwnersCursor(it.account.id.to_string()));
            let mut owners = Vec::new();
            for AccountRow { account, .. } in rows {
                let owner = Owner { account: account.id.to_string(), plan: account.plan.name };
                let covered = match &binding {
                    Binding::Domain(name) => it.has_domain(account.id, name).await?,
                    Binding::Server | Binding::Plan(_) | Binding::Account(_) => {
                        binding.covers(&owner.scope(&binding))
                    }
                };
                owners.extend(covered.then_some(owner));
            }
            Ok(OwnersPage { owners, next })
        })
    }

    fn templates(&self, kind: Kind, owner: Owner) -> BoxFuture<'static, Found<Vec<Published>>> {
        let it = self.clone();
        Box::pin(async move {
            let account: Option<AccountId> = match owner.account.as_str() {
                "" => None,
                id => Some(id.parse().map_err(EvidenceError::new)?),
            };
            match (kind, account) {
                (Kind::Renderer, Some(id)) => it.rendered(id).await.map_err(EvidenceError::new),
                (Kind::Mjml, id) => it.mjml(id).await.map_err(EvidenceError::new),
                (Kind::Renderer | Kind::Plan | Kind::Domain, _) => Ok(Vec::new()),
            }
        })
    }
}

impl StoreEvidence {
    /// The published templates of an account, each of its locales with texts of its own.
    async fn rendered(&self, id: AccountId) -> Result<Vec<Published>, StoreError> {
        let brand = self.store.account(id, self.clock.now()).await?.account.brand;
        let versions = self.store.templates(id).await?;
        let published = versions.iter().flat_map(|version| {
            let data = ObjectText::from(&version.trial_data());
            let trial_data = Variables::new(&data, &brand).to_json();
            version.source.all_locales().map(move |locale| Published {
                slug: version.slug.to_string(),
                revision: version.revision,
                input: Input::Render {
                    template: version_for_plugin(version, locale.tag),
                    data: trial_data.clone(),
                },
            })
        });
        Ok(published.collect())
    }

    /// The MJML of published templates and layouts; partials stand in those that include them.
    async fn mjml(&self, account: Option<AccountId>) -> Result<Vec<Published>, StoreError> {
        let owner = account.map_or(TemplateOwner::Server, TemplateOwner::Account);
        let mut published = Vec::new();
        for kind in [TemplateKind::Template, TemplateKind::Layout] {
            let mut after: Option<String> = None;
            loop {
                let filter =
                    TemplateFilter { owner, kind, after: after.as_deref(), limit: MJML_PAGE };
                let rows = self.store.list_templates(&filter).await?;
                let Some(last) = rows.last() else { break };
                after = Some(last.slug.to_string());
                for row in rows.iter().filter(|it| it.archived_at.is_none()) {
                    let Some(version) = &row.published else { continue };
                    let documents = mjml_documents(&version.source, &version.blocks).into_iter();
                    published.extend(documents.map(|(_, document)| Published {
                        slug: row.slug.to_string(),
                        revision: version.revision,
                        input: Input::Mjml { document },
                    }));
                }
            }
        }
        Ok(published)
    }

    async fn has_domain(&self, account: AccountId, name: &str) -> Found<bool> {
        let Ok(name) = name.parse::<DomainName>() else { return Ok(false) };
        let row = self.store.domain_named(account, &name).await.map_err(EvidenceError::new)?;
        Ok(row.is_some())
    }
}

impl fmt::Debug for StoreEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreEvidence")
    }
}

/// What happens to plugins becomes events; they wait here for the database.
#[derive(Debug)]
struct PluginEventWriter {
    events: mpsc::Receiver<Event>,
}

/// Starts what changes plugins, and what writes down what it says.
pub fn start(
    supervisor: SlotSupervisor,
    evidence: &Arc<dyn Evidence>,
    (store, clock): (&Store, &Clock),
    (tasks, stop): (&Tasks, &CancellationToken),
) {
    let (listener, writer) = event_channel();
    tasks.start(
        "plugins",
        supervisor.with_listener(listener).run(Arc::clone(evidence), stop.clone()),
    );
    tasks.start("plugin events", writer.run(store.clone(), clock.clone(), stop.clone()));
}

/// The listener of the plugin supervisor, and what writes its events to the store.
fn event_channel() -> (Listener, PluginEventWriter) {
    let (sender, events) = mpsc::channel(MAX_WAITING_EVENTS);
    let listener = Listener::new(move |it| {
        if sender.try_send(it).is_err() {
            metrics::counter!("waxwing_plugin_events_dropped_total").increment(1);
        }
    });
    (listener, PluginEventWriter { events })
}

impl PluginEventWriter {
    /// Runs until `stop`, and writes what still waits then.
    async fn run(mut self, store: Store, clock: Clock, stop: CancellationToken) {
        loop {
            let received = tokio::select! {
                received = self.events.recv() => received,
                () = stop.cancelled() => self.events.try_recv().ok(),
            };
            let Some(Event { what, slot, facts }) = received else { return };
            let (what, slot) = (event(what), slot.as_str());
            let recorded = store.record_server_event(what, slot, &facts, clock.now()).await;
            if let Err(error) = recorded {
                tracing::error!(%error, kind = what.as_str(), slot, "cannot store the event of a plugin slot; no webhook is sent for it");
            }
        }
    }
}

fn event(what: EventKind) -> store::EventKind {
    match what {
        EventKind::Activated => store::EventKind::PluginActivated,
        EventKind::RolledBack => store::EventKind::PluginRolledBack,
        EventKind::Trapped => store::EventKind::PluginTrapped,
    }
}

/// What compiles components: children of this binary, within the configured limits.
#[must_use]
pub fn compiler(config: &Config) -> Compiler {
    Compiler::children(this_binary(), config.plugins.compile_limits())
}

/// The file that runs, also where another one has taken its name since: whoever upgrades a server
/// puts a new binary there before the old one ends.
#[cfg(target_os = "linux")]
fn this_binary() -> PathBuf {
    PathBuf::from("/proc/self/exe")
}

#[cfg(not(target_os = "linux"))]
fn this_binary() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("waxwing"))
}

/// Whether the operator's own directory of plugins can be used; the one in the data directory is the server's.
///
/// # Errors
/// It cannot be read, or not be made.
pub fn check_own_directory(config: &Config) -> Result<(), UnusableDirectory> {
    config.plugins.dir.as_deref().map_or(Ok(()), |path| check_readable("plugins.dir", path))
}

/// Whether the plugin host could keep its state, and its plugins where they have no directory of their own.
///
/// # Errors
/// A directory cannot be written.
pub fn check_state(data: &DataDir) -> Result<(), UnusableDirectory> {
    check_readable("store.data_dir", &data.plugins())?;
    check_writable("store.data_dir", &data.plugin_state().join("components"))
}

/// What the plugin host is started with, by the configuration; `shared` is the database of several nodes.
///
/// # Errors
/// The data directory cannot be used.
pub fn options(
    config: &Config,
    data: &DataDir,
    shared: Option<Arc<dyn SharedSlots>>,
) -> Result<Options, DataDirError> {
    let plugins = &config.plugins;
    check_own_directory(config)?;
    check_state(data)?;
    Ok(Options {
        limits: plugins.limits,
        directory: plugins.dir.clone().unwrap_or_else(|| data.plugins()),
        state: data.plugin_state(),
        shared,
        compiled: data.compiled_plugins(),
        compiler: compiler(config),
        secret: data.master_key()?.to_vec(),
        signatures: plugins.signatures,
        trusted: plugins.trusted_keys.clone(),
        max_component_bytes: plugins.max_component_bytes,
        sample_every: plugins.sample_every,
    })
}
