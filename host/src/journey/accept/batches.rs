//! Batches of one account leave room for those of the others.

use std::sync::Arc;
use std::time::Duration;

use super::authenticate::Caller;
use super::refusal::{Outage, Refusal};
use crate::fair_share::{FairShare, Share};

/// Messages of batches that are decided at one time: four full batches of an account alone.
const BATCHED_MESSAGES: usize = 4_096;
const BATCH_WAIT: Duration = Duration::from_secs(20);

/// Room for the batches that are decided at one time.
#[derive(Debug)]
pub struct Batches(Arc<FairShare>);

impl Batches {
    /// Lets a request with many messages in when its account has room for it. One message alone goes past:
    /// it must not wait behind its own account's batches.
    ///
    /// # Errors
    /// The account has had too many batches under way for too long.
    pub async fn enter(&self, caller: &Caller, messages: usize) -> Result<Option<Share>, Refusal> {
        if messages <= 1 {
            return Ok(None);
        }
        let share = self.0.take(caller.key.account_id.into(), messages, BATCH_WAIT).await;
        let busy = "too many batches of the account at one time; send fewer in parallel";
        share.map(Some).ok_or_else(|| Refusal::unavailable(Outage::Busy, busy))
    }
}

impl Default for Batches {
    fn default() -> Self {
        Self(FairShare::new(BATCHED_MESSAGES))
    }
}
