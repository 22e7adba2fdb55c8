//! What the plugin host gets from the configuration and from the store.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::data_dir::{DataDir, DataDirError};
use super::tasks::Tasks;
use crate::clock::Clock;
use crate::config::Config;
use crate::plugin::Options;
use crate::plugin::manager::{Listener, Manager, News, Recorded, What};
use crate::plugin::slot::SlotName;
use crate::store::Store;
use crate::store::seal::Seal;
use crate::upkeep::replay;

/// Events that may wait.
const NEWS: usize = 256;

/// Recorded calls for the impact of a new plugin; without the store it is shown on none.
#[must_use]
pub fn recorded(store: &Store, seal: &Arc<Seal>, limit: u32) -> Recorded {
    let (store, seal) = (store.clone(), Arc::clone(seal));
    Arc::new(move |kind, slot| {
        let (store, seal) = (store.clone(), Arc::clone(&seal));
        Box::pin(async move {
            let slot = slot.as_ref().map(SlotName::as_str);
            let calls = replay::newest(&store, &seal, kind, slot, limit).await;
            calls.unwrap_or_else(|error| {
                tracing::error!(%error, "the impact of a plugin is not known");
                Vec::new()
            })
        })
    })
}

/// What happens to plugins becomes events; they wait here for the database.
#[derive(Debug)]
struct NewsRoom {
    news: mpsc::Receiver<News>,
}

/// Starts what changes plugins, and what writes down what it says.
pub fn start(
    manager: Manager,
    recorded: Recorded,
    (store, clock): (&Store, &Clock),
    (tasks, stop): (&Tasks, &CancellationToken),
) {
    let (hears, news) = news();
    tasks.start("plugins", manager.telling(hears).run(recorded, stop.clone()));
    tasks.start("plugin events", news.run(store.clone(), clock.clone(), stop.clone()));
}

/// Who listens to the manager of the plugins, and what writes down what they hear.
fn news() -> (Listener, NewsRoom) {
    let (sender, news) = mpsc::channel(NEWS);
    let listener = Listener::new(move |it| {
        if sender.try_send(it).is_err() {
            metrics::counter!("waxwing_plugin_events_dropped_total").increment(1);
        }
    });
    (listener, NewsRoom { news })
}

impl NewsRoom {
    /// Runs until `stop`, and writes what still waits then.
    async fn run(mut self, store: Store, clock: Clock, stop: CancellationToken) {
        loop {
            let news = tokio::select! {
                news = self.news.recv() => news,
                () = stop.cancelled() => self.news.try_recv().ok(),
            };
            let Some(news) = news else { return };
            let (what, slot) = (event(news.what), news.slot.as_str());
            let recorded = store.record_server_event(what, slot, &news.facts, clock.now()).await;
            if let Err(error) = recorded {
                tracing::error!(%error, what, slot, "an event of a plugin is not written down");
            }
        }
    }
}

fn event(what: What) -> &'static str {
    match what {
        What::Activated => "plugin.activated",
        What::RolledBack => "plugin.rolled_back",
        What::Trapped => "plugin.trapped",
    }
}

/// What the plugin host is started with, by the configuration.
///
/// # Errors
/// The data directory cannot be used.
pub fn options(config: &Config, data: &DataDir) -> Result<Options, DataDirError> {
    let plugins = &config.plugins;
    Ok(Options {
        limits: plugins.limits,
        directory: plugins.dir.clone().unwrap_or_else(|| data.plugins()),
        state: data.plugin_state(),
        compiled: data.compiled_plugins(),
        secret: data.master_key()?.to_vec(),
        signatures: plugins.signatures,
        trusted: plugins.trusted_keys.clone(),
        max_component_bytes: plugins.max_component_bytes,
        sample_every: plugins.sample_every,
    })
}
