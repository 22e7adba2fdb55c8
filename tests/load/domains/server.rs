//! The server that checks: its settings, its process, its command line.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::start::run;

/// How the server looks domains up.
#[derive(Debug, Clone)]
pub struct Settings {
    pub name_server: SocketAddr,
    /// Look-ups at one time.
    pub concurrent: u32,
    pub queries_per_second: u32,
    /// Checks at one time.
    pub checks: u32,
    /// The log filter.
    pub log: String,
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
    /// An account.
    pub account: String,
}

impl Settings {
    fn variables(&self) -> [(&'static str, String); 5] {
        [
            ("WAXWING_DNS__NAMESERVERS", format!("[\"{}\"]", self.name_server)),
            ("WAXWING_DNS__CONCURRENT", self.concurrent.to_string()),
            ("WAXWING_DNS__QUERIES_PER_SECOND", self.queries_per_second.to_string()),
            ("WAXWING_DOMAINS__CONCURRENT_CHECKS", self.checks.to_string()),
            ("WAXWING_LOG__FILTER", self.log.clone()),
        ]
    }
}

impl Installation<'_> {
    /// Runs a command of the server to its end; what it prints.
    pub async fn command(&self, settings: &Settings, arguments: &[&str]) -> io::Result<Value> {
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
    pub async fn start(&self, settings: &Settings) -> io::Result<Server> {
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
