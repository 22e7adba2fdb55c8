//! Looks up what became of a transaction of which nobody knows whether it was written: its connection broke between the
//! COMMIT and the answer.

use std::time::Duration;

use tokio::time::{sleep, timeout};

use super::Store;
use super::database::{Row, Statement};
use crate::store::StoreError;

/// For how long it is tried where a client waits: a standby may have to be promoted first.
pub const COMMIT_OUTCOME_WAIT: Duration = Duration::from_secs(15);
/// The same where nobody waits but mail that is leased: without an answer it is due again when its leases end.
pub const LEASE_OUTCOME_WAIT: Duration = Duration::from_mins(5);
/// The pause after a look that failed.
const PAUSE: Duration = Duration::from_millis(250);

impl Store {
    /// The rows that the statement finds once the transaction has ended; none where that could not be told within `wait`.
    /// The session that was lost may be committing still: it holds the lock of those who write until it is done, and
    /// whoever looks waits for the lock.
    pub(super) async fn look_up_outcome<'s>(
        &self,
        wait: Duration,
        statement: impl Fn() -> Statement<'s>,
    ) -> Option<Vec<Row>> {
        let looked = async {
            loop {
                match self.find_behind_writers(statement()).await {
                    Ok(rows) => return rows,
                    Err(error) => {
                        tracing::warn!(%error, "cannot look up yet whether a transaction was written; trying again");
                        sleep(PAUSE).await;
                    }
                }
            }
        };
        timeout(wait, looked).await.ok()
    }

    async fn find_behind_writers(&self, statement: Statement<'_>) -> Result<Vec<Row>, StoreError> {
        let mut tx = self.db.begin("look_up_outcome").await?;
        let rows = statement.all(&mut tx).await?;
        tx.rollback().await?;
        Ok(rows)
    }
}
