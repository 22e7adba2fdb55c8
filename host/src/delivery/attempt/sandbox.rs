//! Delivery into the sandbox inbox: real SMTP on loopback, over connections that are kept for the
//! next message.

use std::io;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

use lettre::transport::smtp::Error;
use lettre::transport::smtp::client::AsyncSmtpConnection;
use lettre::transport::smtp::extension::ClientId;
use lettre::transport::smtp::response::{Code, Response};
use tokio::net::TcpStream;

use crate::delivery::lock::lock;
use crate::delivery::outcome::{AddressVerdict, Contact, Outcome, ReplyCode, Report, RouteTaken};
use crate::mail::sandbox_path;
use crate::message::address::EmailAddress;
use crate::store::records::Lease;

/// lettre's own time-out covers only the connection.
const ATTEMPT_TIME: Duration = Duration::from_mins(1);
const CONNECT_TIME: Duration = Duration::from_secs(10);
const MAX_IDLE: usize = 6;

/// Why an attempt did not end in a 250.
#[derive(Debug, thiserror::Error)]
enum AttemptError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] io::Error),
    /// A negative reply, or a broken protocol.
    #[error(transparent)]
    Smtp(#[from] Error),
}

pub struct Sandbox {
    inbox: SocketAddr,
    idle: Mutex<Vec<AsyncSmtpConnection>>,
}

impl Sandbox {
    /// Delivers to the inbox that listens there.
    #[must_use]
    pub fn new(inbox: SocketAddr) -> Self {
        Self { inbox, idle: Mutex::new(Vec::new()) }
    }

    pub(super) async fn attempt(&self, lease: &Lease, raw: &[u8]) -> Report {
        let ended = tokio::time::timeout(ATTEMPT_TIME, self.send(lease, raw)).await;
        let (outcome, words) = match ended {
            Ok(Ok(response)) => (Outcome::Delivered(reply(response.code())), words(&response)),
            Ok(Err(AttemptError::Smtp(error))) => {
                let outcome = match error.status().map(reply) {
                    Some(reply) if error.is_permanent() => {
                        Outcome::Bounced(reply, AddressVerdict::Undecided)
                    }
                    reply => Outcome::deferred(reply),
                };
                (outcome, error_words(&error))
            }
            Ok(Err(AttemptError::Connect(error))) => {
                let words = format!("no connection to {}: {error}", self.inbox);
                (Outcome::deferred(None), words)
            }
            Err(_) => (Outcome::deferred(None), "the inbox did not answer in 60 s".to_owned()),
        };
        let conversation = format!(
            "C: MAIL FROM:<{}>\nC: RCPT TO:<{}>\nC: DATA ({} octets)\nS: {words}",
            lease.sender.as_ref().map(ToString::to_string).unwrap_or_default(),
            lease.recipient,
            raw.len(),
        );
        let host = Some(("the sandbox inbox".to_owned(), self.inbox));
        let route = Some(RouteTaken::Sandbox);
        let contact = Contact { route, host, tls: None, conversation };
        Report { outcome, words, contact }
    }

    async fn send(&self, lease: &Lease, raw: &[u8]) -> Result<Response, AttemptError> {
        // A kept connection may have been closed meanwhile. That shows at its first command, before
        // anything was sent, so a fresh one can take over.
        while let Some(mut kept) = self.take_idle() {
            if begin(&mut kept, lease.sender.as_ref()).await.is_ok() {
                return self.finish(kept, lease, raw).await;
            }
        }
        let mut fresh = self.connect().await?;
        begin(&mut fresh, lease.sender.as_ref()).await?;
        self.finish(fresh, lease, raw).await
    }

    async fn finish(
        &self,
        mut connection: AsyncSmtpConnection,
        lease: &Lease,
        raw: &[u8],
    ) -> Result<Response, AttemptError> {
        connection
            .command(format!("RCPT TO:<{}>\r\n", sandbox_path::encode(&lease.recipient)))
            .await?;
        connection.command("DATA\r\n").await?;
        // lettre ends every message with a line break of its own.
        let response = connection.message(raw.strip_suffix(b"\r\n").unwrap_or(raw)).await?;
        // After any error the session's state is unknown, so only a good one is kept.
        self.keep(connection);
        Ok(response)
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, AttemptError> {
        let connecting = tokio::time::timeout(CONNECT_TIME, TcpStream::connect(self.inbox));
        let stream = connecting.await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        // lettre writes the final dot by itself; without this it waits for an acknowledgement.
        stream.set_nodelay(true)?;
        let hello = ClientId::Domain("localhost".to_owned());
        Ok(AsyncSmtpConnection::connect_with_transport(Box::new(stream), &hello).await?)
    }

    fn take_idle(&self) -> Option<AsyncSmtpConnection> {
        lock(&self.idle).pop()
    }

    fn keep(&self, connection: AsyncSmtpConnection) {
        let mut idle = lock(&self.idle);
        if idle.len() < MAX_IDLE && !connection.has_broken() {
            idle.push(connection);
        }
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}

async fn begin(
    connection: &mut AsyncSmtpConnection,
    sender: Option<&EmailAddress>,
) -> Result<Response, Error> {
    let from = sender.map_or_else(|| sandbox_path::EMPTY.to_owned(), sandbox_path::encode);
    connection.command(format!("MAIL FROM:<{from}> BODY=8BITMIME\r\n")).await
}

fn reply(code: Code) -> ReplyCode {
    ReplyCode { code: code.into(), enhanced: None }
}

fn words(response: &Response) -> String {
    format!("{} {}", response.code(), response.message().collect::<Vec<_>>().join(" "))
}

/// lettre's own text, and the cause that it keeps behind it.
fn error_words(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
