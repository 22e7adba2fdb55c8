//! `waxwing serve`: the server, with a configuration file.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use crate::config::Config;
use crate::server;
use crate::telemetry;

/// Start the server with a configuration file.
#[derive(Debug, Args)]
pub struct Serve {
    /// The configuration; every key can also come from the environment as `WAXWING_SECTION__KEY`
    #[arg(long)]
    config: PathBuf,
}

/// Runs until a signal.
pub async fn run(serve: Serve) -> Result<(), CliError> {
    let config = Config::load(Some(&serve.config), std::env::vars())?;
    telemetry::logs::start(&config.log)?;
    let running = server::start(&config).await?;
    tracing::info!(http = %running.http, "waxwing listens");
    server::run(running).await.map_err(CliError::Runtime)
}
