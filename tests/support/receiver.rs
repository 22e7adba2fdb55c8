//! An endpoint of webhooks: it hears everything, answers as it is told, and can be as bad as real ones.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::wait::until_async;

const PATIENCE: Duration = Duration::from_mins(1);

/// What an endpoint does with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conduct {
    /// It answers with a status and further header lines.
    Answer(u16, String),
    /// It closes the connection and says nothing.
    Cut,
    /// It takes the event, and its answer breaks off in the status line.
    Lose,
    /// It says nothing, for as long as the sender waits.
    Hang,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Posted {
    pub path: String,
    /// The headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// What was done with it.
    pub conduct: Conduct,
    /// When it came.
    pub at: Instant,
}

/// An endpoint that runs; it ends when it is dropped.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    posted: Arc<Mutex<Vec<Posted>>>,
    task: JoinHandle<()>,
}

type Behave = dyn Fn(&Posted) -> Conduct + Send + Sync;

impl Receiver {
    /// One that takes everything.
    pub async fn start() -> Self {
        Self::behaving(|_| Conduct::Answer(200, String::new())).await
    }

    /// One that does with each request what `behave` says.
    pub async fn behaving(behave: impl Fn(&Posted) -> Conduct + Send + Sync + 'static) -> Self {
        Self::listening("127.0.0.1:0", behave).await
    }

    /// The same at an address of the test's own.
    ///
    /// # Panics
    /// The address is taken.
    pub async fn listening(
        address: &str,
        behave: impl Fn(&Posted) -> Conduct + Send + Sync + 'static,
    ) -> Self {
        Self::serving(TcpListener::bind(address).await.expect("a free port"), behave)
    }

    /// One at each of these addresses, on the same port.
    ///
    /// # Panics
    /// There is no such port.
    pub async fn on_one_port(
        addresses: [&str; 2],
        behave: impl Fn(&Posted) -> Conduct + Clone + Send + Sync + 'static,
    ) -> [Self; 2] {
        let ask = || async {
            let first = TcpListener::bind((addresses[0], 0)).await.expect("a free port");
            let port = first.local_addr().expect("a bound socket has an address").port();
            let second = TcpListener::bind((addresses[1], port)).await.ok()?;
            Some([first, second])
        };
        let listeners = until_async("a port that is free on both", PATIENCE, ask).await;
        listeners.map(|it| Self::serving(it, behave.clone()))
    }

    fn serving(
        listener: TcpListener,
        behave: impl Fn(&Posted) -> Conduct + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("a bound socket has an address");
        let posted: Arc<Mutex<Vec<Posted>>> = Arc::default();
        let (own, behave): (_, Arc<Behave>) = (Arc::clone(&posted), Arc::new(behave));
        let task = tokio::spawn(async move {
            // Its connections end with it.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, Arc::clone(&own), Arc::clone(&behave)));
            }
        });
        Self { address, posted, task }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/hooks", self.address)
    }

    /// All that was posted to it so far.
    #[must_use]
    pub fn posted(&self) -> Vec<Posted> {
        lock(&self.posted).clone()
    }

    /// Waits until what was posted is as wanted.
    pub async fn until(&self, what: &str, wanted: impl Fn(&[Posted]) -> bool) -> Vec<Posted> {
        let wanted = &wanted;
        let ask = || async move { Some(self.posted()).filter(|it| wanted(it)) };
        until_async(what, PATIENCE, ask).await
    }

    /// Waits for an event of a type.
    ///
    /// # Panics
    /// It does not come.
    pub async fn event(&self, name: &str) -> Posted {
        let posted = self.until(name, |all| all.iter().any(|it| it.event()["type"] == name)).await;
        posted.into_iter().find(|it| it.event()["type"] == name).expect("it has come")
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Posted {
    /// The body.
    ///
    /// # Panics
    /// It is no JSON.
    #[must_use]
    pub fn event(&self) -> Value {
        serde_json::from_str(&self.body).expect("a body of JSON")
    }

    /// A header's text.
    ///
    /// # Panics
    /// It is missing.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).expect("the header is there")
    }

    /// Whether it was taken as far as the endpoint knows.
    #[must_use]
    pub fn was_taken(&self) -> bool {
        match self.conduct {
            Conduct::Answer(status, _) => (200..300).contains(&status),
            Conduct::Lose => true,
            Conduct::Cut | Conduct::Hang => false,
        }
    }
}

fn lock(posted: &Mutex<Vec<Posted>>) -> MutexGuard<'_, Vec<Posted>> {
    posted.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(mut stream: TcpStream, posted: Arc<Mutex<Vec<Posted>>>, behave: Arc<Behave>) {
    while let Some(mut request) = read(&mut stream).await {
        request.conduct = behave(&request);
        let conduct = request.conduct.clone();
        lock(&posted).push(request);
        let answer = match conduct {
            Conduct::Answer(status, lines) => {
                format!("HTTP/1.1 {status} Test\r\ncontent-length: 0\r\n{lines}\r\n")
            }
            Conduct::Lose => "HTTP/1.1 2".to_owned(),
            Conduct::Cut => return,
            Conduct::Hang => {
                // Until the sender has had enough, and closes.
                while stream.read(&mut [0; 64]).await.is_ok_and(|read| read > 0) {}
                return;
            }
        };
        let written = stream.write_all(answer.as_bytes()).await;
        if written.is_err() || conduct_ends(&answer) {
            return;
        }
    }
}

/// An answer without its end closes the connection.
fn conduct_ends(answer: &str) -> bool {
    !answer.ends_with("\r\n\r\n") || answer.contains("connection: close")
}

async fn read(stream: &mut TcpStream) -> Option<Posted> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes.get(..end)?.to_vec()).ok()?;
    let mut lines = head.split("\r\n");
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(Some(0), |it| it.parse().ok())?;
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(bytes.get(end + 4..end + 4 + length)?.to_vec()).ok()?;
    Some(Posted { path, headers, body, conduct: Conduct::Cut, at: Instant::now() })
}
