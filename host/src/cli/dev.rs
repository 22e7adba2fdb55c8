//! `waxwing dev`: everything on this machine, with no configuration, and a curl to paste.

mod seed;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use crate::config::Config;
use crate::server;
use crate::server::data_dir::DataDir;
use crate::telemetry;
use seed::Seed;

const DEV_SENDS: u32 = 100_000;

/// Start everything on this machine, with embedded defaults, and print a curl to paste.
#[derive(Debug, Args)]
pub struct Dev {
    /// Where everything is kept; a second start on it goes on with the same data
    #[arg(long, default_value = "waxwing-data")]
    data_dir: PathBuf,
    /// Where HTTP listens; port 0 picks a free one [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Where the sandbox inbox takes mail over SMTP [default: 127.0.0.1:2525, or a free port]
    #[arg(long, value_name = "ADDR")]
    inbox_smtp: Option<SocketAddr>,
    /// Where the SMTP relay listens with STARTTLS; this version has no relay yet
    #[arg(long, value_name = "ADDR")]
    smtp: Option<SocketAddr>,
    /// Where the SMTP relay listens with TLS; this version has no relay yet
    #[arg(long, value_name = "ADDR")]
    smtps: Option<SocketAddr>,
    /// Print one line of JSON when everything listens
    #[arg(long)]
    json: bool,
}

/// Runs until a signal.
pub async fn run(dev: Dev) -> Result<(), CliError> {
    let config = configuration(&dev)?;
    telemetry::logs::start(&config.log)?;
    if dev.smtp.is_some() || dev.smtps.is_some() {
        tracing::warn!("--smtp and --smtps are ignored: this version has no SMTP relay yet");
    }
    let running = server::start(&config).await?;
    let data = DataDir::open(&config.store.data_dir)?;
    std::fs::create_dir_all(data.plugins())
        .map_err(|source| CliError::File { path: data.plugins(), source })?;
    let seed = seed::plant(&running, &data).await?;
    let base = format!("http://{}", running.http);
    if dev.json {
        println!("{}", line(&base, &seed, &data));
    } else {
        print!("{}", welcome(&base, &seed, &dev.data_dir));
    }
    server::run(running).await.map_err(CliError::Runtime)
}

/// Embedded defaults, then the environment, then the flags.
fn configuration(dev: &Dev) -> Result<Config, CliError> {
    let mut config = Config::load(None, std::env::vars())?;
    let from_environment = |name: &str| std::env::var_os(name).is_some();
    config.store.data_dir.clone_from(&dev.data_dir);
    config.inbox.view = true;
    if !from_environment("WAXWING_LOG__FILTER") && !dev.json {
        "warn".clone_into(&mut config.log.filter);
    }
    if !from_environment("WAXWING_LIMITS__SENDS_PER_SECOND") {
        config.limits.sends_per_second = DEV_SENDS.try_into().expect("not zero");
        config.limits.send_burst = DEV_SENDS.try_into().expect("not zero");
    }
    if let Some(address) = dev.http {
        config.http.listen = address;
    }
    match dev.inbox_smtp {
        Some(address) => config.inbox.smtp_listen = address,
        // Nobody connects to the inbox but this process, so a taken default port is no reason to
        // fail, and a free port for HTTP means that nothing shall collide.
        None if from_environment("WAXWING_INBOX__SMTP_LISTEN") => {}
        None if config.http.listen.port() == 0 || !is_free(config.inbox.smtp_listen) => {
            config.inbox.smtp_listen.set_port(0);
        }
        None => {}
    }
    Ok(config)
}

fn is_free(address: SocketAddr) -> bool {
    std::net::TcpListener::bind(address).is_ok()
}

/// The one line of `--json`. What this version does not have yet is null.
fn line(base: &str, seed: &Seed, data: &DataDir) -> Value {
    json!({
        "http": base,
        "smtpStarttls": null,
        "smtpTls": null,
        "apiKey": seed.api_key,
        "from": seed.from,
        "caFile": null,
        "dashboard": null,
        "template": seed.template,
        "exampleData": seed.example,
        "pluginsDir": data.plugins(),
        "inbox": format!("{base}/inbox"),
        "accountId": seed.account,
    })
}

fn welcome(base: &str, seed: &Seed, data_dir: &std::path::Path) -> String {
    let body = json!({
        "to": "ada@example.com",
        "type": "EMAIL",
        "template": seed.template,
        "data": seed.example,
    });
    // A quote inside single quotes ends them, stands for itself, and begins them again.
    let body = body.to_string().replace('\'', r"'\''");
    format!(
        "Waxwing is listening on {base}

Paste this into another terminal:

curl -sS {base}/messages/send \\
  -H 'x-api-key: {}' \\
  -H 'content-type: application/json' \\
  -d '{body}'

Then look at {base}/inbox

Data: {}   API: {base}/openapi.json   Stop: Ctrl-C
",
        seed.api_key,
        data_dir.display(),
    )
}
