//! The server under load: the release binary, on a free port, with a data directory of its own.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::args::{Setup, Template};
use crate::figures::median;
use crate::requests::TEMPLATES_FOLDER;
use crate::round::Subject;
use crate::start::run;

/// Starts with compiled code in the cache; the reported time is their median.
const STARTS: usize = 5;
/// The server is idle when it has had that long to itself.
const SETTLE: Duration = Duration::from_secs(1);
/// Where a server is told the database that it uses in place of a file.
pub const STORE_URL: &str = "WAXWING_STORE__URL";
/// All connections come from one address.
const CONNECTIONS: &str = "10000";

/// A running server. It is killed when this is dropped.
pub struct Waxwing {
    process: Process,
    /// From its start to its line, when it had to compile its plugins.
    pub first_start: Duration,
    /// The same with compiled code in the cache.
    pub start: Duration,
    binary: PathBuf,
    log: String,
    /// Of its database, where that is no file.
    url: Option<String>,
    data: TempDir,
}

/// Where its SMTP relay is.
pub struct Relay {
    /// With STARTTLS.
    pub address: SocketAddr,
    /// The certificate of the authority that clients must trust; the server's own and its key are
    /// beside it.
    pub authority: PathBuf,
    /// An address that may send.
    pub from: String,
}

struct Process {
    child: Child,
    pid: u32,
    address: SocketAddr,
    relay: Option<Relay>,
    api_key: String,
    account: String,
    /// Who logs in to the dashboard, and with which password.
    person: Option<(String, String)>,
    took: Duration,
}

impl Waxwing {
    /// Starts a server with the templates of this generator, and leaves it alone for a moment.
    pub async fn start(setup: &Setup) -> io::Result<Self> {
        Self::start_on(setup, None).await
    }

    /// The same with a database that is no file.
    pub async fn start_on(setup: &Setup, url: Option<&str>) -> io::Result<Self> {
        let binary = binary(setup).await?;
        let directory = setup.work_dir()?;
        let start = async || Process::start(&binary, directory.path(), &setup.log, url).await;
        let mut process = start().await?;
        let first_start = process.took;
        for template in Template::ALL {
            publish(&binary, directory.path(), url, &process.account, template).await?;
        }
        let mut starts = Vec::new();
        for _ in 0..STARTS {
            process.stop().await?;
            process = start().await?;
            starts.push(process.took);
        }
        tokio::time::sleep(SETTLE).await;
        let (start, log, url) = (median(starts), setup.log.clone(), url.map(str::to_owned));
        Ok(Self { process, first_start, start, binary, log, url, data: directory })
    }

    pub fn pid(&self) -> u32 {
        self.process.pid
    }

    /// Its data directory.
    pub fn data(&self) -> &Path {
        self.data.path()
    }

    pub fn subject(&self) -> Subject<'_> {
        let Process { address, api_key, pid, .. } = &self.process;
        Subject { address: *address, api_key, pids: vec![*pid] }
    }

    /// Its SMTP relay.
    pub fn relay(&self) -> io::Result<&Relay> {
        let relay = self.process.relay.as_ref();
        relay.ok_or_else(|| io::Error::other("the server does not run its SMTP relay"))
    }

    /// Who logs in to its dashboard, and with which password.
    pub fn person(&self) -> io::Result<(String, String)> {
        let person = self.process.person.clone();
        person.ok_or_else(|| io::Error::other("the server's line has no password"))
    }

    /// The same server after `change` has changed its data.
    pub async fn changed(
        self,
        change: impl AsyncFnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Self> {
        let Self { process, first_start, start, binary, log, url, data } = self;
        process.stop().await?;
        change(data.path()).await?;
        let process = Process::start(&binary, data.path(), &log, url.as_deref()).await?;
        tokio::time::sleep(SETTLE).await;
        Ok(Self { process, first_start, start, binary, log, url, data })
    }

    /// Lets it finish what it does.
    pub async fn stop(self) -> io::Result<()> {
        self.process.stop().await
    }
}

impl Process {
    async fn start(binary: &Path, data: &Path, log: &str, url: Option<&str>) -> io::Result<Self> {
        let start = Instant::now();
        let mut child = Command::new(binary)
            .args(["dev", "--json", "--http", "127.0.0.1:0", "--data-dir"])
            .arg(data)
            .envs(url.map(|it| (STORE_URL, it)))
            .env("WAXWING_LOG__FILTER", log)
            .env("WAXWING_SMTP__CONNECTIONS_PER_IP", CONNECTIONS)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(std::fs::File::create(data.join("server.log"))?)
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().expect("it was asked for");
        let line = BufReader::new(stdout).lines().next_line().await?;
        let took = start.elapsed();
        let Some(line) = line else {
            let log = std::fs::read_to_string(data.join("server.log"))?;
            return Err(io::Error::other(format!("the server did not start: {log}")));
        };
        let line: Value = serde_json::from_str(&line)?;
        let text = |name: &str| {
            let value = line[name].as_str().map(str::to_owned);
            value.ok_or_else(|| io::Error::other(format!("the server's line has no {name}")))
        };
        let http = text("http")?;
        let address = http.trim_start_matches("http://").parse().map_err(io::Error::other)?;
        Ok(Self {
            pid: child.id().ok_or(io::ErrorKind::NotFound)?,
            child,
            address,
            relay: relay(&line)?,
            api_key: text("apiKey")?,
            account: text("accountId")?,
            person: person(&line),
            took,
        })
    }

    async fn stop(mut self) -> io::Result<()> {
        run(Command::new("kill").args(["-INT", &self.pid.to_string()])).await?;
        self.child.wait().await.map(|_| ())
    }
}

/// None where the password was changed.
fn person(line: &Value) -> Option<(String, String)> {
    let text = |name: &str| line["dashboard"][name].as_str().map(str::to_owned);
    text("email").zip(text("password"))
}

/// None where it does not run, or has a certificate of somebody else.
fn relay(line: &Value) -> io::Result<Option<Relay>> {
    let text = |name: &str| line[name].as_str();
    let (Some(address), Some(authority)) = (text("smtpStarttls"), text("caFile")) else {
        return Ok(None);
    };
    Ok(Some(Relay {
        address: address.parse().map_err(io::Error::other)?,
        authority: PathBuf::from(authority),
        from: text("from").unwrap_or_default().to_owned(),
    }))
}

/// Publishes a template in an account.
pub async fn publish(
    binary: &Path,
    data: &Path,
    url: Option<&str>,
    account: &str,
    template: Template,
) -> io::Result<()> {
    let name = template.folder();
    let mut publish = Command::new(binary);
    publish
        .args(["template", "create", "--account", account, "--json"])
        .args(["--slug", &format!("load-{name}")])
        .arg("--folder")
        .arg(Path::new(TEMPLATES_FOLDER).join(name))
        .arg("--data-dir")
        .arg(data)
        .envs(url.map(|it| (STORE_URL, it)));
    run(&mut publish).await
}

/// The binary, built where it is missing. This program's own profile does not matter.
pub async fn binary(setup: &Setup) -> io::Result<PathBuf> {
    if let Some(binary) = &setup.server_bin {
        return Ok(binary.clone());
    }
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent).ok_or(io::ErrorKind::NotFound)?;
    let binary = target.join("release/waxwing");
    if !binary.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .args(["build", "--release", "--package", "waxwing", "--target-dir"])
            .arg(target)
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        run(&mut build).await?;
    }
    Ok(binary)
}
