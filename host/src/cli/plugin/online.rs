//! The commands that work on a running server, through its management API.

pub mod decisions;
pub mod install;
pub mod settings;
pub mod slots;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::Value;

use super::super::installation::{self, Chosen, InstallationError};
use super::super::output::Output;
use crate::config::LogFilter;
use crate::server::data_dir::{DataDir, DataDirError};
use crate::telemetry;
use crate::trust;

/// What a component's bytes are.
pub const WASM: &str = "application/wasm";
/// How long a component may take to be live, or to wait (Python's need half a minute of compilation),
/// and how often that is looked at.
const PATIENCE: Duration = Duration::from_mins(3);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How long a server may take to answer what only looks, before it counts as one that does not answer: twice what the slowest
/// of its health checks may take. And how long its port may take to accept. An order takes as long as it takes: a component
/// is compiled, or a queue of any length is cancelled.
const ANSWER_TIME: Duration = Duration::from_mins(1);
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// Which running server, and how to answer.
#[derive(Debug, Clone, Args)]
pub struct Server {
    /// The server's address, such as `http://127.0.0.1:8080`; then --key is needed too
    #[arg(long, visible_alias = "server", requires = "key", env = "WAXWING_URL")]
    url: Option<String>,
    /// An API key of the scope that the command needs: `operator` for what concerns the server
    #[arg(long, env = "WAXWING_API_KEY", hide_env_values = true)]
    key: Option<String>,
    /// The configuration file of the server on this machine [default: /etc/waxwing/waxwing.toml, where
    /// ./waxwing-data is not there]
    #[arg(long)]
    pub config: Option<PathBuf>,
    /// The data directory of the server on this machine [default: waxwing-data]
    #[arg(long)]
    pub data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// A way to a running server.
#[derive(Debug)]
pub struct Connection {
    base: String,
    key: String,
    client: reqwest::Client,
    /// How long an answer to what only looks may take.
    patience: Duration,
}

/// Why a request to a running server failed.
#[derive(Debug, thiserror::Error)]
pub enum OnlineError {
    #[error(transparent)]
    Installation(#[from] InstallationError),
    /// The data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    /// No server was ever there.
    #[error(
        "no server runs on {data_dir}: start it (`systemctl start waxwing`, `waxwing serve` or `waxwing \
         dev`), name its --config, as in `--config /etc/waxwing/waxwing.toml`, or its --data-dir, or reach \
         another machine's with --url and --key"
    )]
    NoServer {
        /// Where one was looked for.
        data_dir: PathBuf,
    },
    /// Only an account's own key can do it.
    #[error(
        "give a key of the account with --key or WAXWING_API_KEY; it needs the scope `admin`, or \
             `templates` for templates"
    )]
    NoKey,
    /// There is no HTTP client.
    #[error("no HTTP client for the server at {base} can be made: {reason}")]
    NoClient {
        /// The server.
        base: String,
        reason: String,
    },
    /// Nothing answers.
    #[error(
        "no answer from the server at {base}: {reason}; is it running? `systemctl start waxwing`, `waxwing \
         serve` and `waxwing dev` start one"
    )]
    Unreachable { base: String, reason: String },
    /// It refused.
    #[error("the server refused: {0}")]
    Refused(String),
    /// It answered something else.
    #[error("the answer of the server at {base} is not understood: {reason}")]
    Answer { base: String, reason: String },
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}")]
    File { path: PathBuf, source: std::io::Error },
    /// A component did not become live.
    #[error("the component is refused at {stage}: {reason}\nThe active version stays in service.")]
    Rejected { stage: String, reason: String },
    /// Somebody else gave the slot another one.
    #[error(
        "another component took its place before it was live; `waxwing plugin list` shows which, and \
         what is installed last counts"
    )]
    Superseded,
    /// Nothing happened for long.
    #[error(
        "the server has not finished with the component after {seconds} s; `waxwing plugin list` \
         shows where it is"
    )]
    Slow {
        /// How long.
        seconds: u64,
    },
    /// A replay had another answer.
    #[error("{0} of the recorded calls are answered otherwise now")]
    Differs(usize),
    /// What was brought are no settings.
    #[error("{path} has no settings: {reason}")]
    Settings { path: PathBuf, reason: String },
    /// What was brought is no plugin.
    #[error(transparent)]
    Component(#[from] crate::plugin::inspect::InspectError),
}

impl Server {
    /// Finds the way: the address and key that were given, or what the server on this machine left
    /// for whoever may read its data directory.
    pub fn connect(&self) -> Result<Connection, OnlineError> {
        if let (Some(base), Some(key)) = (&self.url, &self.key) {
            return Connection::new(base.trim_end_matches('/').to_owned(), key.clone());
        }
        let (base, key) = self.local()?;
        Connection::new(base, key)
    }

    /// Whether the server is named by its address: then it need not be on this machine.
    pub fn is_by_address(&self) -> bool {
        self.url.is_some()
    }

    /// The way of an account holder, whose own key must be given.
    pub fn connect_as_holder(&self) -> Result<Connection, OnlineError> {
        let key = self.key.clone().ok_or(OnlineError::NoKey)?;
        let base = match &self.url {
            Some(base) => base.trim_end_matches('/').to_owned(),
            None => self.local()?.0,
        };
        Connection::new(base, key)
    }

    /// Where the server on this machine listens, and what it left for whoever may read that.
    fn local(&self) -> Result<(String, String), OnlineError> {
        let Chosen { mut config, .. } =
            installation::choose(self.config.as_deref(), self.data_dir.as_deref())?;
        let data_dir = config.store.data_dir.clone();
        let none = || OnlineError::NoServer { data_dir: data_dir.clone() };
        if !data_dir.exists() {
            return Err(none());
        }
        config.log.filter = LogFilter::level(tracing::Level::WARN);
        telemetry::logs::start(&config.log);
        let data = DataDir::open(&data_dir)?;
        data.warn_of_readers();
        data.control().ok_or_else(none)
    }
}

impl Connection {
    /// Builds the HTTP client; opens no connection. The system's certificate authorities are loaded for an
    /// HTTPS address only.
    fn new(base: String, key: String) -> Result<Self, OnlineError> {
        Self::patient(base, key, ANSWER_TIME)
    }

    fn patient(base: String, key: String, patience: Duration) -> Result<Self, OnlineError> {
        let none = |reason: &dyn std::fmt::Display| OnlineError::NoClient {
            base: base.clone(),
            reason: reason.to_string(),
        };
        let builder = reqwest::Client::builder();
        let builder = builder.connect_timeout(CONNECT_TIME);
        let builder = if base.starts_with("https:") {
            builder.tls_backend_preconfigured(trust::https(None).map_err(|it| none(&it))?)
        } else {
            builder.tls_certs_only([])
        };
        let client = builder.build().map_err(|it| none(&it))?;
        Ok(Self { base, key, client, patience })
    }

    /// Asks for something.
    pub async fn get(&self, path: &str, query: &[(&str, String)]) -> Result<Value, OnlineError> {
        self.answer(self.request(Method::GET, path).query(query).timeout(self.patience)).await
    }

    /// Has the server look anew.
    pub async fn look(&self, path: &str) -> Result<Value, OnlineError> {
        self.answer(self.request(Method::POST, path).timeout(self.patience)).await
    }

    /// The items of a list behind `after`, page by page, until there are as many as wanted; a page may be short.
    pub async fn items(
        &self,
        path: &str,
        filter: &[(&str, String)],
        wanted: u32,
        mut after: Option<String>,
    ) -> Result<Vec<Value>, OnlineError> {
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        let mut found = Vec::new();
        while found.len() < wanted {
            let mut query = filter.to_vec();
            query.push(("limit", (wanted - found.len()).to_string()));
            query.extend(after.take().map(|it| ("after", it)));
            let mut page = self.get(path, &query).await?;
            found.extend(page["data"].as_array_mut().map(std::mem::take).unwrap_or_default());
            let Some(next) = page["next"].as_str() else { break };
            after = Some(next.to_owned());
        }
        Ok(found)
    }

    /// Gives an order.
    pub async fn post(&self, path: &str, query: &[(&str, String)]) -> Result<Value, OnlineError> {
        self.answer(self.request(Method::POST, path).query(query)).await
    }

    /// Takes something away.
    pub async fn delete(&self, path: &str) -> Result<Value, OnlineError> {
        self.answer(self.request(Method::DELETE, path)).await
    }

    /// Asks for a file.
    pub async fn bytes(&self, path: &str) -> Result<Vec<u8>, OnlineError> {
        let request = self.request(Method::GET, path).timeout(self.patience);
        let response = self.respond(request).await?;
        if !response.status().is_success() {
            return self.understand(response).await.map(|_| Vec::new());
        }
        let bytes = response.bytes().await.map_err(|error| OnlineError::Answer {
            base: self.base.clone(),
            reason: innermost(&error),
        })?;
        Ok(bytes.into())
    }

    /// Brings a file along.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        (content_type, file): (&str, Vec<u8>),
    ) -> Result<Value, OnlineError> {
        let request = self.request(method, path).query(query);
        let request = request.header("content-type", content_type).body(file);
        self.answer(request).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base);
        self.client.request(method, url).header("x-api-key", &self.key)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Value, OnlineError> {
        let response = self.respond(request).await?;
        self.understand(response).await
    }

    async fn respond(&self, request: RequestBuilder) -> Result<Response, OnlineError> {
        request.send().await.map_err(|error| OnlineError::Unreachable {
            base: self.base.clone(),
            reason: innermost(&error),
        })
    }

    async fn understand(&self, response: Response) -> Result<Value, OnlineError> {
        let status = response.status();
        let answer = response.json::<Value>().await.map_err(|error| OnlineError::Answer {
            base: self.base.clone(),
            reason: innermost(&error),
        })?;
        if status.is_success() {
            return Ok(answer);
        }
        Err(OnlineError::Refused(refusal(status, &answer)))
    }
}

fn refusal(status: StatusCode, problem: &Value) -> String {
    let text = |member: &str| problem[member].as_str().map(str::to_owned);
    let faults = problem["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
    let messages: Vec<&str> = faults.iter().filter_map(|it| it["message"].as_str()).collect();
    if messages.is_empty() {
        text("message").unwrap_or_else(|| status.to_string())
    } else {
        messages.join("; ")
    }
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

/// Reads a file that a command names.
pub fn read(path: &std::path::Path) -> Result<Vec<u8>, OnlineError> {
    std::fs::read(path).map_err(|source| OnlineError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_takes_a_connection_and_is_silent_does_not_answer() {
        // The system takes the connection, as it does for a process that is stopped.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let base = format!("http://{}", silent.local_addr().expect("its address"));
        let patience = Duration::from_millis(50);
        let connection = Connection::patient(base, "key".to_owned(), patience).expect("a client");
        let answers = async {
            let looked = connection.look("/v1/health/check").await.err();
            [looked, connection.get("/v1/queue", &[]).await.err()]
        };
        let answers = tokio::time::timeout(Duration::from_secs(30), answers).await;
        for said in answers.expect("it does not wait for ever") {
            assert!(matches!(said, Some(OnlineError::Unreachable { .. })), "{said:?}");
        }
    }
}
