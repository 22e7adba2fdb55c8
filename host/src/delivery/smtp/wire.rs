//! The connection: replies in, commands out, each within its time, and all of it in the transcript.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustls::ProtocolVersion;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use waxwing_smtp::client::reader::{ReplyLines, ReplyReader};
use waxwing_smtp::client::reply::Reply;
use waxwing_smtp::client::transcript::Transcript;
use waxwing_smtp::client::violation::Violation;

use super::cause::Cause;

/// How long a server's last words are waited for when it does not listen any more.
const LAST_WORDS: Duration = Duration::from_secs(5);
const READ: usize = 4 << 10;

/// A connection, or none yet, or none any more.
#[derive(Debug, Default)]
pub(super) struct Wire {
    stream: Option<Either<TcpStream, Box<TlsStream<TcpStream>>>>,
    reader: ReplyReader,
    pub transcript: Transcript,
    /// A write failed; a reply that the server sent before it hung up may still be there to read.
    is_deaf: bool,
}

/// What came of writing a piece of a message.
#[derive(Debug)]
pub(super) enum Written {
    /// All of it is on its way.
    Whole,
    /// The server answered before it had all.
    Answered(Reply),
    /// It never got all.
    Cut(Cause),
}

impl Wire {
    /// Opens the TCP connection to the server and notes it in the transcript.
    pub async fn connect(
        &mut self,
        address: SocketAddr,
        local: Option<IpAddr>,
        limit: Duration,
    ) -> Result<(), Cause> {
        self.transcript.remark(&format!("connecting to {address}"));
        let connected = timeout(limit, connect(address, local)).await;
        let stream = connected.map_err(|_| Cause::Timeout)?.map_err(failure)?;
        self.stream = Some(Either::Left(stream));
        Ok(())
    }

    /// The TLS handshake. What the server sent before the handshake is dropped.
    pub async fn secure(
        &mut self,
        connector: &TlsConnector,
        name: ServerName<'static>,
        limit: Duration,
    ) -> Result<Option<ProtocolVersion>, Cause> {
        let Some(Either::Left(tcp)) = self.stream.take() else { return Err(closed()) };
        let shaken = timeout(limit, connector.connect(name, tcp)).await;
        let stream = shaken.map_err(|_| Cause::Timeout)?.map_err(failure)?;
        let version = stream.get_ref().1.protocol_version();
        self.stream = Some(Either::Right(Box::new(stream)));
        Ok(version)
    }

    /// Whether nothing waits to be read.
    pub fn is_quiet(&self) -> bool {
        self.reader.is_empty()
    }

    /// Looks, without waiting, whether the server has hung up or says what it was not asked.
    pub async fn listen(&mut self) -> Result<(), Cause> {
        self.expect_silence()?;
        match poll_fn(|cx| Poll::Ready(self.poll_fill(cx))).await {
            Poll::Ready(Ok(0)) => return Err(closed()),
            Poll::Ready(Err(error)) => return Err(failure(error)),
            Poll::Ready(Ok(_)) | Poll::Pending => {}
        }
        self.expect_silence()?;
        if self.is_quiet() { Ok(()) } else { Err(Violation::Unsolicited.into()) }
    }

    /// The next reply.
    pub async fn reply(&mut self, limit: Duration) -> Result<Reply, Cause> {
        self.lines(limit).await.map(Reply::from)
    }

    /// The next reply, line by line. It has to be whole in time, however slowly it trickles in.
    pub async fn lines(&mut self, limit: Duration) -> Result<ReplyLines, Cause> {
        let limit = if self.is_deaf { limit.min(LAST_WORDS) } else { limit };
        self.read(Instant::now() + limit).await
    }

    /// Writes commands, which end in CRLF. A connection that is cut is found when it is read.
    pub async fn say(&mut self, commands: &str, limit: Duration) -> Result<(), Cause> {
        for command in commands.split_terminator("\r\n") {
            self.transcript.client(command);
        }
        self.write(commands.as_bytes(), limit).await
    }

    /// Writes a line that the transcript shows otherwise.
    pub async fn whisper(&mut self, line: &str, shown: &str, limit: Duration) -> Result<(), Cause> {
        self.transcript.client(shown);
        self.write(line.as_bytes(), limit).await
    }

    /// Writes a piece of a message, and reads meanwhile what the server sends: a server that wants no
    /// more of it may say so and stop reading.
    pub async fn write_piece(&mut self, piece: &[u8], limit: Duration) -> Written {
        let mut written = 0;
        let writing = poll_fn(|cx| self.poll_piece(cx, piece, &mut written));
        let failed = match timeout(limit, writing).await {
            Ok(Ok(None)) => return Written::Whole,
            Ok(Ok(Some(lines))) => return Written::Answered(lines.into()),
            Ok(Err(cause)) => cause,
            Err(_) => Cause::Timeout,
        };
        self.is_deaf = true;
        if written == piece.len() {
            return Written::Whole;
        }
        let is_understood = !matches!(failed, Cause::Protocol(_));
        if is_understood && let Ok(lines) = self.read(Instant::now() + LAST_WORDS.min(limit)).await
        {
            return Written::Answered(lines.into());
        }
        Written::Cut(failed)
    }

    /// Shows what was read and is no reply, and why reading ended.
    pub fn give_up(&mut self, cause: &Cause) {
        self.reader.discard(&mut self.transcript);
        match cause {
            Cause::Reply(_) => {}
            Cause::Io(_)
            | Cause::Closed
            | Cause::SessionOver
            | Cause::Timeout
            | Cause::Protocol(_)
            | Cause::Tls(_)
            | Cause::UnnameableHost { .. }
            | Cause::Certificate(_)
            | Cause::Unsupported(_) => self.transcript.remark(&cause.to_string()),
        }
    }

    /// Says goodbye and hangs up.
    pub async fn quit(&mut self, limit: Duration) {
        let parting = async {
            self.say("QUIT\r\n", limit).await?;
            self.reply(limit).await?;
            match &mut self.stream {
                Some(stream) => stream.shutdown().await.map_err(failure),
                None => Ok(()),
            }
        };
        // A server that does not answer is left without a word more.
        let _parted: Result<_, _> = timeout(limit, parting).await;
        self.stream = None;
    }

    async fn read(&mut self, deadline: Instant) -> Result<ReplyLines, Cause> {
        loop {
            if let Some(lines) = self.reader.next_reply(&mut self.transcript)? {
                return Ok(lines);
            }
            match timeout_at(deadline, poll_fn(|cx| self.poll_fill(cx))).await {
                Ok(Ok(0)) => return Err(closed()),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(failure(error)),
                Err(_) => return Err(Cause::Timeout),
            }
        }
    }

    async fn write(&mut self, octets: &[u8], limit: Duration) -> Result<(), Cause> {
        let Some(stream) = &mut self.stream else { return Err(closed()) };
        let writing = async {
            stream.write_all(octets).await?;
            stream.flush().await
        };
        match timeout(limit, writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => {
                self.is_deaf = true;
                Ok(())
            }
            Err(_) => Err(Cause::Timeout),
        }
    }

    /// A reply now would have no question; a goodbye needs none.
    fn expect_silence(&mut self) -> Result<(), Cause> {
        match self.reader.next_reply(&mut self.transcript)? {
            None => Ok(()),
            Some(lines) if lines.code == 421 => Err(Cause::Reply(lines.into())),
            Some(_) => Err(Violation::Unsolicited.into()),
        }
    }

    fn poll_piece(
        &mut self,
        cx: &mut Context<'_>,
        piece: &[u8],
        written: &mut usize,
    ) -> Poll<Result<Option<ReplyLines>, Cause>> {
        loop {
            if let Some(lines) = self.reader.next_reply(&mut self.transcript)? {
                return Poll::Ready(Ok(Some(lines)));
            }
            let Some(stream) = &mut self.stream else { return Poll::Ready(Err(closed())) };
            let rest = piece.get(*written..).unwrap_or_default();
            let wrote = if rest.is_empty() {
                Pin::new(stream).poll_flush(cx).map_ok(|()| 0)
            } else {
                Pin::new(stream).poll_write(cx, rest)
            };
            match wrote {
                Poll::Ready(Ok(0)) if rest.is_empty() => return Poll::Ready(Ok(None)),
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(closed())),
                Poll::Ready(Ok(octets)) => {
                    *written += octets;
                    continue;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(failure(error))),
                Poll::Pending => {}
            }
            if ready!(self.poll_fill(cx)).map_err(failure)? == 0 {
                return Poll::Ready(Err(closed()));
            }
        }
    }

    /// Takes in what has come: how many octets, none at the end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Ok(0)) };
        let mut octets = [MaybeUninit::uninit(); READ];
        let mut buffer = ReadBuf::uninit(&mut octets);
        ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
        self.reader.push(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

async fn connect(address: SocketAddr, local: Option<IpAddr>) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    if let Some(local) = local {
        socket.bind(SocketAddr::new(local, 0))?;
    }
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn closed() -> Cause {
    Cause::Closed
}

fn failure(error: io::Error) -> Cause {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(
            error @ (rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented),
        ) => Cause::Certificate(error.clone()),
        Some(error) => Cause::Tls(error.clone()),
        None if error.kind() == io::ErrorKind::UnexpectedEof => closed(),
        None => Cause::Io(error.into()),
    }
}
