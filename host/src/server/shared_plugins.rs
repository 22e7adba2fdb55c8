//! The database in which nodes share their plugins, as the plugin host asks for it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::clock::Clock;
use crate::id::fill_random;
use crate::plugin::Artifact;
use crate::plugin::shared::{Shared, SharedError, SharedSlots};
use crate::store::Store;

/// A node that has been silent for so long does not live: nobody waits for it.
const NODE_LIFE: Duration = Duration::from_secs(15);
/// How long a component is kept that nothing names any more.
const UNNAMED_LIFE: Duration = Duration::from_hours(24);

#[derive(Debug)]
struct StoredSlots {
    store: Store,
    clock: Clock,
    node: String,
}

/// What nodes share of their plugins; none for a store in a file, which has one node.
#[must_use]
pub fn of_store(store: &Store, clock: &Clock, name: &str) -> Option<Arc<dyn SharedSlots>> {
    if store.has_file() {
        return None;
    }
    let (store, clock) = (store.clone(), clock.clone());
    Some(Arc::new(StoredSlots { store, clock, node: node(name) }))
}

/// The name of this node, and what tells this start from others.
fn node(name: &str) -> String {
    let mut bytes = [0; 4];
    fill_random(&mut bytes);
    format!("{name}-{:08x}", u32::from_be_bytes(bytes))
}

impl SharedSlots for StoredSlots {
    fn node(&self) -> &str {
        &self.node
    }

    fn generations(&self) -> BoxFuture<'_, Shared<Vec<(String, i64)>>> {
        Box::pin(async { self.store.plugin_generations().await.map_err(SharedError::new) })
    }

    fn slot<'a>(&'a self, slot: &'a str) -> BoxFuture<'a, Shared<Option<(i64, String)>>> {
        Box::pin(async move {
            let row = self.store.plugin_slot(slot).await.map_err(SharedError::new)?;
            Ok(row.map(|it| (it.generation, it.state)))
        })
    }

    fn save<'a>(
        &'a self,
        slot: &'a str,
        seen: i64,
        state: &'a str,
    ) -> BoxFuture<'a, Shared<Option<i64>>> {
        Box::pin(async move {
            self.store.save_plugin_slot(slot, seen, state).await.map_err(SharedError::new)
        })
    }

    fn component<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Shared<Option<Vec<u8>>>> {
        Box::pin(async move { self.store.plugin_blob(digest).await.map_err(SharedError::new) })
    }

    fn keep<'a>(&'a self, component: &'a Artifact) -> BoxFuture<'a, Shared<()>> {
        Box::pin(async move {
            let (digest, bytes) = (component.digest(), component.bytes());
            let kept = self.store.keep_plugin_blob(digest, bytes, self.clock.now()).await;
            kept.map_err(SharedError::new)
        })
    }

    fn tidy<'a>(&'a self, named: &'a [String]) -> BoxFuture<'a, Shared<()>> {
        Box::pin(async move {
            let before = self.clock.now().before(UNNAMED_LIFE);
            let dropped = self.store.drop_plugin_blobs(before, named).await;
            dropped.map(|_| ()).map_err(SharedError::new)
        })
    }

    fn report<'a>(&'a self, report: &'a str) -> BoxFuture<'a, Shared<()>> {
        Box::pin(async move {
            self.store.report_plugins(&self.node, report).await.map_err(SharedError::new)
        })
    }

    fn nodes(&self) -> BoxFuture<'_, Shared<Vec<(String, String)>>> {
        Box::pin(async { self.store.plugin_nodes(NODE_LIFE).await.map_err(SharedError::new) })
    }

    fn leave(&self) -> BoxFuture<'_, Shared<()>> {
        Box::pin(async {
            self.store.forget_plugin_node(&self.node).await.map_err(SharedError::new)
        })
    }
}
