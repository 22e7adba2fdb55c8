//! `waxwing check`: what is wrong with a configuration, before a server starts with it.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::output::say;
use crate::config::{Config, ConfigError, Log, LogFilter, LogFormat};
use crate::server;
use crate::telemetry;

/// Check a configuration, and every file that it names
#[derive(Debug, Args)]
pub struct Check {
    /// The configuration; every key can also come from the environment as `WAXWING_SECTION__KEY`
    #[arg(long)]
    config: PathBuf,
}

/// Prints that all is well, or every fault at once.
pub async fn run(check: &Check) -> Result<(), CliError> {
    let filter = LogFilter::level(tracing::Level::WARN);
    telemetry::logs::start(&Log { filter, format: LogFormat::Text });
    let reading = Config::read(Some(&check.config), std::env::vars())?;
    let faults = [reading.faults.clone(), server::check(&reading).await].concat();
    if faults.is_empty() {
        say(format_args!("{}: the configuration is valid", check.config.display()));
        return Ok(());
    }
    Err(ConfigError::invalid(Some(&check.config), faults).into())
}
