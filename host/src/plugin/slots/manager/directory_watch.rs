//! The watch on the operator's directory, and which directory it is on.

use std::sync::Arc;

use notify::RecommendedWatcher;
use tokio::sync::Notify;

use crate::plugin::slots::files::Directory;

/// A watch; it ends when it is dropped.
pub struct DirectoryWatch {
    directory: Option<u64>,
    _watcher: Option<RecommendedWatcher>,
}

impl DirectoryWatch {
    /// Begins. Where the system cannot watch, that is said, and the look every second remains.
    pub fn begin(directory: &Directory, changed: &Arc<Notify>) -> Self {
        let identity = directory.identity();
        let watcher = directory.watch(Arc::clone(changed)).inspect_err(|error| {
            let path = directory.path().display();
            tracing::warn!(%path, %error, "cannot watch the plugin directory; scanning it every second instead");
        });
        Self { directory: identity, _watcher: watcher.ok() }
    }

    /// Whether it is on the directory that is there now.
    pub fn is_of(&self, directory: &Directory) -> bool {
        self.directory == directory.identity()
    }
}
