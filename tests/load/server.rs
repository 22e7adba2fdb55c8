//! The server under load: its settings, its process, its command line.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::start::run;

/// What a server is to do otherwise than by default.
pub trait Settings {
    /// As environment variables.
    fn variables(&self) -> Vec<(&'static str, String)>;
}

/// A binary and its data directory.
#[derive(Debug, Clone, Copy)]
pub struct Installation<'a> {
    pub binary: &'a Path,
    pub data: &'a Path,
}

/// A running server. It is killed when this is dropped.
pub struct Server {
    child: Child,
    pub pid: u32,
    /// Where it answers HTTP.
    pub address: SocketAddr,
    pub account: String,
    pub api_key: String,
}

impl Installation<'_> {
    /// Runs a command of the server to its end; what it prints.
    pub async fn command(&self, settings: &impl Settings, arguments: &[&str]) -> io::Result<Value> {
        let output = Command::new(self.binary)
            .args(arguments)
            .args(["--json", "--data-dir"])
            .arg(self.data)
            .envs(settings.variables())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await?;
        if !output.status.success() {
            let words = arguments.join(" ");
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("waxwing {words}: {errors}")));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Starts the server; it listens when this is ready.
    pub async fn start(&self, settings: &impl Settings) -> io::Result<Server> {
        let log = self.data.join("server.log");
        let mut child = Command::new(self.binary)
            .args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir"])
            .arg(self.data)
            .envs(settings.variables())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(&log)?)
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().expect("it was asked for");
        let Some(line) = BufReader::new(stdout).lines().next_line().await? else {
            let log = std::fs::read_to_string(&log)?;
            return Err(io::Error::other(format!("the server did not start: {log}")));
        };
        let line: Value = serde_json::from_str(&line)?;
        let text = |name: &str| {
            let value = line[name].as_str();
            value.ok_or_else(|| io::Error::other(format!("the server's line has no {name}")))
        };
        let address = text("http")?.trim_start_matches("http://");
        Ok(Server {
            pid: child.id().ok_or(io::ErrorKind::NotFound)?,
            address: address.parse().map_err(io::Error::other)?,
            account: text("accountId")?.to_owned(),
            api_key: text("apiKey")?.to_owned(),
            child,
        })
    }
}

impl Server {
    /// Lets it finish what it does.
    pub async fn stop(mut self) -> io::Result<()> {
        run(Command::new("kill").args(["-INT", &self.pid.to_string()])).await?;
        self.child.wait().await.map(|_| ())
    }
}
