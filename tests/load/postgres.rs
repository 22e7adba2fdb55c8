//! A PostgreSQL of the run's own, set as in production, with one database; and what is asked of it past the server.

use std::fmt::Display;
use std::fs;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;
use waxwing_tools::Cluster;

use crate::args::Setup;
use crate::process;

const NAME: &str = "waxwing_load";
/// What a reader of figures wants to know of the server.
const SETTINGS: &str = "SELECT json_object_agg(name, setting) FROM pg_settings WHERE name IN ('server_version', 'fsync',
    'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size', 'autovacuum')";

/// It ends, and its files go, with this.
pub struct Database {
    cluster: Cluster,
    url: String,
}

/// What `pgbench` runs.
pub struct Bench<'a> {
    /// In its own language: statements with variables.
    pub script: &'a str,
    /// Sessions that run it at one time.
    pub clients: u32,
    /// How often each of them runs it.
    pub transactions: u32,
}

/// What came of it.
pub struct Benched {
    /// Of all sessions, in 1,000 seconds.
    pub transactions_in_1000_s: u64,
    /// CPU of the database.
    pub cpu: Duration,
}

impl Database {
    /// Starts one beside the data of the servers.
    pub fn start(setup: &Setup) -> io::Result<Self> {
        let parent = setup.work_dir.clone().unwrap_or_else(std::env::temp_dir);
        let cluster = Cluster::durable(&fs::canonicalize(parent)?).map_err(io::Error::other)?;
        let url = cluster.create(NAME);
        Ok(Self { cluster, url })
    }

    /// For `store.url`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The first of its processes.
    pub fn pid(&self) -> u32 {
        self.cluster.process_id()
    }

    /// What statements answer that run in one transaction, but for one alone that must not.
    pub async fn ask(&self, statements: &str) -> io::Result<String> {
        let mut psql = self.client("psql")?;
        psql.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"]);
        psql.args(["--set", "ON_ERROR_STOP=1", "--command", statements, NAME]);
        said(psql).await
    }

    /// What one statement answers, as JSON.
    pub async fn ask_json(&self, statement: &str) -> io::Result<Value> {
        Ok(serde_json::from_str(&self.ask(statement).await?)?)
    }

    /// The settings that figures depend on.
    pub async fn settings(&self) -> io::Result<Value> {
        self.ask_json(SETTINGS).await
    }

    /// Runs a script.
    pub async fn bench(&self, bench: &Bench<'_>) -> io::Result<Benched> {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("script.sql");
        fs::write(&file, bench.script)?;
        let mut pgbench = self.client("pgbench")?;
        pgbench.args(["--no-vacuum", "--protocol", "prepared", "--jobs", "1", "--max-tries", "10"]);
        pgbench.args(["--client", &bench.clients.to_string()]);
        pgbench.args(["--transactions", &bench.transactions.to_string(), "--file"]);
        pgbench.arg(&file).arg(NAME);
        let before = process::cpu(&[self.pid()])?;
        let printed = said(pgbench).await?;
        let after = process::cpu(&[self.pid()])?;
        let silent = || io::Error::other(format!("pgbench tells no rate: {printed}"));
        let transactions_in_1000_s = rate(&printed).ok_or_else(silent)?;
        Ok(Benched { transactions_in_1000_s, cpu: after.saturating_sub(before) })
    }

    fn client(&self, program: &str) -> io::Result<Command> {
        let client = self.cluster.client(program).map_err(io::Error::other)?;
        Ok(Command::from(client))
    }
}

/// A text in which each `{name}` is replaced by its value. A value may contain names of later values.
pub fn filled<V: Display>(text: &str, values: &[(&str, V)]) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), &value.to_string())
    })
}

/// Runs a command to its end; what it prints.
async fn said(mut command: Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let program = command.as_std().get_program().display().to_string();
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program} failed: {}", errors.trim())))
}

/// The rate that `pgbench` prints at the end, with the time of connecting left out.
fn rate(printed: &str) -> Option<u64> {
    let rate = printed.lines().find_map(|line| line.strip_prefix("tps = "))?;
    let (whole, rest) = rate.split_once('.')?;
    let thousandths: String =
        rest.chars().take_while(char::is_ascii_digit).chain("000".chars()).take(3).collect();
    Some(whole.parse::<u64>().ok()? * 1_000 + thousandths.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_pgbench_is_read_to_the_thousandth() {
        let printed = "transaction type: script.sql\nlatency average = 3.012 ms\n\
                       tps = 332.016543 (without initial connection time)\n";
        assert_eq!(rate(printed), Some(332_016));
        assert_eq!(rate("tps = 7.5"), Some(7_500));
        assert_eq!(rate("no rate"), None);
    }
}
