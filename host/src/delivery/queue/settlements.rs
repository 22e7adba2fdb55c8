//! The task that stores how attempts ended. It does nothing else, so that an outcome is written in the
//! transaction after the one that is under way: what a crash lets be sent again is what ended during one
//! transaction.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::clock::Clock;
use crate::store::Store;
use crate::store::records::Settlement;

/// Outcomes that are written in one transaction.
pub(super) const MAX_GROUP: usize = 256;
/// How long a worker may hold a message. It may wait for a connection behind others, and its own
/// attempt has a quarter of an hour.
pub(super) const LEASE: Duration = Duration::from_hours(1);
/// The pause after the database failed.
pub(super) const DATABASE_RETRY: Duration = Duration::from_secs(1);

/// Stores delivery outcomes.
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
        self.settle(&settled).await;
        Some(settled)
    }

    /// Stores outcomes, however often it takes: a message without a stored outcome would be sent again. It
    /// gives up only with the lease, when the message is due again anyway.
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
