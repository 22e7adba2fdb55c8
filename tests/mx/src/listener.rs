//! The server's thread: its port, its connections, its orders.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::record::Shared;
use crate::session;

const BACKLOG: u32 = 1_024;

/// What the server is told to do. It is done when the sender in it is dropped.
pub(crate) enum Order {
    Stop(SyncSender<()>),
    Start(SyncSender<()>),
    Cut(SyncSender<()>),
    Alarm(Duration, oneshot::Sender<()>),
}

/// A port that is the server's own.
enum Port {
    Listening(TcpListener),
    /// Bound and not listened on: it refuses, and nobody else gets it.
    Held(TcpSocket),
}

/// Serves until nobody can give orders any more.
pub(crate) fn run(
    address: SocketAddr,
    shared: &Arc<Shared>,
    orders: UnboundedReceiver<Order>,
    started: &SyncSender<SocketAddr>,
) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let listener = listen(address).expect("a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        if started.send(address).is_ok() {
            serve(address, Port::Listening(listener), shared, orders).await;
        }
    });
}

async fn serve(
    address: SocketAddr,
    mut port: Port,
    shared: &Arc<Shared>,
    mut orders: UnboundedReceiver<Order>,
) {
    let mut connections = JoinSet::new();
    let mut alarms = JoinSet::new();
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                None => return,
                Some(Order::Stop(done)) => {
                    drop(port);
                    port = Port::Held(bind_again(address).await);
                    connections.shutdown().await;
                    drop(done);
                }
                Some(Order::Start(done)) => {
                    port = match port {
                        Port::Held(socket) => {
                            Port::Listening(socket.listen(BACKLOG).expect("its port is its own"))
                        }
                        listening @ Port::Listening(_) => listening,
                    };
                    drop(done);
                }
                Some(Order::Cut(done)) => {
                    connections.shutdown().await;
                    drop(done);
                }
                Some(Order::Alarm(after, alarm)) => {
                    alarms.spawn(async move {
                        sleep(after).await;
                        drop(alarm);
                    });
                }
            },
            stream = accept(&port) => {
                connections.spawn(session::serve(stream, Arc::clone(shared)));
            }
            Some(_) = connections.join_next() => {}
            Some(_) = alarms.join_next() => {}
        }
    }
}

/// Until it executes its program, a process that another thread starts has a copy of the listener that was closed here.
async fn bind_again(address: SocketAddr) -> TcpSocket {
    for _ in 0..500 {
        if let Ok(socket) = bind(address) {
            return socket;
        }
        sleep(Duration::from_millis(10)).await;
    }
    bind(address).expect("its port is its own")
}

async fn accept(port: &Port) -> TcpStream {
    match port {
        Port::Held(_) => std::future::pending().await,
        Port::Listening(listener) => loop {
            if let Ok((stream, _)) = listener.accept().await {
                return stream;
            }
            // A client that is gone already, or no descriptors: those need a pause.
            sleep(Duration::from_millis(100)).await;
        },
    }
}

/// Where the address names no port, one below those that the system gives out: while the server is stopped, nobody
/// else is given it.
fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if address.port() != 0 {
        return bind(address)?.listen(BACKLOG);
    }
    let mut taken = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..2_000 {
        let number = std::process::id().wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed));
        let port = u16::try_from(20_000 + number % 12_000).expect("it is below 32,000");
        match bind(SocketAddr::new(address.ip(), port)).and_then(|it| it.listen(BACKLOG)) {
            Ok(listener) => return Ok(listener),
            Err(error) => taken = error,
        }
    }
    Err(taken)
}

fn bind(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
