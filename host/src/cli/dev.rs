//! `waxwing dev`: everything on this machine, with no configuration, and a curl to paste.

mod seed;
mod welcome;

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use crate::cli::output;
use crate::config::{Config, ListenAddresses, LogFilter, MetricsListen};
use crate::server;
use crate::server::StartError;
use crate::server::data_dir::DataDir;
use crate::telemetry;
use welcome::Welcome;

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
    /// Where the SMTP relay listens with STARTTLS [default: 127.0.0.1:2587, or a free port]
    #[arg(long, value_name = "ADDR")]
    smtp: Option<SocketAddr>,
    /// Where the SMTP relay listens with TLS [default: 127.0.0.1:2465, or a free port]
    #[arg(long, value_name = "ADDR")]
    smtps: Option<SocketAddr>,
    /// Print one line of JSON when everything listens
    #[arg(long)]
    json: bool,
}

/// Runs until a signal.
pub async fn run(dev: Dev) -> Result<(), CliError> {
    let hangups = server::Hangups::listen().map_err(CliError::Runtime)?;
    let config = configuration(&dev)?;
    telemetry::logs::start(&config.log);
    let directory = dev.data_dir.display();
    dev.tell(format_args!(
        "Starting in {directory}: compiling the plugins (some seconds at the first start) …"
    ));
    let running = Box::pin(server::start(&config)).await.map_err(with_flag)?;
    let stops = server::StopSignals::listen().map_err(CliError::Runtime)?;
    dev.tell("Making the development account and its templates …");
    let data = DataDir::open(&config.store.data_dir)?;
    std::fs::create_dir_all(data.plugins())
        .map_err(|source| CliError::File { path: data.plugins(), source })?;
    let seed = seed::plant(&running, &data).await?;
    let welcome = Welcome {
        base: format!("http://{}", running.http),
        starttls: running.smtp_starttls.first().copied(),
        tls: running.smtp_tls.first().copied(),
        inbox_smtp: running.inbox_smtp,
        reports: running.reports,
        ca_file: running.ca_file.clone(),
        seed,
        data_dir: dev.data_dir.clone(),
        plugins_dir: data.plugins(),
    };
    if dev.json {
        output::say(welcome.line());
    } else {
        output::dump(welcome.text().as_bytes());
    }
    // There is no file that could have changed, and the ports that were free are taken now.
    let run = server::run(running, stops, hangups, || Ok::<_, CliError>(config.clone()));
    tokio::select! {
        ended = run => ended.map_err(CliError::Runtime),
        never = dev.say_what_a_stop_waits_for() => never,
    }
}

impl Dev {
    /// To people, on stderr: what is pasted stands alone on stdout. A script has the log.
    fn tell(&self, words: impl Display) {
        if !self.json {
            output::tell(words);
        }
    }

    /// Never ends: the server itself heeds the same signal.
    async fn say_what_a_stop_waits_for<T>(&self) -> T {
        if tokio::signal::ctrl_c().await.is_ok() {
            self.tell(
                "Stopping: requests and deliveries under way end first, at most 30 s each. Ctrl-C \
                 again stops at once; what was accepted is on disk.",
            );
        }
        std::future::pending().await
    }
}

/// `dev` has no configuration file, so its words are the flags.
fn with_flag(error: StartError) -> CliError {
    let StartError::Listen(mut refused) = error else { return error.into() };
    refused.setting = match refused.setting {
        "[http] listen" => "--http",
        "[inbox] smtp_listen" => "--inbox-smtp",
        "[smtp] listen_starttls" => "--smtp",
        "[smtp] listen_tls" => "--smtps",
        other => other,
    };
    StartError::from(refused).into()
}

/// Embedded defaults, then the environment, then the flags.
fn configuration(dev: &Dev) -> Result<Config, CliError> {
    let mut config = Config::load(None, std::env::vars())?;
    let from_environment = |name: &str| std::env::var_os(name).is_some();
    config.store.data_dir.clone_from(&dev.data_dir);
    config.inbox.view = true;
    if !from_environment("WAXWING_HTTP__METRICS_LISTEN") {
        config.http.metrics_listen = MetricsListen::Public;
    }
    if !from_environment("WAXWING_LOG__FILTER") && !dev.json {
        config.log.filter = LogFilter::level(tracing::Level::WARN);
    }
    if !from_environment("WAXWING_LIMITS__SENDS_PER_SECOND") {
        config.limits.sends_per_second = DEV_SENDS.try_into().expect("not zero");
        config.limits.send_burst = DEV_SENDS.try_into().expect("not zero");
    }
    if !from_environment("WAXWING_LIMITS__LISTS_PER_SECOND") {
        config.limits.lists_per_second = DEV_SENDS.try_into().expect("not zero");
    }
    if let Some(address) = dev.http {
        config.http.listen = address;
    }
    // A free port for HTTP means that nothing shall collide.
    let any_port = config.http.listen.port() == 0;
    let place = |flag: Option<SocketAddr>, variable: &str, configured: SocketAddr| match flag {
        Some(address) => address,
        None if from_environment(variable) => configured,
        // A default that is taken is no reason to fail: the line that is printed says where to go.
        None if any_port || !is_free(configured) => SocketAddr::new(configured.ip(), 0),
        None => configured,
    };
    let inbox = config.inbox.smtp_listen;
    config.inbox.smtp_listen = place(dev.inbox_smtp, "WAXWING_INBOX__SMTP_LISTEN", inbox);
    let smtp = &mut config.smtp;
    smtp.enabled |= dev.smtp.is_some() || dev.smtps.is_some();
    for (flag, variable, listen) in [
        (dev.smtp, "WAXWING_SMTP__LISTEN_STARTTLS", &mut smtp.listen_starttls),
        (dev.smtps, "WAXWING_SMTP__LISTEN_TLS", &mut smtp.listen_tls),
    ] {
        // Several addresses can only come from the environment, where they stay as they are.
        if let Some(configured) = flag.or(listen.all().first().copied())
            && (flag.is_some() || !from_environment(variable))
        {
            *listen = ListenAddresses::one(place(flag, variable, configured));
        }
    }
    Ok(config)
}

fn is_free(address: SocketAddr) -> bool {
    std::net::TcpListener::bind(address).is_ok()
}
