//! What a server would stumble over at its start, found without starting one.

use std::fmt::Display;

use super::data_dir::DataDir;
use super::delivery::{DeliverySetupError, routes};
use super::webhooks::WebhooksError;
use super::{acme, backup, delivery, master_key, plugins, relay, resolvers, tcp_listener};
use crate::clock::Clock;
use crate::config::{self, Reading};
use crate::delivery::smtp::TlsClient;
use crate::store::Store;
use crate::trust;

/// Asks everything that a start asks of the configuration, by the same functions: the certificate and its key,
/// CA certificates, passwords of smarthosts, directories, the database's version and its master key, addresses of
/// listeners. Makes nothing, listens nowhere, asks nobody. What only a start can tell: whether a port is free and may be
/// bound by this user, and whether another server runs on the data directory.
///
/// Answers every fault, each readable alone.
#[must_use]
pub async fn check(reading: &Reading) -> Vec<String> {
    let config = &reading.config;
    let (clock, delivery) = (Clock::system(), &config.delivery);
    let mut faults = Faults::default();
    if reading.has("store.data_dir") {
        let found = DataDir::check(&config.store);
        // In a directory that cannot be used, the others cannot be either.
        if found.is_empty() {
            let data = DataDir::unopened(&config.store);
            faults.note(plugins::check_state(&data).err());
            faults.note(relay::check_self_signed(config, &data).err());
            match DataDir::existing_place(&config.store) {
                Ok(Some(place)) => match Store::check(&place).await {
                    Ok(()) => faults.note(master_key::check_for(&data, &place).await.err()),
                    Err(error) => faults.note([error]),
                },
                Ok(None) => {}
                Err(lost) => faults.note([lost]),
            }
        }
        faults.note(found);
    }
    faults.note(plugins::check_own_directory(config).err());
    faults.note(relay::check_certificate(config));
    faults.note(acme::check(&config.acme));
    faults
        .note(TlsClient::new(delivery.ca_file.as_deref()).map_err(DeliverySetupError::from).err());
    for smarthost in &delivery.smarthosts {
        faults.note(routes::smarthost(delivery, smarthost).err());
    }
    faults.note(delivery::return_path_host(config).err());
    faults.note(backup::check(config).err());
    faults
        .note(trust::https(config.webhooks.ca_file.as_deref()).map_err(WebhooksError::from).err());
    faults.note(resolvers::resolver(config, &clock).err());
    for listener in config::listeners(config).iter().filter(|it| reading.has(it.key)) {
        faults.note(tcp_listener::check(listener.address, listener.key).err());
    }
    faults.0
}

#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn note<E: Display>(&mut self, found: impl IntoIterator<Item = E>) {
        self.0.extend(found.into_iter().map(|error| error.to_string()));
    }
}
