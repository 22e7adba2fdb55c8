//! `waxwing check`: what is wrong with a configuration, before a server starts with it.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use crate::config::{Config, Log, LogFormat};
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
pub fn run(check: &Check) -> Result<(), CliError> {
    let warnings = Log { filter: "warn".to_owned(), format: LogFormat::Text };
    telemetry::logs::start(&warnings)?;
    let reading = Config::read(Some(&check.config), std::env::vars())?;
    let faults = [reading.faults.clone(), server::check(&reading)].concat();
    if faults.is_empty() {
        println!("{}: the configuration is valid", check.config.display());
        return Ok(());
    }
    Err(CliError::Unusable { path: check.config.clone(), faults })
}
