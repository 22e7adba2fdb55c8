//! Builds the routing table from `[delivery]`, and replaces it at a reload of the configuration (SIGHUP).

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::Notify;

use crate::config::{self, Config, Delivery};
use crate::delivery::limits::Limits;
use crate::delivery::routing::route::{Route, Routes, Rule, Smarthost};
use crate::delivery::shaping::admission::{AdmissionControl, RoutingTable};
use crate::delivery::smtp::{Login, Password, Security};
use crate::id::{Identifier as _, MessageId};

/// The password of a smarthost cannot be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "delivery.smarthosts (`{name}`): the password_file {path} cannot be read: {source}; write the password into it, \
     readable for the server's user (mode 0640, group waxwing)"
)]
pub struct PasswordFileError {
    name: String,
    path: PathBuf,
    source: std::io::Error,
}

/// Whether mail may go where it did not go before a reload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoutesChange {
    Unchanged,
    Changed,
}

impl RoutesChange {
    pub fn between(before: &Delivery, now: &Delivery) -> Self {
        let is_same = before.route == now.route
            && before.port == now.port
            && before.smarthosts == now.smarthosts
            && before.rules == now.rules;
        if is_same { Self::Unchanged } else { Self::Changed }
    }
}

/// Replaces the routing table of the running worker.
#[derive(Debug)]
pub struct RouteReloader {
    admission: Arc<AdmissionControl>,
    wake: Arc<Notify>,
}

impl RouteReloader {
    pub fn new(admission: Arc<AdmissionControl>, wake: Arc<Notify>) -> Self {
        Self { admission, wake }
    }

    pub fn admission(&self) -> Arc<AdmissionControl> {
        Arc::clone(&self.admission)
    }

    /// Swaps in the routing table of a configuration, forgets the back-off and the health of all hosts, and closes idle
    /// connections. Where the routes have changed, all messages that wait for a destination are due now; otherwise
    /// one message for each destination is.
    ///
    /// # Errors
    /// A password file cannot be read; the table before stays.
    pub fn apply(&self, config: &Config, change: RoutesChange) -> Result<(), PasswordFileError> {
        self.admission.routes.store(Arc::new(routing_table(config)?));
        let destinations = &self.admission.destinations;
        destinations.forget();
        match change {
            RoutesChange::Changed => destinations.requeue().request_all(MessageId::MIN),
            RoutesChange::Unchanged => {
                destinations.requeue().request_one_per_destination(String::new());
            }
        }
        self.wake.notify_one();
        Ok(())
    }
}

/// Reads the password files of the smarthosts.
pub fn routing_table(config: &Config) -> Result<RoutingTable, PasswordFileError> {
    let delivery = &config.delivery;
    let all = delivery.smarthosts.iter().map(|it| smarthost(delivery, it));
    let all: Vec<Smarthost> = all.collect::<Result<_, PasswordFileError>>()?;
    let rules = delivery.rules.iter().map(|rule| Rule {
        accounts: rule.accounts.clone(),
        // Checked with the configuration.
        recipients: rule.recipients.iter().filter_map(|it| it.parse().ok()).collect(),
        route: route(rule.route, &rule.smarthosts, &all),
    });
    let routes = Routes { rules: rules.collect(), default: route(delivery.route, &[], &all) };
    let exceptions = delivery.destinations.iter().map(|it| {
        let limits =
            limits(delivery, it.connections, it.messages_per_connection, it.messages_per_minute);
        (it.exchangers.to_ascii_lowercase(), limits)
    });
    Ok(RoutingTable {
        routes,
        direct: limits(delivery, None, None, None),
        exceptions: exceptions.collect(),
        port: delivery.port,
    })
}

fn route(chosen: config::Route, names: &[String], all: &[Smarthost]) -> Route {
    match chosen {
        config::Route::Sandbox => Route::Sandbox,
        config::Route::Direct => Route::Direct,
        config::Route::Smarthost => {
            let smarthosts = all.iter().filter(|it| names.is_empty() || names.contains(&it.name));
            Route::Smarthosts(smarthosts.cloned().collect())
        }
    }
}

/// Reads the password file, where the smarthost has one.
pub fn smarthost(
    delivery: &Delivery,
    settings: &config::Smarthost,
) -> Result<Smarthost, PasswordFileError> {
    let login = settings.user.clone().zip(password(settings)?);
    let (security, port) = match settings.security {
        config::Security::Starttls => (Security::Verified, 587),
        config::Security::Tls => (Security::Implicit, 465),
        config::Security::Opportunistic => (Security::Opportunistic, 587),
        config::Security::None => (Security::Plain, 587),
    };
    Ok(Smarthost {
        name: settings.name.clone(),
        host: settings.host.clone(),
        port: settings.port.unwrap_or(port),
        security,
        login: login.map(|(user, password)| Login { user, password: Password::new(password) }),
        weight: settings.weight,
        limits: limits(
            delivery,
            settings.connections,
            settings.messages_per_connection,
            settings.messages_per_minute,
        ),
    })
}

fn password(settings: &config::Smarthost) -> Result<Option<String>, PasswordFileError> {
    match (&settings.password, &settings.password_file) {
        (Some(password), _) => Ok(Some(password.0.clone())),
        (None, Some(path)) => match std::fs::read_to_string(path) {
            Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned())),
            Err(source) => {
                let (name, path) = (settings.name.clone(), path.clone());
                Err(PasswordFileError { name, path, source })
            }
        },
        (None, None) => Ok(None),
    }
}

/// Limits of one destination, over those of `[delivery]`.
fn limits(
    delivery: &Delivery,
    connections: Option<u32>,
    messages_per_connection: Option<u32>,
    messages_per_minute: Option<NonZeroU32>,
) -> Limits {
    Limits {
        connections: connections.unwrap_or(delivery.connections),
        messages_per_connection: messages_per_connection
            .unwrap_or(delivery.messages_per_connection),
        per_minute: messages_per_minute.or(delivery.messages_per_minute),
    }
}
