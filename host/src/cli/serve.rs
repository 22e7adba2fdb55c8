//! `waxwing serve`: the server, with a configuration file.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::Args;

use super::error::CliError;
use super::output;
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
    let hangups = server::Hangups::listen().map_err(CliError::Runtime)?;
    let configuration = || Config::load_with_sections(Some(&serve.config), std::env::vars());
    let (config, sections) = configuration()?;
    let sections = Mutex::new(sections);
    telemetry::logs::start(&config.log);
    let running = Box::pin(server::start(&config)).await?;
    let stops = server::StopSignals::listen().map_err(CliError::Runtime)?;
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
        output::tell(format_args!(
            "The dashboard has no operator yet. To become it, open this within an hour{name}:\n\n  {base}/setup/{}\n",
            link.reveal()
        ));
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
    // A full disk, or a copy that is being made, leaves a file that ends early, or is empty. The defaults of what is cut off
    // would route all mail to the sandbox inbox.
    let reloaded = || {
        let (config, now) = configuration()?;
        let mut before = sections.lock().unwrap_or_else(PoisonError::into_inner);
        let lost: Vec<String> = before.difference(&now).map(|it| format!("[{it}]")).collect();
        if !lost.is_empty() {
            let (path, sections) = (serve.config.clone(), lost.join(", "));
            return Err(CliError::SectionsLost { path, sections });
        }
        *before = now;
        Ok(config)
    };
    server::run(running, stops, hangups, reloaded).await.map_err(CliError::Runtime)
}

/// Several addresses as one field of the log; none without an address.
fn listed(addresses: &[SocketAddr]) -> Option<String> {
    let listed: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    (!listed.is_empty()).then(|| listed.join(", "))
}
