//! The accept loops of the relay's ports. They give each connection a place, and know nothing of
//! SMTP but the words for a connection that has none.

mod hostname;

use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::accept::Acceptor;
use super::connection_limits::Places;
use super::tasks::Tasks;

pub use hostname::hostname;

/// How long sessions may take after the server was told to stop.
pub(super) const DRAIN: Duration = Duration::from_secs(30);

/// A port.
#[derive(Debug)]
pub struct Door {
    /// What the log calls it.
    pub name: &'static str,
    /// Its socket.
    pub listener: TcpListener,
    /// What a connection hears that finds no place; nothing where TLS comes first.
    pub crowded: Vec<u8>,
}

/// Gives connections to `session` until `stop`; then sessions have 30 s to end, which hear of the
/// stop themselves.
pub async fn serve<S, F>(door: Door, places: Arc<Places>, session: S, stop: CancellationToken)
where
    S: Fn(TcpStream, SocketAddr) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let (sessions, cut) = (Tasks::default(), CancellationToken::new());
    let Door { name, listener, crowded } = door;
    let mut acceptor = Acceptor::new(listener, name);
    loop {
        let (stream, peer) = tokio::select! {
            accepted = acceptor.next() => accepted,
            () = stop.cancelled() => break,
        };
        let Ok(place) = places.take(peer.ip()) else {
            turn_away(stream, &crowded);
            continue;
        };
        let _best_effort = stream.set_nodelay(true);
        // On the heap: a task holds what it is given twice, and there may be many idle ones.
        let session = Box::pin(session(stream, peer));
        let cut = cut.clone();
        sessions.start("smtp session", async move {
            let _cut_off = cut.run_until_cancelled(session).await;
            drop(place);
        });
    }
    drop(acceptor);
    end(&sessions, &cut, DRAIN).await;
}

fn turn_away(stream: TcpStream, reply: &[u8]) {
    // A new connection's buffer has room, so this neither waits nor is cut short.
    if let Ok(mut stream) = stream.into_std() {
        let _best_effort = stream.write(reply);
    }
}

async fn end(sessions: &Tasks, cut: &CancellationToken, within: Duration) {
    if tokio::time::timeout(within, sessions.finish()).await.is_err() {
        tracing::warn!("some SMTP sessions did not end in time; they are cut off");
        cut.cancel();
        sessions.finish().await;
    }
}

#[cfg(test)]
mod tests;
