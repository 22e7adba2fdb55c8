//! Watches the plugin directory for changes (inotify and the like), and notices when the directory was replaced.

use std::io;
use std::sync::Arc;

use notify::RecommendedWatcher;
use tokio::sync::Notify;

use crate::plugin::slots::files::Directory;

/// A watch on the plugin directory; dropping it ends the watch.
pub struct DirectoryWatch {
    directory: Option<u64>,
    _watcher: Option<RecommendedWatcher>,
}

impl DirectoryWatch {
    /// Starts the watch. If the system cannot watch, it logs a warning, and the scan each second finds changes.
    pub async fn begin(directory: &Directory, changed: &Arc<Notify>) -> Self {
        let (path, changed) = (directory.clone(), Arc::clone(changed));
        let begin = move || (path.identity(), path.watch(changed));
        let (identity, watcher) = match tokio::task::spawn_blocking(begin).await {
            Ok((identity, watcher)) => (identity, watcher),
            Err(panicked) => (None, Err(notify::Error::io(io::Error::other(panicked)))),
        };
        let watcher = watcher.inspect_err(|error| {
            let path = directory.path().display();
            tracing::warn!(%path, %error, "cannot watch the plugin directory; scanning it every second instead");
        });
        Self { directory: identity, _watcher: watcher.ok() }
    }

    /// This watch, or a new one if the path now leads to another directory.
    pub async fn renewed(self, directory: &Directory, changed: &Arc<Notify>) -> Self {
        let path = directory.clone();
        let now = tokio::task::spawn_blocking(move || path.identity()).await;
        match now {
            Ok(identity) if identity != self.directory => Self::begin(directory, changed).await,
            Ok(_) | Err(_) => self,
        }
    }
}
