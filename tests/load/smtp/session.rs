//! One session of a client: STARTTLS, AUTH, messages, QUIT.

use std::io;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::letter::Letter;
use super::reply::{self, Reply};
use super::target::Target;
use crate::args::Pipelining;

/// A reply may be that long.
const MAX_REPLY_BYTES: usize = 64 << 10;
const HELLO: &[u8] = b"EHLO load.example\r\n";

/// A session that is logged in.
pub struct Session {
    wire: Wire<TlsStream<TcpStream>>,
    pipelining: Pipelining,
}

/// A stream of commands and replies.
struct Wire<S> {
    stream: S,
    buffer: Vec<u8>,
    /// What was read and not yet taken.
    start: usize,
    end: usize,
}

impl Session {
    pub async fn open(target: &Target) -> io::Result<Self> {
        let stream = TcpStream::connect(target.address).await?;
        stream.set_nodelay(true)?;
        let mut wire = Wire::new(stream);
        wire.reply().await?.expect(220)?;
        wire.exchange(HELLO, 250).await?;
        wire.exchange(b"STARTTLS\r\n", 220).await?;
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let mut wire = Wire::new(target.tls.connect(name, wire.stream).await?);
        wire.write(HELLO).await?;
        let hello = wire.reply().await?;
        hello.expect(250)?;
        let pipelining = match target.pipelining {
            Pipelining::On if hello.offers("PIPELINING") => Pipelining::On,
            Pipelining::On | Pipelining::Off => Pipelining::Off,
        };
        wire.exchange(target.login.as_bytes(), 235).await?;
        Ok(Self { wire, pipelining })
    }

    /// Sends a message; the server has taken it when this answers.
    pub async fn send(&mut self, letter: &Letter) -> io::Result<()> {
        const ANSWERS: [u16; 3] = [250, 250, 354];
        match self.pipelining {
            Pipelining::On => {
                self.wire.write(letter.envelope()).await?;
                for code in ANSWERS {
                    self.wire.reply().await?.expect(code)?;
                }
            }
            Pipelining::Off => {
                let commands = letter.envelope().split_inclusive(|byte| *byte == b'\n');
                for (command, code) in commands.zip(ANSWERS) {
                    self.wire.exchange(command, code).await?;
                }
            }
        }
        self.wire.exchange(letter.content(), 250).await
    }

    pub async fn quit(mut self) -> io::Result<()> {
        self.wire.exchange(b"QUIT\r\n", 221).await?;
        // The server may have closed the connection by now.
        let _closed = self.wire.stream.shutdown().await;
        Ok(())
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    fn new(stream: S) -> Self {
        Self { stream, buffer: vec![0; 1 << 10], start: 0, end: 0 }
    }

    async fn exchange(&mut self, command: &[u8], code: u16) -> io::Result<()> {
        self.write(command).await?;
        self.reply().await?.expect(code)
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    async fn reply(&mut self) -> io::Result<Reply<'_>> {
        let length = loop {
            if let Some(reply) = reply::first(&self.buffer[self.start..self.end])? {
                break reply.text.len();
            }
            self.fill().await?;
        };
        let start = self.start;
        self.start += length;
        reply::first(&self.buffer[start..self.end])?.ok_or(io::ErrorKind::InvalidData.into())
    }

    async fn fill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        if self.end == self.buffer.len() {
            if self.end >= MAX_REPLY_BYTES {
                return Err(io::Error::other("the server's reply has no end"));
            }
            self.buffer.resize(self.end * 2, 0);
        }
        match self.stream.read(&mut self.buffer[self.end..]).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.end += read;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    #[tokio::test]
    async fn replies_are_taken_one_by_one_however_they_come() {
        let (near, mut far) = duplex(1 << 20);
        let mut wire = Wire::new(near);
        far.write_all(b"250 2.1.0 a\r\n250 2.1.5 b\r\n35").await.expect("written");
        for text in ["250 2.1.0 a\r\n", "250 2.1.5 b\r\n"] {
            assert_eq!(wire.reply().await.expect("a reply").text, text);
        }
        far.write_all(b"4 go\r\n").await.expect("written");
        assert_eq!(wire.reply().await.expect("a reply").code, 354);
    }

    #[tokio::test]
    async fn a_reply_may_be_longer_than_the_buffer_and_not_endless() {
        let (near, mut far) = duplex(1 << 20);
        let mut wire = Wire::new(near);
        let long = format!("{}250 end\r\n", "250-line\r\n".repeat(1_000));
        far.write_all(long.as_bytes()).await.expect("written");
        assert_eq!(wire.reply().await.expect("a reply").text.len(), long.len());
        far.write_all(&vec![b'2'; 2 * MAX_REPLY_BYTES]).await.expect("written");
        assert!(wire.reply().await.is_err());
    }

    #[tokio::test]
    async fn a_connection_that_is_cut_is_an_error() {
        let (near, far) = duplex(1 << 10);
        drop(far);
        assert!(Wire::new(near).reply().await.is_err());
    }
}
