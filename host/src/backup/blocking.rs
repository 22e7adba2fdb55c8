//! Work on files, off the threads that answer requests.

use super::error::BackupError;

/// Runs what reads and writes files.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BackupError> + Send + 'static,
) -> Result<T, BackupError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| BackupError::Interrupted)?
}
