//! Webhooks: events are posted to their owners' endpoints, at least once (Standard Webhooks).
//!
//! An event is a row that was written in the transaction which changed the state. `publish` hands
//! it to each webhook that wants it, exactly once and with its final body; `sender` posts it
//! until it is accepted or its attempts are used up. `WEBHOOKS.md` is the guide for receivers.

pub(crate) mod body;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod owner_operations;
mod resolver;
pub(crate) mod post;
pub(crate) mod publish;
pub(crate) mod schedule;
pub(crate) mod sender;
pub(crate) mod signature;
pub(crate) mod types;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use crate::clock::Clock;
use crate::id::WebhookId;
use crate::store::seal::Seal;
use crate::store::{Store, WebhookOwner};
use guard::Guard;
use post::Poster;
use schedule::Schedule;

/// The webhooks of a server.
pub struct Webhooks {
    store: Store,
    secrets: Seal,
    clock: Clock,
    guard: Arc<Guard>,
    poster: Poster,
    rules: WebhookSettings,
    wake: Notify,
    tests: Mutex<HashMap<WebhookId, WebhookOwner>>,
}

/// The operator's settings.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// When a delivery is retried.
    pub schedule: Schedule,
    /// Parallel attempts.
    pub concurrent: usize,
    /// Parallel attempts for one webhook.
    pub concurrent_per_webhook: usize,
    /// Webhooks that an owner may have.
    pub per_owner: u32,
    /// A webhook that accepts nothing for this long is disabled.
    pub give_up: Duration,
}

impl Webhooks {
    /// Starts nothing; see [`Self::publish`] and [`Self::send`].
    #[must_use]
    pub fn new(
        store: Store,
        secrets: Seal,
        clock: Clock,
        guard: Arc<Guard>,
        poster: Poster,
        rules: WebhookSettings,
    ) -> Self {
        let (wake, tests) = (Notify::new(), Mutex::default());
        Self { store, secrets, clock, guard, poster, rules, wake, tests }
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").field("rules", &self.rules).finish_non_exhaustive()
    }
}
