//! An endpoint: it answers what it was told to, byte by byte, and remembers what it was sent.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::until;

/// An answer; the last one is given for ever.
#[derive(Debug, Clone)]
pub enum Say {
    /// These bytes, and then the connection is kept.
    Bytes(String),
    /// Nothing, and the connection is kept.
    Nothing,
    /// Nothing, and the connection is closed.
    Cut,
}

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Heard {
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// Ends when it is dropped.
pub struct Endpoint {
    pub address: SocketAddr,
    state: Arc<State>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    script: Mutex<VecDeque<Say>>,
    heard: Mutex<Vec<Heard>>,
    connections: Mutex<usize>,
}

/// An answer without a body.
pub fn status(status: u16, headers: &str) -> Say {
    Say::Bytes(format!("HTTP/1.1 {status} Test\r\ncontent-length: 0\r\n{headers}\r\n"))
}

impl Endpoint {
    pub async fn start(script: impl IntoIterator<Item = Say>) -> Self {
        Self::listen("127.0.0.1:0", None, script).await
    }

    pub async fn listen(
        address: &str,
        tls: Option<TlsAcceptor>,
        script: impl IntoIterator<Item = Say>,
    ) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port");
        Self::serving(listener, tls, script)
    }

    fn serving(
        listener: TcpListener,
        tls: Option<TlsAcceptor>,
        script: impl IntoIterator<Item = Say>,
    ) -> Self {
        let address = listener.local_addr().expect("an address");
        let state = Arc::new(State::default());
        state.script.lock().expect("not poisoned").extend(script);
        let own = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *own.connections.lock().expect("not poisoned") += 1;
                let (own, tls) = (Arc::clone(&own), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => own.serve(stream).await,
                            Err(_) => None,
                        },
                        None => own.serve(stream).await,
                    }
                });
            }
        });
        Self { address, state, task }
    }

    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    pub fn heard(&self) -> Vec<Heard> {
        self.state.heard.lock().expect("not poisoned").clone()
    }

    pub fn connections(&self) -> usize {
        *self.state.connections.lock().expect("not poisoned")
    }

    /// Waits until it was sent so many requests.
    pub async fn hears(&self, count: usize) -> Vec<Heard> {
        let ask = async || Some(self.heard()).filter(|it| it.len() >= count);
        until(&format!("{count} requests"), ask).await
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    async fn serve(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Option<()> {
        loop {
            let heard = read(&mut stream).await?;
            let say = {
                let mut script = self.script.lock().expect("not poisoned");
                if script.len() > 1 { script.pop_front() } else { script.front().cloned() }
            };
            self.heard.lock().expect("not poisoned").push(heard);
            match say? {
                Say::Bytes(bytes) => stream.write_all(bytes.as_bytes()).await.ok()?,
                Say::Nothing => {}
                Say::Cut => return None,
            }
        }
    }
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Heard> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).ok()?;
    let mut lines = head.split("\r\n");
    let line = lines.next()?.to_owned();
    let headers: BTreeMap<String, String> = lines
        .filter_map(|it| it.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length").map_or(Some(0), |it| it.parse().ok())?;
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = String::from_utf8(bytes[end + 4..end + 4 + length].to_vec()).ok()?;
    Some(Heard { line, headers, body })
}
