//! Reload on SIGHUP: limits and routes are replaced without a restart. The log names the keys that wait for a
//! restart, so that nobody believes that they hold already.

use std::sync::{Mutex, PoisonError};

use super::delivery::{DeliverySetupError, RouteReloader};
use super::descriptors;
use super::limits::LiveLimits;
use crate::config::{Config, Delivery};

/// What a reload replaces, and the configuration that holds now.
#[derive(Debug)]
pub struct Reloader {
    limits: LiveLimits,
    routes: RouteReloader,
    running: Mutex<Config>,
}

/// What became of another configuration, by the names of its keys.
#[derive(Debug, PartialEq, Eq)]
struct Taken {
    /// Those that hold now.
    now: Vec<&'static str>,
    /// Those that hold after a restart.
    later: Vec<&'static str>,
}

impl Reloader {
    /// Of a server that was started with this configuration.
    #[must_use]
    pub fn new(limits: LiveLimits, routes: RouteReloader, config: &Config) -> Self {
        Self { limits, routes, running: Mutex::new(config.clone()) }
    }

    /// Takes of another configuration what can be taken, and tells the log what became of it. Routes
    /// that cannot be used leave everything as it is.
    pub fn take(&self, new: &Config) {
        match self.try_to_take(new) {
            Ok(taken) => taken.tell(),
            Err(error) => {
                tracing::error!(%error, "the new configuration is not used; everything stays as it was");
            }
        }
    }

    fn try_to_take(&self, new: &Config) -> Result<Taken, DeliverySetupError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let next = running.with_limits_and_routes_of(new);
        let taken = Taken::between(&running, &next, new);
        // Although they may say the same: passwords stand in files of their own.
        self.routes.take(&next, goes_another_way(&running.delivery, &next.delivery))?;
        self.limits.take(&descriptors::fit(&next));
        *running = next;
        Ok(taken)
    }
}

/// Whether mail may go where it did not go before.
fn goes_another_way(before: &Delivery, now: &Delivery) -> bool {
    before.route != now.route
        || before.port != now.port
        || before.smarthosts != now.smarthosts
        || before.rules != now.rules
}

impl Taken {
    fn between(running: &Config, next: &Config, new: &Config) -> Self {
        Self { now: running.differing_keys(next), later: next.differing_keys(new) }
    }

    fn tell(&self) {
        if self.now.is_empty() {
            tracing::info!("the configuration was read again; no limit and no route has changed");
        } else {
            let keys = self.now.join(", ");
            tracing::info!(
                keys,
                "the configuration was read again; its limits and routes hold now"
            );
        }
        if !self.later.is_empty() {
            let keys = self.later.join(", ");
            tracing::warn!(keys, "these keys of the configuration take effect after a restart");
        }
    }
}
