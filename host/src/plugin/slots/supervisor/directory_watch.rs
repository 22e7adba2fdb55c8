//! The watch on the operator's directory, and which directory it is on.

use std::io;
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
    /// Begins. Where the system cannot watch, that is said, and the scan every second remains.
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

    /// This watch, or a new one where another directory is there now.
    pub async fn renewed(self, directory: &Directory, changed: &Arc<Notify>) -> Self {
        let path = directory.clone();
        let now = tokio::task::spawn_blocking(move || path.identity()).await;
        match now {
            Ok(identity) if identity != self.directory => Self::begin(directory, changed).await,
            Ok(_) | Err(_) => self,
        }
    }
}
