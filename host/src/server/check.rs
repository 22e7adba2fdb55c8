//! What a server would stumble over at its start, found without starting one.

use std::error::Error;
use std::path::Path;

use super::data_dir::DataDir;
use super::delivery::routes;
use super::webhooks::WebhooksError;
use super::{domains, tls};
use crate::clock::Clock;
use crate::config::Config;
use crate::delivery::smtp::TlsClient;
use crate::telemetry;
use crate::trust;

/// Reads every file that a configuration names: the certificate and its key, authorities, passwords of
/// smarthosts, the directories. Writes nothing, binds no port, asks nobody.
///
/// Answers every fault, each readable alone.
#[must_use]
pub fn check(config: &Config) -> Vec<String> {
    let clock = Clock::system();
    let delivery = &config.delivery;
    let mut faults = Vec::new();
    let mut note = |result: Result<(), Box<dyn Error>>| {
        faults.extend(result.err().map(|error| error.to_string()));
    };
    note(tls::check(&config.smtp).map_err(Into::into));
    note(TlsClient::new(delivery.ca_file.as_deref()).map(drop).map_err(Into::into));
    for smarthost in &delivery.smarthosts {
        note(routes::smarthost(delivery, smarthost).map(drop).map_err(Into::into));
    }
    let trusted = trust::https(config.webhooks.ca_file.as_deref());
    note(trusted.map(drop).map_err(|it| WebhooksError::Trust(it).into()));
    note(domains::resolver(config, &clock).map(drop).map_err(Into::into));
    note(telemetry::logs::check(&config.log).map_err(|it| format!("log.filter: {it}").into()));
    note(DataDir::check(&config.store.data_dir).map_err(Into::into));
    faults.extend(directory("store.data_dir", Some(&config.store.data_dir)));
    faults.extend(directory("plugins.dir", config.plugins.dir.as_deref()));
    faults
}

/// A directory may be missing, because the server makes it; a file may not stand in its place.
fn directory(key: &str, path: Option<&Path>) -> Option<String> {
    let path = path?;
    let found = std::fs::metadata(path).ok()?;
    (!found.is_dir()).then(|| format!("{key}: {} is a file and not a directory", path.display()))
}
