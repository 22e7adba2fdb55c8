//! The inbox from the outside: a real client sends, and the pages are asked what came in.

mod arrival;
mod pages;
mod retention;

use std::net::SocketAddr;

use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::commands::Data;
use lettre::transport::smtp::extension::ClientId;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::smtp;
use super::store::{Arrival, Bounds, InboxStore};
use crate::clock::{Clock, Timestamp};
use crate::mail::sandbox_path;
use crate::message::address::EmailAddress;

const NOON: &str = "2026-11-21T12:00:00Z";

/// An inbox in a temporary directory.
struct Inbox {
    store: InboxStore,
    stop: CancellationToken,
    _directory: TempDir,
}

impl Inbox {
    async fn open() -> Self {
        Self::open_with_bounds(Bounds::default()).await
    }

    async fn open_with_bounds(bounds: Bounds) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("inbox.db");
        let store = InboxStore::open_with_bounds(&file, bounds).await.expect("a new store opens");
        Self { store, stop: CancellationToken::new(), _directory: directory }
    }

    async fn keep(&self, to: &str, raw: &str) {
        let arrival = Arrival {
            recipients: vec![to.to_owned()],
            return_path: "bounces@sandbox.example".to_owned(),
            raw: raw.replace('\n', "\r\n").into_bytes(),
            received_at: noon(),
        };
        self.store.insert(&arrival).await.expect("kept");
    }

    async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("an address");
        let inbox = smtp::Inbox { store: self.store.clone(), clock: Clock::manual(noon()) };
        let stop = self.stop.clone();
        tokio::spawn(async move {
            while let Ok((stream, peer)) = listener.accept().await {
                let (inbox, stop) = (inbox.clone(), stop.clone());
                tokio::spawn(async move { smtp::serve(&inbox, stream, peer.ip(), stop).await });
            }
        });
        address
    }
}

fn noon() -> Timestamp {
    Timestamp::parse_rfc3339(NOON).expect("valid")
}

async fn connect(server: SocketAddr) -> AsyncSmtpConnection {
    AsyncSmtpConnection::connect_tokio1(server, None, &ClientId::default(), None, None)
        .await
        .expect("the inbox greets")
}

/// Opens a transaction with lettre's low-level commands; its `send` wants SMTPUTF8, which mailin
/// does not offer.
async fn envelope(client: &mut AsyncSmtpConnection, from: &str, to: &str) {
    client.command(format!("MAIL FROM:<{from}>\r\n")).await.expect("MAIL");
    let to: EmailAddress = to.parse().expect("valid");
    client.command(format!("RCPT TO:<{}>\r\n", sandbox_path::encode(&to))).await.expect("RCPT");
    client.command(Data).await.expect("DATA");
}
