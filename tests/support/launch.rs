//! How a server is started.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::seed::Seed;

/// The variable that says which database of PostgreSQL the store is.
pub(crate) const STORE_URL: &str = "WAXWING_STORE__URL";

/// How a server is started, and with which settings.
#[derive(Debug, Clone)]
pub struct Launch {
    command: Kind,
    environment: Vec<(String, String)>,
    open_files: Option<u32>,
}

/// The command that starts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `waxwing dev --json`.
    Dev,
    /// `waxwing dev`, as a newcomer types it.
    Plain,
    /// `waxwing serve` with these sections beside `[http]`, `[store]`, `[log]`, and an `[inbox]` where they have none.
    Serve(String),
}

impl Launch {
    /// `waxwing dev --json` with its defaults.
    #[must_use]
    pub fn dev() -> Self {
        Self { command: Kind::Dev, environment: Vec::new(), open_files: None }
    }

    /// `waxwing dev`, as a newcomer types it. [`crate::Server::dev_output`] then knows `http`, `inbox`
    /// and `welcome`, which is the whole text that it has printed.
    #[must_use]
    pub fn plain_dev() -> Self {
        Self { command: Kind::Plain, environment: Vec::new(), open_files: None }
    }

    /// `waxwing serve` with these sections beside `[http]`, `[store]`, `[log]`, and an `[inbox]` where they have none.
    #[must_use]
    pub fn serve(sections: &str) -> Self {
        Self {
            command: Kind::Serve(sections.to_owned()),
            environment: Vec::new(),
            open_files: None,
        }
    }

    /// Sets a key of the configuration through the environment, as in `("limits", "body_seconds")`.
    #[must_use]
    pub fn with(mut self, section: &str, key: &str, value: &str) -> Self {
        let name = format!("WAXWING_{}__{}", section.to_uppercase(), key.to_uppercase());
        self.environment.push((name, value.to_owned()));
        self
    }

    /// On a system that has no certificate authorities, as an empty container.
    #[must_use]
    pub fn without_authorities(mut self) -> Self {
        for (name, value) in [("SSL_CERT_FILE", "/dev/null"), ("SSL_CERT_DIR", "/dev/null")] {
            self.environment.push((name.to_owned(), value.to_owned()));
        }
        self
    }

    /// As a service manager starts it, which listens at `socket` and wants a sign of life within this time.
    #[must_use]
    pub fn watched_at(mut self, socket: &Path, within: Duration) -> Self {
        for (name, value) in [
            ("NOTIFY_SOCKET", socket.display().to_string()),
            ("WATCHDOG_USEC", within.as_micros().to_string()),
        ] {
            self.environment.push((name.to_owned(), value));
        }
        self
    }

    /// Gives it so few file descriptors.
    #[must_use]
    pub fn with_open_files(mut self, most: u32) -> Self {
        self.open_files = Some(most);
        self
    }

    /// The command that starts it.
    pub(crate) fn kind(&self) -> &Kind {
        &self.command
    }

    /// What was set through the environment.
    pub(crate) fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Whether it names the database that is to be the store.
    pub(crate) fn names_a_store(&self) -> bool {
        self.environment.iter().any(|(name, _)| name == STORE_URL)
    }

    /// The command for a data directory in `home`, without what is set through the environment.
    pub(crate) fn command(&self, home: &Path) -> Command {
        let data = home.join("data");
        let mut command = match self.open_files {
            None => waxwing(),
            Some(most) => clean({
                let mut limited = Command::new("prlimit");
                limited.arg(format!("--nofile={most}:{most}")).arg(Seed::of_this_build().binary());
                limited
            }),
        };
        match &self.command {
            Kind::Dev => {
                command.args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir"]).arg(data);
            }
            Kind::Plain => {
                command.args(["dev", "--http", "127.0.0.1:0", "--data-dir"]).arg(data);
            }
            Kind::Serve(sections) => {
                // A text of JSON is a text of TOML.
                let data = Value::from(data.to_str().expect("a path of UTF-8"));
                // The default port is fixed, and tests run beside each other.
                let inbox = "[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n";
                let inbox = if sections.contains("[inbox]") { "" } else { inbox };
                let toml = format!(
                    "[http]\nlisten = \"127.0.0.1:0\"\n[store]\ndata_dir = {data}\n\
                     [smtp]\nenabled = false\n[log]\nformat = \"json\"\n{inbox}{sections}"
                );
                let file = home.join("waxwing.toml");
                fs::write(&file, toml).expect("the configuration is written");
                command.args(["serve", "--config"]).arg(file);
            }
        }
        command
    }
}

/// The binary under test, free of the configuration of whoever runs the tests.
#[must_use]
pub fn waxwing() -> Command {
    clean(Command::new(Seed::of_this_build().binary()))
}

fn clean(mut command: Command) -> Command {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WAXWING_") {
            command.env_remove(name);
        }
    }
    command.env("NO_COLOR", "1");
    command
}
