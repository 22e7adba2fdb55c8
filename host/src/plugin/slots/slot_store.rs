//! Where the slots of a server stand: in files of its data directory, or in a database that several nodes share.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::shared::{Shared, SharedError, SharedSlots};
use super::state::StateDirectory;
use crate::plugin::runtime::artifact::Artifact;

/// How long the supervisor waits for the database.
const DATABASE_WAIT: Duration = Duration::from_secs(5);

/// Beside a database the directory is a cache of components.
#[derive(Debug, Clone)]
pub struct SlotStore {
    pub directory: StateDirectory,
    pub shared: Option<Arc<dyn SharedSlots>>,
}

impl SlotStore {
    /// A component that was kept, if it is there and is still what its name says. Files are read off the runtime's
    /// workers.
    pub async fn load(&self, digest: &str) -> Option<Artifact> {
        let (directory, name) = (self.directory.clone(), digest.to_owned());
        let cached = tokio::task::spawn_blocking(move || directory.load(&name)).await;
        if let Ok(Some(artifact)) = cached {
            return Some(artifact);
        }
        let found = within(self.shared.as_ref()?.component(digest)).await;
        let found = found.inspect_err(|error| {
            tracing::warn!(digest, %error, "cannot read a plugin component from the database");
        });
        let artifact = Artifact::new(found.ok()??);
        if artifact.digest() != digest {
            tracing::error!(
                digest,
                "plugin component in the database is not what its digest says; it is not loaded"
            );
            return None;
        }
        let kept = self.cache(artifact.clone()).await;
        if let Err(error) = kept {
            tracing::warn!(digest, %error, "cannot write a plugin component to the data directory; it is read from the database again at the next start");
        }
        Some(artifact)
    }

    /// Keeps a component's bytes.
    pub async fn keep(&self, artifact: &Artifact) -> io::Result<()> {
        let Some(shared) = &self.shared else { return self.cache(artifact.clone()).await };
        within(shared.keep(artifact)).await.map_err(io::Error::other)
    }

    /// Forgets components that nothing names, but for the newest `spare` ones in the directory.
    pub async fn tidy(&self, named: Vec<String>, spare: usize) -> io::Result<()> {
        if let Some(shared) = &self.shared {
            within(shared.tidy(&named)).await.map_err(io::Error::other)?;
        }
        let directory = self.directory.clone();
        let tidied = tokio::task::spawn_blocking(move || directory.tidy(&named, spare)).await;
        tidied.map_err(io::Error::other)
    }

    async fn cache(&self, artifact: Artifact) -> io::Result<()> {
        let directory = self.directory.clone();
        let kept = tokio::task::spawn_blocking(move || directory.keep(&artifact)).await;
        kept.unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
    }
}

/// What the database answers in time.
pub async fn within<T>(answer: impl Future<Output = Shared<T>>) -> Shared<T> {
    let answered = tokio::time::timeout(DATABASE_WAIT, answer).await;
    answered.unwrap_or_else(|late| Err(SharedError::new(late)))
}
