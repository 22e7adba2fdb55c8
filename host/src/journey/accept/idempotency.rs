//! One request at a time for each idempotency key; `commit` keeps what was answered, and gives it again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::authenticate::Caller;
use super::refusal::Refusal;
use crate::account::idempotency::Idempotency;
use crate::account::key::Mode;
use crate::id::AccountId;

type Running = Arc<Mutex<HashSet<Held>>>;
type Held = (AccountId, Mode, String);

/// The keys whose requests are running on this node.
#[derive(Debug, Default)]
pub struct InFlight(Running);

/// Holds a key until its request is answered.
#[derive(Debug)]
pub struct Guard {
    running: Running,
    key: Held,
}

impl InFlight {
    /// Lets this request be the only one that runs with its key.
    ///
    /// # Errors
    /// Another request with the key is running.
    pub fn begin(
        &self,
        caller: &Caller,
        idempotency: Option<&Idempotency>,
    ) -> Result<Option<Guard>, Refusal> {
        let Some(Idempotency { key, .. }) = idempotency else { return Ok(None) };
        let held = self.hold(caller.key.account_id, caller.key.mode, key);
        held.map(Some).ok_or(Refusal::IdempotencyInFlight)
    }

    fn hold(&self, account: AccountId, mode: Mode, key: &str) -> Option<Guard> {
        let key = (account, mode, key.to_owned());
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(key.clone()).then(|| Guard { running: Arc::clone(&self.0), key })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.running.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn a_test_request_does_not_hold_up_a_live_one_with_its_key() {
        let (in_flight, account) = (InFlight::default(), AccountId::new(Timestamp::from_millis(0)));
        let test = in_flight.hold(account, Mode::Test, "k");
        assert!(test.is_some() && in_flight.hold(account, Mode::Test, "k").is_none());
        assert!(in_flight.hold(account, Mode::Live, "k").is_some());
        drop(test);
        assert!(in_flight.hold(account, Mode::Test, "k").is_some());
    }
}
