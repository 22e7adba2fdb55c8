//! Reload on SIGHUP: limits, routes, health checks and the filter of the log are replaced without a restart. The log names the keys that
//! wait for a restart, so that nobody believes that they hold already.

use std::sync::{Arc, Mutex, PoisonError};

use super::delivery::routes::{PasswordFileError, RouteReloader, RoutesChange};
use super::descriptors;
use super::health::reloadable;
use super::limits::LiveLimits;
use super::settings::settings;
use crate::config::Config;
use crate::health::Health;
use crate::management::acts::{self, Act};
use crate::management::settings::Settings;
use crate::telemetry::logs;

/// What a reload replaces, and the configuration that holds now.
#[derive(Debug)]
pub struct Reloader {
    limits: LiveLimits,
    routes: RouteReloader,
    health: Arc<Health>,
    running: Mutex<Config>,
    /// What the operator's pages show of it.
    shown: Settings,
}

/// The keys of the configuration that have changed.
#[derive(Debug, PartialEq, Eq)]
struct ChangedKeys {
    applied: Vec<&'static str>,
    /// They take effect after a restart.
    pending: Vec<&'static str>,
}

impl Reloader {
    /// Of a server that was started with this configuration.
    #[must_use]
    pub fn new(
        (limits, routes, health): (LiveLimits, RouteReloader, Arc<Health>),
        config: &Config,
        shown: Settings,
    ) -> Self {
        shown.replace(settings(config));
        Self { limits, routes, health, running: Mutex::new(config.clone()), shown }
    }

    /// Applies what a running server can change, and logs which keys that are; answers what the audit log says of it. Routes
    /// that cannot be used change nothing.
    #[must_use]
    pub fn apply(&self, new: &Config) -> Option<Act> {
        match self.try_to_apply(new) {
            Ok(changed) => {
                changed.log();
                Some(acts::configuration_reloaded(&changed.applied, &changed.pending))
            }
            Err(error) => {
                tracing::error!(%error, "the new configuration is not used; everything stays as it was");
                None
            }
        }
    }

    fn try_to_apply(&self, new: &Config) -> Result<ChangedKeys, PasswordFileError> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let next = running.reloaded_from(new);
        let changed = ChangedKeys::between(&running, &next, new);
        // Also where the keys are the same: passwords stand in files of their own.
        self.routes.apply(&next, RoutesChange::between(&running.delivery, &next.delivery))?;
        self.limits.apply(&descriptors::fit(&next));
        if running.health != next.health {
            self.health.replace(reloadable(&next));
        }
        logs::filter(&next.log.filter);
        self.shown.replace(settings(&next));
        *running = next;
        Ok(changed)
    }
}

impl ChangedKeys {
    fn between(running: &Config, next: &Config, new: &Config) -> Self {
        Self { applied: running.differing_keys(next), pending: next.differing_keys(new) }
    }

    fn log(&self) {
        if self.applied.is_empty() {
            tracing::info!(
                "configuration reloaded; no setting that a running server can change differs"
            );
        } else {
            let keys = self.applied.join(", ");
            tracing::info!(keys, "configuration reloaded: these keys apply now");
        }
        if !self.pending.is_empty() {
            let keys = self.pending.join(", ");
            tracing::warn!(keys, "these keys of the configuration take effect after a restart");
        }
    }
}
