//! `waxwing serve`: the server, with a configuration file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use crate::config::Config;
use crate::server;
use crate::store::LinkPurpose;
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
    let configuration = || Config::load(Some(&serve.config), std::env::vars());
    let config = configuration()?;
    telemetry::logs::start(&config.log);
    let running = Box::pin(server::start(&config)).await?;
    if !running.store.has_operator().await? {
        let link = running.people.make_link(LinkPurpose::SetUp, None).await?;
        let (base, name) = match config.people.base() {
            Some(url) => (url, ""),
            None => (
                format!("http://{}", running.http),
                ", by the https name of this machine or your reverse proxy where there is one",
            ),
        };
        // Not into the log, which others may read.
        eprintln!(
            "The dashboard has no operator yet. To become it, open this within an hour{name}:\n\n  {base}/setup/{}\n",
            link.reveal()
        );
    }
    let (starttls, tls) = (listed(&running.smtp_starttls), listed(&running.smtp_tls));
    let ports = [running.https, running.acme_http, running.metrics, running.reports];
    let [https, acme_http, metrics, bounces] = ports.map(|it| it.map(tracing::field::display));
    tracing::info!(
        http = %running.http, https, acme_http, metrics, smtp_starttls = starttls,
        smtp_tls = tls, bounces, "listening"
    );
    if let Some(authority) = &running.ca_file {
        tracing::warn!(
            "the SMTP relay shows a self-signed certificate: clients must trust {}, or give it one \
             of your own with [smtp] certificate and private_key",
            authority.display()
        );
    }
    server::run(running, configuration).await.map_err(CliError::Runtime)
}

/// Several addresses as one field of the log; none without an address.
fn listed(addresses: &[SocketAddr]) -> Option<String> {
    let listed: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    (!listed.is_empty()).then(|| listed.join(", "))
}
