//! What the plugin host gets from the configuration and from the store.

use std::sync::Arc;

use super::data_dir::{DataDir, DataDirError};
use crate::config::Config;
use crate::plugin::Options;
use crate::plugin::manager::Recorded;
use crate::plugin::slot::SlotName;
use crate::store::Store;
use crate::store::seal::Seal;
use crate::upkeep::replay;

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
