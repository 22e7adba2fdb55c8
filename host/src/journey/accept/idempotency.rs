//! One request at a time for each idempotency key; what was answered is kept by `commit`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::AccountId;

type Running = Arc<Mutex<HashSet<(AccountId, String)>>>;

/// The keys whose requests are running on this node.
#[derive(Debug, Default)]
pub struct InFlight(Running);

/// Holds a key until its request is answered.
#[derive(Debug)]
pub struct Guard {
    running: Running,
    key: (AccountId, String),
}

impl InFlight {
    /// Takes a key; none while another request holds it.
    #[must_use]
    pub fn begin(&self, account: AccountId, key: &str) -> Option<Guard> {
        let key = (account, key.to_owned());
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(key.clone()).then(|| Guard { running: Arc::clone(&self.0), key })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
