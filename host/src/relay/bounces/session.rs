//! Drives one session with the listener for reports: reads, writes, shakes hands, keeps the time, and
//! has reports written down before they are acknowledged.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::Intake;
use super::dialog::{Dialog, Dismissal, ListenerSettings, Protection, Step, StoreUnavailable};
use crate::relay::transport::{self, End, ReadEvent};

#[cfg(test)]
mod tests;

/// Room to read into.
const READ_BYTES: usize = 8 << 10;
/// How long a message under way may take once the server stops.
const MESSAGE_DRAIN: Duration = Duration::from_secs(20);

/// How long a session may take.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The TLS handshake, and silence between two transactions.
    pub opening: Duration,
    /// Silence within a transaction.
    pub idle: Duration,
    /// A message, from its first byte to its end.
    pub data: Duration,
    /// The whole session.
    pub session: Duration,
}

/// What all sessions have in common.
#[derive(Debug)]
pub struct Listener {
    /// What a session is held under.
    pub settings: Arc<ListenerSettings>,
    /// Processes the reports.
    pub intake: Intake,
    /// How long a session may take.
    pub bounds: Bounds,
    /// The certificate for STARTTLS.
    pub tls: Option<Arc<rustls::ServerConfig>>,
}

struct Session<'a> {
    listener: &'a Listener,
    peer: IpAddr,
    stop: CancellationToken,
    dialog: Dialog,
    input: BytesMut,
    opened: Instant,
    answered: Instant,
    receiving_since: Option<Instant>,
    stopping_since: Option<Instant>,
}

/// Serves a client until it, or the server, has had enough; with STARTTLS where there is a certificate.
pub async fn serve<S>(listener: &Listener, mut stream: S, peer: IpAddr, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Listener { settings, bounds, tls, .. } = listener;
    let protection = if tls.is_some() { Protection::Offered } else { Protection::None };
    let now = Instant::now();
    let mut session = Session {
        dialog: Dialog::new(Arc::clone(settings), protection),
        listener,
        peer,
        stop,
        input: BytesMut::new(),
        opened: now,
        answered: now,
        receiving_since: None,
        stopping_since: None,
    };
    match (session.talk(&mut stream).await, tls) {
        (Ok(End::Handshake), Some(tls)) => {
            let accepting = TlsAcceptor::from(Arc::clone(tls)).accept(stream);
            // The client of a failed handshake comes again without STARTTLS.
            let accepted = tokio::time::timeout(bounds.opening, accepting).await;
            let Ok(Ok(secured)) = accepted else { return };
            let mut secured = Box::new(secured);
            session.dialog.secured(&mut session.input);
            if session.talk(&mut *secured).await.is_ok() {
                let _closed = tokio::time::timeout(bounds.opening, secured.shutdown()).await;
            }
        }
        (Ok(End::Handshake | End::Closed) | Err(_), _) => {}
    }
}

impl Session<'_> {
    /// Talks until the session is over, or wants another transport. An error means that the client is
    /// gone.
    async fn talk<S>(&mut self, stream: &mut S) -> std::io::Result<End>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        loop {
            match self.dialog.next(&mut self.input) {
                Step::Flush => self.write(stream).await?,
                Step::StartTls => {
                    self.write(stream).await?;
                    return Ok(End::Handshake);
                }
                Step::Close => {
                    self.write(stream).await?;
                    return Ok(End::Closed);
                }
                Step::Wait => {
                    self.write(stream).await?;
                    match self.listen(stream).await? {
                        ReadEvent::Input => {}
                        ReadEvent::End => return Ok(End::Closed),
                        ReadEvent::Dismissed(why) => self.dialog.dismiss(why),
                    }
                }
                Step::Store(mail) => {
                    let stored = Box::pin(self.listener.intake.process(&mail, self.peer)).await;
                    let stored = stored.map_err(|error| {
                        tracing::error!(%error, "cannot store a bounce or complaint report; answered 4xx, so the sending server retries");
                        StoreUnavailable
                    });
                    self.receiving_since = None;
                    self.dialog.stored(stored);
                }
            }
        }
    }

    async fn write<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> std::io::Result<()> {
        let timeout = self.listener.bounds.idle;
        let written = transport::write(stream, self.dialog.output(), timeout).await?;
        self.answered = written.unwrap_or(self.answered);
        Ok(())
    }

    /// Waits for the client, as long as where the session stands allows.
    async fn listen<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> std::io::Result<ReadEvent> {
        if self.stop.is_cancelled() {
            if self.dialog.is_idle() {
                return Ok(ReadEvent::Dismissed(Dismissal::Stopping));
            }
            self.stopping_since.get_or_insert_with(Instant::now);
        }
        let deadline = self.deadline();
        let drain_end = self.stopping_since.map(|since| since + MESSAGE_DRAIN);
        self.input.reserve(READ_BYTES);
        transport::listen(stream, &mut self.input, deadline, drain_end, &self.stop).await
    }

    fn deadline(&mut self) -> Instant {
        let now = Instant::now();
        let whole = self.opened + self.listener.bounds.session;
        if self.dialog.is_receiving() {
            let since = *self.receiving_since.get_or_insert(now);
            return (now + self.listener.bounds.idle)
                .min(since + self.listener.bounds.data)
                .min(whole);
        }
        self.receiving_since = None;
        // A command has that time as a whole: bytes that never end it are silence too.
        let between = self.dialog.is_idle();
        let silence =
            if between { self.listener.bounds.opening } else { self.listener.bounds.idle };
        (self.answered + silence).min(whole)
    }
}
