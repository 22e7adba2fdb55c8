//! The store, and the plugins, of the server that a command works for. A server may be running on
//! them: it sees every change at its next request.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::error::CliError;
use super::installation::{self, Chosen};
use super::output::Output;
use super::plugin::OnlineServer;
use crate::authoring::Authoring;
use crate::clock::Clock;
use crate::config::{Config, LogFilter};
use crate::journey::accept::rate_limit::RateLimits;
use crate::people::{Passwords, People};
use crate::plugin::Plugins;
use crate::server;
use crate::server::data_dir::{DataDir, DataDirError};
use crate::store::Store;
use crate::store::seal::{Purpose, Seal};
use crate::telemetry;
use crate::upkeep::verify_domains::{DomainCheckSettings, Verifier};
use crate::webhooks::Webhooks;

/// Which server, and how to answer.
#[derive(Debug, Clone, Args)]
pub struct Target {
    /// The server's configuration file [default: /etc/waxwing/waxwing.toml, where ./waxwing-data is not there]
    #[arg(long)]
    config: Option<PathBuf>,
    /// The server's data directory; stands above the configuration file
    #[arg(long)]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// A store that is open.
#[derive(Debug)]
pub struct Opened {
    pub store: Store,
    pub clock: Clock,
    /// Whether a server runs on the data directory.
    pub is_served: bool,
    config: Config,
    data: DataDir,
}

/// The store of the server on this machine, of a command that can ask a running one too.
impl From<&OnlineServer> for Target {
    fn from(it: &OnlineServer) -> Self {
        Self { config: it.config.clone(), data_dir: it.data_dir.clone(), output: it.output }
    }
}

impl Target {
    /// The configuration, with `--data-dir` above it.
    pub fn config(&self) -> Result<Config, CliError> {
        Ok(self.chosen()?.config)
    }

    fn chosen(&self) -> Result<Chosen, CliError> {
        Ok(installation::choose(self.config.as_deref(), self.data_dir.as_deref())?)
    }

    /// Opens the store. A directory without one is an error, so that a mistyped one is not taken for an
    /// empty server. With `store.url` the directory must be there; an empty database gets its tables.
    pub async fn open(&self) -> Result<Opened, CliError> {
        let chosen = self.chosen()?;
        let place = &chosen.config.store;
        if DataDir::existing_place(place)?.is_none() || !place.data_dir.is_dir() {
            return Err(CliError::NoStore(chosen.config.store.data_dir));
        }
        open_at(chosen).await
    }

    /// The same for the first command of a new server: the store is made where it is missing.
    pub async fn open_or_make(&self) -> Result<Opened, CliError> {
        open_at(self.chosen()?).await
    }
}

async fn open_at(Chosen { mut config, file }: Chosen) -> Result<Opened, CliError> {
    config.log.filter = LogFilter::level(tracing::Level::WARN);
    telemetry::logs::start(&config.log);
    let is_new = DataDir::existing_place(&config.store)?.is_none();
    let data = DataDir::of(&config.store)?;
    data.warn_of_readers();
    if is_new {
        let directory = config.store.data_dir.display();
        tracing::warn!(path = %directory, "there was no data here; a new, empty store is made");
    }
    let store = Store::open(data.place(&config.store)?).await?;
    if !store.has_file() {
        // Another machine may have made the database: nothing is to be sealed here that its key does not open.
        server::master_key::verify(&data, &store).await?;
    }
    // What is said here stands above what a server has saved, unless that server runs.
    let is_served = matches!(data.lock(), Err(DataDirError::Locked { .. }));
    if is_served || (file.is_none() && !is_configured()) {
        server::cli_settings::load_saved(&mut config, &store).await?;
    }
    Ok(Opened { store, clock: Clock::system(), is_served, config, data })
}

/// Whether the environment says something about DNS, sender domains or webhooks.
fn is_configured() -> bool {
    let about = |name: &str| {
        ["WAXWING_DNS__", "WAXWING_DOMAINS__", "WAXWING_SMTP__HOSTNAME", "WAXWING_WEBHOOKS__"]
            .iter()
            .any(|it| name.starts_with(it))
    };
    std::env::vars().any(|(name, _)| about(&name))
}

impl Opened {
    /// Loads the plugins of the server.
    pub async fn plugins(&self) -> Result<Arc<Plugins>, CliError> {
        server::master_key::verify(&self.data, &self.store).await?;
        let shared = server::shared_plugins::of_store(&self.store, &self.clock, "waxwing");
        let options = server::plugins::options(&self.config, &self.data, shared)?;
        let (plugins, _supervisor) = Plugins::start(options, self.clock.clone()).await?;
        Ok(plugins)
    }

    /// What authors work with, with the plugins of the server.
    pub async fn authoring(&self) -> Result<Authoring, CliError> {
        Ok(Authoring::new(self.store.clone(), self.plugins().await?, self.clock.clone()))
    }

    /// What verifies sender domains, with the plugins of the server.
    pub async fn verifier(&self) -> Result<Arc<Verifier>, CliError> {
        let (plugins, store) = (self.plugins().await?, self.store.clone());
        Ok(server::domain_checks::verifier(&self.config, &self.data, store, plugins, &self.clock)?)
    }

    /// Who logs in to the dashboard.
    pub async fn people(&self) -> Result<People, CliError> {
        server::master_key::verify(&self.data, &self.store).await?;
        let limits = &self.config.limits;
        let (a_second, burst) = (limits.sends_per_second, limits.send_burst);
        Ok(People {
            store: self.store.clone(),
            clock: self.clock.clone(),
            passwords: Passwords::default(),
            seal: Seal::of(&self.data.key_ring()?, Purpose::Factors),
            rate_limits: Arc::new(RateLimits::new(a_second, burst, limits.failed_logins)),
        })
    }

    /// Where the master keys are.
    pub fn data(&self) -> &DataDir {
        &self.data
    }

    /// With what links to the dashboard begin, by `people.url`; none where that is not set.
    pub fn people_url(&self) -> Option<String> {
        self.config.people.base()
    }

    /// How the server is reached from this machine: where it listens, or did before it ended, or would by its configuration.
    pub fn local_url(&self) -> String {
        let reached = self.data.control().map(|(http, _)| http);
        reached.unwrap_or_else(|| format!("http://{}", self.config.http.listen))
    }

    /// What posts to webhooks.
    pub async fn webhooks(&self) -> Result<Arc<Webhooks>, CliError> {
        server::master_key::verify(&self.data, &self.store).await?;
        let store = self.store.clone();
        Ok(server::webhooks::webhooks(&self.config, &self.data, store, &self.clock)?)
    }

    pub fn domain_check_settings(&self) -> DomainCheckSettings {
        server::domain_checks::check_settings(&self.config)
    }
}
