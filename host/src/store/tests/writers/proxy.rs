//! Stands between a store and its server, and cuts a connection at its COMMIT.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::task::JoinHandle;

/// When the next connection that commits is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Never,
    /// The server is never told to commit.
    BeforeCommit,
    /// The server has committed, and its answer is lost.
    BeforeAnswer,
}

pub struct Proxy {
    port: u16,
    next: Arc<Mutex<Cut>>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// In front of the server with that socket.
    pub async fn start(server: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let next = Arc::new(Mutex::new(Cut::Never));
        let (server, cut) = (server.to_owned(), Arc::clone(&next));
        let accepting = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.expect("a connection");
                tokio::spawn(carry(client, server.clone(), Arc::clone(&cut)));
            }
        });
        Self { port, next, accepting }
    }

    pub fn url(&self, database: &str) -> String {
        format!("postgres://waxwing@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    pub fn cut(&self, next: Cut) {
        *self.next.lock().expect("nobody panicked") = next;
    }

    /// Whether a connection was cut since it was asked for.
    pub fn has_cut(&self) -> bool {
        *self.next.lock().expect("nobody panicked") == Cut::Never
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Carries both directions until one side closes, or the connection is cut.
async fn carry(mut client: TcpStream, server: PathBuf, next: Arc<Mutex<Cut>>) {
    let mut server = UnixStream::connect(server).await.expect("the server runs");
    let (mut asked, mut told) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(read @ 1..) = read else { return };
                let bytes = &asked[..read];
                let is_commit = bytes.windows(7).any(|it| it == b"COMMIT\0");
                let cut = if is_commit { take(&next) } else { Cut::Never };
                if cut == Cut::BeforeCommit || server.write_all(bytes).await.is_err() {
                    return;
                }
                if cut == Cut::BeforeAnswer {
                    assert_ne!(server.read(&mut told).await.expect("it answers"), 0);
                    return;
                }
            }
            read = server.read(&mut told) => {
                let Ok(read @ 1..) = read else { return };
                if client.write_all(&told[..read]).await.is_err() {
                    return;
                }
            }
        }
    }
}

fn take(next: &Mutex<Cut>) -> Cut {
    std::mem::replace(&mut *next.lock().expect("nobody panicked"), Cut::Never)
}
