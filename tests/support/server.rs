//! The process: its start, its end, its log.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

use crate::launch::{Kind, Launch, STORE_URL};
use crate::own_database::OwnDatabase;
use crate::seed::Seed;
use crate::wait::until;

const START: Duration = Duration::from_mins(1);
const STOP: Duration = Duration::from_secs(45);
const LOG_TAIL: usize = 60;

/// A server that runs; killed when it is dropped. A panic anywhere in it fails the test.
#[derive(Debug)]
pub struct Server {
    home: TempDir,
    launch: Launch,
    /// Where the tests run on PostgreSQL, and the test names no database itself.
    database: Option<OwnDatabase>,
    child: Option<Child>,
    line: Value,
    pub(crate) http: reqwest::Client,
    pub(crate) document: OnceCell<Value>,
}

impl Server {
    /// Starts `waxwing dev --json` on a new data directory.
    #[must_use]
    pub fn dev() -> Self {
        Self::start(Launch::dev())
    }

    /// Starts a server on a new data directory.
    ///
    /// # Panics
    /// It does not listen within a minute.
    #[must_use]
    pub fn start(launch: Launch) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory");
        Seed::of_this_build().plant(&home.path().join("data")).expect("the seed is planted");
        let database = if launch.names_a_store() { None } else { OwnDatabase::make() };
        let mut server = Self {
            home,
            launch,
            database,
            child: None,
            line: Value::Null,
            http: http_client(),
            document: OnceCell::new(),
        };
        server.launch();
        server
    }

    /// The line that `dev --json` has printed.
    #[must_use]
    pub fn line(&self) -> &Value {
        &self.line
    }

    /// A text of the JSON line that `dev --json` printed, as in `apiKey`.
    ///
    /// # Panics
    /// The line does not have it.
    #[must_use]
    pub fn dev_output(&self, name: &str) -> &str {
        self.line[name].as_str().expect("dev --json tells it")
    }

    /// Where HTTP listens, as in `http://127.0.0.1:8080`.
    #[must_use]
    pub fn url(&self) -> &str {
        self.dev_output("http")
    }

    /// The same for a TCP client.
    #[must_use]
    pub fn address(&self) -> &str {
        self.url().trim_start_matches("http://")
    }

    /// The key that `dev` has made; it may do everything.
    #[must_use]
    pub fn key(&self) -> &str {
        self.dev_output("apiKey")
    }

    /// Where the relay listens with STARTTLS, as in `127.0.0.1:2587`.
    #[must_use]
    pub fn smtp_starttls(&self) -> &str {
        self.dev_output("smtpStarttls")
    }

    /// Where the relay listens with TLS from the first byte.
    #[must_use]
    pub fn smtp_tls(&self) -> &str {
        self.dev_output("smtpTls")
    }

    /// What a client of the relay has to trust.
    #[must_use]
    pub fn ca_file(&self) -> PathBuf {
        PathBuf::from(self.dev_output("caFile"))
    }

    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// A place for files of the test; it goes with the server.
    #[must_use]
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// The process, for measurements; none while it is stopped.
    #[must_use]
    pub fn process_id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// All that it has logged, over all its starts.
    ///
    /// # Panics
    /// The log cannot be read.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = fs::read(self.log_file()).expect("the log can be read");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Kills it at once, as a power cut would.
    ///
    /// # Panics
    /// It is not running.
    pub fn kill9(&mut self) {
        let mut child = self.child.take().expect("the server runs");
        child.kill().expect("the server can be killed");
        child.wait().expect("the server has ended");
    }

    /// Asks it to stop (SIGTERM) and does not wait.
    ///
    /// # Panics
    /// It is not running.
    pub fn ask_to_stop(&self) {
        self.signal("TERM");
    }

    /// Sends it a signal, as in `HUP`.
    ///
    /// # Panics
    /// It is not running.
    pub fn signal(&self, name: &str) {
        let id = self.process_id().expect("the server runs");
        // The shell's own kill: the program is in a package that a small machine does not have.
        let status = Command::new("sh").args(["-c", &format!("kill -{name} {id}")]).status();
        assert!(status.expect("sh runs").success(), "SIG{name} reaches the server");
    }

    /// Stops it with SIGTERM and waits for its end.
    ///
    /// # Panics
    /// It does not end in time.
    pub fn terminate(&mut self) -> ExitStatus {
        self.ask_to_stop();
        self.wait_for_exit()
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// It does not end in time.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let child = self.child.as_mut().expect("the server runs");
        let ended = || child.try_wait().expect("the process can be watched");
        let status = until("the server ends", STOP, ended);
        self.child = None;
        status
    }

    /// Starts it again on the same data, after [`Self::kill9`] or [`Self::terminate`], or in place
    /// of the one that runs.
    pub fn restart(&mut self) {
        if self.child.is_some() {
            self.terminate();
        }
        self.launch();
    }

    /// The same, started in another way.
    pub fn restart_as(&mut self, launch: Launch) {
        self.launch = launch;
        self.restart();
    }

    /// What the environment sets for it, and so for commands beside it.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let own = self.database.iter().map(OwnDatabase::setting);
        let set = self.launch.environment().iter();
        own.chain(set.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// The database that is its store; none where that is a file in its data directory.
    #[must_use]
    pub fn store_url(&self) -> Option<&str> {
        let urls = self.environment().filter(|(name, _)| *name == STORE_URL);
        urls.map(|(_, url)| url).last()
    }

    fn log_file(&self) -> PathBuf {
        self.home.path().join("server.log")
    }

    fn launch(&mut self) {
        let log = File::options().create(true).append(true).open(self.log_file());
        let log = log.expect("the log can be written");
        let before = self.log().len();
        let mut child = self
            .launch
            .command(self.home.path())
            .envs(self.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the server starts");
        let stdout = child.stdout.take().expect("the standard output is a pipe");
        // Kept from here on, so that it is killed whatever happens.
        self.child = Some(child);
        let lines = lines_of(stdout);
        match self.launch.kind() {
            Kind::Dev => {
                let line = next_line(&lines);
                self.line = serde_json::from_str(&line).expect("dev --json prints a line of JSON");
            }
            Kind::Plain => self.line = welcome(&lines),
            Kind::Serve(_) => self.line["http"] = Value::from(self.logged_address(before)),
        }
        self.document = OnceCell::new();
    }

    /// `serve` says in its log where it listens.
    fn logged_address(&self, before: usize) -> String {
        until("the server listens", START, || {
            let log = self.log();
            let lines = log.get(before..)?.lines();
            let mut lines = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let line = lines.find(|line| line["message"] == "listening")?;
            Some(format!("http://{}", line["http"].as_str()?))
        })
    }

    fn show_log(&self) {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        let tail = lines.get(lines.len().saturating_sub(LOG_TAIL)..).unwrap_or_default();
        let mut stderr = std::io::stderr().lock();
        let shown = writeln!(stderr, "--- the server's log, its end:\n{}\n---", tail.join("\n"));
        drop(shown);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended already; then there is nothing to kill.
            drop(child.kill());
            drop(child.wait());
        }
        if std::thread::panicking() {
            self.show_log();
        } else {
            let log = self.log();
            // A guest's panic is not the server's: it is told in the words that the guest wrote.
            let is_ours = |line: &&str| line.contains("panicked") && !line.contains("it wrote: ");
            let panic = log.lines().find(is_ours);
            assert!(panic.is_none(), "the server panicked: {panic:?}");
        }
    }
}

fn lines_of(stdout: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    // The thread goes on reading, so that the pipe never fills up; it ends with the process.
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            drop(sender.send(line));
        }
    });
    receiver
}

fn next_line(lines: &Receiver<String>) -> String {
    lines.recv_timeout(START).expect("the server says that it listens")
}

/// What plain `dev` says, up to the line that tells how to stop it.
fn welcome(lines: &Receiver<String>) -> Value {
    let mut text = String::new();
    while !text.contains("Ctrl-C") {
        text.push_str(&next_line(lines));
        text.push('\n');
    }
    let word_after = |words: &str| {
        let rest = text.split_once(words).map(|(_, rest)| rest).expect("dev says where it listens");
        rest.split_whitespace().next().expect("and it is an address").to_owned()
    };
    let (http, inbox) = (word_after("listening on "), word_after("Then look at "));
    json!({"http": http, "inbox": inbox, "welcome": text})
}

/// A client of plain HTTP, which needs no certificate authorities of the system.
///
/// # Panics
/// The library has no client.
#[must_use]
pub fn http_client() -> reqwest::Client {
    let client = reqwest::Client::builder().timeout(Duration::from_mins(1));
    // The server closes an idle connection after 10 s: a request must not meet that.
    let client = client.pool_idle_timeout(Duration::from_secs(3));
    client.no_proxy().tls_certs_only([]).build().expect("an HTTP client")
}
