//! One request at a time for each idempotency key; what was answered is kept by `commit`, and given
//! again as far as the key that asks might have sent it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::refusal::{Refusal, Refused};
use crate::account::key::{ApiKey, Mode};
use crate::id::{AccountId, MessageId};
use crate::store::records::Answer;
use crate::store::{Store, StoreError};

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
    /// Takes a key; none while another request holds it.
    #[must_use]
    pub fn begin(&self, account: AccountId, mode: Mode, key: &str) -> Option<Guard> {
        let key = (account, mode, key.to_owned());
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        running.insert(key.clone()).then(|| Guard { running: Arc::clone(&self.0), key })
    }
}

/// Answers that another key of the account may have got: a restricted key sees only those about
/// messages that it might have sent itself.
///
/// # Errors
/// The store failed.
pub async fn covered(
    store: &Store,
    key: &ApiKey,
    answers: Vec<Answer>,
) -> Result<Vec<Answer>, StoreError> {
    if key.covers_all() {
        return Ok(answers);
    }
    let sent: Vec<MessageId> = answers.iter().filter_map(message).collect();
    let origins = store.origins(&sent).await?;
    let is_covered = |id: &MessageId| {
        let origin = origins.get(id);
        origin.is_some_and(|it| key.covers(&it.domain, it.template.as_deref()))
    };
    let held = |answer: Answer| match message(&answer) {
        Some(id) if !is_covered(&id) => {
            let message = "the key may not send this message, which another key of the account has \
                           sent under this idempotency key";
            let refusal = Refusal::Forbidden { message: message.to_owned(), retry_after_s: None };
            Answer::Refused { refusal: Refused::from(refusal).to_json() }
        }
        Some(_) | None => answer,
    };
    Ok(answers.into_iter().map(held).collect())
}

fn message(answer: &Answer) -> Option<MessageId> {
    match answer {
        Answer::Accepted { message_id, .. } => Some(*message_id),
        Answer::Insufficient { .. } | Answer::Refused { .. } => None,
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
        let test = in_flight.begin(account, Mode::Test, "k");
        assert!(test.is_some() && in_flight.begin(account, Mode::Test, "k").is_none());
        assert!(in_flight.begin(account, Mode::Live, "k").is_some());
        drop(test);
        assert!(in_flight.begin(account, Mode::Test, "k").is_some());
    }
}
