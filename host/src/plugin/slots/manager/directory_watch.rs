//! The watch on the operator's directory, and which directory it is on.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use notify::RecommendedWatcher;
use tokio::sync::Notify;

use crate::plugin::slots::files::Directory;

/// How often an error with one cause is told.
const ERROR_INTERVAL: Duration = Duration::from_mins(1);

/// A watch; it ends when it is dropped.
pub struct DirectoryWatch {
    directory: Option<u64>,
    _watcher: Option<RecommendedWatcher>,
}

/// Errors of something that is tried all the time, each told at most once a minute.
#[derive(Debug, Default)]
pub struct RepeatedErrors(HashMap<(io::ErrorKind, Option<i32>), Instant>);

impl RepeatedErrors {
    /// Whether an error with this cause is to be told now.
    pub fn is_due(&mut self, error: &io::Error, now: Instant) -> bool {
        self.0.retain(|_, told| now.duration_since(*told) < ERROR_INTERVAL);
        match self.0.entry((error.kind(), error.raw_os_error())) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(now);
                true
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cause_is_told_once_a_minute_and_another_cause_at_once() {
        let (mut errors, start) = (RepeatedErrors::default(), Instant::now());
        let descriptors = io::Error::from_raw_os_error(24);
        let gone = io::Error::from(io::ErrorKind::NotFound);
        let at = |seconds| start + Duration::from_secs(seconds);
        assert!(errors.is_due(&descriptors, at(0)));
        assert!(!errors.is_due(&descriptors, at(1)));
        assert!(errors.is_due(&gone, at(2)));
        assert!(!errors.is_due(&descriptors, at(59)));
        assert!(errors.is_due(&descriptors, at(60)));
    }
}
