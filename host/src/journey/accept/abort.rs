//! Why a step of the journey ends early, and the optimistic retry of a decision whose snapshot of the facts is stale.

use std::future::Future;
use std::time::{Duration, Instant};

use super::decisions::Decisions;
use super::refusal::{Outage, Refusal, Refused};
use crate::store::facts::{FactError, Facts, Snapshot};

/// How long a decision is retried on fresh snapshots before the request is refused as busy.
const STALE_RETRY_TIME: Duration = Duration::from_secs(5);

/// Why a step ends early.
#[derive(Debug)]
pub enum Abort {
    /// The facts have changed since the snapshot: decide again.
    Stale,
    /// The whole request is refused.
    Request(Refused),
    /// This message is refused; other messages of the request may pass.
    Message(RefusedMessage),
}

/// A message that is refused, with what the plugins had decided until then.
#[derive(Debug)]
pub struct RefusedMessage {
    pub refusal: Refusal,
    pub decisions: Decisions,
}

impl Abort {
    /// Refuses the whole request.
    pub fn request(refusal: Refusal) -> Self {
        Self::Request(refusal.into())
    }

    /// Refuses a message for which plugins have decided something.
    pub fn message(refusal: Refusal, decisions: Decisions) -> Self {
        Self::Message(RefusedMessage { refusal, decisions })
    }

    /// The refusal for the client; `Stale` becomes an outage.
    pub fn into_refused(self) -> Refused {
        match self {
            Self::Stale => {
                let message = "accounts, keys, domains or templates on this server are being changed; try again";
                Refusal::unavailable(Outage::Busy, message).into()
            }
            Self::Request(refused) => refused,
            Self::Message(RefusedMessage { refusal, .. }) => refusal.into(),
        }
    }

    /// Prepends the plugin decisions that were made for the message before the refused step.
    pub fn with_earlier_decisions(self, mut earlier: Decisions) -> Self {
        match self {
            Self::Message(RefusedMessage { refusal, decisions }) => {
                earlier.append(decisions);
                Self::message(refusal, earlier)
            }
            Self::Stale | Self::Request(_) => self,
        }
    }
}

impl From<Refusal> for Abort {
    fn from(refusal: Refusal) -> Self {
        Self::message(refusal, Decisions::default())
    }
}

impl From<FactError> for Abort {
    fn from(error: FactError) -> Self {
        match error {
            FactError::Stale => Self::Stale,
            FactError::Store(error) => Self::request(Refusal::store_outage(&error)),
        }
    }
}

/// Decides on a snapshot that has every change committed before this call. If the snapshot becomes stale
/// before the decision is made, it retries on a new one.
pub async fn on_current_facts<T, F>(
    facts: &Facts,
    decide: impl Fn(Snapshot) -> F,
) -> Result<T, Refused>
where
    F: Future<Output = Result<T, Abort>>,
{
    let start = Instant::now();
    while start.elapsed() < STALE_RETRY_TIME {
        let snapshot = facts.current().await.map_err(|error| Refusal::store_outage(&error))?;
        match decide(snapshot).await {
            Err(Abort::Stale) => {}
            decided => return decided.map_err(Abort::into_refused),
        }
    }
    Err(Abort::Stale.into_refused())
}
