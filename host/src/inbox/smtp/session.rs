//! One client of the sandbox inbox. mailin reads the commands and says what is answered; this reads the
//! lines, bounds them, and answers the end of a message itself, once the store holds it.

use std::io;
use std::mem;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use mailin::response::OK;
use mailin::{Action, Handler, Response, SessionBuilder};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::inbox::store::{Arrival, InboxStore};
use crate::mail::sandbox_path;

const NAME: &str = "sandbox.localhost";
const MAX_MESSAGE: usize = 32 << 20;
const MAX_RECIPIENTS: usize = 100;
/// Octets of a command; a line of a message may be as long as a message.
const MAX_COMMAND: usize = 64 << 10;
const READ_BYTES: usize = 32 << 10;
/// Silence. Deliveries keep connections for the next message, and notice a closed one.
const IDLE_TIMEOUT: Duration = Duration::from_mins(5);

/// Where mail is kept, and by which clock.
#[derive(Debug, Clone)]
pub struct Inbox {
    pub store: InboxStore,
    pub clock: Clock,
}

/// Serves a client until it ends, is silent for five minutes, or `stop`; a message that is coming then is
/// taken to its end.
pub async fn serve<S>(inbox: &Inbox, stream: S, peer: IpAddr, stop: CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // An error means that the client is gone.
    let _gone =
        Client { stream, input: BytesMut::new(), scanned: 0 }.talk(inbox, peer, &stop).await;
}

struct Client<S> {
    stream: S,
    input: BytesMut,
    /// How much of the input is known to hold no line end.
    scanned: usize,
}

/// What came of waiting for a line.
enum ReadEvent {
    Line(Bytes),
    End,
    /// Why the server ends the session.
    Dismissed(&'static str),
}

/// What the next line is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Command,
    Content,
}

/// The envelope and the message from mailin; shared, because mailin keeps it to itself.
#[derive(Clone, Default)]
struct Envelope(Arc<Mutex<Mail>>);

#[derive(Default)]
struct Mail {
    return_path: String,
    recipients: Vec<String>,
    body: Body,
    ended: bool,
}

enum Body {
    Fits(Vec<u8>),
    TooLarge,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Client<S> {
    async fn talk(
        &mut self,
        inbox: &Inbox,
        peer: IpAddr,
        stop: &CancellationToken,
    ) -> io::Result<()> {
        let envelope = Envelope::default();
        let mut session = SessionBuilder::new(NAME).build(peer, envelope.clone());
        self.write(&session.greeting()).await?;
        let mut place = Place::Command;
        loop {
            let line = match self.line(place, stop).await? {
                ReadEvent::Line(line) => line,
                ReadEvent::End => return Ok(()),
                ReadEvent::Dismissed(why) => return self.say(why).await,
            };
            let response = session.process(&line);
            if let Some(mail) = envelope.take_ended() {
                place = Place::Command;
                self.say(keep(inbox, mail).await).await?;
                continue;
            }
            if response.code == 354 {
                place = Place::Content;
            }
            match response.action {
                Action::NoReply => {}
                Action::Reply | Action::UpgradeTls => self.write(&response).await?,
                Action::Close => return self.write(&response).await,
            }
        }
    }

    /// The next line with its CRLF. A bare LF ends no line: what stands behind it is no command.
    async fn line(&mut self, place: Place, stop: &CancellationToken) -> io::Result<ReadEvent> {
        let limit = if place == Place::Content { MAX_MESSAGE } else { MAX_COMMAND };
        loop {
            let from = self.scanned.saturating_sub(1);
            let rest = self.input.get(from..).unwrap_or_default();
            if let Some(at) = rest.windows(2).position(|it| it == b"\r\n") {
                self.scanned = 0;
                return Ok(ReadEvent::Line(self.input.split_to(from + at + 2).freeze()));
            }
            self.scanned = self.input.len();
            if self.scanned > limit {
                return Ok(ReadEvent::Dismissed("500 5.5.6 The line is too long\r\n"));
            }
            self.input.reserve(READ_BYTES);
            tokio::select! {
                read = tokio::time::timeout(IDLE_TIMEOUT, self.stream.read_buf(&mut self.input)) => match read {
                    Ok(Ok(0)) => return Ok(ReadEvent::End),
                    Ok(read) => drop(read?),
                    Err(_) => return Ok(ReadEvent::Dismissed("421 4.4.2 The session was silent\r\n")),
                },
                () = stop.cancelled(), if place == Place::Command => {
                    return Ok(ReadEvent::Dismissed("421 4.3.2 The server is shutting down\r\n"));
                }
            }
        }
    }

    async fn write(&mut self, response: &Response) -> io::Result<()> {
        let bytes = response.buffer()?;
        self.stream.write_all(&bytes).await?;
        self.stream.flush().await
    }

    async fn say(&mut self, reply: &str) -> io::Result<()> {
        self.stream.write_all(reply.as_bytes()).await?;
        self.stream.flush().await
    }
}

/// Stores a message; returns the reply to it.
async fn keep(inbox: &Inbox, mail: Mail) -> &'static str {
    let Mail { return_path, recipients, body, .. } = mail;
    let Body::Fits(raw) = body else {
        return "552 5.3.4 Message too large, at most 32 MiB\r\n";
    };
    let arrival = Arrival { recipients, return_path, raw, received_at: inbox.clock.now() };
    match inbox.store.insert(&arrival).await {
        Ok(()) => "250 2.0.0 Ok: kept in the inbox\r\n",
        Err(error) => {
            tracing::warn!(%error, "the sandbox inbox could not store a message");
            "451 4.3.0 The inbox could not keep the message\r\n"
        }
    }
}

impl Envelope {
    fn with<T>(&self, change: impl FnOnce(&mut Mail) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The message, if its end has just come.
    fn take_ended(&self) -> Option<Mail> {
        self.with(|mail| mail.ended.then(|| mem::take(mail)))
    }
}

impl Handler for Envelope {
    fn mail(&mut self, _ip: IpAddr, _domain: &str, _from: &str) -> Response {
        self.with(|mail| mail.recipients.clear());
        OK
    }

    fn rcpt(&mut self, to: &str) -> Response {
        self.with(|mail| {
            if mail.recipients.len() >= MAX_RECIPIENTS {
                return Response::custom(452, "4.5.3 Too many recipients".to_owned());
            }
            mail.recipients.push(sandbox_path::decode(to));
            OK
        })
    }

    fn data_start(&mut self, _domain: &str, from: &str, _8bit: bool, _to: &[String]) -> Response {
        self.with(|mail| {
            mail.return_path = sandbox_path::decode(from);
            mail.body = Body::default();
        });
        OK
    }

    /// Never fails: mailin would answer each failed line with a reply of its own.
    fn data(&mut self, line: &[u8]) -> io::Result<()> {
        self.with(|mail| {
            if let Body::Fits(raw) = &mut mail.body {
                if raw.len() + line.len() > MAX_MESSAGE {
                    mail.body = Body::TooLarge;
                } else {
                    raw.extend_from_slice(line);
                }
            }
        });
        Ok(())
    }

    /// This answer is never sent: the reply comes when the message is stored.
    fn data_end(&mut self) -> Response {
        self.with(|mail| mail.ended = true);
        OK
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::Fits(Vec::new())
    }
}
