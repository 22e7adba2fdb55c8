//! The port of the sandbox inbox: bound, and bounded in connections.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::start_error::StartError;
use super::tasks::Tasks;
use super::tcp_listener::{Acceptor, bind};
use crate::clock::Clock;
use crate::config::Config;
use crate::inbox::smtp::{self, Inbox, Reach};
use crate::inbox::store::InboxStore;

/// Sessions at a time; further clients wait for their greeting in the kernel's queue, as with HTTP: a
/// delivery that waits is not a delivery that failed.
const MAX_SESSIONS: usize = 64;

/// The inbox's SMTP server, which runs; without a port where it takes no mail.
#[derive(Debug)]
pub struct Sandbox {
    /// Where it listens.
    pub address: Option<SocketAddr>,
    tasks: Tasks,
    stop: CancellationToken,
}

impl Sandbox {
    /// Binds what the configuration names, and serves it.
    ///
    /// # Errors
    /// Other machines could reach the address, or it is taken.
    pub async fn start(
        config: &Config,
        (inbox_store, clock): (&InboxStore, &Clock),
        tasks: Tasks,
    ) -> Result<Self, StartError> {
        let stop = CancellationToken::new();
        if !config.inbox.enabled {
            return Ok(Self { address: None, tasks, stop });
        }
        Reach::Loopback.check(config.inbox.smtp_listen)?;
        let (listener, address) = bind(config.inbox.smtp_listen, "[inbox] smtp_listen").await?;
        let inbox = Inbox { store: inbox_store.clone(), clock: clock.clone() };
        tasks.start("inbox", serve(listener, inbox, stop.clone()));
        Ok(Self { address: Some(address), tasks, stop })
    }

    /// Takes no more mail, and lets messages that are coming end.
    pub async fn finish(&self) {
        self.stop.cancel();
        self.tasks.finish().await;
    }
}

async fn serve(listener: TcpListener, inbox: Inbox, stop: CancellationToken) {
    let (mut acceptor, slots) =
        (Acceptor::new(listener, "sandbox inbox"), Arc::new(Semaphore::new(MAX_SESSIONS)));
    let (inbox, sessions) = (Arc::new(inbox), Tasks::default());
    loop {
        let slot = tokio::select! {
            slot = Arc::clone(&slots).acquire_owned() => slot.expect("never closed"),
            () = stop.cancelled() => break,
        };
        let (stream, peer) = tokio::select! {
            accepted = acceptor.next() => accepted,
            () = stop.cancelled() => break,
        };
        let _best_effort = stream.set_nodelay(true);
        let (inbox, stop) = (Arc::clone(&inbox), stop.clone());
        sessions.start("inbox session", async move {
            smtp::serve(&inbox, stream, peer.ip(), stop).await;
            drop(slot);
        });
    }
    drop(acceptor);
    if tokio::time::timeout(super::smtp::DRAIN, sessions.finish()).await.is_err() {
        tracing::warn!("closed sandbox inbox sessions that did not end in time");
    }
}
