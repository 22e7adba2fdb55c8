//! The octets of a connection, in clear text or under TLS.

use std::io;
use std::mem;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, empty};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use crate::certificate::Certificate;
use crate::reply::{Pace, Reply, Says};

const READ: usize = 32 << 10;
/// A line that is longer ends the connection.
const LINE: usize = 64 << 10;
/// What is read ahead while nothing is said.
const AHEAD: usize = 1 << 20;
/// An endless reply ends there after all.
const ENDLESS: usize = 256 << 20;
/// How long a client may take to read the last reply.
const LINGER: Duration = Duration::from_secs(1);

/// The connection is over, from whichever side.
#[derive(Debug)]
pub(crate) struct Over;

impl From<io::Error> for Over {
    fn from(_: io::Error) -> Self {
        Self
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

pub(crate) struct Wire {
    stream: Box<dyn Stream>,
    input: Vec<u8>,
    start: usize,
    output: Vec<u8>,
}

/// How a line ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    CrLf,
    BareLf,
}

impl Wire {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream: Box::new(stream), input: Vec::new(), start: 0, output: Vec::new() }
    }

    /// What has come and was not consumed.
    pub fn rest(&self) -> &[u8] {
        self.input.get(self.start..).unwrap_or_default()
    }

    pub fn consume(&mut self, octets: usize) {
        self.start = (self.start + octets).min(self.input.len());
    }

    /// The next line of a command, written replies sent before it is waited for.
    pub async fn line(&mut self) -> Result<(String, LineEnd), Over> {
        loop {
            if let Some(end) = self.rest().iter().position(|it| *it == b'\n') {
                let line = self.rest().get(..end).unwrap_or_default();
                let (line, ended) = match line.strip_suffix(b"\r") {
                    Some(line) => (line, LineEnd::CrLf),
                    None => (line, LineEnd::BareLf),
                };
                let line = String::from_utf8_lossy(line).into_owned();
                self.consume(end + 1);
                return Ok((line, ended));
            }
            if self.rest().len() > LINE {
                return Err(Over);
            }
            self.fill().await?;
        }
    }

    /// Reads more, after what was written is sent.
    pub async fn fill(&mut self) -> Result<(), Over> {
        self.flush().await?;
        self.input.drain(..self.start);
        self.start = 0;
        self.input.reserve(READ);
        match self.stream.read_buf(&mut self.input).await? {
            0 => Err(Over),
            _ => Ok(()),
        }
    }

    /// Says nothing until something has changed, or the client goes.
    pub async fn stay_silent<T>(&mut self, changes: &mut watch::Receiver<T>) -> Result<(), Over> {
        self.flush().await?;
        loop {
            tokio::select! {
                is_alive = changes.changed() => return is_alive.map_err(|_| Over),
                read = self.fill(), if self.input.len() < AHEAD => read?,
            }
        }
    }

    /// Reads and forgets until the client goes.
    pub async fn wait_for_end(&mut self) -> Over {
        loop {
            self.consume(usize::MAX >> 1);
            if let Err(over) = self.fill().await {
                return over;
            }
        }
    }

    /// Says it, perhaps only into the buffer.
    pub async fn say(&mut self, reply: &Reply) -> Result<(), Over> {
        if !reply.delay.is_zero() {
            self.flush().await?;
            sleep(reply.delay).await;
        }
        match &reply.says {
            Says::EndlessLines(code) => self.forever("", &format!("{code}-more to come\r\n")).await,
            Says::EndlessLine(code) => self.forever(&format!("{code} "), "more to come, ").await,
            Says::Text(..) | Says::Octets(_) | Says::Nothing | Says::NeverAnything => {
                match reply.pace {
                    Pace::AtOnce => self.output.extend_from_slice(&reply.wire()),
                    Pace::OctetByOctet => self.dribble(&reply.wire()).await?,
                }
                Ok(())
            }
        }
    }

    pub fn write(&mut self, octets: &[u8]) {
        self.output.extend_from_slice(octets);
    }

    pub async fn flush(&mut self) -> Result<(), Over> {
        if !self.output.is_empty() {
            self.stream.write_all(&self.output).await?;
            self.output.clear();
            self.stream.flush().await?;
        }
        Ok(())
    }

    /// Closes so that the client can still read what was said.
    pub async fn close(&mut self) -> Over {
        let farewell = async {
            self.flush().await?;
            self.stream.shutdown().await?;
            Err::<(), Over>(self.wait_for_end().await)
        };
        // Whoever does not read in time reads a reset.
        drop(timeout(LINGER, farewell).await);
        Over
    }

    /// Goes on under TLS. What came before the handshake is thrown away: its size, and the name
    /// that the client asked for.
    pub async fn shake_hands(
        &mut self,
        certificate: &Certificate,
    ) -> io::Result<(usize, Option<String>)> {
        let ahead = self.rest().len();
        let _sent_or_the_handshake_fails = self.flush().await;
        self.input.clear();
        self.start = 0;
        let plain = mem::replace(&mut self.stream, Box::new(empty()));
        let acceptor = TlsAcceptor::from(certificate.0.clone());
        let stream = acceptor.accept(plain).await?;
        let name = stream.get_ref().1.server_name().map(str::to_owned);
        self.stream = Box::new(stream);
        Ok((ahead, name))
    }

    async fn forever(&mut self, begin: &str, more: &str) -> Result<(), Over> {
        self.write(begin.as_bytes());
        let block = more.repeat(64);
        for _ in 0..ENDLESS / block.len() {
            self.write(block.as_bytes());
            self.flush().await?;
            yield_now().await;
        }
        Err(Over)
    }

    async fn dribble(&mut self, octets: &[u8]) -> Result<(), Over> {
        for octet in octets {
            self.write(&[*octet]);
            self.flush().await?;
            yield_now().await;
        }
        Ok(())
    }
}
