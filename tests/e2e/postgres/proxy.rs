//! The network between one node and the database, which can be cut: nothing is carried any more and nobody is told, or
//! every connection is closed and none accepted.

use std::path::PathBuf;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

const CHUNK: usize = 16 << 10;

/// How the network is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    Whole,
    /// What is sent does not arrive; neither side sees an end.
    Silent,
    /// Connections are closed, and new ones refused.
    Refusing,
}

/// Carries connections until it is dropped.
pub struct Proxy {
    port: u16,
    network: watch::Sender<Network>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Before the server that listens at this socket.
    pub async fn before(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let network = watch::Sender::new(Network::Whole);
        let task = tokio::spawn(serve(listener, port, socket, network.subscribe()));
        Self { port, network, task }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn set(&self, network: Network) {
        self.network.send_replace(network);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    listener: TcpListener,
    port: u16,
    socket: PathBuf,
    mut network: watch::Receiver<Network>,
) {
    // Its connections end with it.
    let mut connections = JoinSet::new();
    let mut listener = Some(listener);
    loop {
        let is_refusing = *network.borrow_and_update() == Network::Refusing;
        if is_refusing {
            listener = None;
            connections.shutdown().await;
        } else if listener.is_none() {
            let again = TcpListener::bind(("127.0.0.1", port)).await;
            listener = Some(again.expect("nobody has taken the port"));
        }
        let accepted = async {
            match &listener {
                Some(it) => it.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            changed = network.changed() => if changed.is_err() { return },
            accepted = accepted => if let Ok((client, _)) = accepted {
                connections.spawn(carry(client, socket.clone(), network.clone()));
            },
        }
    }
}

async fn carry(client: TcpStream, socket: PathBuf, network: watch::Receiver<Network>) {
    let Ok(server) = UnixStream::connect(&socket).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pump(from_client, to_server, network.clone()) => {}
        () = pump(from_server, to_client, network) => {}
    }
}

/// Carries one direction. While the network is silent it carries nothing, and no end either.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut network: watch::Receiver<Network>,
) {
    let mut octets = vec![0; CHUNK];
    loop {
        let read = from.read(&mut octets).await.unwrap_or_default();
        if network.wait_for(|it| *it != Network::Silent).await.is_err() {
            return;
        }
        if read == 0 || to.write_all(&octets[..read]).await.is_err() {
            return;
        }
    }
}
