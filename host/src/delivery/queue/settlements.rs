//! The task that stores the outcomes of attempts. It does nothing else, so that an outcome is
//! written in the transaction after the current one: a crash repeats only what ended during one
//! transaction.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::store::Store;
use crate::store::records::Settlement;
use crate::yielding::let_others_run;

/// Outcomes of one transaction, at most.
pub(super) const MAX_GROUP: usize = 256;
/// How long a worker may hold a message: it may wait for a connection, and its attempt takes up to
/// 20 minutes.
pub(super) const LEASE: Duration = Duration::from_hours(1);
/// The pause after the database failed.
pub(super) const DATABASE_RETRY: Duration = Duration::from_secs(1);

pub(super) struct SettlementWriter {
    pub store: Store,
    pub clock: Clock,
    /// Names this process in its leases.
    pub owner: String,
}

impl SettlementWriter {
    /// Waits for outcomes and stores them as one group, in their order. None when the channel is closed.
    pub(super) async fn next(
        &self,
        ended: &mut mpsc::Receiver<Settlement>,
    ) -> Option<Vec<Settlement>> {
        let mut settled = Vec::new();
        if ended.recv_many(&mut settled, MAX_GROUP).await == 0 {
            return None;
        }
        // Further outcomes join the same transaction: each transaction writes and syncs some pages, whatever is in it.
        let_others_run().await;
        while settled.len() < MAX_GROUP
            && let Ok(further) = ended.try_recv()
        {
            settled.push(further);
        }
        self.settle(&settled).await;
        Some(settled)
    }

    /// Stores outcomes, and retries until that succeeds: a message without a stored outcome would
    /// be sent again. It gives up only when the lease ends and the message is due again anyway.
    async fn settle(&self, settled: &[Settlement]) {
        let begun = Instant::now();
        while let Err(error) = self.store.settle(&self.owner, settled, self.clock.now()).await {
            tracing::error!(%error, count = settled.len(), "could not store delivery outcomes; retrying");
            if begun.elapsed() > LEASE {
                return;
            }
            tokio::time::sleep(DATABASE_RETRY).await;
        }
    }
}
